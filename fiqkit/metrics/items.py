"""Numbers about instances rather than runs: how hard each is, and what agents that know the golds would score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from fiqkit.metrics.scored import Scored
from fiqkit.metrics.table import group


def item_difficulty(episodes: Iterable[Scored]) -> dict[str, float]:
    """Share of runs (run, model, mode) that got each instance right, by instance id; hard ones first.

    Records that differ under one id are two items, `ID@` and the record's hash.
    """
    by_item = group((e for e in episodes if e.counts), lambda e: e.record)
    records = Counter(instance_id for instance_id, _ in by_item)
    shares = {
        name if records[name] == 1 else f"{name}@{item[:8]}": sum(bool(e.is_intended) for e in found) / len(found)
        for (name, item), found in by_item.items()
    }
    return dict(sorted(shares.items(), key=lambda share: (share[1], share[0])))


# What a reference agent scores on an instance of prior entropy h0: (accuracy, default-capture, questions).
REFERENCES: dict[str, Callable[[float], tuple[float, float, int]]] = {
    "intended-oracle": lambda h0: (1.0, 0.0, 1),
    "contrarian": lambda h0: (1.0, 0.0, 0),
    "random-reading": lambda h0: (0.5, 0.5, 0),
    "random-of-k": lambda h0: (2.0**-h0, 2.0**-h0, 0),
    "default-reader": lambda h0: (0.0, 1.0, 0),
}


def reference_rows(episodes: Iterable[Scored]) -> list[dict[str, Any]]:
    """Expected rows of agents that frame the table, computed, not run.

    The oracle asks once and answers A; the contrarian answers the gold that is not the default; random-reading tosses
    a coin between the two golds; random-of-k draws among the 2^h0 readings; the default-reader answers A_d.
    """
    entropies = list({e.record: e.h0 for e in episodes}.values())
    if not entropies:
        return []
    return [_reference(name, [scores(h0) for h0 in entropies], entropies) for name, scores in REFERENCES.items()]


def _reference(name: str, scores: list[tuple[float, float, int]], entropies: list[float]) -> dict[str, Any]:
    n = len(scores)
    accuracy, capture, asks = (sum(column) / n for column in zip(*scores, strict=True))
    resolved = sum(score[0] * h0 for score, h0 in zip(scores, entropies, strict=True)) / n
    return {
        "run": "reference",
        "model": name,
        "mode": "reference",
        "n": n,
        "accuracy": accuracy,
        "default_capture": capture,
        "interaction_rate": asks,
        "mean_asks": asks,
        "dise_plus_all": resolved,
        "commitment": 1.0,
    }
