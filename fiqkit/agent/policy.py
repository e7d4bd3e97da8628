"""Policies: what turns the dialogue so far into the next reply. The usual one asks an engine."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from fiqkit.agent.dialogue import Dialogue, Policy
from fiqkit.agent.environment import Environment
from fiqkit.agent.structure import TemplateQuestions
from fiqkit.errors import UserError
from fiqkit.models.cards.weights import fingerprint
from fiqkit.models.engine import Completion, ContextOverflow, Engine, EngineError, Request, Sampling
from fiqkit.records import Episode
from fiqkit.taxonomy import UNCONSTRAINED


class Agent(Protocol):
    """A model or a reference policy under test; it hands out one `Policy` an episode."""

    @property
    def name(self) -> str:
        """What tables call it."""
        ...

    def begin(self, instance_id: str, mode: str, sample: int = 0) -> Policy:
        """A policy for one episode. Draws are seeded by these three; reference policies look the id up in their key."""
        ...

    def describe(self) -> Mapping[str, Any]:
        """What the run's manifest records."""
        ...


@dataclass(frozen=True, slots=True)
class EngineAgent:
    """An agent that asks a model for each reply.

    Attributes:
        thinking: as in `Request`; a thinking model is held to a schema only behind its thought.
        adapter: path of the LoRA adapter that it acts with.
    """

    name: str
    engine: Engine
    sampling: Sampling = Sampling()
    thinking: bool | None = None
    seed: int = 0
    adapter: str | None = None

    @property
    def constrained(self) -> bool:
        """Whether its replies are held to the schema of the actions on offer."""
        can = self.engine.can
        return can.structured_thinking if self.thinking else can.structured

    def begin(self, instance_id: str, mode: str, sample: int = 0) -> Policy:
        """A policy whose draws depend on the seed, the episode's name and the turn, not on what else is in flight."""
        return _EnginePolicy(self, f"{self.seed}:{instance_id}:{mode}", f":{sample}" if sample else "")

    def describe(self) -> Mapping[str, Any]:
        """The engine, the sampling and the thinking mode."""
        return {
            "name": self.name,
            "engine": dict(self.engine.describe()),
            "max_tokens": self.sampling.max_tokens,
            "temperature": self.sampling.temperature,
            "top_p": self.sampling.top_p,
            "thinking": self.thinking,
            "constrained": self.constrained,
            **({"adapter": fingerprint(Path(self.adapter))} if self.adapter else {}),
        }


@dataclass(slots=True)
class _EnginePolicy:
    agent: EngineAgent
    episode: str
    sample: str
    read: int = 0  # prompt tokens of the turn before

    async def act(self, dialogue: Dialogue) -> Completion:
        agent, drawn = self.agent, self.agent.sampling
        request = Request(
            messages=dialogue.messages,
            sampling=Sampling(drawn.max_tokens, drawn.temperature, drawn.top_p, self._seed(dialogue.turn), drawn.stop),
            schema=dialogue.schema if agent.constrained else None,
            thinking=agent.thinking,
            adapter=agent.adapter,
        )
        completion = await agent.engine.complete(request)
        before, self.read = self.read, completion.prompt_tokens
        if 0 < completion.prompt_tokens < before and agent.engine.can.counts_prompt:
            raise ContextOverflow(
                f"the server read {completion.prompt_tokens:,} prompt tokens after {before:,} in the turn before, "
                "though messages only grow: it cuts the prompt; give it a larger context"
            )
        if not agent.constrained:
            completion = replace(completion, flags=(*completion.flags, UNCONSTRAINED))
        return completion

    def _seed(self, turn: int) -> int:
        key = f"{self.episode}:{turn}{self.sample}"
        return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=4).digest(), "big") >> 1


async def play(agent: Agent, environment: Environment) -> Episode:
    """Play one episode from where it stands, usually its beginning, to its end.

    An engine's failure ends it as `engine_error`, and any other exception as `bug`, with its traceback; neither is ever
    a wrong answer.

    Raises:
        UserError: something that the user can mend is wrong with the run.
    """
    try:
        policy = agent.begin(environment.instance_id, environment.mode.name, environment.sample)
        if environment.mode.structure and environment.mode.structure.template:
            policy = TemplateQuestions(policy)
        if not environment.messages:
            await environment.begin()
        while not environment.done:
            await environment.step(await policy.act(environment.dialogue()))
    except EngineError as error:
        environment.fail(error)
    except UserError:
        raise
    except Exception as error:
        environment.crash(error)
    return environment.episode(agent.name)
