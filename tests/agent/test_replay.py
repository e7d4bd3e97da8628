"""A stored episode taken up again at any turn shows the messages that the agent was sent, in every mode."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fiqkit.agent.dialogue import Dialogue
from fiqkit.agent.environment import Environment
from fiqkit.agent.modes import MODE_NAMES, mode
from fiqkit.agent.policy import play
from fiqkit.agent.world import Budget, World, spans_by_orbit
from fiqkit.bench_data import INSTANCES
from fiqkit.datasets import read_instances
from fiqkit.models.engine import Completion
from fiqkit.records import Ending, Episode, Instance, Passage
from fiqkit.roles import open_simulator
from fiqkit.store.store import Store
from fiqkit.taxonomy import RETRIEVALS

MODES = [mode(name.replace("-N", "-2")) for name in MODE_NAMES]
BUNDLED = read_instances(INSTANCES)
REPLIES = (
    '{"action": "search", "query": "revenue"}',
    '{"action": "interact", "question": "Do you mean the consolidated company-wide figure?"}',
    '{"action": "interact", "question": "Which one?"}',
    '{"action": "state", "state": {"entity": "unknown", "period": "2023", "metric": "unknown"}}',
    '<think>one {"action": "answer"}</think>{"action": "answer", "response": "1", "confidence": 5}',
    '{"action": "answer", "response": "2"}',
    '{"action": "buy"}',
    "seventy",
    "  \n",
    "<think>never closed",
)


async def hits(query: str, language: str) -> list[str]:
    return [f"about {query}", "more"]


class Drawn:
    """A policy that says anything, and keeps the messages that it was sent."""

    def __init__(self, seed: int, sent: list[tuple[int, Any]]) -> None:
        self.draw, self.sent = Random(seed), sent
        self.name = "drawn"

    def begin(self, instance_id: str, mode: str, sample: int = 0) -> "Drawn":
        return self

    def describe(self) -> dict[str, str]:
        return {}

    async def act(self, dialogue: Dialogue) -> Completion:
        self.sent.append((dialogue.turn, dialogue.messages))
        return Completion(self.draw.choice(REPLIES), prompt_ids=(1, 2), output_ids=(3,))


def drawn_world(draw: Random) -> World:
    return World(
        open_simulator(draw.choice(("rules", "noisy", "free-form"))),
        hits,
        own_passage=lambda instance: Passage("p", "its own passage"),
        budget=Budget(draw.choice((3, 12)), draw.choice((1, 6))),
        retrieval=draw.choice(RETRIEVALS),
        orbits=spans_by_orbit(BUNDLED),
        confidence=draw.choice(("action", "post-hoc")),
        prompt_language=draw.choice((None, "en", "zh")),
    )


def through_a_store(episode: Episode, instance: Instance) -> Episode:
    store = Store(Path(":memory:"), create=True)
    store.begin_run("r", "run", "d", [instance], {})
    store.write("r", [(episode, ())])
    [(_, read)] = store.episodes("r")
    store.close()
    return read


@settings(deadline=None, max_examples=120)
@given(st.integers(0, 2**32))
def test_messages_equal_those_that_were_sent_at_every_turn_of_every_mode(seed: int) -> None:
    draw = Random(seed)
    rules, instance = draw.choice(MODES), draw.choice(BUNDLED)
    world = drawn_world(draw)
    sent: list[tuple[int, Any]] = []
    original = Environment(instance, rules, world, sample=draw.choice((0, 2)))
    episode = through_a_store(asyncio.run(play(Drawn(seed, sent), original)), instance)
    assert sent
    assert episode.ending not in (Ending.BUG, Ending.ENGINE_ERROR), episode.error
    for turn, messages in sent:
        again = Environment(instance, rules, world, episode.sample)
        again.replay(episode, turn)
        assert tuple(again.dialogue().messages) == messages
        assert not again.done
    over = Environment(instance, rules, world, episode.sample)
    over.replay(episode, sum("asked_by" not in turn.content for turn in episode.turns))
    assert over.done
    assert (over.messages, over.turns) == (original.messages, original.turns)
    record = over.episode("drawn")
    assert (record.ending, record.answer, record.confidence, record.flags, record.extra) == (
        *(episode.ending, episode.answer, episode.confidence, episode.flags, episode.extra),
    )


def test_a_fork_goes_on_as_the_original_would_and_names_where_it_left(make_instance: Callable[..., Instance]) -> None:
    class Asks(Drawn):
        async def act(self, dialogue: Dialogue) -> Completion:
            said = {"action": "answer", "response": "$46.75B"} if dialogue.asked else json.loads(REPLIES[1])
            return Completion(json.dumps(said))

    world = World(open_simulator("rules"), hits)
    instance = make_instance()
    episode = asyncio.run(play(Asks(0, []), Environment(instance, mode("interact"), world)))
    fork = Environment(instance, mode("interact"), world)
    fork.replay(episode, 1, parent="run/7")
    again = asyncio.run(play(Asks(0, []), fork))
    assert (again.parent, again.fork_turn) == ("run/7", 1)
    assert (again.opening, again.turns[0], again.answer) == (episode.opening, episode.turns[0], "$46.75B")


@pytest.mark.parametrize("turn", [-1, 3])
def test_a_turn_that_is_not_there_is_refused(make_instance: Callable[..., Instance], turn: int) -> None:
    world = World(open_simulator("rules"), hits)
    environment = Environment(make_instance(), mode("answer"), world)
    episode = asyncio.run(play(Drawn(1, []), environment))
    assert len(episode.turns) < 3
    with pytest.raises(ValueError, match="cannot be taken up"):
        Environment(make_instance(), mode("answer"), world).replay(episode, turn)
    with pytest.raises(ValueError, match="in an environment of"):
        Environment(make_instance(), mode("search"), world).replay(episode, 0)
