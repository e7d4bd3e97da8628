"""Two sets of episodes on the same items: paired differences with interval and p."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import fsum
from typing import Any

from fiqkit.metrics.bootstrap import RESAMPLES, paired_p
from fiqkit.metrics.intervals import Nesting, bounded_interval
from fiqkit.metrics.measures import MEASURES, highest, ratio
from fiqkit.metrics.scored import Scored, group
from fiqkit.metrics.significance import FEW_CLUSTERS, exact_mcnemar, holm, sign_flip_p, smallest_difference
from fiqkit.taxonomy import FORMS, THINKING, THINKING_OFF

COMPARED = (
    *("accuracy", "accuracy_lenient", "both_mentioned", "default_capture", "interaction_rate", "mean_asks"),
    *("dise_plus_all", *(f"ac1_{form}" for form in FORMS)),
)
LADDER = ("answer", "search", "interact")  # each primary mode is held against the one before it


@dataclass(frozen=True, slots=True)
class Pair:
    """The episodes of both sides on one item: one each, or one a sample."""

    first: list[Scored]
    second: list[Scored]

    @property
    def cluster(self) -> str:
        """The company."""
        return self.first[0].cluster


def pairs_of(first: Iterable[Scored], second: Iterable[Scored]) -> list[Pair]:
    """Items on which both sides count, in the order of their ids."""
    one, two = (group((e for e in side if e.counts), lambda e: e.record) for side in (first, second))
    return [Pair(one[key], two[key]) for key in sorted(one.keys() & two.keys())]


def compare(
    first: Sequence[Scored], second: Sequence[Scored], *, resamples: int = RESAMPLES, seed: int = 0
) -> dict[str, Any]:
    """Every compared measure of the second side minus the first, over the items that both have; JSON-ready.

    An item's value is its mean over samples, and a measure's pairs are those on which it is defined for both sides.
    `accuracy` also has the exact McNemar test, the test and the interval with companies whole, and the smallest
    difference that so many pairs can detect.
    """
    pairs = pairs_of(first, second)
    measures = {}
    for name in COMPARED:
        found = _difference(name, pairs, resamples=resamples, seed=seed)
        if found:
            measures[name] = found
    return {"n": len(pairs), "measures": measures} | (_accuracy(pairs, seed) if pairs else {})


def _values(name: str, pairs: Sequence[Pair]) -> tuple[list[float], list[float], list[str]]:
    """The measure's value of both sides on each item where both have one, and the item's company."""
    before, after, clusters = [], [], []
    for pair in pairs:
        one, two = (ratio([MEASURES[name](e) for e in side]) for side in (pair.first, pair.second))
        if one is not None and two is not None:
            before.append(one)
            after.append(two)
            clusters.append(pair.cluster)
    return before, after, clusters


def _difference(name: str, pairs: Sequence[Pair], *, resamples: int, seed: int) -> dict[str, Any] | None:
    before, after, clusters = _values(name, pairs)
    if not before:
        return None
    changes = [b - a for a, b in zip(before, after, strict=True)]
    bound = highest(name, [e for pair in pairs for e in (*pair.first, *pair.second)])
    return {
        "n": len(before),
        "first": fsum(before) / len(before),
        "second": fsum(after) / len(after),
        "difference": fsum(changes) / len(changes),
        "ci": bounded_interval(changes, [1.0] * len(changes), -bound, bound, seed=seed),
        "p": paired_p(changes, resamples=resamples, seed=seed),
        "p_clustered": sign_flip_p(changes, clusters, seed),
    }


def _accuracy(pairs: Sequence[Pair], seed: int) -> dict[str, Any]:
    before, after, clusters = _values("accuracy", pairs)
    changes = [b - a for a, b in zip(before, after, strict=True)]
    gained, lost = sum(change > 0 for change in changes), sum(change < 0 for change in changes)
    companies = Nesting.of(clusters)
    return {
        "gained": gained,
        "lost": lost,
        "p_mcnemar": exact_mcnemar(gained, lost),
        "clusters": companies.clusters,
        "few_clusters": companies.clusters < FEW_CLUSTERS,
        "clustered_ci": bounded_interval(changes, [1.0] * len(changes), -1.0, 1.0, nesting=companies, seed=seed),
        "clustered_p": sign_flip_p(changes, clusters, seed),
        "smallest_detectable": smallest_difference(len(pairs), (gained + lost) / len(pairs)),
    }


# --- the comparisons that a table invites ---------------------------------------------------------------------------

Side = tuple[str, str, str, str, str]  # grader, run, model, mode, retrieval


def table_comparisons(episodes: Iterable[Scored], *, seed: int = 0) -> list[dict[str, Any]]:
    """The accuracy comparisons that a main table invites, with p corrected by Holm over all of them.

    They are, always of one grader: each primary mode against the one before it; one model with thinking off and on;
    one model and mode in two runs (before and after); two retrievals of one model and mode; and each pair of models in
    the mode `interact`. Holm corrects `clustered_p`, which is exact McNemar where no company repeats.
    """
    groups = group(episodes, lambda e: (e.grader, e.run, e.model, e.mode, e.retrieval))
    found = [
        entry
        for kind, first, second in _invited(sorted(groups, key=lambda side: groups[side][0].place))
        if (entry := _entry(kind, groups[first], groups[second], seed)) is not None
    ]
    for entry, adjusted in zip(found, holm([entry["clustered_p"] for entry in found]), strict=True):
        entry["p_holm"] = adjusted
    return found


def _invited(sides: Sequence[Side]) -> Iterator[tuple[str, Side, Side]]:
    """(what changes, first, second) of every comparison, in the order in which a reader looks for them."""
    for one in dict.fromkeys(_without_mode(side) for side in sides):
        ladder = [side for mode in LADDER for side in sides if side[3] == mode and _without_mode(side) == one]
        yield from (("mode", before, after) for before, after in pairwise(ladder))
    two = [pair for pair in combinations(sides, 2) if pair[0][0] == pair[1][0]]
    for kind, holds in (("thinking", _thinking), ("run", _in_two_runs), ("retrieval", _retrieved), ("model", _models)):
        for pair in two:
            if holds(*pair):
                first, second = sorted(pair, key=lambda side: side[2].endswith(THINKING))  # off before on
                yield kind, first, second


def _without_mode(side: Side) -> tuple[str, ...]:
    return (*side[:3], side[4])


def _differ(one: Side, other: Side) -> set[int]:
    return {at for at, (a, b) in enumerate(zip(one, other, strict=True)) if a != b}


def base_model(name: str) -> str:
    """A model's name without its thinking mark."""
    return name.removesuffix(THINKING_OFF).removesuffix(THINKING)


def _thinking(one: Side, other: Side) -> bool:
    """The same weights in one mode, marked differently."""
    return base_model(one[2]) == base_model(other[2]) and one[2] != other[2] and one[3:] == other[3:]


def _in_two_runs(one: Side, other: Side) -> bool:
    return _differ(one, other) == {1}


def _retrieved(one: Side, other: Side) -> bool:
    return _differ(one, other) == {4}


def _models(one: Side, other: Side) -> bool:
    """Two models, not one with thinking off and on, that may ask."""
    return base_model(one[2]) != base_model(other[2]) and one[3:] == other[3:] and one[3] == LADDER[-1]


def _entry(kind: str, first: Sequence[Scored], second: Sequence[Scored], seed: int) -> dict[str, Any] | None:
    pairs = pairs_of(first, second)
    if not pairs:
        return None
    numbers = _difference("accuracy", pairs, resamples=RESAMPLES, seed=seed)
    lenient = _difference("accuracy_lenient", pairs, resamples=1, seed=seed)
    assert numbers is not None
    return {
        "kind": kind,
        "grader": first[0].grader,
        "first": _side_names(first[0]),
        "second": _side_names(second[0]),
        "n": len(pairs),
        **{name: numbers[name] for name in ("difference", "ci", "p")},
        "difference_lenient": lenient["difference"] if lenient else None,
        **_accuracy(pairs, seed),
    }


def _side_names(e: Scored) -> dict[str, str]:
    """What a side of a comparison is called."""
    return {"run": e.run, "model": e.model, "mode": e.mode, "retrieval": e.retrieval}
