"""A grader played by a model: bounded replies, validated on return, retried once, never guessed."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from typing import Any

from fiqkit.models.engine import Engine, EngineError, Usage
from fiqkit.records import Grade, Interpretation, Outcome
from fiqkit.roles.asking import Asker, NoVerdict, Refused
from fiqkit.roles.draws import seed_of
from fiqkit.roles.interfaces import Gold
from fiqkit.taxonomy import FIELDS

_FIRST, _SECOND = "first", "second"
_VERDICTS = {
    "other": Outcome.OTHER,
    "hedge": Outcome.HEDGE,
    "refusal": Outcome.REFUSAL,
    "question": Outcome.QUESTION,
}
_GRADE_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "value": {"type": "string", "maxLength": 60},
        "verdict": {"enum": [_FIRST, _SECOND, *_VERDICTS]},
        "named": {"type": "array", "items": {"enum": [_FIRST, _SECOND]}, "maxItems": 2},
    },
    "required": ["value", "verdict", "named"],
    "additionalProperties": False,
}


class LlmGrader:
    """Grades with a model, which sees both values unlabelled, in an order drawn by the seed for each answer."""

    def __init__(self, engine: Engine, seed: int = 0, temperature: float = 0.0) -> None:
        self._asker = Asker(engine, "grader", temperature, seed)
        self._seed = seed

    @property
    def name(self) -> str:
        """What the store files its verdicts under."""
        return self.giver("llm")

    def giver(self, kind: str) -> str:
        """The name of a giver of that kind which asks this model."""
        return self._asker.giver(kind)

    @property
    def usage(self) -> Usage:
        """What its verdicts took so far."""
        return self._asker.usage

    async def grade(self, question: str, intended: Gold, default: Gold, answer: str | None, language: str) -> Grade:
        """One outcome; `Outcome.UNSCORED` when the engine failed or its replies could not be used."""
        if not answer or not answer.strip():
            return Grade(Outcome.EMPTY, why="no answer")
        golds = {Outcome.INTENDED: intended, Outcome.DEFAULT: default}
        order = list(golds)
        random.Random(seed_of(self._seed, question, intended, default, answer)).shuffle(order)
        shown = {"question": question, "answer": answer}
        for place, outcome in zip((_FIRST, _SECOND), order, strict=True):
            shown |= {
                f"{place}_reading": _spell(golds[outcome].interpretation),
                f"{place}_value": golds[outcome].answer,
            }
        try:
            said = await self._asker.ask(language, {}, shown, lambda text: _graded(text, answer), schema=_GRADE_SCHEMA)
        except (NoVerdict, EngineError) as fault:
            return Grade(Outcome.UNSCORED, why=str(fault))
        places = dict(zip((_FIRST, _SECOND), order, strict=True))
        outcome = (_VERDICTS | places)[said["verdict"]]
        named = {outcome, *(places[place] for place in said["named"])}
        also = tuple(gold.value for gold in golds if gold in named)
        why = f"{self._asker.engine.name}: {said['verdict']}, {_FIRST} being {order[0]}"
        return Grade(outcome, value=said["value"] or None, also=also, why=why)

    def describe(self) -> Mapping[str, Any]:
        """What the run's manifest records."""
        return self._asker.describe()


def _graded(text: str, answer: str) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(text)
    if said["verdict"] in (_FIRST, _SECOND) and (not said["value"] or said["value"] not in answer):
        raise Refused(f"the value {said['value']!r} does not stand in the answer")
    return said


def _spell(reading: Interpretation) -> str:
    return "; ".join(f"{name}: {getattr(reading, name)}" for name in FIELDS if getattr(reading, name))
