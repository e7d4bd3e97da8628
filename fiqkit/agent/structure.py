"""Category-aware ReAct: which fields are still open, the question that asks about one, and who asks it.

The state of an episode is read from its turns alone, so that a stored episode can be taken up again anywhere.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from fiqkit.agent.actions import UNKNOWN
from fiqkit.agent.dialogue import Dialogue, Policy
from fiqkit.agent.modes import Structure
from fiqkit.models.engine import Completion
from fiqkit.records import Turn
from fiqkit.roles.judge.rules import classify_question
from fiqkit.taxonomy import CATEGORIES

_CATEGORY_OF = {category.field: category for category in CATEGORIES.values()}

# The control's questions: yes/no questions that ask for clarity and name no category.
GENERIC_QUESTIONS = {
    "en": (
        "Do you mean the number that people usually have in mind with this question?",
        "Is there something particular about the number that you have in mind?",
        "May I take your question as it is usually meant?",
        "Would the number that comes up first be the right one for you?",
        "Do you have something out of the ordinary in mind?",
    ),
    "zh": (
        "按通常的意思理解，可以吗？",
        "还有别的要求吗？",
        "能再具体一点吗？",
        "请问这样理解对吗？",
        "请问这样就够了吗？",
    ),
}


def open_fields(structure: Structure, turns: Sequence[Turn]) -> tuple[str, ...]:
    """The fields that are unknown and not declined, the most valuable first.

    A field is required if the first state marks it unknown; without a pre-check every field is. A reply of yes or no
    settles the fields that its question is about, i_dont_know declines them, and a later state can fill in a value. The
    most valuable field has the most bits over the readings that its category usually has.
    """
    unknown = set(structure.fields)
    stated = False
    for turn in turns:
        if turn.refused is not None:
            continue
        if turn.action == "state":
            written = turn.content["state"]
            left = {name for name in structure.fields if _is_unknown(written.get(name, UNKNOWN))}
            unknown = unknown & left if stated else left
            stated = True
        elif turn.action == "interact":
            unknown -= _asked_about(structure, turn.content["question"], unknown)
    return tuple(sorted(unknown, key=lambda name: (-_readings(name), structure.fields.index(name))))


def is_stated(turns: Sequence[Turn]) -> bool:
    """Whether the agent has written down a state."""
    return any(turn.action == "state" and turn.refused is None for turn in turns)


def _is_unknown(value: str) -> bool:
    return value.casefold().strip(" .。") in (UNKNOWN, "未知", "不确定", "不明")


def _readings(field: str) -> int:
    return _CATEGORY_OF[field].readings if field in _CATEGORY_OF else 0


def _asked_about(structure: Structure, question: str, unknown: set[str]) -> set[str]:
    if structure.generic:  # a question that names nothing is about the first detail that is left
        return set(sorted(unknown)[:1])
    return {CATEGORIES[name].field for name in classify_question(question).touched or ()}


def question_about(field: str, language: str) -> str:
    """The fixed question about a field of the state, or about a detail of the control's."""
    if field in _CATEGORY_OF:
        return _CATEGORY_OF[field].template[language]
    return GENERIC_QUESTIONS[language][int(field.rpartition("_")[2]) - 1]


class TemplateQuestions:
    """A policy that asks the fixed question about the most valuable open field, and leaves the rest to another policy.

    One question a turn, for as long as a field is open and a question may be asked.
    """

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    async def act(self, dialogue: Dialogue) -> Completion:
        """The next question, or what the other policy does."""
        if dialogue.unknown and "interact" in dialogue.actions:
            question = question_about(dialogue.unknown[0], dialogue.language)
            return Completion(json.dumps({"action": "interact", "question": question}, ensure_ascii=False))
        return await self._policy.act(dialogue)
