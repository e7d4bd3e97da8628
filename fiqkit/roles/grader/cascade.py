"""The grader `cascade`: the rules first, a model only where the rules are unsure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fiqkit import values
from fiqkit.models.engine import Engine, Usage
from fiqkit.records import Grade, Outcome
from fiqkit.roles.grader.llm import LlmGrader
from fiqkit.roles.grader.rules import RulesGrader
from fiqkit.roles.interfaces import Gold

BY_MODEL = "by_model"  # flag of a grade that the model gave

_COMMITTED = (Outcome.INTENDED, Outcome.DEFAULT)


class CascadeGrader:
    """Grades by the rules, and asks the model about answers of which the rules cannot be certain (see `unsure`).

    Where the model gives no verdict either, that of the rules stands, which may be `unscored`.
    """

    def __init__(self, engine: Engine, seed: int = 0) -> None:
        self._rules = RulesGrader()
        self._model = LlmGrader(engine, seed)

    @property
    def name(self) -> str:
        """What the store files its verdicts under."""
        return self._model.giver("cascade")

    @property
    def usage(self) -> Usage:
        """What the model's verdicts took so far."""
        return self._model.usage

    async def grade(self, question: str, intended: Gold, default: Gold, answer: str | None, language: str) -> Grade:
        """One outcome; the flag `by_model` marks those that the model gave."""
        grade = await self._rules.grade(question, intended, default, answer, language)
        if not unsure(grade, intended, default, answer):
            return grade
        second = await self._model.grade(question, intended, default, answer, language)
        if second.outcome == Outcome.UNSCORED:
            return replace(grade, why=f"{grade.why}; unsure, and {second.why}")
        why = f"{second.why}; rules were unsure: {grade.outcome}, {grade.why}"
        return replace(second, flags=(*second.flags, BY_MODEL), why=why)

    def describe(self) -> Mapping[str, Any]:
        """What the run's manifest records."""
        return {"kind": "cascade", "rules": self._rules.describe(), "model": self._model.describe()}


def unsure(grade: Grade, intended: Gold, default: Gold, answer: str | None) -> bool:
    """Whether a verdict of the rules deserves a second opinion.

    It does when there is none, when a gold's value stands in the answer though the rules found no commitment to a gold,
    and when the answer commits to one gold but mentions the other too.
    """
    if grade.outcome in _COMMITTED:
        return len(grade.also) > 1
    mentioned = any(values.mentions(answer or "", gold.answer) for gold in (intended, default))
    return grade.outcome == Outcome.UNSCORED or mentioned
