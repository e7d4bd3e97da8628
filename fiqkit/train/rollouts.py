"""Episodes that a model under training plays in the Environment, token in, token out.

The next prompt is made of the tokens that were there and those that the environment adds, never by encoding again what
the model wrote: so a row holds exactly the tokens that were drawn, and one mask says which.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from fiqkit.agent.dialogue import Dialogue
from fiqkit.agent.environment import Environment
from fiqkit.agent.modes import mode
from fiqkit.agent.policy import play
from fiqkit.agent.world import World
from fiqkit.errors import UserError
from fiqkit.models.engine import Completion, Engine, Request, Sampling
from fiqkit.models.messages import NOTHING
from fiqkit.models.template import ChatTemplate
from fiqkit.records import Ending, Episode, Instance, Verdict
from fiqkit.roles.assess import Assessor
from fiqkit.train.rows import Encode, Row


@dataclass(slots=True)
class TokenPolicy:
    """A policy that keeps the tokens of its episode. Draws freely: a grammar would bias the log probabilities.

    Attributes:
        ids, mask, logprobs: of the episode so far; a token of the environment has mask 0 and log probability 0.
    """

    engine: Engine
    template: ChatTemplate
    encode: Encode
    end: str
    sampling: Sampling
    ids: list[int] = field(default_factory=list)
    mask: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    prompt_length: int = 0
    _shown: str = ""

    async def act(self, dialogue: Dialogue) -> Completion:
        """Add what the environment said, draw a reply, keep both."""
        text = self.template.render(dialogue.messages)
        if not self.ids:
            self.ids = self.encode(text)
            self.prompt_length = len(self.ids)
            self.mask, self.logprobs = [0] * len(self.ids), [0.0] * len(self.ids)
        else:
            self._add(self.encode(self._rest(text, dialogue)))
        self._shown = text
        reply = await self.engine.complete(Request(prompt_ids=tuple(self.ids), sampling=self.sampling, logprobs=True))
        if len(reply.output_ids) != len(reply.logprobs) or not reply.output_ids:
            raise UserError(f"{self.engine.name}: gives no token ids with their log probabilities; it cannot roll out")
        self.ids += reply.output_ids
        self.mask += [1] * len(reply.output_ids)
        self.logprobs += reply.logprobs
        return reply

    def _rest(self, text: str, dialogue: Dialogue) -> str:
        """What the environment added since the last reply. The end of the reply is the model's own token already."""
        said = next(m["content"] for m in reversed(dialogue.messages) if m["role"] == "assistant")
        # A template is given a mark in place of nothing; the tokens keep what was drawn.
        before = f"{self._shown}{said if said.strip() else NOTHING}{self.end}"
        if not text.startswith(before):
            raise UserError(
                f"{self.template.name}: its chat template changes what was said before a user's turn, so whole "
                "episodes cannot be trained on; give the recipe a prefix-preserving template, such as template=chatml"
            )
        return text[len(before) :]

    def _add(self, ids: Sequence[int]) -> None:
        self.ids += ids
        self.mask += [0] * len(ids)
        self.logprobs += [0.0] * len(ids)

    def row(self) -> Row:
        """The episode as a training row."""
        return Row(tuple(self.ids), tuple(self.mask))


@dataclass(frozen=True, slots=True)
class Rolled:
    """One episode that was rolled out, with its tokens and its verdicts."""

    instance: Instance
    episode: Episode
    row: Row
    logprobs: tuple[float, ...]
    prompt_length: int
    verdicts: tuple[Verdict, ...]


@dataclass(frozen=True, slots=True)
class Roller:
    """Rolls episodes out with one engine, many at once.

    Attributes:
        end: the text of the token that ends a reply.
        turns: turns of an episode; 1 stops after the first action.
    """

    engine: Engine
    template: ChatTemplate
    encode: Encode
    end: str
    world: World
    assessor: Assessor
    mode: str
    sampling: Sampling
    turns: int

    def roll(self, instances: Sequence[Instance], seeds: Sequence[int]) -> list[Rolled]:
        """Play one episode of each instance, each drawn with its own seed."""

        async def all_of_them() -> list[Rolled]:
            return await asyncio.gather(*(self._one(i, s) for i, s in zip(instances, seeds, strict=True)))

        return asyncio.run(all_of_them())

    async def _one(self, instance: Instance, seed: int) -> Rolled:
        environment = Environment(instance, mode(self.mode), self.world, seed)
        policy = _Seeded(self, seed)
        await play(policy, environment) if self.turns > 1 else await self._first_turn(policy, environment)
        episode = environment.episode("live") if environment.done else _cut(environment)
        if episode.ending in (Ending.ENGINE_ERROR, Ending.BUG):
            raise UserError(f"a rollout of {instance.instance_id} failed: {str(episode.error).splitlines()[-1]}")
        tokens = policy.tokens
        assert tokens is not None
        row = tokens.row()
        verdicts = tuple(await self.assessor(episode, instance))
        return Rolled(instance, episode, row, tuple(tokens.logprobs), tokens.prompt_length, verdicts)

    async def _first_turn(self, policy: _Seeded, environment: Environment) -> None:
        begun = policy.begin(environment.instance_id, environment.mode.name, environment.sample)
        await environment.begin()
        await environment.step(await begun.act(environment.dialogue()))


@dataclass(slots=True)
class _Seeded:
    """An agent whose one policy draws with one seed."""

    roller: Roller
    seed: int
    name: str = "live"
    tokens: TokenPolicy | None = None

    def begin(self, instance_id: str, mode: str, sample: int = 0) -> TokenPolicy:
        drawn = self.roller.sampling
        sampling = Sampling(drawn.max_tokens, drawn.temperature, drawn.top_p, self.seed, drawn.stop)
        self.tokens = TokenPolicy(
            self.roller.engine, self.roller.template, self.roller.encode, self.roller.end, sampling
        )
        return self.tokens

    def describe(self) -> dict[str, Any]:
        return {"name": self.name}


def _cut(environment: Environment) -> Episode:
    """The episode as it stands after one turn: only its first action counts."""
    environment.ending = Ending.BUDGET
    return environment.episode("live")
