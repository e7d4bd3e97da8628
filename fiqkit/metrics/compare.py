"""Two sets of episodes on the same instances: paired differences with interval and p."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations, pairwise
from typing import Any

from fiqkit.metrics.bootstrap import PAIRED_RESAMPLES, Difference, paired_difference
from fiqkit.metrics.measures import MEASURES
from fiqkit.metrics.scored import Scored
from fiqkit.metrics.significance import exact_mcnemar, holm, smallest_difference
from fiqkit.metrics.table import group

COMPARED = ("accuracy", "default_capture", "interaction_rate", "mean_asks", "dise_plus_all", "ac1_touch")
LADDER = ("answer", "search", "interact")  # each primary mode is held against the one before it

Pair = tuple[Scored, Scored]


def pair(first: Iterable[Scored], second: Iterable[Scored]) -> list[Pair]:
    """Episodes on the same item and sample, where both count; in the order of the first."""
    other = {e.key: e for e in second if e.counts}
    return [(e, other[e.key]) for e in first if e.counts and e.key in other]


def compare(
    first: Sequence[Scored], second: Sequence[Scored], *, resamples: int = PAIRED_RESAMPLES, seed: int = 0
) -> dict[str, Any]:
    """Every compared measure of the second side minus the first, over the instances that both have; JSON-ready.

    A measure's pairs are those on which it is defined for both sides. `accuracy` also has the exact McNemar test, the
    interval with companies resampled whole, and the smallest difference that so many pairs can detect.
    """
    pairs = pair(first, second)
    measures = {}
    for name in COMPARED:
        found = _difference(name, pairs, clustered=False, resamples=resamples, seed=seed)
        if found:
            measures[name] = found
    return {"n": len(pairs), "measures": measures} | (_accuracy(pairs, resamples, seed) if pairs else {})


def _difference(
    name: str, pairs: Sequence[Pair], *, clustered: bool, resamples: int, seed: int
) -> dict[str, Any] | None:
    parts = [(MEASURES[name](a), MEASURES[name](b), a.cluster) for a, b in pairs]
    defined = [(a[0], b[0], cluster) for a, b, cluster in parts if a[1] and b[1]]
    if not defined:
        return None
    before, after, clusters = zip(*defined, strict=True)
    result: Difference = paired_difference(
        before, after, clusters=clusters if clustered else None, resamples=resamples, seed=seed
    )
    return {
        "n": len(defined),
        "first": sum(before) / len(before),
        "second": sum(after) / len(after),
        "difference": result.estimate,
        "ci": result.interval,
        "p": result.p,
    }


def _accuracy(pairs: Sequence[Pair], resamples: int, seed: int) -> dict[str, Any]:
    gained = sum(bool(b.is_intended) and not a.is_intended for a, b in pairs)
    lost = sum(bool(a.is_intended) and not b.is_intended for a, b in pairs)
    clustered = _difference("accuracy", pairs, clustered=True, resamples=resamples, seed=seed)
    assert clustered is not None
    return {
        "gained": gained,
        "lost": lost,
        "p_mcnemar": exact_mcnemar(gained, lost),
        "clusters": len({a.cluster for a, _ in pairs}),
        "clustered_ci": clustered["ci"],
        "clustered_p": clustered["p"],
        "smallest_detectable": smallest_difference(len(pairs), (gained + lost) / len(pairs)),
    }


def table_comparisons(episodes: Iterable[Scored], *, seed: int = 0) -> list[dict[str, Any]]:
    """The accuracy comparisons that a main table invites, with p corrected by Holm over all of them.

    They are: each primary mode against the one before it, within a run and model; and each pair of models in the
    mode `interact` of the same grader.
    """
    groups = group(episodes, lambda e: (e.grader, e.run, e.model, e.mode))
    found = []
    for grader, run, model in dict.fromkeys(key[:3] for key in groups):
        ladder = [mode for mode in LADDER if (grader, run, model, mode) in groups]
        for before, after in pairwise(ladder):
            sides = (grader, run, model, before), (grader, run, model, after)
            found.append(_entry(groups[sides[0]], groups[sides[1]], seed))
    asking = [key for key in groups if key[3] == LADDER[-1]]
    for one, two in combinations(asking, 2):
        if one[0] == two[0] and one[2] != two[2]:
            found.append(_entry(groups[one], groups[two], seed))
    found = [entry for entry in found if entry["n"]]
    for entry, adjusted in zip(found, holm([entry["p"] for entry in found]), strict=True):
        entry["p_holm"] = adjusted
    return found


def _entry(first: Sequence[Scored], second: Sequence[Scored], seed: int) -> dict[str, Any]:
    pairs = pair(first, second)
    names = {
        side: {"run": e.run, "model": e.model, "mode": e.mode}
        for side, e in (("first", first[0]), ("second", second[0]))
    }
    if not pairs:
        return {"n": 0}
    numbers = _difference("accuracy", pairs, clustered=False, resamples=PAIRED_RESAMPLES, seed=seed)
    assert numbers is not None
    extra = _accuracy(pairs, PAIRED_RESAMPLES, seed)
    return {**names, "n": len(pairs), **{k: v for k, v in numbers.items() if k in ("difference", "ci", "p")}, **extra}
