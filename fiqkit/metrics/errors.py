"""Why episodes went wrong: the error taxonomy E1 to E7 (protocol, sections 4 and 8), under each form of targeting."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from fiqkit.metrics.scored import Scored
from fiqkit.taxonomy import FORMS

TEMPLATE_ORACLE = "template-oracle"
ERRORS = {
    "E1": "asked nothing, searched nothing, wrong",
    "E2": "asked about a wrong category",
    "E3": "asked generically",
    "E4": "searched, never asked, wrong",
    "E5": "asked on a true category, still wrong",
    "unjudged": "asked, but no judge read the questions",
}
LITTLE_RESOLVED = 0.5  # bits a question, below which a right answer is E7


def primary_error(e: Scored, form: str = "touch", *, first_only: bool = False) -> str | None:
    """The one error label of a wrong episode; None for a right one, and for one that does not count.

    Args:
        form: how a question must target a category (`taxonomy.FORMS`).
        first_only: let the first question decide, as the paper's error figure does, not any of them.
    """
    if not e.counts or e.is_intended:
        return None
    if not e.asked:
        return "E4" if e.n_searches else "E1"
    judged = [q for q in e.questions[: 1 if first_only else None] if q.targets(form) is not None]
    if any(e.on_category(q, form) for q in judged):
        return "E5"
    if any(q.targets(form) for q in judged):
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


def error_budget(
    episodes: Sequence[Scored],
    by_template: Collection[tuple[str, ...]] = (),
    form: str = "touch",
    *,
    first_only: bool = False,
) -> dict[str, float]:
    """Shares of the episodes that count: `right` and the primary labels add up to 1; E6 and E7 are flags beside."""
    counted = [e for e in episodes if e.counts]
    labels = Counter(primary_error(e, form, first_only=first_only) or "right" for e in counted)
    flags = Counter(flag for e in counted for flag in error_flags(e, by_template))
    total = max(len(counted), 1)
    return {name: (labels | flags)[name] / total for name in ("right", *ERRORS, "E6", "E7")}


def known_forms(episodes: Iterable[Scored]) -> tuple[str, ...]:
    """The forms of targeting that the judge told of at least one question; all of them where nobody asked."""
    questions = [q for e in episodes for q in e.questions]
    known = tuple(form for form in FORMS if any(q.targets(form) is not None for q in questions))
    return known or FORMS


def error_numbers(episodes: Sequence[Scored], by_template: Collection[tuple[str, ...]] = ()) -> dict[str, Any]:
    """The budgets of a row: {"errors", "errors_form", "errors_by_form", "errors_first_question"}.

    `errors` is the budget by touch, or by the form that `errors_form` names where the judge did not tell what a
    question touches. The other two have one budget a form; the last lets the first question alone decide.
    """
    known = known_forms(episodes)
    form = "touch" if "touch" in known else known[0]
    return {
        "errors": error_budget(episodes, by_template, form),
        "errors_form": form,
        "errors_by_form": {form: error_budget(episodes, by_template, form) for form in known},
        "errors_first_question": {form: error_budget(episodes, by_template, form, first_only=True) for form in known},
    }
