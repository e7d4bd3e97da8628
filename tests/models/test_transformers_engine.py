"""The transformers engine on tiny models made here, so that every path runs in a moment."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    Qwen3_5ForCausalLM,
    Qwen3_5TextConfig,
)

from fiqkit.errors import UserError
from fiqkit.models import open_engine
from fiqkit.models.cards.cards import Card
from fiqkit.models.engine import Completion, ContextOverflow, EngineError, Request, Sampling
from fiqkit.models.local.transformers import TransformersEngine

T = TypeVar("T")
SPECIALS = ["<pad>", "<s>", "</s>"]
TEMPLATE = (
    "<s>{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant:{% if enable_thinking is defined and enable_thinking is false %}"
    " <think></think>{% endif %}{% endif %}"
)
SHAPE = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


async def gather(*work: Coroutine[Any, Any, T]) -> list[T]:
    return list(await asyncio.gather(*work))


def tiny_tokenizer() -> PreTrainedTokenizerFast:
    """One token a byte, after the three special ones."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: i for i, token in enumerate([*SPECIALS, *letters])}
    tokenizer = Tokenizer(models.BPE(vocabulary, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", pad_token="<pad>")
    fast.chat_template = TEMPLATE
    return fast


def tiny_model(seed: int = 0) -> LlamaForCausalLM:
    torch.manual_seed(seed)
    return LlamaForCausalLM(LlamaConfig(vocab_size=259, **SHAPE)).eval()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tiny")
    tiny_model().save_pretrained(path)
    tiny_tokenizer().save_pretrained(path)
    return path


def card(path: Path, **fields: Any) -> Card:
    return Card(name="tiny", engine="transformers", weights=str(path), **{"context": 200, **fields})


@pytest.fixture(scope="module")
def engine(folder: Path) -> Iterator[TransformersEngine]:
    made = open_engine(card(folder), parallel=4, threads=1)
    assert isinstance(made, TransformersEngine)
    yield made
    run(made.close())


def ask(text: str, **fields: Any) -> Request:
    return Request(messages=[{"role": "user", "content": text}], **{"sampling": Sampling(max_tokens=8), **fields})


def mixed(count: int = 6) -> list[Request]:
    """Prompts and replies of different lengths, some greedy and some drawn."""
    return [
        ask(
            "a" * (i * 7 + 1), logprobs=True, sampling=Sampling(max_tokens=3 + 4 * i, temperature=(i % 2) * 0.9, seed=i)
        )
        for i in range(count)
    ]


def test_prompt_is_the_template_once(engine: TransformersEngine) -> None:
    completion = run(engine.complete(ask("Hi")))
    assert bytes(engine._tokenizer.decode(completion.prompt_ids), "utf-8") == b"<s>user: Hi\nassistant:"
    assert completion.prompt_ids.count(1) == 1
    assert completion.prompt_tokens == 20
    off = run(engine.complete(ask("Hi", thinking=False)))
    assert engine._tokenizer.decode(off.prompt_ids).endswith("assistant: <think></think>")


def test_a_batch_gives_what_single_requests_give(engine: TransformersEngine) -> None:
    single = [run(engine.complete(request)) for request in mixed()]
    together = run(gather(*map(engine.complete, mixed())))
    for one, other in zip(single, together, strict=True):
        assert one.output_ids == other.output_ids
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-5)
    assert any(reply.output_tokens > 8 for reply in single)


def test_linear_attention_survives_padding_and_rows_that_leave() -> None:
    torch.manual_seed(0)
    shape = {**SHAPE, "num_hidden_layers": 4, "head_dim": 16}
    linear = {
        "linear_num_key_heads": 2,
        "linear_num_value_heads": 4,
        "linear_key_head_dim": 8,
        "linear_value_head_dim": 8,
    }
    model = Qwen3_5ForCausalLM(Qwen3_5TextConfig(vocab_size=259, **shape, **linear)).eval()
    engine = TransformersEngine.wrap(model, tiny_tokenizer(), context=200)
    single = [run(engine.complete(request)) for request in mixed(4)]
    together = run(gather(*map(engine.complete, mixed(4))))
    assert [reply.output_ids for reply in single] == [reply.output_ids for reply in together]
    run(engine.close())


def test_log_probabilities_are_those_of_a_plain_forward_pass(engine: TransformersEngine) -> None:
    reply = run(engine.complete(ask("net income", logprobs=True, sampling=Sampling(max_tokens=12, temperature=1.0))))
    ids = torch.tensor([[*reply.prompt_ids, *reply.output_ids]])
    with torch.no_grad():
        chances = tiny_model()(ids).logits.log_softmax(-1)[0, len(reply.prompt_ids) - 1 : -1]
    assert reply.logprobs == pytest.approx(
        chances[range(reply.output_tokens), list(reply.output_ids)].tolist(), abs=1e-4
    )


def test_draws_follow_the_distribution(engine: TransformersEngine) -> None:
    """At a temperature near zero the greedy token, with a tiny nucleus too; freely, many tokens."""
    greedy = run(engine.complete(ask("x", sampling=Sampling(max_tokens=1)))).output_ids
    for sampling in (Sampling(1, temperature=1e-3, seed=5), Sampling(1, temperature=1.0, top_p=1e-6, seed=5)):
        assert run(engine.complete(ask("x", sampling=sampling))).output_ids == greedy
    free = run(gather(*(engine.complete(ask("x", sampling=Sampling(1, temperature=1.0, seed=i))) for i in range(20))))
    assert len({reply.output_ids for reply in free}) > 10


def test_choices_are_the_only_replies(engine: TransformersEngine) -> None:
    choices = ("yes", "yes it is", "no", "我不知道")
    replies = run(
        gather(
            *(
                engine.complete(ask("?", choices=choices, sampling=Sampling(40, temperature=2.0, seed=i)))
                for i in range(24)
            )
        )
    )
    assert {reply.text for reply in replies} <= set(choices)
    assert {reply.finish for reply in replies} == {"stop"}
    assert len({reply.text for reply in replies}) >= 3


def test_stop_string_and_length(engine: TransformersEngine) -> None:
    whole = run(engine.complete(ask("story", sampling=Sampling(max_tokens=30, temperature=1.0, seed=3))))
    assert whole.finish == "length" and whole.output_tokens == 30
    mark = whole.text[5:7]
    stopped = run(engine.complete(ask("story", sampling=Sampling(30, temperature=1.0, seed=3, stop=(mark,)))))
    assert stopped.text == whole.text[: whole.text.index(mark)]
    assert stopped.finish == "stop"
    assert whole.output_ids[: stopped.output_tokens] == stopped.output_ids


def test_ending_token_is_counted_and_not_shown() -> None:
    model = tiny_model()
    with torch.no_grad():
        model.lm_head.weight[2] = 0
        model.lm_head.weight[2] += 50 * model.model.norm.weight.sum()  # </s> always wins or always loses
    engine = TransformersEngine.wrap(model, tiny_tokenizer())
    replies = [run(engine.complete(ask(text))) for text in ("a", "b", "c", "d", "e", "f")]
    ended = [reply for reply in replies if reply.finish == "stop"]
    assert ended and all(reply.output_ids[-1] == 2 and "</s>" not in reply.text for reply in ended)
    run(engine.close())


def test_refusals(engine: TransformersEngine, folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ContextOverflow, match="20 prompt tokens and 181 for the reply exceed the context of 200"):
        run(engine.complete(ask("Hi", sampling=Sampling(max_tokens=181))))
    with pytest.raises(UserError, match="cannot hold a reply to a schema"):
        run(engine.complete(ask("Hi", schema={"type": "string"})))
    with pytest.raises(UserError, match="no adapter at /none"):
        run(engine.complete(ask("Hi", adapter="/none")))
    with pytest.raises(UserError, match="a context of 300 tokens was asked of a model made for 256"):
        open_engine(card(folder), context=300)
    with pytest.raises(UserError, match="holds no safetensors or GGUF; fetch the weights too"):
        open_engine(card(tmp_path))


def without(weights: bytes, tensor: str) -> bytes:
    """A safetensors file without one of its tensors."""
    from safetensors.torch import load, save

    return save({name: values for name, values in load(weights).items() if name != tensor})


def test_cut_weights_and_no_template(folder: Path, tmp_path: Path) -> None:
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    whole = (folder / "model.safetensors").read_bytes()
    (tmp_path / "model.safetensors").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UserError, match=r"model\.safetensors: the file is not as long as its header says"):
        open_engine(card(tmp_path))
    (tmp_path / "model.safetensors").write_bytes(without(whole, "model.embed_tokens.weight"))
    with pytest.raises(UserError, match=r"tiny: .* lacks the tensor model\.embed_tokens\.weight"):
        open_engine(card(tmp_path))
    (tmp_path / "model.safetensors").write_bytes(whole)
    (tmp_path / "tokenizer.json").write_text('{"model": []}')
    with pytest.raises(UserError, match="tiny: no tokenizer can be read") as caught:
        open_engine(card(tmp_path))
    assert "\n" not in str(caught.value)
    tokenizer = tiny_tokenizer()
    tokenizer.chat_template = None
    with pytest.raises(UserError, match="live: the model has no chat template"):
        TransformersEngine.wrap(tiny_model(), tokenizer)


def test_adapters_come_and_go(folder: Path, tmp_path: Path) -> None:
    peft = pytest.importorskip("peft")
    for seed in (1, 2):
        model = tiny_model()
        torch.manual_seed(seed)
        tuned = peft.get_peft_model(model, peft.LoraConfig(target_modules="all-linear", init_lora_weights=False))
        tuned.save_pretrained(tmp_path / str(seed))

    async def work() -> list[Completion]:
        engine = open_engine(card(folder), parallel=8, threads=1)
        paths = [None, str(tmp_path / "1"), str(tmp_path / "2"), None, str(tmp_path / "1")]
        replies = await gather(*(engine.complete(ask("revenue", adapter=path)) for path in paths))
        replies.append(await engine.complete(ask("revenue")))
        await engine.close()
        return replies

    base, one, two, base_again, one_again, base_last = (reply.output_ids for reply in run(work()))
    assert base == base_again == base_last
    assert one == one_again
    assert len({base, one, two}) == 3


def test_a_live_module_is_used_as_it_is_and_left_as_it_was() -> None:
    model = tiny_model().train()
    engine = TransformersEngine.wrap(model, tiny_tokenizer())
    before = run(engine.complete(ask("x")))
    assert model.training
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.5)
    assert run(engine.complete(ask("x"))).output_ids != before.output_ids
    with pytest.raises(UserError, match="takes no adapters"):
        run(engine.complete(ask("x", adapter="/some")))
    run(engine.close())
    assert model(torch.tensor([[1]])).logits.shape == (1, 1, 259)  # still its owner's


def test_a_fault_reaches_its_batch_only() -> None:
    model = tiny_model()
    engine = TransformersEngine.wrap(model, tiny_tokenizer())
    forward = model.forward

    def fail(*_: Any, **__: Any) -> Any:
        model.forward = forward
        raise RuntimeError("device lost")

    model.forward = fail
    with pytest.raises(EngineError, match="RuntimeError: device lost"):
        run(engine.complete(ask("x")))
    assert run(engine.complete(ask("x"))).output_tokens == 8
    run(engine.close())


def test_cancelling_and_closing() -> None:
    async def work() -> None:
        engine = TransformersEngine.wrap(tiny_model(), tiny_tokenizer(), parallel=1)
        tasks = [asyncio.create_task(engine.complete(ask("x", sampling=Sampling(max_tokens=200)))) for _ in range(3)]
        await asyncio.sleep(0.02)
        tasks[0].cancel()
        tasks[1].cancel()
        assert (await tasks[2]).output_tokens
        last = asyncio.create_task(engine.complete(ask("x", sampling=Sampling(max_tokens=200))))
        behind = asyncio.create_task(engine.complete(ask("x")))
        await asyncio.sleep(0.02)
        await engine.close()
        await engine.close()
        with pytest.raises(EngineError, match="closed"):
            await behind
        last.cancel()
        with pytest.raises(EngineError, match="closed"):
            await engine.complete(ask("x"))

    run(work())
