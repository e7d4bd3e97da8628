"""Every card against this machine: is its engine installed, are its weights here, does it fit into memory?"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from fiqkit.errors import UserError
from fiqkit.models import ENGINES
from fiqkit.models.cards.cards import Card, all_cards
from fiqkit.models.cards.memory import Machine, plan, this_machine
from fiqkit.models.cards.weights import how_to_get, missing_files, stored_bytes, would_be


def survey(cards: Path | None = None) -> list[dict[str, Any]]:
    """One row a card: its fields, `weights` as the path where they are or would be, `runs` and `why_not`.

    A server is not called: its row says that it runs where its client is installed.

    Raises:
        UserError: a file of cards that cannot be read.
    """
    here = this_machine()
    return [_row(card, here) for card in all_cards(cards).values()]


def _row(card: Card, here: Machine) -> dict[str, Any]:
    place = would_be(card)
    present = isinstance(place, Path) and place.exists() and not missing_files(place)
    why_not = _obstacle(card, place, here)
    return {
        **asdict(card),
        "weights": str(place),
        "present": present or isinstance(place, str),
        "bytes": stored_bytes(place) if present and isinstance(place, Path) else card.size,
        "runs": not why_not,
        "why_not": why_not,
    }


def _obstacle(card: Card, place: Path | str, here: Machine) -> str:
    """The first thing that keeps the card from running here; empty when nothing does."""
    entry = ENGINES.get(card.engine)
    if entry is None:
        return f"unknown engine {card.engine!r}"
    if not entry.installed():
        return f"{entry.requires} is not installed: {entry.install}"
    if isinstance(place, Path) and not place.exists():
        return f"no weights: {how_to_get(card)}"
    if isinstance(place, Path) and (missing := missing_files(place)):
        return f"not whole, {missing[0]} is missing: {how_to_get(card)}"
    try:
        plan([card], machine=here).check()
    except UserError as error:
        return str(error).partition(": ")[2]
    return ""
