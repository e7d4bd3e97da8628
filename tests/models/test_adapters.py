"""An adapter in llama.cpp computes what it computes in transformers, and acts on its own base alone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tiny_models import make_checkpoint, make_gguf

from fiqkit.cli import fiqkit
from fiqkit.errors import UserError
from fiqkit.models import open_engine
from fiqkit.models.cards.cards import Card, find_card
from fiqkit.models.cards.gguf_header import read_header, read_shapes
from fiqkit.models.cards.lora import to_gguf
from fiqkit.models.cards.weights import fingerprint, locate, to_transformers
from fiqkit.models.checks.adapters import check_gguf_adapter
from fiqkit.models.engine import Completion, Engine, Request, Sampling

pytest.importorskip("peft")
PROMPTS = ("What was Acme's revenue?", "Which of the two?", "营业收入是多少？")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Adapters that are made here stay out of the user's cache, whose converted model is still used."""
    import fiqkit.models.cards.lora as lora

    kept = tmp_path_factory.getbasetemp() / "cache"
    monkeypatch.setattr(lora, "cache_folder", lambda: kept)


def adapt(base: Path, out: Path, seed: int = 0, scale: float = 1.0, **config: Any) -> Path:
    """A random adapter on a folder of weights, as PEFT writes it."""
    import peft
    import torch
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    torch.manual_seed(seed)
    usual = {"r": 4, "lora_alpha": 6, "target_modules": "all-linear", "init_lora_weights": False}
    tuned = peft.get_peft_model(model, peft.LoraConfig(**{**usual, **config}))
    for name, parameter in tuned.named_parameters():
        if "lora_" in name:
            parameter.data *= scale
    tuned.save_pretrained(str(out))
    return out


def replies(card: Card, adapters: list[Path | None], engine: str, **fields: Any) -> list[Completion]:
    """Greedy replies to all prompts with each adapter, all in flight together."""

    async def work(opened: Engine) -> list[Completion]:
        requests = [
            Request(
                messages=[{"role": "user", "content": text}],
                sampling=Sampling(max_tokens=6),
                logprobs=True,
                adapter=str(adapter) if adapter else None,
            )
            for adapter in adapters
            for text in PROMPTS
        ]
        try:
            return list(await asyncio.gather(*(opened.complete(request) for request in requests)))
        finally:
            await opened.close()

    return asyncio.run(work(open_engine(card, engine=engine, threads=1, context=512, **fields)))


@pytest.fixture(scope="module", params=["llama", "qwen3"])
def tiny(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Path, Path]]:
    """A checkpoint, the same model as GGUF, and an adapter."""
    root = tmp_path_factory.mktemp(request.param)
    folder = make_checkpoint(root / "base", request.param)
    yield folder, make_gguf(folder, root / "base.gguf"), adapt(folder, root / "adapter", use_rslora=True)


def test_llama_cpp_and_transformers_agree_with_and_without_an_adapter(
    tiny: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    """To .02 of a log probability: the cache of llama.cpp holds 16 bits a number, so near ties may go either way. An
    adapter whose q and k rows stand in the wrong order changes the first token already. Adapters that are in flight
    together share neither cells nor passes."""
    folder, gguf, adapter = tiny
    other = adapt(folder, tmp_path / "other", seed=1)
    file = to_gguf(other, gguf, tmp_path / "other.gguf", dtype="f32")
    card = Card("tiny", "transformers", str(folder), context=512)
    expected = replies(card, [None, adapter, other], "transformers")
    found = replies(Card("tiny", "llama_cpp", str(gguf), context=512), [None, adapter, file], "llama_cpp")
    assert [reply.prompt_ids for reply in found] == [reply.prompt_ids for reply in expected]
    n = len(PROMPTS)
    for start in (0, n, 2 * n):
        replied = zip(found[start : start + n], expected[start : start + n], strict=True)
        gaps = [abs(a - b) for here, there in replied for a, b in _while_equal(here, there)]
        assert len(gaps) > 6 * n / 2
        assert max(gaps) < 0.02
    assert len({expected[0].output_ids, expected[n].output_ids, expected[2 * n].output_ids}) == 3


@pytest.mark.slow
def test_the_bundled_model_and_its_dequantisation_agree_under_an_adapter(tmp_path: Path) -> None:
    """4-bit weights with 8-bit activations against float32: an adapter adds nothing to the distance that the base has
    already; both means stay under 0.15 of a log probability on tokens that both draw."""
    card = find_card("smollm2-135m")
    folder = to_transformers(card)
    adapter = adapt(folder, tmp_path / "a", r=8, lora_alpha=8, scale=0.5)
    file = to_gguf(adapter, locate(card), tmp_path / "a.gguf")
    found = replies(card, [None, file], "llama_cpp")
    expected = replies(find_card("smollm2-135m-hf"), [None, adapter], "transformers")
    n = len(PROMPTS)
    for start in (0, n):
        pairs = zip(found[start : start + n], expected[start : start + n], strict=True)
        gaps = [abs(a - b) for here, there in pairs for a, b in _while_equal(here, there)]
        assert len(gaps) >= n
        assert float(np.mean(gaps)) < 0.15
    moved = [
        abs(a - b) for base, taught in zip(found[:n], found[n:], strict=True) for a, b in _while_equal(base, taught)
    ]
    assert max(moved) > 0.05  # the adapter does something


def _while_equal(here: Completion, there: Completion) -> Iterator[tuple[float, float]]:
    for a, b, x, y in zip(here.output_ids, there.output_ids, here.logprobs, there.logprobs, strict=False):
        if a != b:
            return
        yield x, y


# --- what is refused ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def qwen(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    root = tmp_path_factory.mktemp("qwen")
    folder = make_checkpoint(root / "base", "qwen3")
    gguf = make_gguf(folder, root / "base.gguf")
    return gguf, adapt(folder, root / "adapter"), to_gguf(adapt(folder, root / "adapter"), gguf, root / "a.gguf")


def test_an_adapter_acts_on_its_own_base_alone(qwen: tuple[Path, Path, Path], tmp_path: Path) -> None:
    gguf, folder, file = qwen
    check_gguf_adapter(file, "tiny", gguf)
    same_shapes = make_gguf(make_checkpoint(tmp_path / "b", "qwen3", rms_norm_eps=1e-3), tmp_path / "b.gguf")
    with pytest.raises(UserError, match=r"a\.gguf: was made for the weights \w{8}, and b is \w{8}"):
        open_engine(Card("b", "llama_cpp", str(same_shapes), context=64, adapter=str(file)))
    llama = make_gguf(make_checkpoint(tmp_path / "c", "llama"), tmp_path / "c.gguf")
    with pytest.raises(UserError, match="an adapter for qwen3, and c is llama"):
        open_engine(Card("c", "llama_cpp", str(llama), context=64, adapter=str(file)))
    wide = make_gguf(make_checkpoint(tmp_path / "d", "qwen3", intermediate_size=64), tmp_path / "d.gguf")
    with pytest.raises(UserError, match=r"blk\.0\.ffn_down\.weight is 48 × 32 there and 64 × 32 in d"):
        open_engine(Card("d", "llama_cpp", str(wide), context=64, adapter=str(folder)))
    record = {"base": {"model": "other", "gguf": "f" * 64}, "template": {"source": "x"}}
    (folder / "fiqkit.json").write_text(json.dumps(record))
    try:
        with pytest.raises(UserError, match=r"was trained on other \(ffffffff\), and base"):
            open_engine(Card("tiny", "llama_cpp", str(gguf), context=64, adapter=str(folder)))
    finally:
        (folder / "fiqkit.json").unlink()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"use_dora": True}, "uses use_dora, which GGUF cannot hold"),
        ({"modules_to_save": ["lm_head"]}, "uses modules_to_save"),
        ({"bias": "all"}, "uses bias"),
        ({"peft_type": "IA3"}, "an adapter of kind IA3"),
    ],
)
def test_more_than_lora_matrices_is_refused(
    qwen: tuple[Path, Path, Path], tmp_path: Path, change: dict[str, Any], why: str
) -> None:
    gguf, folder, _ = qwen
    config = json.loads((folder / "adapter_config.json").read_text())
    (tmp_path / "adapter_config.json").write_text(json.dumps({**config, **change}))
    (tmp_path / "adapter_model.safetensors").write_bytes((folder / "adapter_model.safetensors").read_bytes())
    with pytest.raises(UserError, match=why):
        to_gguf(tmp_path, gguf, tmp_path / "out.gguf")
    assert not list(tmp_path.glob("*.gguf*"))


def test_an_architecture_that_is_not_written_and_a_module_that_has_no_place(tmp_path: Path) -> None:
    base = make_checkpoint(tmp_path / "moe", "qwen3_next")
    with pytest.raises(UserError, match="adapters of qwen3_next models are not written as GGUF"):
        to_gguf(adapt(base, tmp_path / "a", target_modules=["q_proj"]), base, tmp_path / "a.gguf")
    base = make_checkpoint(tmp_path / "base", "qwen3")
    with pytest.raises(UserError, match=r"adapts .*embed_tokens.*, which is not written as GGUF"):
        to_gguf(adapt(base, tmp_path / "b", target_modules=["embed_tokens"]), base, tmp_path / "b.gguf")


@given(cut=st.floats(0, 0.999), noise=st.binary(max_size=16), place=st.floats(0, 1))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
def test_a_damaged_adapter_is_one_line_or_harmless(
    qwen: tuple[Path, Path, Path], tmp_path: Path, cut: float, noise: bytes, place: float
) -> None:
    gguf, folder, file = qwen
    whole = file.read_bytes()
    (tmp_path / "cut.gguf").write_bytes(whole[: int(cut * len(whole))])
    with pytest.raises(UserError, match=r"cut\.gguf"):
        check_gguf_adapter(tmp_path / "cut.gguf", "tiny", gguf)
    at = int(place * 4000)
    (tmp_path / "bad.gguf").write_bytes(whole[:at] + noise + whole[at + len(noise) :])
    try:
        check_gguf_adapter(tmp_path / "bad.gguf", "tiny", gguf)
    except UserError as error:
        assert "\n" not in str(error)
    raw = (folder / "adapter_model.safetensors").read_bytes()
    (tmp_path / "adapter_config.json").write_text((folder / "adapter_config.json").read_text())
    (tmp_path / "adapter_model.safetensors").write_bytes(raw[: int(cut * len(raw))])
    with pytest.raises(UserError, match=r"adapter_model\.safetensors"):
        to_gguf(tmp_path, gguf, tmp_path / "out.gguf")


# --- commands -------------------------------------------------------------------------------------------------------


def test_export_and_merge_by_command(tmp_path: Path) -> None:
    base = make_checkpoint(tmp_path / "base", "qwen3")
    gguf = make_gguf(base, tmp_path / "base.gguf")
    adapter = adapt(base, tmp_path / "adapter")
    out = tmp_path / "out.gguf"
    ran = CliRunner().invoke(
        fiqkit, ["train", "export", str(adapter), "--base", str(gguf), "--out", str(out), "--json"]
    )
    assert ran.exit_code == 0, ran.output
    told = json.loads(ran.stdout)
    assert (told["base"], told["sha256"], told["bytes"]) == ("base", fingerprint(out), out.stat().st_size)
    assert read_header(out)["fiqkit.base_sha256"] == fingerprint(gguf)
    assert read_shapes(out)["blk.3.attn_k.weight.lora_b"] == (4, 16)
    merged = tmp_path / "merged"
    ran = CliRunner().invoke(fiqkit, ["train", "merge", str(adapter), "--out", str(merged), "--json"])
    assert ran.exit_code == 0, ran.output
    one = replies(Card("merged", "transformers", str(merged), context=512), [None], "transformers")
    two = replies(Card("tiny", "transformers", str(base), context=512), [adapter], "transformers")
    for here, there in zip(one, two, strict=True):
        assert here.output_ids == there.output_ids
        assert here.logprobs == pytest.approx(there.logprobs, abs=1e-4)
    with pytest.raises(UserError, match="holds a model already"):
        CliRunner().invoke(
            fiqkit,
            ["train", "merge", str(adapter), "--out", str(merged)],
            standalone_mode=False,
            catch_exceptions=False,
        )
