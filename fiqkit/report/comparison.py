"""Two sides of a store, RUN:MODEL:MODE or RUN:MODEL:MODE@RETRIEVAL each, compared item by item."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fiqkit.errors import UserError
from fiqkit.metrics.compare import compare
from fiqkit.metrics.measures import BITS, COUNTS
from fiqkit.metrics.orbits import orbit_numbers
from fiqkit.metrics.scored import Scored
from fiqkit.metrics.significance import FEW_CLUSTERS
from fiqkit.report.numbers import number, p_value, percent, percent_interval, points
from fiqkit.store.load import load_scored
from fiqkit.store.store import Store
from fiqkit.taxonomy import UNCONSTRAINED

_NAMES = ("run", "model", "mode", "grader")
_ORBITS = ("orbits", "intent_resolved", "intent_resolved_ci", "bits_resolved", "bits_resolved_ci")


def compare_sides(
    store: Store, first: str, second: str, grader: str | None = None, judge: str | None = None, *, seed: int = 0
) -> dict[str, Any]:
    """`fiqkit.metrics.compare.compare` of two sides, with their names.

    Raises:
        UserError: a side that is not RUN:MODEL:MODE, has no episodes or those of several retrievals; sides of two
            graders, or without a common item.
    """
    one, two = (side_of(store, text, grader, judge) for text in (first, second))
    graders = [side[0].grader for side in (one, two)]
    if graders[0] != graders[1]:
        raise UserError(
            f"{first} is graded by {graders[0]} and {second} by {graders[1]}; their difference would be the graders'. "
            f"Name one for both with --grader, after fiqkit grade --grader {graders[1]} {one[0].run}"
        )
    result = compare(one, two, seed=seed)
    if not result["n"]:
        raise UserError(f"{first} and {second} have no scored item in common; compare runs over the same instances")
    return {
        "first": {name: getattr(one[0], name) for name in _NAMES},
        "second": {name: getattr(two[0], name) for name in _NAMES},
        "retrieval": [one[0].retrieval, two[0].retrieval],
        **result,
        "orbits": [{name: orbit_numbers(side, seed=seed)[name] for name in _ORBITS} for side in (one, two)],
        "notes": _notes(one, two, result),
    }


def side_of(store: Store, text: str, grader: str | None = None, judge: str | None = None) -> list[Scored]:
    """The episodes that RUN:MODEL:MODE means.

    Raises:
        UserError: not of that form, or there are none; says which there are.
    """
    run, _, rest = text.partition(":")
    model, _, place = rest.rpartition(":")  # a model's name may hold a colon, and an @
    mode, _, retrieval = place.partition("@")
    if not (run and model and mode):
        raise UserError(f"{text!r} is not RUN:MODEL:MODE, such as last:smollm2-135m:search, or …:search@own")
    episodes = load_scored(store, [run], grader, judge)
    found = [e for e in episodes if (e.model, e.mode) == (model, mode) and retrieval in ("", e.retrieval)]
    if not found:
        names = (f"{e.model}:{e.mode}{f'@{e.retrieval}' if retrieval else ''}" for e in episodes)
        there = ", ".join(dict.fromkeys(names)) or "none"
        raise UserError(f"{store.path}: run {run} has no episodes of {model}:{place}; it has {there}")
    several = sorted({e.retrieval for e in found})
    if len(several) > 1:
        choice = " or ".join(f"{model}:{mode}@{name}" for name in several)
        raise UserError(f"{text}: these episodes differ in what a search returned; name {choice}")
    return found


def _notes(first: Sequence[Scored], second: Sequence[Scored], result: Mapping[str, Any]) -> list[str]:
    """What makes the two sides less alike than they look."""
    said = []
    one, two = ({e.record for e in side} for side in (first, second))
    if first[0].dataset != second[0].dataset:
        other = {key[0] for key in one - two} & {key[0] for key in two - one}
        changed = f"; {len(other)} share an id and differ in the record, and are no pairs" if other else ""
        said.append(
            f"two data sets: {len(one & two)} items are the same record, {len(one - two)} are in the first alone and "
            f"{len(two - one)} in the second{changed}"
        )
    if first[0].retrieval != second[0].retrieval:
        said.append(f"the first searched by {first[0].retrieval}, the second by {second[0].retrieval}")
    free = [any(UNCONSTRAINED in e.flags for e in side) for side in (first, second)]
    if free[0] != free[1]:
        said.append(
            f"the {'first' if free[0] else 'second'} ran unconstrained, the replies of the other were held to a schema"
        )
    if first[0].judge != second[0].judge:
        said.append(f"questions were judged by {first[0].judge} in the first and by {second[0].judge} in the second")
    accuracy, lenient = (result["measures"].get(name) for name in ("accuracy", "accuracy_lenient"))
    if accuracy and lenient and accuracy["difference"] * lenient["difference"] < 0:
        said.append(
            f"the sign depends on answers that name both golds: strict {points(accuracy['difference'])}, lenient "
            f"{points(lenient['difference'])} points"
        )
    if result["few_clusters"]:
        said.append(
            f"{result['clusters']} companies, fewer than {FEW_CLUSTERS}: with whole companies p cannot fall below "
            f"{2 / 2 ** result['clusters']:.3g}"
        )
    return said


def comparison_lines(result: Mapping[str, Any]) -> list[str]:
    """For a person to read."""
    sides = zip(("first", "second"), result["retrieval"], strict=True)
    lines = [
        f"{side:7} {':'.join(result[side][part] for part in ('run', 'model', 'mode'))}@{retrieval}"
        for side, retrieval in sides
    ]
    lines.append(f"over {result['n']} items that both were scored on, graded by {result['first']['grader']}")
    lines += [
        f"{side:7} intent resolved {percent_interval(found['intent_resolved'], found['intent_resolved_ci'])} % and "
        f"{number(found['bits_resolved'])} bits, over {found['orbits']} orbits"
        for side, found in zip(("first", "second"), result["orbits"], strict=True)
        if found["orbits"]
    ]
    lines += ["", f"{'':17} {'first':>7} {'second':>7} {'change':>7}  {'95% interval':15} {'p':>6} {'firms':>6}"]
    lines += [_line(name, found) for name, found in result["measures"].items()]
    low, high = (points(end) for end in result["clustered_ci"])
    detectable = result["smallest_detectable"]
    return [
        *lines,
        "",
        f"accuracy: {result['gained']} gained, {result['lost']} lost, exact McNemar p {p_value(result['p_mcnemar'])}; "
        f"{result['clusters']} companies taken whole: [{low}, {high}], p {p_value(result['clustered_p'])}",
        f"with so many discordant pairs, {result['n']} items can detect {percent(detectable)} points"
        if detectable is not None
        else f"with so many discordant pairs, {result['n']} items can detect no difference: none, by exact McNemar",
        "(level .05, power .8). p: bootstrap; firms: companies' differences with signs flipped",
        *result["notes"],
    ]


def _line(name: str, found: Mapping[str, Any]) -> str:
    plain = name in BITS or name in COUNTS
    show = number if plain else percent
    change = [f"{v:+.2f}" if plain else points(v) for v in (found["difference"], *found["ci"])]
    return (
        f"{name.replace('_', ' '):17} {show(found['first']):>7} {show(found['second']):>7} {change[0]:>7}  "
        f"{f'[{change[1]}, {change[2]}]':15} {p_value(found['p']):>6} {p_value(found['p_clustered']):>6}"
    )
