"""Policies: what turns the dialogue so far into the next reply. The usual one asks an engine."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from fiqkit.agent.actions import schema
from fiqkit.agent.environment import Environment
from fiqkit.models.engine import Completion, Engine, EngineError, Request, Sampling
from fiqkit.records import Episode


class Policy(Protocol):
    """Plays one episode. It reads the environment's messages and the actions on offer, nothing else."""

    async def act(self, environment: Environment) -> Completion:
        """The next reply.

        Raises:
            EngineError: no reply could be had.
        """
        ...


class Agent(Protocol):
    """A model or a reference policy under test; it hands out one `Policy` an episode."""

    @property
    def name(self) -> str:
        """What tables call it."""
        ...

    def begin(self, instance_id: str) -> Policy:
        """A policy for an episode of this instance. Only reference policies look the id up, in a key of their own."""
        ...

    def describe(self) -> Mapping[str, Any]:
        """What the run's manifest records."""
        ...


@dataclass(frozen=True, slots=True)
class EngineAgent:
    """An agent that asks a model for each reply.

    Attributes:
        thinking: as in `Request`; a thinking model is not constrained, since a grammar would forbid its think block.
    """

    name: str
    engine: Engine
    sampling: Sampling = Sampling()
    thinking: bool | None = None
    seed: int = 0

    def begin(self, instance_id: str) -> Policy:
        """A policy whose draws depend on the seed, the instance and the turn, not on what else is in flight."""
        return _EnginePolicy(self, instance_id)

    def describe(self) -> Mapping[str, Any]:
        """The engine, the sampling and the thinking mode."""
        return {
            "name": self.name,
            "engine": dict(self.engine.describe()),
            "max_tokens": self.sampling.max_tokens,
            "temperature": self.sampling.temperature,
            "top_p": self.sampling.top_p,
            "thinking": self.thinking,
        }


@dataclass(frozen=True, slots=True)
class _EnginePolicy:
    agent: EngineAgent
    instance_id: str

    async def act(self, environment: Environment) -> Completion:
        agent, drawn = self.agent, self.agent.sampling
        constrained = agent.engine.can.structured and not agent.thinking
        request = Request(
            messages=tuple(environment.messages),
            sampling=Sampling(drawn.max_tokens, drawn.temperature, drawn.top_p, self._seed(environment), drawn.stop),
            schema=schema(environment.allowed) if constrained else None,
            thinking=agent.thinking,
        )
        return await agent.engine.complete(request)

    def _seed(self, environment: Environment) -> int:
        key = f"{self.agent.seed}:{self.instance_id}:{environment.mode.name}:{len(environment.turns)}"
        return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=4).digest(), "big") >> 1


async def play(agent: Agent, environment: Environment) -> Episode:
    """Play one episode from its opening to its end. An engine's failure ends it; it is never a wrong answer."""
    policy = agent.begin(environment.instance.instance_id)
    try:
        await environment.begin()
        while not environment.done:
            await environment.step(await policy.act(environment))
    except EngineError as error:
        environment.fail(error)
    return environment.episode(agent.name)
