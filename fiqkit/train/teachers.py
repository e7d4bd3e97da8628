"""Teachers: who plays the episodes that a model learns from.

A teacher is an agent like any other. What it is told beyond the episode (a hint) goes into its own prompt and nowhere
else: neither the episode nor the demonstration holds a word of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from fiqkit.agent.dialogue import Dialogue, Policy
from fiqkit.agent.policy import Agent
from fiqkit.agent.questions import settling_question
from fiqkit.errors import UserError
from fiqkit.models.engine import Completion
from fiqkit.records import Instance
from fiqkit.taxonomy import CATEGORIES

HINTS = ("none", "category", "full")


class TemplateTeacher:
    """A teacher without a model: searches, asks the question that settles the two readings, answers what was meant.

    It makes the whole ladder run where no large model can, and its words are simple enough for a small one to learn.
    """

    name = "template-teacher"

    def __init__(self, instances: Iterable[Instance]) -> None:
        self._key = {instance.instance_id: instance for instance in instances}

    def begin(self, instance_id: str, mode: str, sample: int = 0) -> Policy:
        """The policy for one episode."""
        return _TemplatePolicy(self._key[instance_id])

    def describe(self) -> Mapping[str, Any]:
        """Its name."""
        return {"name": self.name, "engine": {"engine": "template teacher"}}


@dataclass(slots=True)
class _TemplatePolicy:
    key: Instance
    searched: bool = False

    async def act(self, dialogue: Dialogue) -> Completion:
        """Search first, then ask, then answer, as far as the mode offers it."""
        return Completion(json.dumps(self._action(dialogue), ensure_ascii=False))

    def _action(self, dialogue: Dialogue) -> dict[str, Any]:
        if "search" in dialogue.actions and not self.searched:
            self.searched = True
            return {"action": "search", "query": self.key.question[:160]}
        if "interact" in dialogue.actions and not dialogue.asked:
            return {"action": "interact", "question": settling_question(self.key)}
        return {"action": "answer", "response": self.key.answer, "confidence": 90}


@dataclass(frozen=True, slots=True)
class HintedAgent:
    """Any agent, told in its own prompt what the question leaves open.

    Attributes:
        hint: `none`; `category`, the primary category's name; `full`, what the release told its teacher: the
            categories, the field that tells the readings apart, and both interpretations.
    """

    agent: Agent
    hint: str
    key: Mapping[str, Instance]

    def __post_init__(self) -> None:
        if self.hint not in HINTS:
            raise UserError(f"--hint {self.hint!r} is none of {', '.join(HINTS)}")

    @property
    def name(self) -> str:
        """The agent's, with the hint's kind."""
        return self.agent.name if self.hint == "none" else f"{self.agent.name}+{self.hint}"

    def begin(self, instance_id: str, mode: str, sample: int = 0) -> Policy:
        """The agent's policy, with the hint in front of what it is shown."""
        policy = self.agent.begin(instance_id, mode, sample)
        return policy if self.hint == "none" else _Hinted(policy, hint_text(self.hint, self.key[instance_id]))

    def describe(self) -> Mapping[str, Any]:
        """The agent's description and the kind of the hint."""
        return {**self.agent.describe(), "hint": self.hint}


@dataclass(frozen=True, slots=True)
class _Hinted:
    policy: Policy
    text: str

    async def act(self, dialogue: Dialogue) -> Completion:
        first, *rest = dialogue.messages
        told = {**first, "content": f"{first['content']}\n\n{self.text}"}
        # The token ids of a reply to a hinted prompt are of no use: they would teach the hint.
        reply = await self.policy.act(replace(dialogue, messages=(told, *rest)))
        return replace(reply, prompt_ids=(), output_ids=())


def hint_text(hint: str, instance: Instance) -> str:
    """What a teacher is told, in the instance's language."""
    zh = instance.language == "zh"
    titles = [CATEGORIES[name].title[instance.language] for name in instance.categories]
    if hint == "category":
        return (
            f"提示：这个问题含糊之处在于{titles[0]}。"
            if zh
            else f"Hint: what the question leaves open is its {titles[0]}."
        )
    intended, default = instance.intended_interpretation, instance.default_interpretation
    fields = ", ".join(intended.differs_from(default))
    readings = [
        "; ".join(f"{k}: {v}" for k, v in asdict(reading).items() if v is not None) for reading in (intended, default)
    ]
    if zh:
        return (
            f"提示：含糊之处：{'、'.join(titles)}；区别在于 {fields}。用户的意思：{readings[0]}。"
            f"常见的误解：{readings[1]}。先用一个是非题向用户确认，再作答；不要透露这条提示。"
        )
    return (
        f"Hint: what is open: {', '.join(titles)}; the readings differ in {fields}. The user means: {readings[0]}. "
        f"The usual misreading: {readings[1]}. Ask one yes/no question that settles it before you answer; never "
        "mention this hint."
    )
