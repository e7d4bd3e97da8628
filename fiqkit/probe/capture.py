"""Final-token residual states after the embedding and after every layer, and the files that keep them.

Hooks copy one vector an item and layer; no logits are computed, nothing is cut, and prompts of like length share a
batch. States lie in one safetensors file a condition, tensor `states` (points, items, width), in the model's own
precision, beside a manifest whose key covers all that they depend on: asked again, the same states are read back.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fiqkit.errors import UserError
from fiqkit.whole_file import write_text

if TYPE_CHECKING:
    import torch

TOKENS_PER_BATCH = 512
Ids = list[int]
Progress = Callable[[int], None]  # called with the number of prompts just done


# --- prompts to token ids -------------------------------------------------------------------------------------------


def encode(tokenizer: Any, text: str) -> Ids:
    """Token ids of a user message: the chat template applied once, or plain text for a base checkpoint.

    Raises:
        UserError: the template drops the message.
    """
    if not tokenizer.chat_template:
        return list(tokenizer(text)["input_ids"])
    turn = [{"role": "user", "content": text}]
    rendered = tokenizer.apply_chat_template(turn, tokenize=False, add_generation_prompt=True)
    if text.strip() not in rendered:
        raise UserError(
            f"the chat template of {tokenizer.name_or_path} drops the user's message ({text[:30]!r}…); mend "
            f"chat_template in its tokenizer_config.json"
        )
    return list(tokenizer(rendered, add_special_tokens=False)["input_ids"])


def check_lengths(prompts: Sequence[Ids], limit: int | None, names: Sequence[str]) -> None:
    """Raises UserError when a prompt is empty or longer than the model's context; nothing is ever cut."""
    for ids, name in zip(prompts, names, strict=True):
        if not ids:
            raise UserError(f"{name}: the prompt has no token; check the question and the tokenizer")
        if limit and len(ids) > limit:
            raise UserError(f"{name}: the prompt has {len(ids)} tokens and the model's context {limit}; drop the item")


def batches(prompts: Sequence[Ids], tokens: int = TOKENS_PER_BATCH) -> Iterator[list[int]]:
    """Indices of prompts of like length, longest first, about `tokens` padded tokens a batch."""
    order = sorted(range(len(prompts)), key=lambda i: -len(prompts[i]))
    start = 0
    while start < len(order):
        size = max(1, tokens // len(prompts[order[start]]))
        yield order[start : start + size]
        start += size


# --- the forward pass -----------------------------------------------------------------------------------------------


def decoder_of(model: Any) -> Any:
    """The stack of layers without the language-model head, of a plain model or one with an adapter."""
    inner = model.get_base_model() if hasattr(model, "get_base_model") else model
    decoder = inner.get_decoder()
    return getattr(decoder, "language_model", decoder)


def run_batch(model: Any, prompts: Sequence[Ids]) -> torch.Tensor:
    """One forward pass over right-padded prompts, without logits or cache; returns each prompt's last position."""
    import torch

    decoder = decoder_of(model)
    device = decoder.get_input_embeddings().weight.device
    lengths = torch.tensor([len(ids) for ids in prompts])
    ids = torch.zeros(len(prompts), int(lengths.max()), dtype=torch.long)
    for row, prompt in enumerate(prompts):
        ids[row, : len(prompt)] = torch.tensor(prompt)
    mask = (torch.arange(ids.shape[1]) < lengths[:, None]).long()
    with torch.inference_mode():
        decoder(input_ids=ids.to(device), attention_mask=mask.to(device), use_cache=False)
    return lengths - 1


@contextmanager
def residual_hooks(model: Any, keep: Callable[[int, torch.Tensor], None]) -> Iterator[None]:
    """Call `keep(point, states)` with the whole (batch, time, width) residual stream at each point of a forward pass.

    Point 0 is what the first layer reads (the embedding), point k what layer k writes, before the final norm.
    """
    layers = decoder_of(model).layers

    def before(_: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        keep(0, args[0] if args else kwargs["hidden_states"])

    def after(point: int) -> Callable[[Any, Any, Any], None]:
        return lambda _module, _args, output: keep(point, output[0] if isinstance(output, tuple) else output)

    handles = [layers[0].register_forward_pre_hook(before, with_kwargs=True)]
    handles += [layer.register_forward_hook(after(point)) for point, layer in enumerate(layers, 1)]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def capture(model: Any, prompts: Sequence[Ids], progress: Progress | None = None) -> torch.Tensor:
    """Final-token states, (layers + 1, prompts, width), on the CPU, in the model's precision."""
    import torch

    decoder = decoder_of(model)
    out: torch.Tensor | None = None
    rows: list[int] = []
    last = torch.zeros(0, dtype=torch.long)

    def keep(point: int, states: torch.Tensor) -> None:
        nonlocal out
        if out is None:
            out = torch.empty(len(decoder.layers) + 1, len(prompts), states.shape[-1], dtype=states.dtype)
        at = last.to(states.device)
        out[point, rows] = states[torch.arange(len(rows), device=states.device), at].cpu()

    with residual_hooks(model, keep):
        for rows in batches(prompts):
            chosen = [prompts[i] for i in rows]
            last = torch.tensor([len(ids) - 1 for ids in chosen])
            run_batch(model, chosen)
            if progress:
                progress(len(rows))
    assert out is not None
    return out


# --- files ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class States:
    """Captured states of several conditions on disk; one layer at a time comes into memory."""

    folder: Path
    conditions: tuple[str, ...]
    points: int
    items: int
    width: int

    def layer(self, point: int) -> dict[str, NDArray[np.float32]]:
        """States at one point by condition, each (items, width), in single precision.

        Raises:
            UserError: no such point.
        """
        from safetensors import safe_open

        if not 0 <= point < self.points:
            raise UserError(f"layer {point} is out of range; this model has points 0 (embedding) to {self.points - 1}")
        found = {}
        for condition in self.conditions:
            with safe_open(self.folder / f"{condition}.safetensors", framework="pt") as file:
                found[condition] = file.get_slice("states")[point].float().numpy()
        return found


def key_of(parts: Mapping[str, Any], prompts: Sequence[Ids]) -> str:
    """Key of a condition's states: the weights, their precision, the adapter and every token id."""
    text = json.dumps([dict(parts), list(prompts)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def missing(folder: Path, keys: Mapping[str, str]) -> list[str]:
    """Conditions whose states are not in `folder` under their key."""
    try:
        known = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["keys"]
    except (OSError, ValueError, KeyError):
        return list(keys)
    return [c for c, key in keys.items() if known.get(c) != key or not (folder / f"{c}.safetensors").is_file()]


def save(folder: Path, condition: str, states: torch.Tensor, key: str, about: Mapping[str, Any]) -> None:
    """Write one condition's states, then its key into the manifest, so that a cut file is never taken for whole."""
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    part = folder / f"{condition}.part"
    save_file({"states": states.contiguous()}, part)
    part.replace(folder / f"{condition}.safetensors")
    manifest = folder / "manifest.json"
    try:
        keys = json.loads(manifest.read_text(encoding="utf-8"))["keys"]
    except (OSError, ValueError, KeyError):
        keys = {}
    points, items, width = states.shape
    body = {**about, "points": points, "items": items, "width": width, "keys": {**keys, condition: key}}
    write_text(manifest, json.dumps(body, ensure_ascii=False, indent=1))


def open_states(folder: Path, conditions: Sequence[str]) -> States:
    """The states that `save` wrote."""
    about = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    return States(folder, tuple(conditions), about["points"], about["items"], about["width"])
