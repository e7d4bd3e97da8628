"""The `rules` grader: what a final answer amounts to, decided by code alone (protocol, sections 4 and 8)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from fiqkit.records import Grade, Outcome
from fiqkit.roles.grader.claims import Claim
from fiqkit.roles.grader.commitment import read_commitment
from fiqkit.roles.interfaces import Gold
from fiqkit.values import Period, Value, find, find_periods, same, same_digits

TOLERANCE = 0.01
LONGEST_ANSWER = 20_000  # characters; no committed answer is that long, and reading one could take over a second
SCALE_MISSING = "scale_missing"

_DECLINE = re.compile(r"declin|decreas|drop|\bfall|reduction|下降|降幅|减少|下滑|跌幅|降低", re.IGNORECASE)


class RulesGrader:
    """Grades by the written rules; equal committed values and equal golds always give equal outcomes."""

    name = "rules"

    async def grade(self, question: str, intended: Gold, default: Gold, answer: str | None, language: str) -> Grade:
        """See `grade_answer`."""
        return grade_answer(question, intended, default, answer, language)

    def describe(self) -> Mapping[str, Any]:
        """What the run's manifest records."""
        return {"name": self.name, "tolerance": TOLERANCE}


@dataclass(frozen=True, slots=True)
class _Target:
    """A gold value with the period of its reading."""

    value: Value
    period: Period | None


def grade_answer(question: str, intended: Gold, default: Gold, answer: str | None, language: str) -> Grade:
    """One outcome for one final answer.

    First the value that the answer commits to is read without a look at which gold it meets; then it is held against
    both: within 1% relative, unit, scale and currency normalised, no conflict of stated periods.

    Args:
        intended, default: the two golds, each with its reading; a reading that names a year fixes it.
        answer: the final answer, None or "" for none.
        language: of the instance, "en" or "zh".

    Returns:
        A grade whose `why` holds the value taken, the golds and the rule. `Outcome.UNSCORED` when a gold is no value.
    """
    targets = [_target(gold) for gold in (intended, default)]
    if None in targets:
        return Grade(Outcome.UNSCORED, why=f"no value in the gold {intended.answer!r} or {default.answer!r}")
    wanted, other = (target for target in targets if target)
    if answer and len(answer) > LONGEST_ANSWER:
        return Grade(Outcome.UNSCORED, why=f"answer of {len(answer)} characters; {LONGEST_ANSWER} are read at most")
    said = read_commitment(answer, lambda value: _misfit(value, wanted.value), question)
    if said.claim is None:
        return Grade(said.outcome or Outcome.REFUSAL, why=f"{said.rule}; golds {intended.answer} / {default.answer}")
    outcome, flags, rule = settle(said.claim, wanted, other, question)
    unmet = {Outcome.INTENDED: other, Outcome.DEFAULT: wanted}.get(outcome)
    also = unmet is not None and any(_equal(v, unmet.value, question) for v in said.mentioned)
    taken = said.claim.value.text
    why = f"took {taken} ({said.rule}); golds {intended.answer} / {default.answer}; {rule}"
    return Grade(outcome, value=taken, also=also, flags=flags, why=why)


def settle(claim: Claim, intended: _Target, default: _Target, question: str) -> tuple[Outcome, tuple[str, ...], str]:
    """Outcome, flags and rule of a committed value held against both golds, the intended one first."""
    missed = "equals neither"
    for outcome, target in ((Outcome.INTENDED, intended), (Outcome.DEFAULT, default)):
        exact = _equal(claim.value, target.value, question)
        if not exact and not same_digits(claim.value, target.value, TOLERANCE):
            continue
        if claim.period and target.period and claim.period.conflicts(target.period):
            missed = f"equals the {outcome} answer, but for {claim.period.text}, not {target.period.text}"
            continue
        return outcome, () if exact else (SCALE_MISSING,), f"equals the {outcome} answer"
    return Outcome.OTHER, (), missed


@lru_cache(4096)  # a run grades against the same golds in every mode and for every model
def _target(gold: Gold) -> _Target | None:
    values = find(gold.answer)
    return _Target(values[0], _reading_period(gold.interpretation.period)) if values else None


def _reading_period(text: str | None) -> Period | None:
    """The period of a reading, all its names together; what it is compared with is left out."""
    named = [period for period in find_periods(text or "") if not period.compared]
    if not named:
        return None
    years = frozenset().union(*(period.years for period in named))
    part = next((p.part for p in named if p.is_partial), None) or next((p.part for p in named if p.part), None)
    return replace(named[0], years=years, part=part or "FY", text=text or "")


def _misfit(value: Value, gold: Value) -> int:
    """How ill a value suits the unit that is asked for: 0 the same kind, 1 a bare number, 2 another unit."""
    if gold.kind == "plain":
        return 0
    amounts = ("currency", "per_share")
    if value.kind == gold.kind or (value.kind in amounts and gold.kind in amounts):
        return 2 if value.currency and gold.currency and value.currency != gold.currency else 0
    return 1 if value.kind == "plain" else 3


def _equal(value: Value, gold: Value, question: str) -> bool:
    if same(value, gold, TOLERANCE):
        return True
    # "42.29%" to a question for a decline rate: the question carries the sign.
    turned = gold.kind == "percent" and bool(_DECLINE.search(question))
    return turned and same(replace(value, number=-value.number), gold, TOLERANCE)
