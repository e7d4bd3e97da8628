"""What a model's numbers say about where it fails (protocol, section 8), each finding with its n and interval."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from fiqkit.metrics.compare import compare
from fiqkit.metrics.errors import TEMPLATE_ORACLE, known_forms
from fiqkit.metrics.measures import estimate, interval
from fiqkit.metrics.scored import Scored, group

LOW, HIGH = 0.3, 0.5
FEW = 20  # episodes, under which nothing is said
_BETWEEN = {
    "always-ask": ("E1", "it has the capacity but does not notice when to ask"),
    TEMPLATE_ORACLE: ("E2 / E3", "it does not know what to ask"),
    "category-oracle": ("E2", "it does not recognise the category"),
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the diagnosis.

    Attributes:
        points_at: the error that it points at, or "too few".
        grounds: the numbers behind it, with intervals.
        form: the form of targeting that it was read under; None where it does not hang on targeting.
        n: episodes or pairs behind it.
    """

    points_at: str
    grounds: str
    form: str | None = None
    n: int = 0


def diagnose(episodes: Iterable[Scored], *, mode: str = "interact", seed: int = 0) -> list[Finding]:
    """Findings about one model; empty when nothing stands out or the mode was not run.

    Below .3 is low, above .5 high; a mode is far above another when the interval of their paired difference is above
    zero. With fewer than 20 episodes, or 20 judged first questions, the only finding is that they are too few.
    """
    modes = group(episodes, lambda e: e.mode)
    asking = [e for e in modes.get(mode, []) if e.counts]
    if not asking:
        return []
    if len(asking) < FEW:
        return [Finding("too few", f"{len(asking)} episodes; under {FEW} nothing is said", n=len(asking))]
    findings = _silent(asking, seed)
    for form in known_forms(asking):
        findings += _by_targeting(asking, form, seed)
    for other, (points_at, meaning) in _BETWEEN.items():
        found = compare(asking, modes.get(other, []), seed=seed)
        gap = found["measures"].get("accuracy")
        if gap and gap["n"] >= FEW and gap["ci"][0] > 0:
            low, high = (100 * end for end in gap["ci"])
            grounds = f"{other} is {100 * gap['difference']:.1f} points [{low:.1f}, {high:.1f}] above {mode}: {meaning}"
            findings.append(Finding(points_at, grounds, n=gap["n"]))
    templated = [e for e in modes.get(TEMPLATE_ORACLE, []) if e.counts]
    if len(templated) >= FEW and (estimate("accuracy", templated) or 0.0) < LOW:
        grounds = f"{TEMPLATE_ORACLE} is still low: {_said('accuracy', templated, seed)}; the reply is not used"
        findings.append(Finding("E6", grounds, n=len(templated)))
    return findings


def depends_on_form(findings: Sequence[Finding], forms: Sequence[str]) -> str | None:
    """One sentence where the forms of targeting point at different errors; None where they agree."""
    by_form = {form: [finding.points_at for finding in findings if finding.form == form] for form in forms}
    if len({tuple(points) for points in by_form.values()}) < 2:
        return None
    said = "; ".join(f"{form} points at {', '.join(points) or 'nothing'}" for form, points in by_form.items())
    return f"the diagnosis depends on what counts as targeting: {said}"


def _silent(episodes: Sequence[Scored], seed: int) -> list[Finding]:
    values = [estimate(name, episodes) for name in ("interaction_rate", "accuracy")]
    if all(value is not None and value < LOW for value in values):
        grounds = ", ".join(_said(name, episodes, seed) for name in ("interaction_rate", "accuracy"))
        return [Finding("E1", grounds, n=len(episodes))]
    return []


def _by_targeting(episodes: Sequence[Scored], form: str, seed: int) -> list[Finding]:
    """Findings from one form's own numbers, over the episodes whose first question was judged in it."""
    judged = [e for e in episodes if e.questions and e.questions[0].targets(form) is not None]
    if not judged:
        return []
    if len(judged) < FEW:
        said = f"{len(judged)} judged first questions; under {FEW} nothing is said"
        return [Finding("too few", said, form, len(judged))]
    on, generic, wrong = (f"{name}_{form}" for name in ("ac1", "generic_ask", "wrong_category"))
    value: dict[str, Any] = {
        name: estimate(name, episodes) for name in (on, generic, wrong, "interaction_rate", "accuracy")
    }
    rules = (
        (value["interaction_rate"] > HIGH and value[on] < LOW, "E2 / E3", ("interaction_rate", on)),
        (value[on] > HIGH and value["accuracy"] < LOW, "E5 / E6", (on, "accuracy")),
        (value[generic] > HIGH, "E3", (generic,)),
        (value[wrong] > HIGH, "E2", (wrong,)),
    )
    return [
        Finding(points_at, ", ".join(_said(name, episodes, seed) for name in grounds), form, len(judged))
        for holds, points_at, grounds in rules
        if holds
    ]


def _said(name: str, episodes: Sequence[Scored], seed: int) -> str:
    """A measure with its interval: "ac1 touch .16 [.11, .23]"."""
    ends = interval(name, episodes, seed=seed)
    shown = f"{estimate(name, episodes):.2f}" + (f" [{ends[0]:.2f}, {ends[1]:.2f}]" if ends else "")
    return f"{name.replace('_', ' ')} {shown}"
