"""What an adapter says of itself, held against the model that it is to act on, before any native code sees it.

An adapter is a folder as PEFT writes it, or a GGUF file made of one. Beside the first, and inside the second, stands
how it was made, where this kit made it:

    {"stage": "sft", "base": {"model": "smollm2-135m", "sha256": …, "gguf": …}, "template": {"source": …}, …}
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fiqkit.errors import UserError
from fiqkit.models.cards.cards import Card, find_card
from fiqkit.models.cards.formats import check_adapter
from fiqkit.models.cards.gguf_header import read_header, read_shapes
from fiqkit.models.cards.weights import fingerprint

RECORD = "fiqkit.json"  # in the folder of an adapter
RECORD_KEY, BASE_KEY = "fiqkit.record", "fiqkit.base_sha256"  # in a GGUF adapter: the record, and the base file's hash


def read_record(adapter: Path) -> Mapping[str, Any]:
    """How an adapter was made; empty where it was made elsewhere.

    Raises:
        UserError: no adapter there, one in a pickle, or a damaged record.
    """
    if adapter.is_file():
        path, text = adapter, read_header(adapter).get(RECORD_KEY) or "{}"
    else:
        check_adapter(adapter)
        path = adapter / RECORD
        text = path.read_text("utf-8") if path.is_file() else "{}"
    try:
        record = json.loads(text)
    except ValueError as error:
        raise UserError(f"{path}: the record of how the adapter was made is damaged ({error})") from None
    return record if isinstance(record, dict) else {}


def base_of(adapter: Path, given: str | None = None) -> Card:
    """The card of the model that an adapter acts on: `given`, else what the adapter says.

    Raises:
        UserError: it does not say, or no such model is known.
    """
    named = given or (read_record(adapter).get("base") or {}).get("model")
    if not named:
        try:
            named = json.loads((adapter / "adapter_config.json").read_text("utf-8")).get("base_model_name_or_path")
        except (OSError, ValueError, AttributeError):
            named = None
    if not named:
        raise UserError(f"{adapter}: does not say which model it was made for; name it with --base")
    return find_card(str(named))


def template_of(adapter: Path) -> str | None:
    """The chat template that an adapter was trained with, and is to be served with; None where it does not say."""
    source: str | None = read_record(adapter).get("template", {}).get("source")
    return source


def check_base(adapter: Path, name: str, weights: Path) -> None:
    """Refuse an adapter that was trained on other weights. One whose record names none of their kind passes.

    Args:
        weights: the base that it is to act on: a folder, or a GGUF file.

    Raises:
        UserError: names both.
    """
    base = read_record(adapter).get("base") or {}
    trained = base.get("gguf" if weights.is_file() else "sha256")
    if trained and trained != (here := fingerprint(weights)):
        raise UserError(
            f"{adapter}: was trained on {base.get('model')} ({trained[:8]}), and {name} is {here[:8]}; an adapter acts "
            "on the base that it was trained on alone"
        )


def check_gguf_adapter(adapter: Path, name: str, base: Path) -> None:
    """Refuse a GGUF adapter that is damaged, or that was made for another model than the GGUF file `base`.

    Raises:
        UserError: one line that says what does not fit.
    """
    header, shapes = read_header(adapter), read_shapes(adapter)
    if header.get("general.type") != "adapter" or header.get("adapter.type") != "lora":
        raise UserError(f"{adapter}: not a LoRA adapter; make one with `fiqkit train export`")
    made, here = header.get("general.architecture"), read_header(base).get("general.architecture")
    if made != here:
        raise UserError(f"{adapter}: an adapter for {made}, and {name} is {here}; it is for another base")
    if (sha256 := header.get(BASE_KEY)) and sha256 != (own := fingerprint(base)):
        raise UserError(
            f"{adapter}: was made for the weights {sha256[:8]}, and {name} is {own[:8]}; export the adapter for this "
            "file if it holds the same model (`fiqkit train export --base`)"
        )
    whole = read_shapes(base)
    pairs = {key.rpartition(".lora_")[0] for key in shapes}
    for target in sorted(pairs):
        low, high = shapes.get(f"{target}.lora_a"), shapes.get(f"{target}.lora_b")
        if not low or not high or len(low) != 2 or len(high) != 2 or low[1] != high[0]:
            raise UserError(f"{adapter}: {target or next(iter(shapes))} is no pair of LoRA matrices; export it again")
        if whole.get(target) != (low[0], high[1]):
            raise UserError(
                f"{adapter}: {target} is {low[0]} × {high[1]} there and "
                f"{' × '.join(map(str, whole.get(target, ()))) or 'missing'} in {name}; it is for another base"
            )
    if not pairs:
        raise UserError(f"{adapter}: holds no LoRA matrices; export it again")
