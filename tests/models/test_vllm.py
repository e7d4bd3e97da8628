"""vLLM in this process, on CPU, with a real (tiny) model.

make test-vllm
"""

import asyncio
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from tiny_vllm import ARGUMENTS, CARD, SENTENCES, ask, tokens_per_second

from fiqkit.errors import UserError
from fiqkit.models import open_engine
from fiqkit.models.cards.cards import Card
from fiqkit.models.cards.weights import to_transformers
from fiqkit.models.checks.determinism import flip_rate
from fiqkit.models.checks.startup import startup_probe
from fiqkit.models.engine import ContextOverflow, EngineError, Request, Sampling
from fiqkit.models.vllm.in_process import VllmEngine

pytest.importorskip("vllm")
pytestmark = [pytest.mark.vllm, pytest.mark.timeout(900)]

SCHEMA = {
    "type": "object",
    "properties": {"action": {"enum": ["search", "answer"]}, "query": {"type": "string", "maxLength": 40}},
    "required": ["action", "query"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as opened:
        yield opened


@pytest.fixture(scope="module")
def engine(runner: asyncio.Runner) -> Iterator[VllmEngine]:
    opened = open_engine(CARD, engine="vllm", parallel=16, adapters=True, adapter_rank=8, arguments=ARGUMENTS)
    assert isinstance(opened, VllmEngine)
    yield opened
    runner.run(opened.close())
    runner.run(opened.close())


# --- in process -----------------------------------------------------------------------------------------------------


def test_completion_has_ids_and_logprobs(engine: VllmEngine, runner: asyncio.Runner) -> None:
    request = ask("What is the capital of France?", logprobs=True)
    completion = runner.run(engine.complete(request))
    assert "Paris" in completion.text
    assert completion.finish == "stop"
    assert len(completion.output_ids) == len(completion.logprobs) == completion.output_tokens > 3
    assert all(value <= 0 for value in completion.logprobs)
    assert completion.prompt_tokens == len(completion.prompt_ids)
    assert list(completion.prompt_ids).count(completion.prompt_ids[0]) < len(completion.prompt_ids)
    assert completion.prompt_ids[0] != completion.prompt_ids[1], "one beginning"


def test_prompt_ids_are_sent_as_they_are(engine: VllmEngine, runner: asyncio.Runner) -> None:
    by_messages = runner.run(engine.complete(ask("Name a colour.")))
    by_ids = runner.run(engine.complete(Request(prompt_ids=by_messages.prompt_ids, sampling=Sampling(max_tokens=24))))
    assert (by_ids.text, by_ids.prompt_ids) == (by_messages.text, by_messages.prompt_ids)


def test_constraints_hold(engine: VllmEngine, runner: asyncio.Runner) -> None:
    found = runner.run(startup_probe(engine))
    print("\nstart-up probe, in process:", found)
    assert {found["thinking=default"][kind] for kind in ("plain", "schema", "choices")} == {"ok"}
    reply = json.loads(runner.run(engine.complete(ask("Find the revenue of Apple.", 100, schema=SCHEMA))).text)
    assert reply["action"] in ("search", "answer")
    assert len(reply["query"]) <= 40


def test_a_cut_reply_is_length_and_not_checked(engine: VllmEngine, runner: asyncio.Runner) -> None:
    completion = runner.run(engine.complete(ask("Find the revenue of Apple.", 3, schema=SCHEMA)))
    assert (completion.finish, completion.output_tokens) == ("length", 3)


def test_prompts_are_never_cut(engine: VllmEngine, runner: asyncio.Runner) -> None:
    with pytest.raises(ContextOverflow, match=r"a prompt of \d+ and a reply of 24 tokens exceed the context of 1024"):
        runner.run(engine.complete(ask("word " * 1100)))


def test_what_the_engine_rejects_is_one_line(engine: VllmEngine, runner: asyncio.Runner) -> None:
    with pytest.raises(UserError, match="not a JSON schema"):
        runner.run(engine.complete(ask("x", schema={"type": "no such type"})))
    rejected = {"type": "object", "properties": {"a": {"type": "string", "pattern": "(?<=x)y"}}, "required": ["a"]}
    with pytest.raises(EngineError) as caught:
        runner.run(engine.complete(ask("x", 8, schema=rejected)))
    print("\na schema that xgrammar cannot compile:", caught.value)
    assert "\n" not in str(caught.value)
    assert runner.run(engine.complete(ask("Still there?"))).text


def test_cancelling_takes_the_request_out_of_the_batch(engine: VllmEngine, runner: asyncio.Runner) -> None:
    async def scenario() -> None:
        task = asyncio.create_task(engine.complete(ask("Count to a thousand in words.", 900)))
        while not engine._llm.output_processor.has_unfinished_requests():
            await asyncio.sleep(0.01)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        assert not engine._llm.output_processor.has_unfinished_requests()

    runner.run(scenario())


def test_adapter_changes_the_reply_and_a_zero_one_does_not(
    engine: VllmEngine, runner: asyncio.Runner, tmp_path: Path
) -> None:
    request = ask("What is the capital of France?")
    plain = runner.run(engine.complete(request))
    zero = runner.run(engine.complete(replace(request, adapter=str(write_adapter(tmp_path / "zero", 0.0)))))
    loud = runner.run(engine.complete(replace(request, adapter=str(write_adapter(tmp_path / "loud", 0.5)))))
    assert zero.output_ids == plain.output_ids
    assert loud.output_ids != plain.output_ids
    assert runner.run(engine.complete(request)).output_ids == plain.output_ids


def write_adapter(folder: Path, scale: float) -> Path:
    """A rank-4 LoRA adapter on every attention output of SmolLM2 (hidden size 576, 30 layers)."""
    import torch
    from safetensors.torch import save_file

    folder.mkdir()
    torch.manual_seed(0)
    weights = {}
    for layer in range(30):
        stem = f"base_model.model.model.layers.{layer}.self_attn.o_proj"
        weights[f"{stem}.lora_A.weight"] = torch.randn(4, 576)
        weights[f"{stem}.lora_B.weight"] = torch.randn(576, 4) * scale
    save_file(weights, folder / "adapter_model.safetensors")
    config = {"peft_type": "LORA", "task_type": "CAUSAL_LM", "r": 4, "lora_alpha": 4, "target_modules": ["o_proj"]}
    (folder / "adapter_config.json").write_text(json.dumps(config))
    return folder


def test_flip_rate_and_throughput_are_measured(engine: VllmEngine, runner: asyncio.Runner) -> None:
    rates = runner.run(flip_rate(engine, SENTENCES))
    print("\nflip rates, in process, f32:", rates)
    assert rates["requests"] == 16
    assert rates["cold_warm"] == 0.0, "the cache changes nothing when requests come alone"
    assert 0.0 <= rates["alone_company"] <= 1.0
    for width in (1, 16):
        print(f"in process, {width:2} in flight: {runner.run(tokens_per_second(engine, SENTENCES, width)):.0f} tok/s")


def test_a_model_that_is_none_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(UserError, match=r"^nothing: .* holds no safetensors or GGUF"):
        open_engine(Card("nothing", "vllm", str(tmp_path), context=512))
    (tmp_path / "model.safetensors").write_bytes((2).to_bytes(8, "little") + b"{}")  # sound, and without a tensor
    with pytest.raises(UserError, match=r"^nothing: vLLM could not load") as caught:
        open_engine(Card("nothing", "vllm", str(tmp_path), context=512))
    assert "\n" not in str(caught.value)


def test_weights_are_those_of_the_package() -> None:
    assert (to_transformers(CARD) / "config.json").is_file()
