"""Agreement of two coders on the same items: raw, chance-corrected, per label."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, TypeVar

Label = TypeVar("Label", bound=Hashable)


def agreement(first: Sequence[Hashable], second: Sequence[Hashable]) -> dict[str, Any]:
    """{"raw", "kappa", "gwet_ac1", "n"} of two codings; None where undefined (no items, or kappa on one label only).

    Cohen's kappa takes the chance agreement from each coder's own marginals, Gwet's AC1 from the mean marginals p of
    the q labels in use: Σ p (1 − p) / (q − 1). AC1 stays meaningful where nearly all items share a label.
    """
    n = len(first)
    if n != len(second):
        raise ValueError(f"{n} labels against {len(second)}: both coders must have labelled the same items")
    if not n:
        return {"raw": None, "kappa": None, "gwet_ac1": None, "n": 0}
    raw = sum(a == b for a, b in zip(first, second, strict=True)) / n
    one, two = Counter(first), Counter(second)
    labels = one.keys() | two.keys()
    by_chance = sum(one[label] * two[label] for label in labels) / n**2
    means = [(one[label] + two[label]) / (2 * n) for label in labels]
    by_gwet = sum(p * (1 - p) for p in means) / (len(labels) - 1) if len(labels) > 1 else 0.0
    return {
        "raw": raw,
        "kappa": (raw - by_chance) / (1 - by_chance) if by_chance < 1 else None,
        "gwet_ac1": (raw - by_gwet) / (1 - by_gwet),
        "n": n,
    }


def confusion(truth: Iterable[str], given: Iterable[str]) -> dict[str, dict[str, int]]:
    """Counts by true label, then by given label."""
    table: dict[str, Counter[str]] = {}
    for true, got in zip(truth, given, strict=True):
        table.setdefault(true, Counter())[got] += 1
    return {true: dict(row) for true, row in sorted(table.items())}


def macro_f1(truth: Sequence[Iterable[str]], given: Sequence[Iterable[str]], labels: Sequence[str]) -> float | None:
    """Mean F1 over the labels that occur in the truth, each item carrying a set of labels; None when none occurs."""
    pairs = [(set(t), set(g)) for t, g in zip(truth, given, strict=True)]
    scores = []
    for label in labels:
        both = sum(label in t and label in g for t, g in pairs)
        true, got = (sum(label in side[k] for side in pairs) for k in (0, 1))
        if true:
            scores.append(2 * both / (true + got))
    return sum(scores) / len(scores) if scores else None
