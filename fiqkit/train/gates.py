"""What a when-to-ask gate would have made of episodes that are there: an item played silently and with a question.

Which of an item's two episodes a gate takes follows from what was known before a question: whether the base asked, or
how sure the silent answer was. So one pair of runs gives the rows of all gates, and the threshold is fitted on
validation items before the others are looked at. `fiqkit run --agent GATE:CARD` plays a gate itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from fiqkit.errors import UserError
from fiqkit.metrics.scored import Scored

COST = 0.05  # of a question, in accuracy: what a further question costs in the reward


@dataclass(frozen=True, slots=True)
class Played:
    """One item: right without a question and with one, how sure the silent answer was, whether the base asked."""

    silent: bool
    asked: bool
    confidence: float | None = None
    base_asks: bool | None = None


def paired(
    never: Iterable[Scored], always: Iterable[Scored], base: Iterable[Scored] | None = None
) -> tuple[list[Played], list[tuple[Any, ...]]]:
    """Items that count on every side, with their keys (instance, record, sample).

    Raises:
        UserError: the sides have no such item in common.
    """
    sides = [_by_item(side) for side in (never, always, *([base] if base is not None else []))]
    keys = sorted(set.intersection(*(set(side) for side in sides)))
    if not keys:
        raise UserError("the runs have no scored item in common; play them over the same instances")
    items = [
        Played(
            silent=bool(sides[0][key].is_intended),
            asked=bool(sides[1][key].is_intended),
            confidence=sides[0][key].confidence,
            base_asks=sides[2][key].asked if base is not None else None,
        )
        for key in keys
    ]
    return items, keys


def _by_item(side: Iterable[Scored]) -> dict[tuple[Any, ...], Scored]:
    return {(*episode.record, episode.sample): episode for episode in side if episode.counts}


def fit(items: Sequence[Played], cost: float = COST) -> float:
    """The confidence under which a question pays: the threshold with the most (accuracy − cost · ask rate).

    Of several as good the lowest, which asks least. 0 never asks where a confidence is stated, 101 always.

    Raises:
        UserError: no items to fit on.
    """
    if not items:
        raise UserError("there is no validation item to fit the threshold on")
    stated = sorted({item.confidence for item in items if item.confidence is not None})
    candidates = [0.0, *(low + (high - low) / 2 for low, high in pairwise(stated)), 101.0]
    return max(candidates, key=lambda threshold: (_worth(items, threshold, cost), -threshold))


def _worth(items: Sequence[Played], threshold: float, cost: float) -> float:
    asks = [unsure(item, threshold) for item in items]
    return sum(item.asked if ask else item.silent for item, ask in zip(items, asks, strict=True)) - cost * sum(asks)


def unsure(item: Played, threshold: float) -> bool:
    """Whether the confidence gate asks: the silent answer states less than the threshold, or nothing."""
    return item.confidence is None or item.confidence < threshold


def row(gate: str, items: Sequence[Played], asks: Callable[[Played], bool]) -> dict[str, Any]:
    """One gate's numbers; right and wrong are counted from the silent answer on.

    Returns:
        {"gate", "n", "ask_rate", "accuracy", "wrong_to_right", "right_to_wrong"}, the last two as counts.
    """
    asked = [asks(item) for item in items]
    right = [item.asked if ask else item.silent for item, ask in zip(items, asked, strict=True)]
    return _counted(gate, items, right, asked)


def own_row(gate: str, items: Sequence[Played], keys: Sequence[Any], side: Iterable[Scored]) -> dict[str, Any]:
    """The numbers of a policy that was played itself, on the items that it shares with the others.

    Raises:
        UserError: it shares none.
    """
    played = _by_item(side)
    shared = [(item, played[key]) for item, key in zip(items, keys, strict=True) if key in played]
    if not shared:
        raise UserError(f"{gate}: no scored item in common with the other runs")
    right = [bool(episode.is_intended) for _, episode in shared]
    return _counted(gate, [item for item, _ in shared], right, [episode.asked for _, episode in shared])


def _counted(gate: str, items: Sequence[Played], right: Sequence[bool], asked: Sequence[bool]) -> dict[str, Any]:
    n = len(items)
    return {
        "gate": gate,
        "n": n,
        "ask_rate": sum(asked) / n,
        "accuracy": sum(right) / n,
        "wrong_to_right": sum(now and not item.silent for item, now in zip(items, right, strict=True)),
        "right_to_wrong": sum(item.silent and not now for item, now in zip(items, right, strict=True)),
    }


def table(items: Sequence[Played], threshold: float | None = None) -> list[dict[str, Any]]:
    """The rows of the gates that can be had: never and always, the base's where it was played, the fitted one."""
    rows = [row("never-ask", items, lambda item: False), row("always-ask", items, lambda item: True)]
    if all(item.base_asks is not None for item in items):
        rows.append(row("base-ask", items, lambda item: bool(item.base_asks)))
    if threshold is not None:
        rows.append(row(f"confidence-{threshold:g}", items, lambda item: unsure(item, threshold)))
    return rows
