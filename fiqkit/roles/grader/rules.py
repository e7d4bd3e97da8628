"""The `rules` grader: what a final answer amounts to, decided by code alone (protocol, sections 4 and 8)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from fiqkit.records import Grade, Outcome
from fiqkit.roles.grader.claims import Claim
from fiqkit.roles.grader.commitment import Asked, read_commitment
from fiqkit.roles.interfaces import Gold
from fiqkit.values import Period, Value, find, find_periods, same, same_digits, stated_scale

TOLERANCE = 0.01
LONGEST_ANSWER = 20_000  # characters; no committed answer is that long, and reading one could take over a second
SCALE_MISSING = "scale_missing"

_PER_SHARE = re.compile(r"\bEPS\b|\bper\s+(?:\w+\s+){0,2}(?:share|ADS)\b|每股", re.IGNORECASE)
_RISE = re.compile(r"\b(?:rose|rise|grew|increas|up\b|gain|climb|jump)|增长|增加|上升|提高", re.IGNORECASE)
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

    name: Outcome
    value: Value
    bare: Value  # as written, where the question says in which multiple it wants the amount
    period: Period | None


def grade_answer(question: str, intended: Gold, default: Gold, answer: str | None, language: str) -> Grade:
    """One outcome for one final answer.

    First the value that the answer commits to is read, by rules that treat both golds alike; then it is held against
    them: within 1% relative, unit, scale and currency normalised, no conflict of stated periods. Golds that change
    places change the outcome's name and nothing else.

    Args:
        intended, default: the two golds, each with its reading; a reading that names a year fixes it.
        answer: the final answer, None or "" for none.
        language: of the instance, "en" or "zh".

    Returns:
        A grade whose `why` holds the value taken, the golds and the rule. `Outcome.UNSCORED` when a gold is no value.
    """
    scale = stated_scale(question)
    found = (_target(intended, Outcome.INTENDED, scale), _target(default, Outcome.DEFAULT, scale))
    targets = tuple(target for target in found if target)
    if len(targets) < len(found):
        return Grade(Outcome.UNSCORED, why=f"no value in the gold {intended.answer!r} or {default.answer!r}")
    if answer and len(answer) > LONGEST_ANSWER:
        return Grade(Outcome.UNSCORED, why=f"answer of {len(answer)} characters; {LONGEST_ANSWER} are read at most")

    def golds(value: Value) -> frozenset[str]:
        return frozenset(target.name for target in targets if _is_named(value, target, question))

    by_share = bool(_PER_SHARE.search(question))
    asked = Asked(question, lambda value: _misfit(value, [target.value for target in targets], by_share), golds)
    said = read_commitment(answer, asked)
    named = frozenset().union(*(golds(value) for value in said.mentioned))
    also = tuple(target.name.value for target in targets if target.name in named)
    if said.claim is None:
        why = f"{said.rule}; golds {intended.answer} / {default.answer}"
        return Grade(said.outcome or Outcome.REFUSAL, also=also, why=why)
    outcome, flags, rule = settle(said.claim, targets, question)
    taken = said.claim.value.text
    why = f"took {taken} ({said.rule}); golds {intended.answer} / {default.answer}; {rule}"
    return Grade(outcome, value=taken, also=also, flags=flags, why=why)


def settle(claim: Claim, targets: Sequence[_Target], question: str) -> tuple[Outcome, tuple[str, ...], str]:
    """Outcome, flags and rule of a committed value held against the golds; of two that it equals the nearer one."""
    missed = "equals neither"
    met: list[tuple[bool, float, _Target]] = []
    direction = "" if _RISE.search(claim.before) else question
    for target in targets:
        exact = _equal(claim.value, target, direction)
        if not exact and not same_digits(claim.value, target.value, TOLERANCE):
            continue
        if claim.period and target.period and claim.period.conflicts(target.period):
            missed = f"equals the {target.name} answer, but for {claim.period.text}, not {target.period.text}"
            continue
        met.append((not exact, abs(abs(claim.value.number) - abs(target.value.number)), target))
    if not met:
        return Outcome.OTHER, (), missed
    inexact, _, target = min(met, key=lambda each: each[:2])
    return target.name, (SCALE_MISSING,) if inexact else (), f"equals the {target.name} answer"


@lru_cache(4096)  # a run grades against the same golds in every mode and for every model
def _target(gold: Gold, name: Outcome, scale: float) -> _Target | None:
    values = find(gold.answer)
    if not values:
        return None
    bare = value = values[0]
    if bare.scale == 1 and bare.kind in ("plain", "currency"):
        value = replace(bare, number=bare.number * scale, scale=scale, step=bare.step * scale)
    return _Target(name, value, bare, _reading_period(gold.interpretation.period))


def _reading_period(text: str | None) -> Period | None:
    """The period of a reading, all its names together; what it is compared with is left out."""
    named = [period for period in find_periods(text or "") if not period.compared]
    if not named:
        return None
    years = frozenset().union(*(period.years for period in named))
    part = next((p.part for p in named if p.is_partial), None) or next((p.part for p in named if p.part), None)
    return replace(named[0], years=years, part=part or "FY", text=text or "")


def _misfit(value: Value, golds: Sequence[Value], by_share: bool) -> int | None:
    """How ill a value suits the unit that is asked for: 0 the same kind, 1 a bare number, 2 or 3 another unit.

    None for a count of things where no count is asked for: it is no reply. Millions are no amount per share.
    """
    ranks = [rank for gold in golds if (rank := _misfit_of(value, gold)) is not None]
    return max(min(ranks), 2 * (by_share and value.scale > 1)) if ranks else None


def _misfit_of(value: Value, gold: Value) -> int | None:
    if gold.kind == "plain":  # a ratio, a share's par value; millions and "3 segments" only where nothing fits better
        return 2 * (value.kind == "currency" and value.scale > 1) or int(value.kind in ("count", "percent"))
    amounts = ("currency", "per_share")
    if value.kind == gold.kind or (value.kind in amounts and gold.kind in amounts):
        return 2 if value.currency and gold.currency and value.currency != gold.currency else 0
    if value.kind in ("count", "ratio"):
        return None
    if value.kind != "plain":
        return 3
    return 0 if value.scale != 1 and gold.kind == "currency" else 1  # "46.75 billion" only leaves the currency out


def _is_named(value: Value, target: _Target, question: str) -> bool:
    """Whether a value is the gold's, scale left out or not, whatever its period."""
    return _equal(value, target, question) or same_digits(value, target.value, TOLERANCE)


def _equal(value: Value, target: _Target, question: str) -> bool:
    gold = target.value
    if same(value, gold, TOLERANCE) or (value.scale == 1 and same(value, target.bare, TOLERANCE)):
        return True
    # "42.29%" to a question for a decline rate: the question carries the sign.
    turned = gold.kind == "percent" and bool(_DECLINE.search(question))
    return turned and same(replace(value, number=-value.number), gold, TOLERANCE)
