"""Reference policies: agents whose every metric is known beforehand, so that they frame a table from both sides.

They are code, not models. Each holds the key that it needs (the instances), given when it is made; the environment that
they act in shows them no more than it shows a model.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from fiqkit.agent.dialogue import Dialogue
from fiqkit.agent.questions import settling_question
from fiqkit.errors import UserError
from fiqkit.models.engine import Completion
from fiqkit.records import Instance
from fiqkit.roles.interfaces import UNKNOWN
from fiqkit.taxonomy import CATEGORIES

# What a policy says next, from the key (the instance), the dialogue so far, and its own random draws.
Rule = Callable[[Instance, Dialogue, Random], dict[str, Any]]


def _answer(response: str, confidence: int = 100) -> dict[str, Any]:
    return {"action": "answer", "response": response, "confidence": confidence}


def _template(instance: Instance) -> dict[str, Any]:
    return {"action": "interact", "question": CATEGORIES[instance.primary].template[instance.language]}


_GENERIC = {"en": "Could you tell me a little more about what you need?", "zh": "您能再具体说明一下您的需求吗？"}


def default_reader(key: Instance, dialogue: Dialogue, draw: Random) -> dict[str, Any]:
    """Never asks, answers the headline reading: accuracy 0, default-capture 1; in an orbit, intent resolved 0."""
    return _answer(_headline(key))


def _headline(key: Instance) -> str:
    """The reading of a headline: the same for all siblings of an orbit, so that answering it resolves nothing."""
    return key.answer if key.headline_intended else key.default_answer


def _readings(key: Instance) -> list[str]:
    """The values of all readings: the orbit's, in its own order, or the intended and the default one."""
    listed = key.extra.get("readings") if key.orbit else None
    return [str(item["value"]) for item in listed] if listed else [key.answer, key.default_answer]


def intended_oracle(key: Instance, dialogue: Dialogue, draw: Random) -> dict[str, Any]:
    """Asks the primary category's question where it may, then answers the intended reading: accuracy 1."""
    if "interact" in dialogue.actions and (dialogue.owed or not dialogue.asked):
        return _template(key)
    return _answer(key.answer)


def contrarian(key: Instance, dialogue: Dialogue, draw: Random) -> dict[str, Any]:
    """Never asks, answers whatever is not the headline.

    On pairs it is as accurate as the oracle with an interaction rate of 0: accuracy alone does not show that it
    clarified. In an orbit it answers the reading next to the headline to every sibling, and resolves nothing.
    """
    return _answer(next(value for value in _readings(key) if value != _headline(key)))


def random_reading(key: Instance, dialogue: Dialogue, draw: Random) -> dict[str, Any]:
    """Never asks, draws one of the readings: of a pair, accuracy and default-capture one half each."""
    return _answer(draw.choice(_readings(key)), confidence=50)


def always_asks(key: Instance, dialogue: Dialogue, draw: Random) -> dict[str, Any]:
    """Asks generic questions until none is left, then answers the default reading: asking alone resolves nothing."""
    if "interact" in dialogue.actions:
        return {"action": "interact", "question": _GENERIC[key.language]}
    return _answer(_headline(key))


def never_commits(key: Instance, dialogue: Dialogue, draw: Random) -> dict[str, Any]:
    """Names both values and settles on neither: commitment 0."""
    both = {
        "en": f"It is either {key.answer} or {key.default_answer}, depending on the reading.",
        "zh": f"可能是{key.answer}，也可能是{key.default_answer}，取决于口径。",
    }
    return _answer(both[key.language], confidence=0)


def template_asker(key: Instance, dialogue: Dialogue, draw: Random) -> dict[str, Any]:
    """Asks the question that settles its pair of readings; answers the intended one if it did, else the default."""
    if "interact" in dialogue.actions and not dialogue.asked:
        return {"action": "interact", "question": settling_question(key)}
    settled = dialogue.asked and dialogue.asked[-1][1] != UNKNOWN
    return _answer(key.answer if settled else _headline(key))


POLICIES: dict[str, Rule] = {
    rule.__name__.replace("_", "-"): rule
    for rule in (
        default_reader,
        intended_oracle,
        contrarian,
        random_reading,
        always_asks,
        never_commits,
        template_asker,
    )
}


class ReferenceAgent:
    """An agent that follows one of `POLICIES`."""

    def __init__(self, name: str, instances: Iterable[Instance], seed: int = 0) -> None:
        """Make the policy `name` with its key.

        Raises:
            UserError: no such policy.
        """
        if name not in POLICIES:
            raise UserError(f"unknown reference policy {name!r}; the policies are {', '.join(POLICIES)}")
        self.name = name
        self.seed = seed
        self._key = {instance.instance_id: instance for instance in instances}

    def begin(self, instance_id: str, mode: str, sample: int = 0) -> _ReferencePolicy:
        """The policy for one episode."""
        draw = Random(f"{self.seed}:{instance_id}" + (f":{sample}" if sample else ""))
        return _ReferencePolicy(POLICIES[self.name], self._key[instance_id], draw)

    def describe(self) -> Mapping[str, Any]:
        """The policy's name."""
        return {"name": self.name, "engine": {"engine": "reference policy"}}


@dataclass(frozen=True, slots=True)
class _ReferencePolicy:
    rule: Rule
    key: Instance
    draw: Random

    async def act(self, dialogue: Dialogue) -> Completion:
        return Completion(json.dumps(self._said(dialogue), ensure_ascii=False))

    def _said(self, dialogue: Dialogue) -> dict[str, Any]:
        if dialogue.actions == ("state",):
            return {"action": "state", "state": dict.fromkeys(dialogue.unknown, "as asked")}
        if dialogue.actions == ("confidence",):
            return {"action": "confidence", "confidence": self.rule(self.key, dialogue, self.draw).get("confidence")}
        return self.rule(self.key, dialogue, self.draw)
