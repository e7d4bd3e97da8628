"""The metrics that are a sum over a sum (protocol, section 4), each one function of an episode.

A measure gives what an episode adds to its numerator and to its denominator. An episode on which the measure is not
defined adds (0, 0); that is how AC@1 is over the episodes that asked, and a rate over the episodes that were scored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isnan, nan

from fiqkit.metrics.bootstrap import RESAMPLES, ratio_interval
from fiqkit.metrics.scored import ENUMERATE, Scored
from fiqkit.records import Ending, Outcome

Part = tuple[float, float]
Measure = Callable[[Scored], Part]

NOT_DEFINED: Part = (0.0, 0.0)  # the episode says nothing about the measure
UNKNOWN: Part = (nan, 1.0)  # it does, but what was not recorded: the measure of the whole is then unknown
SCALE_MISSING = "scale_missing"  # a grader's flag: the digits are right, the scale was left out
COMMITTED = frozenset({Outcome.INTENDED, Outcome.DEFAULT, Outcome.OTHER})


def _over_all(value: Callable[[Scored], float]) -> Measure:
    return lambda e: (float(value(e)), 1.0)


def _default_capture(e: Scored) -> Part:
    return NOT_DEFINED if e.is_default is None else (float(e.is_default), 1.0)


def _covers_both(e: Scored) -> Part:
    return (float(bool(e.is_intended and e.is_default)), 1.0) if e.mode == ENUMERATE else NOT_DEFINED


def _ac1_touch(e: Scored) -> Part:
    if not e.questions or e.questions[0].central == "unscored":
        return NOT_DEFINED
    return float(e.on_category(e.questions[0])), 1.0


def _ac1_central(e: Scored) -> Part:
    if not e.questions or e.questions[0].central == "unscored":
        return NOT_DEFINED
    return float(e.questions[0].central in e.categories), 1.0


def _any_category(e: Scored) -> Part:
    if e.asked and not e.questions:
        return NOT_DEFINED
    return float(any(e.on_category(q) for q in e.questions)), 1.0


def _wrong_category(e: Scored) -> Part:
    judged = [q for q in e.questions if q.central != "unscored"]
    return sum(1.0 for q in judged if q.touched and not e.on_category(q)), float(len(judged))


def _generic_ask(e: Scored) -> Part:
    judged = [q for q in e.questions if q.central != "unscored"]
    return sum(1.0 for q in judged if not q.touched), float(len(judged))


def _dise(e: Scored) -> Part:
    return (e.h0 / e.n_asks, 1.0) if e.asked else NOT_DEFINED


def _commitment(e: Scored) -> Part:
    if e.ending != Ending.ANSWERED:
        return 0.0, 1.0
    return UNKNOWN if e.outcome is None else (float(e.outcome in COMMITTED), 1.0)


MEASURES: dict[str, Measure] = {
    "accuracy": _over_all(lambda e: bool(e.is_intended)),
    "accuracy_without_scale_missing": _over_all(lambda e: bool(e.is_intended) and SCALE_MISSING not in e.flags),
    "default_capture": _default_capture,
    "covers_both": _covers_both,
    "interaction_rate": _over_all(lambda e: e.asked),
    "mean_asks": _over_all(lambda e: e.n_asks),
    "mean_turns": _over_all(lambda e: e.n_turns),
    "mean_searches": _over_all(lambda e: e.n_searches),
    "ac1_touch": _ac1_touch,
    "ac1_central": _ac1_central,
    "any_category": _any_category,
    "wrong_category": _wrong_category,
    "generic_ask": _generic_ask,
    "dise": _dise,
    "dise_plus_all": _over_all(lambda e: e.dise_plus),
    "dise_plus_interact": _over_all(lambda e: e.dise_plus if e.asked else 0.0),
    "commitment": _commitment,
}


def estimate(name: str, episodes: Sequence[Scored]) -> float | None:
    """A measure over episodes that count; None where it is defined on none of them, or unknown."""
    parts = [MEASURES[name](e) for e in episodes if e.counts]
    total = sum(part[1] for part in parts)
    ratio = sum(part[0] for part in parts) / total if total else nan
    return None if isnan(ratio) else ratio


def interval(
    name: str, episodes: Sequence[Scored], *, by_company: bool = False, resamples: int = RESAMPLES, seed: int = 0
) -> list[float] | None:
    """Bootstrap 95% interval of a measure, over instances or, clustered, over companies."""
    counted = [e for e in episodes if e.counts]
    parts = [MEASURES[name](e) for e in counted]
    if not parts:
        return None
    numerators, denominators = zip(*parts, strict=True)
    clusters = [e.cluster for e in counted] if by_company else None
    return ratio_interval(numerators, denominators, clusters=clusters, resamples=resamples, seed=seed)
