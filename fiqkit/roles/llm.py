"""Simulator, grader and judge played by a model: bounded replies, validated on return, retried once, never guessed."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping
from typing import Any

from fiqkit.models.engine import Engine, EngineError, Usage
from fiqkit.records import Grade, Interpretation, Judgement, Outcome
from fiqkit.roles.asking import Asker, NoVerdict, Refused
from fiqkit.roles.draws import seed_of
from fiqkit.roles.interfaces import NO, REPLIES, UNKNOWN, YES, Gold, UserView
from fiqkit.taxonomy import CATEGORIES, FIELDS


class LlmSimulator:
    """The user played by a model, which is shown Q, C and the agent's question: no reading, no value.

    Temperature 1.0 is the release's.
    """

    name = "llm"

    def __init__(self, engine: Engine, seed: int = 0, temperature: float = 1.0) -> None:
        self._asker = Asker(engine, "simulator", temperature, seed)

    @property
    def usage(self) -> Usage:
        """What its replies took so far."""
        return self._asker.usage

    async def reply(self, question: str, view: UserView) -> str:
        """One of `REPLIES`.

        Raises:
            EngineError: the engine failed, or none of its replies was one of the three.
        """
        known = {"question": view.question, "context": view.context}
        try:
            return await self._asker.ask(view.language, known, {"asked": question}, read_reply, choices=REPLIES)
        except NoVerdict as fault:
            raise EngineError(f"simulator: {fault}") from fault
        except EngineError as fault:
            # Its own type would say that the agent's context overflowed, where it was the simulator's.
            raise EngineError(f"simulator: {fault}") from fault

    def describe(self) -> Mapping[str, Any]:
        """What the run's manifest records."""
        return self._asker.describe()


_SAYS_UNKNOWN = re.compile(
    r"\b(?:i_dont_know|unknown|unsure|uncertain|no idea|not (?:sure|certain))\b"
    r"|\b(?:do not|don'?t|can(?:no|')?t) (?:know|say|tell)\b|不(?:太)?(?:知道|确定|清楚)|无法(?:确定|判断)|说不准"
)
_SAYS_YES = re.compile(r"^(?:yes|yeah|yep|correct|right|true)\b|^(?:是|对)(?!不)")
_SAYS_NO = re.compile(r"^(?:no|nope|incorrect|wrong|false)\b|^(?:否|不是|不对|不)")


def read_reply(text: str) -> str:
    """Which of `REPLIES` a model's words mean. Whole words: "Not sure" is not no, "Yesterday" is not yes.

    Raises:
        Refused: none of the three, or more than one.
    """
    said = text.strip(" \t\n\"'`*.!。！“”").casefold().replace("’", "'")
    meant = [
        reply for reply, pattern in ((UNKNOWN, _SAYS_UNKNOWN), (YES, _SAYS_YES), (NO, _SAYS_NO)) if pattern.search(said)
    ]
    if UNKNOWN in meant:
        return UNKNOWN
    if len(meant) != 1:
        raise Refused(f"neither yes nor no nor i_dont_know: {text!r:.60}")
    return meant[0]


# --- grader ---------------------------------------------------------------------------------------------------------

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
        "also": {"type": "boolean"},
    },
    "required": ["value", "verdict", "also"],
    "additionalProperties": False,
}


class LlmGrader:
    """Grades with a model, which sees both values unlabelled, in an order drawn by the seed for each answer."""

    name = "llm"

    def __init__(self, engine: Engine, seed: int = 0, temperature: float = 0.0) -> None:
        self._asker = Asker(engine, "grader", temperature, seed)
        self._seed = seed

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
        outcome = (_VERDICTS | dict(zip((_FIRST, _SECOND), order, strict=True)))[said["verdict"]]
        why = f"{self._asker.engine.name}: {said['verdict']}, {_FIRST} being {order[0]}"
        return Grade(outcome, value=said["value"] or None, also=said["also"], why=why)

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


# --- judge ----------------------------------------------------------------------------------------------------------

_JUDGE_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        **{name: {"type": "boolean"} for name in CATEGORIES},
        "central": {"enum": [*CATEGORIES, "generic", "none"]},
    },
    "required": [*CATEGORIES, "central"],
    "additionalProperties": False,
}
_CHINESE = re.compile(r"[一-鿿]")


class LlmJudge:
    """Classifies with a model, which sees the question's text and nothing else."""

    name = "llm"

    def __init__(self, engine: Engine, seed: int = 0, temperature: float = 0.0) -> None:
        self._asker = Asker(engine, "judge", temperature, seed)

    @property
    def usage(self) -> Usage:
        """What its verdicts took so far."""
        return self._asker.usage

    async def classify(self, question: str) -> Judgement:
        """Touched categories and the central one; central "unscored" when no usable reply could be had."""
        language = "zh" if _CHINESE.search(question) else "en"
        try:
            return await self._asker.ask(language, {}, {"asked": question}, self._read, schema=_JUDGE_SCHEMA)
        except (NoVerdict, EngineError) as fault:
            return Judgement((), "unscored", str(fault))

    def _read(self, text: str) -> Judgement:
        said = json.loads(text)
        touched = tuple(name for name in CATEGORIES if said[name])
        if touched and said["central"] not in touched:
            raise Refused(f"central {said['central']!r} is none of the kinds marked true")
        if not touched and said["central"] in CATEGORIES:
            raise Refused(f"central {said['central']!r} is marked false")
        return Judgement(touched, said["central"], f"by {self._asker.engine.name}")

    def describe(self) -> Mapping[str, Any]:
        """What the run's manifest records."""
        return self._asker.describe()
