"""The metrics that are a sum over a sum (protocol, section 4), each one function of an episode.

A measure gives what an episode adds to its numerator and to its denominator. An episode on which the measure is not
defined adds (0, 0); that is how AC@1 is over the episodes that asked, and a rate over the episodes that were scored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import fsum, isnan, nan

from fiqkit.metrics.intervals import RESAMPLES, Interval, Nesting, bounded_interval
from fiqkit.metrics.scored import ENUMERATE, Scored
from fiqkit.records import Ending, Outcome
from fiqkit.taxonomy import FORMS

Part = tuple[float, float]
Measure = Callable[[Scored], Part]

NOT_DEFINED: Part = (0.0, 0.0)  # the episode says nothing about the measure
UNKNOWN: Part = (nan, 1.0)  # it does, but what was not recorded: the measure of the whole is then unknown
SCALE_MISSING = "scale_missing"  # a grader's flag: the digits are right, the scale was left out
COMMITTED = frozenset({Outcome.INTENDED, Outcome.DEFAULT, Outcome.OTHER})


def _over_all(value: Callable[[Scored], float]) -> Measure:
    return lambda e: (float(value(e)), 1.0)


# --- answers --------------------------------------------------------------------------------------------------------


def _default_capture(e: Scored) -> Part:
    """Over the paper subset: where the headline itself is intended, the default is no headline (protocol, 10)."""
    return NOT_DEFINED if e.is_default is None or e.headline_intended else (float(e.is_default), 1.0)


def _accuracy_paper(e: Scored) -> Part:
    return NOT_DEFINED if e.headline_intended else (float(bool(e.is_intended)), 1.0)


def _covers_both(e: Scored) -> Part:
    return (float(bool(e.is_intended and e.is_default)), 1.0) if e.mode == ENUMERATE else NOT_DEFINED


def _both_mentioned(e: Scored) -> Part:
    return UNKNOWN if e.named_golds is None else (float({"intended", "default"} <= {*e.named_golds}), 1.0)


def _accuracy_lenient(e: Scored) -> Part:
    return UNKNOWN if e.named_golds is None else (float(bool(e.is_intended) or "intended" in e.named_golds), 1.0)


def _commitment(e: Scored) -> Part:
    if e.ending != Ending.ANSWERED:
        return 0.0, 1.0
    return UNKNOWN if e.outcome is None else (float(e.outcome in COMMITTED), 1.0)


# --- questions, in each form of targeting ---------------------------------------------------------------------------


def _ac1(form: str) -> Measure:
    """The first question targets a true category; over episodes whose first question was judged in this form."""

    def measure(e: Scored) -> Part:
        hit = e.on_category(e.questions[0], form) if e.questions else None
        return NOT_DEFINED if hit is None else (float(hit), 1.0)

    return measure


def _any_category(form: str) -> Measure:
    """Some question targets a true category; an episode without one and with a question unjudged is left out."""

    def measure(e: Scored) -> Part:
        hits = [e.on_category(question, form) for question in e.questions]
        if True in hits:
            return 1.0, 1.0
        return NOT_DEFINED if None in hits or len(hits) < e.n_asks else (0.0, 1.0)

    return measure


def _wrong_category(form: str) -> Measure:
    """Questions that target only categories which are not the instance's, over judged questions."""

    def measure(e: Scored) -> Part:
        judged = [q for q in e.questions if q.targets(form) is not None]
        return sum(1.0 for q in judged if q.targets(form) and not e.on_category(q, form)), float(len(judged))

    return measure


def _generic_ask(form: str) -> Measure:
    """Questions that target none of the five categories, over judged questions."""

    def measure(e: Scored) -> Part:
        judged = [q for q in e.questions if q.targets(form) is not None]
        return sum(1.0 for q in judged if not q.targets(form)), float(len(judged))

    return measure


def _in_every_form(name: str, measure: Callable[[str], Measure]) -> dict[str, Measure]:
    return {f"{name}_{form}": measure(form) for form in FORMS}


# --- what asking costs and brings -----------------------------------------------------------------------------------


def _dise(e: Scored) -> Part:
    return (e.h0 / e.n_asks, 1.0) if e.asked else NOT_DEFINED


def _question_length(e: Scored) -> Part:
    return float(sum(map(len, e.asks))), float(len(e.asks))


def _repeated_asks(e: Scored) -> Part:
    """Questions that say again, letter for letter but case and space, what the episode asked before."""
    said = [" ".join(question.casefold().split()) for question in e.asks]
    return float(len(said) - len(set(said))), float(len(said))


def _asks_per_bit(e: Scored) -> Part:
    return float(e.n_asks), e.h0 if e.is_intended else 0.0


MEASURES: dict[str, Measure] = {
    "accuracy": _over_all(lambda e: bool(e.is_intended)),
    "accuracy_lenient": _accuracy_lenient,
    "both_mentioned": _both_mentioned,
    "accuracy_without_scale_missing": _over_all(lambda e: bool(e.is_intended) and SCALE_MISSING not in e.flags),
    "accuracy_paper_subset": _accuracy_paper,
    "default_capture": _default_capture,
    "covers_both": _covers_both,
    "interaction_rate": _over_all(lambda e: e.asked),
    "mean_asks": _over_all(lambda e: e.n_asks),
    "mean_turns": _over_all(lambda e: e.n_turns),
    "mean_searches": _over_all(lambda e: e.n_searches),
    **_in_every_form("ac1", _ac1),
    **_in_every_form("any_category", _any_category),
    **_in_every_form("wrong_category", _wrong_category),
    **_in_every_form("generic_ask", _generic_ask),
    "any_category": _any_category("touch"),
    "wrong_category": _wrong_category("touch"),
    "generic_ask": _generic_ask("touch"),
    "dise": _dise,
    "dise_plus_all": _over_all(lambda e: e.dise_plus),
    "dise_plus_interact": _over_all(lambda e: e.dise_plus if e.asked else 0.0),
    "commitment": _commitment,
    "question_length": _question_length,
    "repeated_asks": _repeated_asks,
    "asks_per_bit": _asks_per_bit,
}
COUNTS = ("mean_asks", "mean_turns", "mean_searches", "question_length", "asks_per_bit")  # no bound of their own
BITS = ("dise", "dise_plus_all", "dise_plus_interact")  # between 0 and the largest prior entropy


def parts(name: str, episodes: Sequence[Scored]) -> list[Part]:
    """What each episode that counts adds to a measure."""
    return [MEASURES[name](e) for e in episodes if e.counts]


def estimate(name: str, episodes: Sequence[Scored]) -> float | None:
    """A measure over episodes that count; None where it is defined on none of them, or unknown."""
    return ratio(parts(name, episodes))


def ratio(found: Sequence[Part]) -> float | None:
    """Sum over sum, the same to the last digit in whatever order the parts come."""
    total = fsum(part[1] for part in found)
    value = fsum(part[0] for part in found) / total if total else nan
    return None if isnan(value) else value


def highest(name: str, episodes: Sequence[Scored]) -> float:
    """The largest value that a measure could take on these episodes: 1 for a share, the entropy for bits resolved.

    A count has no bound that an episode knows of; the largest one seen stands in for it.
    """
    if name in BITS:
        return max((e.h0 for e in episodes if e.counts), default=0.0)
    if name in COUNTS:
        return max((top / bottom for top, bottom in parts(name, episodes) if bottom), default=0.0)
    return 1.0


def nesting(episodes: Sequence[Scored]) -> Nesting | None:
    """Company, item and sample of episodes; None where every item has one episode, which then is a unit of its own."""
    if len({e.record for e in episodes}) == len(episodes):
        return None
    return Nesting.of([e.cluster for e in episodes], [e.record for e in episodes], range(len(episodes)))


def interval(
    name: str, episodes: Sequence[Scored], *, by_company: bool = False, resamples: int = RESAMPLES, seed: int = 0
) -> Interval | None:
    """95% interval of a measure that has bounds.

    Over instances: exact for a share. Where items have several samples, company, item and sample are drawn one within
    the other; with `by_company`, companies are the units whatever the number of samples.
    """
    counted = [e for e in episodes if e.counts]
    found = parts(name, counted)
    if any(isnan(part[0]) for part in found):
        return None
    units = Nesting.of([e.cluster for e in counted]) if by_company and counted else nesting(counted)
    numerators, denominators = zip(*found, strict=True) if found else ((), ())
    top = highest(name, counted)
    return bounded_interval(numerators, denominators, 0.0, top, nesting=units, resamples=resamples, seed=seed)
