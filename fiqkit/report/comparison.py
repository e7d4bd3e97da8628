"""Two sides of a store, RUN:MODEL:MODE each, compared instance by instance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fiqkit.errors import UserError
from fiqkit.metrics.compare import compare
from fiqkit.metrics.scored import Scored
from fiqkit.report.terminal import number, p_value, percent
from fiqkit.store.load import load_scored
from fiqkit.store.store import Store

_RATES = ("accuracy", "default_capture", "interaction_rate", "ac1_touch")


def compare_sides(
    store: Store, first: str, second: str, grader: str | None = None, judge: str | None = None, *, seed: int = 0
) -> dict[str, Any]:
    """`fiqkit.metrics.compare.compare` of two sides, with their names.

    Raises:
        UserError: a side that is not RUN:MODEL:MODE or has no episodes, or sides without a common instance.
    """
    sides = [_side(store, text, grader, judge) for text in (first, second)]
    result = compare(*sides, seed=seed)
    if not result["n"]:
        raise UserError(f"{first} and {second} have no scored instance in common; compare runs over the same instances")
    names = [{"run": e.run, "model": e.model, "mode": e.mode, "grader": e.grader} for e in (side[0] for side in sides)]
    return {"first": names[0], "second": names[1], **result}


def _side(store: Store, text: str, grader: str | None, judge: str | None) -> list[Scored]:
    run, _, rest = text.partition(":")
    model, _, mode = rest.rpartition(":")  # a model's name may hold a colon
    if not (run and model and mode):
        raise UserError(f"{text!r} is not RUN:MODEL:MODE, such as last:smollm2-135m:search")
    episodes = load_scored(store, [run], grader, judge)
    found = [e for e in episodes if (e.model, e.mode) == (model, mode)]
    if not found:
        there = ", ".join(dict.fromkeys(f"{e.model}:{e.mode}" for e in episodes)) or "none"
        raise UserError(f"{store.path}: run {run} has no episodes of {model}:{mode}; it has {there}")
    return found


def comparison_lines(result: Mapping[str, Any]) -> list[str]:
    """For a person to read."""
    first, second = (":".join(result[side][part] for part in ("run", "model", "mode")) for side in ("first", "second"))
    lines = [f"first   {first}", f"second  {second}", f"over {result['n']} instances that both were scored on", ""]
    lines.append(f"{'':16} {'first':>8} {'second':>8} {'change':>8}  95% interval         p")
    lines += [_line(name, found) for name, found in result["measures"].items()]
    return [
        *lines,
        "",
        f"accuracy: {result['gained']} gained, {result['lost']} lost, exact McNemar p {p_value(result['p_mcnemar'])}; "
        f"companies resampled whole ({result['clusters']}): "
        f"[{_points(result['clustered_ci'][0])}, {_points(result['clustered_ci'][1])}], "
        f"p {p_value(result['clustered_p'])}",
        f"with so many discordant pairs, {result['n']} instances can detect "
        f"{percent(result['smallest_detectable'])} points (level .05, power .8)",
    ]


def _points(value: float) -> str:
    return f"{100 * value:+.1f}"


def _line(name: str, found: Mapping[str, Any]) -> str:
    as_rate = name in _RATES
    show = percent if as_rate else number
    change = [_points(v) if as_rate else f"{v:+.2f}" for v in (found["difference"], *found["ci"])]
    label = name.replace("_", " ")
    return (
        f"{label:16} {show(found['first']):>8} {show(found['second']):>8} {change[0]:>8}  "
        f"{f'[{change[1]}, {change[2]}]':18} {p_value(found['p']):>6}"
    )
