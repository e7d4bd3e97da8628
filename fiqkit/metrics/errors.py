"""Why episodes went wrong: the error taxonomy E1 to E7, and what a model's numbers say about it (protocol, 4 and 8)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from fiqkit.metrics.bootstrap import PAIRED_RESAMPLES
from fiqkit.metrics.compare import compare
from fiqkit.metrics.measures import estimate
from fiqkit.metrics.scored import Scored
from fiqkit.metrics.table import group

TEMPLATE_ORACLE = "template-oracle"
ERRORS = {
    "E1": "asked nothing, searched nothing, wrong",
    "E2": "asked about a wrong category",
    "E3": "asked generically",
    "E4": "searched, never asked, wrong",
    "E5": "asked on a true category, still wrong",
    "unjudged": "asked, but no judge read the questions",
}
LOW, HIGH = 0.3, 0.5
LITTLE_RESOLVED = 0.5  # bits a question, below which a right answer is E7


def primary_error(e: Scored) -> str | None:
    """The one error label of a wrong episode; None for a right one, and for one that does not count."""
    if not e.counts or e.is_intended:
        return None
    if not e.asked:
        return "E4" if e.n_searches else "E1"
    judged = [q for q in e.questions if q.central != "unscored"]
    if any(e.on_category(q) for q in judged):
        return "E5"
    if any(q.touched for q in judged):
        return "E2"
    return "E3" if judged else "unjudged"


def answered_by_template(episodes: Iterable[Scored]) -> set[tuple[str, ...]]:
    """(model, instance, record) that came out right in the mode template-oracle: the ground of E6."""
    return {(e.model, *e.record) for e in episodes if e.mode == TEMPLATE_ORACLE and e.counts and e.is_intended}


def error_flags(e: Scored, by_template: Collection[tuple[str, ...]]) -> tuple[str, ...]:
    """E6: wrong, though right once the template question was asked for it. E7: right, with little resolved."""
    if not e.counts:
        return ()
    if not e.is_intended:
        return ("E6",) if e.mode != TEMPLATE_ORACLE and (e.model, *e.record) in by_template else ()
    return ("E7",) if e.dise_plus < LITTLE_RESOLVED else ()


def error_budget(episodes: Sequence[Scored], by_template: Collection[tuple[str, ...]] = ()) -> dict[str, float]:
    """Shares of the episodes that count: `right` and the primary labels add up to 1; E6 and E7 are flags beside."""
    counted = [e for e in episodes if e.counts]
    labels = Counter(primary_error(e) or "right" for e in counted)
    flags = Counter(flag for e in counted for flag in error_flags(e, by_template))
    total = max(len(counted), 1)
    return {name: (labels | flags)[name] / total for name in ("right", *ERRORS, "E6", "E7")}


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the diagnosis: which error it points at, on what grounds."""

    points_at: str
    grounds: str


def diagnose(episodes: Iterable[Scored], *, mode: str = "interact", seed: int = 0) -> list[Finding]:
    """What the numbers of one model say about where it fails; empty when nothing stands out or the mode was not run.

    Below .3 is low, above .5 high; a mode is far above another when the interval of their paired difference is above
    zero.
    """
    modes = group(episodes, lambda e: e.mode)
    asking = modes.get(mode, [])
    findings = [Finding(*found) for found in _by_level(asking)]
    readings = {
        "always-ask": ("E1", "it has the capacity but does not notice when to ask"),
        TEMPLATE_ORACLE: ("E2 / E3", "it does not know what to ask"),
        "category-oracle": ("E2", "it does not recognise the category"),
    }
    for other, (points_at, meaning) in readings.items():
        gap = compare(asking, modes.get(other, []), resamples=PAIRED_RESAMPLES, seed=seed)["measures"].get("accuracy")
        if gap and gap["ci"][0] > 0:
            findings.append(
                Finding(points_at, f"{other} is {100 * gap['difference']:.1f} points above {mode}: {meaning}")
            )
    templated = estimate("accuracy", modes.get(TEMPLATE_ORACLE, []))
    if templated is not None and templated < LOW:
        findings.append(Finding("E6", f"{TEMPLATE_ORACLE} is still low ({templated:.2f}): the reply is not used"))
    return findings


def _by_level(episodes: Sequence[Scored]) -> list[tuple[str, str]]:
    """Findings from the levels of one mode's own numbers."""
    names = ("interaction_rate", "accuracy", "ac1_touch", "generic_ask", "wrong_category")
    value: dict[str, Any] = {name: estimate(name, episodes) for name in names}

    def low(name: str) -> bool:
        return value[name] is not None and value[name] < LOW

    def high(name: str) -> bool:
        return value[name] is not None and value[name] > HIGH

    rules = (
        (low("interaction_rate") and low("accuracy"), "E1", ("interaction_rate", "accuracy")),
        (high("interaction_rate") and low("ac1_touch"), "E2 / E3", ("interaction_rate", "ac1_touch")),
        (high("ac1_touch") and low("accuracy"), "E5 / E6", ("ac1_touch", "accuracy")),
        (high("generic_ask"), "E3", ("generic_ask",)),
        (high("wrong_category"), "E2", ("wrong_category",)),
    )
    return [
        (points_at, ", ".join(f"{name.replace('_', ' ')} {value[name]:.2f}" for name in grounds))
        for holds, points_at, grounds in rules
        if holds
    ]
