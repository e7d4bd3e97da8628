"""Final-token states: the right ones, whatever the batch, on every architecture."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny_models import ARCHITECTURES, make_checkpoint

from fiqkit.errors import UserError
from fiqkit.probe import capture as room
from fiqkit.probe.checkpoint import find_checkpoint, load_model, load_tokenizer

CLOSE = {"atol": 2e-4, "rtol": 2e-3}
TEXTS = ["Q?", "What was A's income?", "甲公司的净利润是多少？", "What was B's revenue?\n\nConsolidated, 2023; GAAP."]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_batched_equals_single_and_the_models_own_hidden_states(
    architecture: str, checkpoint: Callable[[str], Path]
) -> None:
    found = find_checkpoint(str(checkpoint(architecture)))
    model, tokenizer = load_model(found, "f32"), load_tokenizer(found)
    prompts = [room.encode(tokenizer, text) for text in TEXTS]
    together = room.capture(model, prompts)
    assert together.shape == (5, len(TEXTS), 32)
    for index, ids in enumerate(prompts):
        alone = room.capture(model, [ids])[:, 0]
        torch.testing.assert_close(together[:, index], alone, **CLOSE)
        with torch.inference_mode():
            own = model(torch.tensor([ids]), output_hidden_states=True).hidden_states
        for point in range(4):
            torch.testing.assert_close(alone[point], own[point][0, -1], **CLOSE)
        # The model's last entry is after the final norm, the probe's is before it.
        normed = room.decoder_of(model).norm(alone[4])
        torch.testing.assert_close(normed, own[4][0, -1], **CLOSE)


def test_hooks_are_gone_afterwards_even_when_the_pass_fails(checkpoint: Callable[[str], Path]) -> None:
    model = load_model(find_checkpoint(str(checkpoint("qwen3"))), "f32")
    with pytest.raises(IndexError):
        room.capture(model, [[1, 2], [10_000]])
    layers = room.decoder_of(model).layers
    assert not any(layer._forward_hooks or layer._forward_pre_hooks for layer in layers)


def test_the_template_is_applied_once_and_a_base_checkpoint_gets_plain_text(
    tmp_path: Path, checkpoint: Callable[[str], Path]
) -> None:
    chat = load_tokenizer(find_checkpoint(str(checkpoint("qwen3"))))
    text = chat.decode(room.encode(chat, "What?"))
    assert text.count("<|im_start|>") == 2 and text.endswith("assistant\n")
    base = load_tokenizer(find_checkpoint(str(make_checkpoint(tmp_path / "base", "qwen3", template=None))))
    assert base.decode(room.encode(base, "What?")) == "What?"


def test_a_template_that_drops_the_content_is_refused(tmp_path: Path) -> None:
    folder = make_checkpoint(
        tmp_path / "deaf", "qwen3", template="{% for m in messages %}<{{ m['role'] }}>{% endfor %}"
    )
    tokenizer = load_tokenizer(find_checkpoint(str(folder)))
    with pytest.raises(UserError, match=r"drops the user's message.*chat_template"):
        room.encode(tokenizer, "What was A's income?")


def test_nothing_is_cut() -> None:
    with pytest.raises(UserError, match=r"i7 .plain.: the prompt has 5 tokens and the model's context 4"):
        room.check_lengths([[1] * 4, [1] * 5], 4, ["i6 (plain)", "i7 (plain)"])


def test_batches_hold_every_prompt_once_with_little_padding() -> None:
    prompts = [[0] * n for n in np.random.default_rng(0).integers(1, 200, 300)]
    found = list(room.batches(prompts, tokens=512))
    assert sorted(i for batch in found for i in batch) == list(range(300))
    padded = sum(len(batch) * max(len(prompts[i]) for i in batch) for batch in found)
    assert padded <= 1.1 * sum(map(len, prompts))
    assert max(len(batch) * max(len(prompts[i]) for i in batch) for batch in found) <= 512


def test_states_are_found_again_only_under_their_own_key(tmp_path: Path) -> None:
    states = torch.arange(24.0).reshape(2, 3, 4).to(torch.bfloat16)
    keys = {c: room.key_of({"weights": "w"}, [[1], [2, 3]]) for c in ("plain",)}
    assert room.missing(tmp_path, keys) == ["plain"]
    room.save(tmp_path, "plain", states, keys["plain"], {"weights": "w"})
    assert room.missing(tmp_path, keys) == []
    assert room.missing(tmp_path, {"plain": room.key_of({"weights": "w"}, [[1], [2, 4]])}) == ["plain"]
    assert room.missing(tmp_path, {"plain": room.key_of({"weights": "v"}, [[1], [2, 3]])}) == ["plain"]
    again = room.open_states(tmp_path, ["plain"])
    np.testing.assert_array_equal(again.layer(1)["plain"], states[1].float().numpy())
    with pytest.raises(UserError, match=r"layer 2 is out of range.*to 1"):
        again.layer(2)
