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
    """A teacher without a model: searches, asks which of two readings is meant, names its line and its value.

    It makes the whole ladder run where no large model can. It says like things alike, and what it can in words that it
    was shown, so that a small model can learn to say it.
    """

    name = "template-teacher"

    def __init__(self, instances: Iterable[Instance], *, asks: bool = True) -> None:
        """With `asks=False` it answers what was meant without a question, which no agent could know."""
        self._key = {instance.instance_id: instance for instance in instances}
        self._asks = asks

    def begin(self, instance_id: str, mode: str, sample: int = 0) -> Policy:
        """The policy for one episode."""
        return _TemplatePolicy(self._key[instance_id], self._asks)

    def describe(self) -> Mapping[str, Any]:
        """Its name."""
        return {"name": self.name, "engine": {"engine": "template teacher"}}


@dataclass(slots=True)
class _TemplatePolicy:
    key: Instance
    asks: bool
    searched: bool = False

    async def act(self, dialogue: Dialogue) -> Completion:
        """Search first, then ask, then answer, as far as the mode offers it."""
        return Completion(json.dumps(self._action(dialogue), ensure_ascii=False))

    def _action(self, dialogue: Dialogue) -> dict[str, Any]:
        if "search" in dialogue.actions and not self.searched:
            self.searched = True
            return {"action": "search", "query": self.key.question[:160]}
        if self.asks and "interact" in dialogue.actions and not dialogue.asked:
            return {"action": "interact", "question": line_question(self.key)}
        named = _line_words(self.key)[0]
        heard = "".join(f"{reply}, " for _, reply in dialogue.asked[:1])
        said = f"{heard}{named}: {self.key.answer}" if named else self.key.answer
        return {"action": "answer", "response": said, "confidence": 90}


# Words that say which category is asked about, where the two lines' own words ("gross", "net") leave it open.
_LEADS = {
    "en": {
        "metric_definition": "By definition of the measure, do you mean",
        "recognition_policy": "By basis of recognition, do you mean",
    },
    "zh": {"metric_definition": "按指标定义，您要的是", "recognition_policy": "按确认政策，您要的是"},
}


def line_question(instance: Instance) -> str:
    """The question that the template teacher asks: the category's fixed one where it settles the two readings.

    Else one between the words in which their lines differ, as few of them as do, in alphabetical order, so that
    siblings are asked alike and one kind of pair is asked about in one way:

        By basis of recognition, do you mean gross, rather than net?

    Where these do not settle it either, or a judge would not see the category in them, the interpretations' words are
    taken, then `settling_question`.
    """
    view = replace(UserView.of(instance), context="")
    other = replace(view, intended=view.default, default=view.intended)
    language, primary = instance.language, CATEGORIES[instance.primary]
    lead = _LEADS[language].get(instance.primary, _ASKED[language])
    readings = [getattr(view.intended, primary.field), getattr(view.default, primary.field)]
    wordings = [_line_words(instance), readings]
    heads = [[_QUALIFIER.split(words)[0].strip() for words in pair] for pair in wordings if all(pair)]
    pairs = [sorted(pair) for pair in (*heads, *wordings) if all(pair) and len(set(pair)) > 1]
    asked = (PAIR[language].format(one=one, other=rest).replace(_ASKED[language], lead, 1) for one, rest in pairs)
    for question in (primary.template[language], *asked):
        settled = {reply_to(question, view), reply_to(question, other)} == {YES, NO}
        if settled and classify_question(question).central == instance.primary:
            return question
    return settling_question(instance)


_ASKED = {"en": "Do you mean", "zh": "您要的是"}
_QUALIFIER = re.compile(r"[,(，（]| (?:of|at|before|in|to|for) ")  # what follows narrows down what stands before
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
    left = [
        label[start:].removesuffix(")" if common[start - 1 : start] == "(" else "") or label for label in (one, other)
    ]
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
