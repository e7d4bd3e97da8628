"""When-to-ask gates: an agent whose questions are let through, asked for or kept back by a rule of their own.

    never-ask:CARD        no question: what the model knows unasked
    always-ask:CARD       one question before every answer
    base-ask:CARD         a question where the card's model would ask without its adapter
    confidence-70:CARD    a question where the model's silent answer is given with a confidence under 70

A gate is consulted once an episode, when the model first asks or answers; searching is its own affair. It sees what the
model sees, and nothing else. The replies that only the gate has read are no part of the episode, nor of its usage.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from fiqkit.agent.actions import Action, ParseFault, parse, schema
from fiqkit.agent.dialogue import Dialogue, Policy
from fiqkit.agent.policy import Agent, EngineAgent
from fiqkit.agent.prompts import Prompts
from fiqkit.errors import UserError
from fiqkit.models.engine import Completion
from fiqkit.models.reasoning import split

KINDS = ("never-ask", "always-ask", "base-ask", "confidence-N")
_NAME = re.compile(r"(never-ask|always-ask|base-ask|confidence-(\d{1,3}(?:\.\d+)?)):(.+)")


def card_of(name: str) -> str | None:
    """The card behind a gate's name; None where the name is no gate's."""
    found = _NAME.fullmatch(name)
    return found[3] if found else None


@dataclass(frozen=True, slots=True)
class GatedAgent:
    """An agent behind a gate, named GATE:AGENT.

    Attributes:
        gate: as in the module's table, without the card.

    Raises:
        UserError: `base-ask` of an agent that has no adapter: it is its own base.
    """

    gate: str
    agent: EngineAgent

    def __post_init__(self) -> None:
        if self.gate == "base-ask" and self.agent.adapter is None:
            raise UserError(f"{self.name}: {self.agent.name} has no adapter, so that it is its own base")

    @classmethod
    def of(cls, name: str, agent: EngineAgent) -> GatedAgent:
        """The gate that a name means, around an agent."""
        return cls(name.partition(":")[0], agent)

    @property
    def name(self) -> str:
        """What tables call it."""
        return f"{self.gate}:{self.agent.name}"

    @property
    def engine(self) -> Any:
        """The engine of the agent behind the gate."""
        return self.agent.engine

    @property
    def threshold(self) -> float:
        """The confidence under which a question is asked."""
        return float(self.gate.partition("-")[2])

    def begin(self, instance_id: str, mode: str, sample: int = 0) -> Policy:
        """A policy for one episode."""

        def fresh(agent: Agent = self.agent) -> Policy:
            return agent.begin(instance_id, mode, sample)

        return _Gated(self, fresh, fresh())

    def describe(self) -> Mapping[str, Any]:
        """The agent's description and the gate."""
        return {**self.agent.describe(), "name": self.name, "gate": self.gate}


@dataclass(slots=True)
class _Gated:
    agent: GatedAgent
    fresh: Callable[..., Policy]  # another policy of the same episode: what it says leaves no trace in this one
    policy: Policy
    asks: bool | None = None  # what the gate decided
    silent: Completion | None = field(default=None)  # an answer that the gate has seen already

    async def act(self, dialogue: Dialogue) -> Completion:
        """The model's next reply, or what it says where the gate leaves it the other choice alone."""
        if "interact" not in dialogue.actions or dialogue.owed or (self.asks and dialogue.asked):
            return await self.policy.act(dialogue)
        proposed = await self.policy.act(dialogue)
        action = _action(proposed)
        if action is None or action.name not in ("interact", "answer"):
            return proposed
        if self.asks is None:
            self.asks = await self._decide(dialogue, proposed, action)
        if self.asks == (action.name == "interact"):
            return proposed
        if not self.asks and self.silent is not None:
            return self.silent
        return await self._held_to("interact" if self.asks else "answer", dialogue)

    async def _decide(self, dialogue: Dialogue, proposed: Completion, action: Action) -> bool:
        match self.agent.gate:
            case "never-ask":
                return False
            case "always-ask":
                return True
            case "base-ask":
                base = replace(self.agent.agent, adapter=None)
                would = _action(await self.fresh(base).act(dialogue))
                return would is not None and would.name == "interact"
        if action.name == "interact":
            proposed = await self._held_to("answer", dialogue)
        answer = _action(proposed)
        if answer is None or answer.name != "answer":
            return True
        self.silent = proposed
        confidence = answer.content.get("confidence")
        return confidence is None or confidence < self.agent.threshold

    async def _held_to(self, action: str, dialogue: Dialogue) -> Completion:
        """The reply where one action alone is on offer; an engine that holds no schema is told so."""
        messages = list(dialogue.messages)
        if not self.agent.agent.constrained:
            said = {"answer": ("last_turn", {}), "interact": ("refused_early", {"needed": "1"})}[action]
            told = Prompts.of(dialogue.language).text(said[0], **said[1])
            messages[-1] = {**messages[-1], "content": f"{messages[-1]['content']}\n\n{told}"}
        held = replace(dialogue, messages=tuple(messages), actions=(action,), schema=schema((action,)))
        return await self.fresh().act(held)


def _action(reply: Completion) -> Action | None:
    try:
        return parse(split(reply.text)[1])
    except ParseFault:
        return None
