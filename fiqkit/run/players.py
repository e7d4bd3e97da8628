"""The cast of a run: every model that the line-up names, opened once, and the roles and agents that it plays."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from fiqkit import roles
from fiqkit.agent import gates, own
from fiqkit.agent.policy import Agent, EngineAgent
from fiqkit.agent.reference import POLICIES, ReferenceAgent
from fiqkit.errors import UserError
from fiqkit.models import open_engine
from fiqkit.models.cache import CachedEngine, uncached
from fiqkit.models.cards.cards import Card, all_cards, find_card, without_credentials
from fiqkit.models.cards.memory import Plan, plan
from fiqkit.models.checks.determinism import flip_rate
from fiqkit.models.checks.startup import startup_probe
from fiqkit.models.engine import Engine, EngineError, Message, Request, Sampling
from fiqkit.models.opening import off_loop
from fiqkit.records import Instance
from fiqkit.roles.interfaces import Grader, Judge, Simulator
from fiqkit.run.limits import Spending
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
    if gated := gates.card_of(agent):
        return gated
    return own.card_of(agent) if own.names_factory(agent) else agent


def choose_lineup(
    name: str | None, options: Mapping[str, Any], cards: Path | None = None, before: Lineup | None = None
) -> Lineup:
    """The line-up that a name and overriding options mean.

    Without a name, agents that only show that the chain works (cards with `measures = false`) get the small budgets of
    the demo line-up, and all others the protocol's.

    Args:
        before: that of a run which is resumed; it stands where no other one is named.
    """
    if name is None and before is not None:
        return override(before, options, "options")
    if name is None:
        agents = options.get("agent", Lineup().agent)
        shown = [card for agent in agents if (card := card_of(agent))]
        name = "demo" if shown and not any(find_card(card, cards).measures for card in shown) else None
    return override(load(name) if name else Lineup(), options, "options")


@dataclass(slots=True)
class Cast:
    """Opens the models of a line-up and hands out its agents and roles: `open` first, `close` when done.

    Models with equal weights are opened once, so that an agent and a grader on one model share its memory.

    Attributes:
        left_out: agents that cannot run, by name, and why.
    """

    lineup: Lineup
    seed: int = 0
    cards: Path | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    cache: Path | None = None
    left_out: dict[str, str] = field(default_factory=dict)
    _engines: dict[tuple[str, str, str], Engine] = field(default_factory=dict)

    def members(self) -> dict[str, list[Card]]:
        """The cards of each role that a run loads: agent, simulator, grader, judge.

        Raises:
            UserError: a file of cards that is none, an unknown card, or a thinking mode that a card does not have.
        """
        all_cards(self.cards)  # a file of cards is read whether or not one of its cards is asked for
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

    def cards_in_full(self) -> dict[str, dict[str, Any]]:
        """Every model card of the run by name, for its manifest."""
        members = (card for cards in self.members().values() for card in cards)
        return {card.name: asdict(card) | {"weights": without_credentials(card.weights)} for card in members}

    def check_names(self) -> None:
        """Refuse two agents of one name: their episodes could not be told apart.

        Raises:
            UserError: names them and the way out.
        """
        first: dict[str, str] = {}
        for asked in self.lineup.agent:
            for name in self._names_of(asked):
                if name in first:
                    both = asked if first[name] == asked else f"{first[name]} and {asked}"
                    raise UserError(
                        f"two agents are named {name!r} ({both}); leave one out, or give one another name: NAME={asked}"
                    )
                first[name] = asked

    def _names_of(self, asked: str) -> list[str]:
        """What the agents behind one setting are called."""
        if asked in POLICIES or own.names_factory(asked):
            return [asked]
        if gated := gates.card_of(asked):
            gate = asked.partition(":")[0]
            return [f"{gate}:{name}" for name in self._names_of(gated)]
        name = find_card(asked, self.cards).name
        return [f"{name}{THINKING}" if on == "on" else name for on in self.lineup.thinking] or [name]

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
        """The agents under test: a reference policy, or a card once for each thinking mode; not those `left_out`."""
        return [agent for name in self.lineup.agent for agent in self._agents_of(name, instances)]

    def _agents_of(self, name: str, instances: Sequence[Instance]) -> list[Agent]:
        if self.left_out.keys() & set(self._names_of(name)):
            return []
        if name in POLICIES:
            return [ReferenceAgent(name, instances, self.seed)]
        if own.names_factory(name):
            asked = card_of(name)
            behind = self._engines[_weights_of(find_card(asked, self.cards))] if asked else None
            return [own.OwnAgent(name, behind, self.seed)]
        if gated := gates.card_of(name):
            return [gates.GatedAgent.of(name, agent) for agent in self._agents_of_card(gated)]
        return list(self._agents_of_card(name))

    def _agents_of_card(self, name: str) -> list[EngineAgent]:
        card = find_card(name, self.cards)
        engine = self._engines[_weights_of(card)]
        sampling = Sampling(max_tokens=self.lineup.max_tokens, temperature=self.lineup.temperature)
        thinking: list[bool | None] = [on == "on" for on in self.lineup.thinking] or [None]
        return [
            EngineAgent(called, engine, sampling, on, self.seed, card.adapter or None)
            for called, on in zip(self._names_of(name), thinking, strict=True)
        ]

    async def open(self) -> list[str]:
        """Load every model, or ask the server that has it, off the event loop; lines worth showing.

        An agent whose model cannot be opened is `left_out` where there is another one to play.

        Raises:
            UserError: no agent's model can be opened, or not that of a role; a server that is not there.
        """
        lines: list[str] = []
        for asked in self.lineup.agent:
            if (name := card_of(asked)) is None:
                continue
            try:
                lines += await self._open(find_card(name, self.cards))
            except (UserError, EngineError) as error:
                self._leave_out(self._names_of(asked), error)
        for role in _KINDS:
            for card in self.members()[role]:
                lines += await self._open(card)
        return lines

    async def _open(self, card: Card) -> list[str]:
        key = _weights_of(card)
        if key in self._engines:
            return []
        engine = await off_loop(partial(open_engine, card, cards=self.cards, **self._settings()), _dispose)
        engine = CachedEngine(engine, self.cache) if self.cache else engine
        try:
            lines = await engine.ready()
        except BaseException:
            await engine.close()
            raise
        self._engines[key] = engine
        return list(lines)

    def _leave_out(self, names: Sequence[str], error: UserError | EngineError) -> None:
        """Go on without some agents, unless there is no other."""
        self.left_out |= dict.fromkeys(names, str(error))
        if not any(name not in self.left_out for asked in self.lineup.agent for name in self._names_of(asked)):
            raise error

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

    async def probe(self, agents: Sequence[Agent], opening: Sequence[Message] = ()) -> dict[str, Any]:
        """Try each model before the first episode, in the thinking modes that it will be asked for.

        Args:
            opening: messages with which the agents' episodes begin.

        An agent whose model fails is `left_out` where there is another one to play.

        Raises:
            UserError: no agent's model, or not that of a role, can complete; or its thinking modes are one.
        """
        members = self.members()
        in_roles = {_weights_of(card) for role, cards in members.items() if role != "agent" for card in cards}
        hybrid = {_weights_of(card) for card in members["agent"] if len(card.thinking) == 2}
        found = {}
        for key, engine in self._engines.items():
            asking = [agent for agent in agents if getattr(agent, "engine", None) is engine]
            wanted = [agent.thinking for agent in asking if isinstance(agent, EngineAgent)] or [None]
            begins = opening if asking else ()
            try:
                found[engine.name] = await startup_probe(uncached(engine), wanted, hybrid=key in hybrid, opening=begins)
            except (UserError, EngineError) as error:
                if key in in_roles:
                    raise
                self._leave_out([agent.name for agent in asking], error)
        return found

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
        rows = agent_usage(store, run, self._cards_of_agents())
        for role, card in self._cards_of_roles().items():
            rows.append(role_usage(role, roles[role].name, roles[role].usage, card, before))
        return rows

    def spending(self, store: Store, run: str, roles: Mapping[str, Any], before: Sequence[Row]) -> Spending:
        """What the run has cost until now, and will have at any time of this session."""
        spent = sum(row["dollars"] or 0.0 for row in self.usage(store, run, roles, before))
        used = [(roles[role].usage, card) for role, card in self._cards_of_roles().items()]
        return Spending(spent, self._cards_of_agents(), used)

    def check_priced(self) -> None:
        """Refuse a limit of dollars where nothing has a price.

        Raises:
            UserError: no card of the run has one.
        """
        members = [card for cards in self.members().values() for card in cards]
        if not any(card.price_in or card.price_out for card in members):
            raise UserError(
                "--max-dollars: no model of this run has a price; set price_in and price_out (US dollars for a million "
                "tokens) on its card"
            )

    def _cards_of_agents(self) -> dict[str, Card]:
        cards = {card.name: card for card in self.members()["agent"]}
        return cards | {f"{name}{THINKING}": card for name, card in cards.items()}

    def _cards_of_roles(self) -> dict[str, Card]:
        named = {role: played_by(role, getattr(self.lineup, role))[1] for role in _KINDS}
        return {role: find_card(name, self.cards) for role, name in named.items() if name}

    def in_flight(self, agent: Agent) -> int:
        """How many episodes of an agent to have in flight: enough that its engine never waits for one.

        One more than the engine works on at once keeps it busy while an episode is between two turns; a single-sequence
        engine gets one at a time, which is what makes it repeatable.
        """
        return self.lineup.in_flight or _enough_for(getattr(agent, "engine", None))

    def verdicts_in_flight(self) -> int:
        """How many recorded episodes to have in flight while grader and judge give verdicts on them."""
        engines = [engine for role in ("grader", "judge") if (engine := self._played(role)[1])]
        return min(map(_enough_for, engines), default=_REFERENCE_IN_FLIGHT)

    async def close(self) -> None:
        """Free every model."""
        for engine in self._engines.values():
            await engine.close()
        self._engines.clear()


def _enough_for(engine: Engine | None) -> int:
    if engine is None:
        return _REFERENCE_IN_FLIGHT
    parallel = engine.can.parallel
    return parallel if parallel == 1 else parallel + max(1, parallel // 4)


def _weights_of(card: Card) -> tuple[str, str, str]:
    """What makes two cards one model."""
    return card.engine, card.weights, card.model


def _dispose(engine: Engine) -> None:
    """Close an engine that nobody waited for, on the thread that opened it."""
    asyncio.run(engine.close())
