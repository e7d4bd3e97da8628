"""Teachers: who plays the episodes that a model learns from.

A teacher is an agent like any other. What it is told beyond the episode (a hint) goes into its own prompt and nowhere
else: neither the episode nor the demonstration holds a word of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from fiqkit.agent.dialogue import Dialogue, Policy
from fiqkit.agent.policy import Agent
from fiqkit.agent.questions import PAIR, settling_question
from fiqkit.errors import UserError
from fiqkit.models.engine import Completion
from fiqkit.records import Instance
from fiqkit.roles.interfaces import NO, YES, UserView
from fiqkit.roles.judge.rules import classify_question
from fiqkit.roles.simulator.rules import reply_to
from fiqkit.taxonomy import CATEGORIES

HINTS = ("none", "category", "full")


class TemplateTeacher:
    """A teacher without a model: searches, asks which of two lines is meant, names the line that was and its value.

    It makes the whole ladder run where no large model can. What it says is copied from what it was shown as far as
    that settles the readings, in the order in which it stands there, so that a small model can learn to say it.
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
            return {"action": "interact", "question": line_question(self.key, dialogue.messages[-1]["content"])}
        named = _line_words(self.key)[0]
        said = f"{named}: {self.key.answer}" if named else self.key.answer
        return {"action": "answer", "response": said, "confidence": 90}


# Words that say which category is asked about, where the two lines' own words ("gross", "net") leave it open.
_LEADS = {
    "en": {
        "metric_definition": "By definition of the measure, do you mean",
        "recognition_policy": "By basis of recognition, do you mean",
    },
    "zh": {"metric_definition": "按指标定义，您要的是", "recognition_policy": "按确认政策，您要的是"},
}


def line_question(instance: Instance, shown: str) -> str:
    """A question between the two readings in the words of their lines, the one first that is shown first.

    >>> line_question(instance, "Income tax expense, consolidated | $563 million\\nIncome tax expense, ComEd …")
    'Do you mean consolidated, rather than Commonwealth Edison Co subsidiary?'

    Where these words do not settle it, or a judge would not see the category in them, the interpretations' words are
    taken, then `settling_question`.
    """
    view = replace(UserView.of(instance), context="")
    other = replace(view, intended=view.default, default=view.intended)
    spans = (instance.intended_evidence_span, instance.default_evidence_span)
    field = CATEGORIES[instance.primary].field
    wordings = [_line_words(instance), [getattr(view.intended, field), getattr(view.default, field)]]
    swap = shown.find(spans[1]) < shown.find(spans[0])
    lead = _LEADS[instance.language].get(instance.primary, "")
    for words in wordings:
        if not all(words):
            continue
        one, rest = reversed(words) if swap else words
        question = PAIR[instance.language].format(one=one, other=rest)
        if lead:
            question = question.replace(_LEADS_FROM[instance.language], lead, 1)
        first, second = (other, view) if swap else (view, other)
        settled = reply_to(question, first) == YES and reply_to(question, second) == NO
        if settled and classify_question(question).central == instance.primary:
            return question
    return settling_question(instance)


_LEADS_FROM = {"en": "Do you mean", "zh": "您要的是"}
_SOURCE = re.compile(r" in Form .*")  # which filing a version stands in


def _line_words(instance: Instance) -> list[str]:
    """What tells the lines of the intended and the default reading apart, in this order; "" for spans of prose."""
    return told_apart(_label(instance.intended_evidence_span), _label(instance.default_evidence_span))


def told_apart(one: str, other: str) -> list[str]:
    """What is left of two labels without the words that both begin with.

    >>> told_apart("Income tax expense (quarter)", "Income tax expense (six months to date)")
    ['quarter', 'six months to date']
    """
    same = [one_letter == another for one_letter, another in zip(one, other, strict=False)]
    common = one[: (*same, False).index(False)]
    start = max(common.rfind(" "), common.rfind("(")) + 1
    left = [(label[start:].strip("() ,") or label) for label in (one, other)]
    return [_SOURCE.sub("", words[:1].lower() + words[1:]) for words in left]


def _label(span: str) -> str:
    """What a line of figures is called, "" for a span of prose."""
    name, line, _ = span.rpartition(" | ")
    return name.strip() if line else ""


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
