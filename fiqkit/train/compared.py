"""Stages held against each other and against askers that learned nothing, item by item.

A hit is a first question whose most central category is the item's primary one; not asking is a miss. Siblings of an
orbit are asked alike by a greedy policy, so companies are what is exchangeable (`metrics.significance.sign_flip_p`),
and the smallest difference that could be shown counts orbits, not items.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from fiqkit.metrics.scored import Scored
from fiqkit.metrics.significance import sign_flip_p, smallest_difference
from fiqkit.records import Instance
from fiqkit.store.load import load_scored
from fiqkit.store.store import Store
from fiqkit.train.baselines import askers, judged

Values = Mapping[str, float]  # by instance id


def episodes_by_stage(rows: Sequence[Mapping[str, Any]], store: Path) -> dict[str, list[Scored]]:
    """The episodes of each stage's run, in the order of the rows."""
    opened = Store(store)
    try:
        return {str(row["stage"]): load_scored(opened, [row["run"]]) for row in rows}
    finally:
        opened.close()


def comparisons(
    played: Mapping[str, Sequence[Scored]], instances: Sequence[Instance], train: Sequence[Instance]
) -> list[dict[str, Any]]:
    """Each stage against the one before it in targeting and accuracy, and each trained one against the askers."""
    items = {i.instance_id: i for i in instances}
    stages = list(played)
    hit = {stage: hits(played[stage]) for stage in stages}
    found = []
    for first, second in pairwise(stages):
        found.append(compared("primary", first, second, hit[first], hit[second], items))
        found.append(compared("accuracy", first, second, right(played[first]), right(played[second]), items))
    for name, asker in askers(train, instances).items():
        theirs = {key: float(judged(asker[key]).central == items[key].primary) for key in items}
        found += [compared("primary", name, s, theirs, hit[s], items) for s in stages if s != "base"]
    return found


def asked(episodes: Sequence[Scored]) -> Values:
    """Which items were asked about."""
    return {e.instance_id: float(e.asked) for e in episodes if e.counts}


def hits(episodes: Sequence[Scored]) -> Values:
    """The first questions whose most central category is the item's primary one."""
    return {
        e.instance_id: float(bool(e.questions) and e.questions[0].central == e.primary) for e in episodes if e.counts
    }


def right(episodes: Sequence[Scored]) -> Values:
    """The items that were answered as intended."""
    return {e.instance_id: float(bool(e.is_intended)) for e in episodes if e.counts}


def compared(
    measure: str, first: str, second: str, one: Values, other: Values, items: Mapping[str, Instance]
) -> dict[str, Any]:
    """Two sides of one measure, paired.

    Args:
        measure: "asked", "primary" (hits), "accuracy", or "intent", which is no share.
        one, other: values by item, or by orbit; what only one of them has is left out.
        items: an instance of each.

    Returns:
        measure, first, second, n pairs, difference (second − first), p, and `smallest`: the difference that so many
        orbits show with a power of .8 at .05 given the discordance met, None where no such difference exists, or of
        what is no share.
    """
    both = sorted(one.keys() & other.keys())
    differences = [other[key] - one[key] for key in both]
    n = len(both)
    units = n if measure == "accuracy" else len({items[key].orbit or key for key in both})
    discordant = sum(d != 0 for d in differences) / n if n else 0.0
    return {
        "measure": measure,
        "first": first,
        "second": second,
        "n": n,
        "difference": sum(differences) / n if n else None,
        "p": sign_flip_p(differences, [items[key].cluster for key in both]) if n else None,
        "smallest": None if measure == "intent" else smallest_difference(units, discordant),
    }
