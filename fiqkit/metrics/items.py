"""Numbers about items rather than runs: how hard each is, and what agents that know the golds would score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from math import fsum
from typing import Any

from fiqkit.metrics.scored import Scored, group


def item_difficulty(episodes: Iterable[Scored]) -> dict[str, float]:
    """Share of episodes (over runs, models, modes and samples) that got each item right; hard ones first.

    An item is called by its instance_id, with the beginning of its record's hash where two records share the id.
    """
    by_item = group((e for e in episodes if e.counts), lambda e: e.record)
    ids = Counter(instance_id for instance_id, _ in by_item)
    shares = {
        (key[0] if ids[key[0]] == 1 else f"{key[0]}@{key[1][:8]}"): sum(bool(e.is_intended) for e in found) / len(found)
        for key, found in by_item.items()
    }
    return dict(sorted(shares.items(), key=lambda item: (item[1], item[0])))


Score = tuple[float, float, int]  # accuracy, default-capture, questions

# What a reference agent scores on an item. Outside orbits one other reading is meant, and who knows it is right; in an
# orbit of k siblings each reading is meant once, so that any fixed answer is right once (`fiqkit.metrics.orbits`).
REFERENCES: dict[str, Callable[[Scored], Score]] = {
    "intended-oracle": lambda e: (1.0, 0.0, 1),
    "contrarian": lambda e: (1 / e.siblings, 0.0, 0),
    "random-reading": lambda e: (1 / e.siblings, 0.5, 0) if e.orbit else (0.5, 0.5, 0),
    "random-of-k": lambda e: (1 / e.siblings, 1 / e.siblings, 0) if e.orbit else (2.0**-e.h0, 2.0**-e.h0, 0),
    "default-reader": lambda e: (1 / e.siblings if e.orbit else 0.0, 1.0, 0),
}


def reference_rows(episodes: Iterable[Scored]) -> list[dict[str, Any]]:
    """Expected rows of agents that frame the table, computed, not run.

    The oracle asks once and answers A; the contrarian answers whatever is not the default; random-reading tosses a coin
    between two readings; random-of-k draws among all; the default-reader answers A_d.
    """
    items = {e.record: e for e in episodes}
    found = [items[key] for key in sorted(items)]
    return [_reference(name, [scores(e) for e in found], found) for name, scores in REFERENCES.items()] if found else []


def _reference(name: str, scores: Sequence[Score], items: Sequence[Scored]) -> dict[str, Any]:
    n = len(items)
    accuracy, asks = (fsum(score[at] for score in scores) / n for at in (0, 2))
    paper = [score[1] for score, e in zip(scores, items, strict=True) if not e.headline_intended]
    resolved = fsum(score[0] * e.h0 for score, e in zip(scores, items, strict=True)) / n
    orbits = any(e.orbit for e in items)
    asking = name == "intended-oracle"
    return {
        "run": "reference",
        "model": name,
        "mode": "reference",
        "n": n,
        "accuracy": accuracy,
        "default_capture": fsum(paper) / len(paper) if paper else None,
        "interaction_rate": asks,
        "mean_asks": asks,
        "dise_plus_all": resolved,
        "commitment": 1.0,
        "intent_resolved": float(asking) if orbits else None,
        "bits_resolved": (fsum(e.h0 for e in items) / n if asking else 0.0) if orbits else None,
    }
