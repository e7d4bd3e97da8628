"""The cast of a run: every model that the line-up names, opened once, and the roles and agents that it plays."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from fiqkit import roles
from fiqkit.agent import own
from fiqkit.agent.policy import Agent, EngineAgent
from fiqkit.agent.reference import POLICIES, ReferenceAgent
from fiqkit.errors import UserError
from fiqkit.models import open_engine
from fiqkit.models.cache import CachedEngine, uncached
from fiqkit.models.cards.cards import Card, find_card
from fiqkit.models.cards.memory import Plan, plan
from fiqkit.models.checks.determinism import flip_rate
from fiqkit.models.checks.startup import startup_probe
from fiqkit.models.engine import Engine, Request, Sampling
from fiqkit.models.opening import off_loop
from fiqkit.records import Instance
from fiqkit.roles.interfaces import Grader, Judge, Simulator
from fiqkit.run.lineup import Lineup, load, override
from fiqkit.store.store import Store
from fiqkit.store.usage import Row, agent_usage, role_usage

THINKING = "+thinking"  # appended to the name of an agent that thinks
_FLIP_REQUESTS = 16
_REFERENCE_IN_FLIGHT = 64  # a reference policy waits for nothing; this only bounds what is open at once


# role → the kinds of it that the registry knows
_KINDS = {"simulator": roles.SIMULATORS, "grader": roles.GRADERS, "judge": roles.JUDGES}


def played_by(role: str, setting: str) -> tuple[str, str | None]:
    """The kind and the card that a role's setting means: `rules` no card, `CARD` a model, `cascade:CARD` both."""
    if setting in _KINDS[role]:
        return setting, None
    kind, _, card = setting.partition(":")
    return (kind, card) if kind in _KINDS[role] else ("llm", setting)


def card_of(agent: str) -> str | None:
    """The model card behind an agent's setting; None for a reference policy, or a policy of the user's own without."""
    if agent in POLICIES:
        return None
    return own.card_of(agent) if own.names_factory(agent) else agent


def choose_lineup(name: str | None, options: Mapping[str, Any], cards: Path | None = None) -> Lineup:
    """The line-up that a name and overriding options mean.

    Without a name, agents that only show that the chain works (cards with `measures = false`) get the small budgets of
    the demo line-up, and all others the protocol's.
    """
    if name is None:
        agents = options.get("agent", Lineup().agent)
        shown = [card for agent in agents if (card := card_of(agent))]
        name = "demo" if shown and not any(find_card(card, cards).measures for card in shown) else None
    return override(load(name) if name else Lineup(), options, "options")


@dataclass(slots=True)
class Cast:
    """Opens the models of a line-up and hands out its agents and roles: `open` first, `close` when done.

    Models with equal weights are opened once, so that an agent and a grader on one model share its memory.
    """

    lineup: Lineup
    seed: int = 0
    cards: Path | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    cache: Path | None = None
    _engines: dict[tuple[str, str, str], Engine] = field(default_factory=dict)

    def members(self) -> dict[str, list[Card]]:
        """The cards of each role that a run loads: agent, simulator, grader, judge.

        Raises:
            UserError: an unknown card, or a thinking mode that a card does not have.
        """
        named = {"agent": [asked for name in self.lineup.agent if (asked := card_of(name))]}
        for role in _KINDS:
            card_name = played_by(role, getattr(self.lineup, role))[1]
            named[role] = [card_name] if card_name else []
        found = {role: [find_card(name, self.cards) for name in names] for role, names in named.items()}
        for card in found["agent"]:
            for thinking in self.lineup.thinking:
                if thinking not in card.thinking:
                    has = ", ".join(card.thinking) or "none"
                    raise UserError(f"{card.name}: has no thinking mode {thinking!r}; it has {has}")
        return found

    def check_self_grading(self) -> None:
        """Refuse a grader or judge that is a model under test (pitfall: it favours its own answers).

        Raises:
            UserError: names the card and both ways out.
        """
        members = self.members()
        under_test = {(card.weights, card.model) for card in members["agent"]}
        for role in ("grader", "judge"):
            for card in members[role]:
                if (card.weights, card.model) in under_test:
                    raise UserError(
                        f"{card.name} would be its own {role}; choose another --{role}, or allow it with "
                        "--allow-self-grading"
                    )

    def hashes(self) -> set[str]:
        """Hashes of the weights of the models that are open; a server tells none."""
        return {sha for engine in self._engines.values() if (sha := engine.describe().get("sha256"))}

    def plan(self) -> Plan:
        """What memory the models need, held against what this machine has."""
        played = {f"{role} {card.name}": card for role, cards in self.members().items() for card in cards}
        return plan(played, self._settings())

    def agents(self, instances: Sequence[Instance]) -> list[Agent]:
        """The agents under test: a reference policy, or a card once for each thinking mode."""
        return [agent for name in self.lineup.agent for agent in self._agents_of(name, instances)]

    def _agents_of(self, name: str, instances: Sequence[Instance]) -> list[Agent]:
        if name in POLICIES:
            return [ReferenceAgent(name, instances, self.seed)]
        if own.names_factory(name):
            asked = card_of(name)
            behind = self._engines[_weights_of(find_card(asked, self.cards))] if asked else None
            return [own.OwnAgent(name, behind, self.seed)]
        card = find_card(name, self.cards)
        engine = self._engines[_weights_of(card)]
        sampling = Sampling(max_tokens=self.lineup.max_tokens, temperature=self.lineup.temperature)
        if not self.lineup.thinking:
            return [EngineAgent(card.name, engine, sampling, None, self.seed)]
        return [
            EngineAgent(f"{card.name}{THINKING}" if on == "on" else card.name, engine, sampling, on == "on", self.seed)
            for on in self.lineup.thinking
        ]

    async def open(self) -> list[str]:
        """Load every model, or ask the server that has it, off the event loop; lines worth showing.

        Raises:
            UserError: a model that cannot be opened, a server that is not there.
        """
        lines: list[str] = []
        for card in (card for cards in self.members().values() for card in cards):
            key = _weights_of(card)
            if key not in self._engines:
                engine = await off_loop(partial(open_engine, card, cards=self.cards, **self._settings()), _dispose)
                self._engines[key] = CachedEngine(engine, self.cache) if self.cache else engine
                lines += await self._engines[key].ready()
        return lines

    def simulator(self) -> Simulator:
        """Who plays the user."""
        return roles.open_simulator(*self._played("simulator"), seed=self.seed)

    def grader(self) -> Grader:
        """Who grades the answers."""
        return roles.open_grader(*self._played("grader"), seed=self.seed)

    def judge(self) -> Judge:
        """Who judges the questions."""
        return roles.open_judge(*self._played("judge"), seed=self.seed)

    def _played(self, role: str) -> tuple[str, Engine | None]:
        kind, card = played_by(role, getattr(self.lineup, role))
        return kind, self._engines[_weights_of(find_card(card, self.cards))] if card else None

    def _settings(self) -> dict[str, Any]:
        context = {"context": self.lineup.context} if self.lineup.context else {}
        return {**context, **self.settings}

    async def probe(self, agents: Sequence[Agent]) -> dict[str, Any]:
        """Try each model once before the first episode, in the thinking modes that it will be asked for.

        Raises:
            UserError: a model that cannot complete, or cannot keep to the actions' schema.
        """
        modes: dict[int, tuple[Engine, list[bool | None]]] = {
            id(engine): (engine, []) for engine in self._engines.values()
        }
        for agent in agents:
            if isinstance(agent, EngineAgent):
                modes[id(agent.engine)][1].append(agent.thinking)
        return {
            engine.name: await startup_probe(
                uncached(engine),
                tuple(wanted) or (None,),
                ("schema",) if engine.can.structured and True not in wanted else (),
            )
            for engine, wanted in modes.values()
        }

    async def flip_rates(self, agents: Sequence[Agent], instances: Sequence[Instance]) -> dict[str, Any]:
        """How often each agent's engine gives two answers to one request, on the bare questions of some instances."""
        rates = {}
        for agent in agents:
            if isinstance(agent, EngineAgent):
                sampling = replace(agent.sampling, max_tokens=32)
                requests = [
                    Request(
                        messages=({"role": "user", "content": i.question},), sampling=sampling, thinking=agent.thinking
                    )
                    for i in instances[:_FLIP_REQUESTS]
                ]
                rates[agent.name] = await flip_rate(uncached(agent.engine), requests)
        return rates

    def usage(self, store: Store, run: str, roles: Mapping[str, Any], before: Sequence[Row]) -> list[Row]:
        """What agents and roles consumed; `before` is what an interrupted run had recorded."""
        cards = {card.name: card for card in self.members()["agent"]}
        rows = agent_usage(store, run, cards | {f"{name}{THINKING}": card for name, card in cards.items()})
        for role, player in roles.items():
            card = played_by(role, getattr(self.lineup, role))[1]
            if card:
                rows.append(role_usage(role, player.name, player.usage, find_card(card, self.cards), before))
        return rows

    def in_flight(self, agent: Agent) -> int:
        """How many episodes of an agent to have in flight: enough that its engine never waits for one.

        One more than the engine works on at once keeps it busy while an episode is between two turns; a single-sequence
        engine gets one at a time, which is what makes it repeatable.
        """
        if self.lineup.in_flight:
            return self.lineup.in_flight
        engine = getattr(agent, "engine", None)
        if engine is None:
            return _REFERENCE_IN_FLIGHT
        parallel: int = engine.can.parallel
        return parallel if parallel == 1 else parallel + max(1, parallel // 4)

    async def close(self) -> None:
        """Free every model."""
        for engine in self._engines.values():
            await engine.close()
        self._engines.clear()


def _weights_of(card: Card) -> tuple[str, str, str]:
    """What makes two cards one model."""
    return card.engine, card.weights, card.model


def _dispose(engine: Engine) -> None:
    """Close an engine that nobody waited for, on the thread that opened it."""
    asyncio.run(engine.close())
