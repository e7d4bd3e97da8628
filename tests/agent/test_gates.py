"""A gate lets a question through, asks for one or keeps it back; what it reads for itself leaves no trace."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from fiqkit.agent.environment import Environment
from fiqkit.agent.gates import GatedAgent, card_of
from fiqkit.agent.modes import mode
from fiqkit.agent.policy import EngineAgent, play
from fiqkit.agent.world import World
from fiqkit.errors import UserError
from fiqkit.models.engine import Request
from fiqkit.models.scripted import ScriptedEngine
from fiqkit.records import Episode, Instance, Passage
from fiqkit.roles.simulator.rules import RulesSimulator
from fiqkit.run.lineup import Lineup
from fiqkit.run.players import Cast

ASK = '{"action": "interact", "question": "Do you mean the consolidated total?"}'


def answer(confidence: int, text: str = "$46.75B") -> str:
    return json.dumps({"action": "answer", "response": text, "confidence": confidence})


def offered(request: Request) -> set[str]:
    """The actions that a request's schema allows."""
    shapes = request.schema.get("anyOf", [request.schema]) if request.schema else []
    return {shape["properties"]["action"]["const"] for shape in shapes}


def model(first: str, confidence: int = 40, base: str = ASK) -> Callable[[Request], str]:
    """Searches, then does `first` if it may, else the other thing; its base, without the adapter, does `base`."""

    def reply(request: Request) -> str:
        told = [m["content"] for m in request.messages or () if m["role"] == "assistant"]
        if not told:
            return '{"action": "search", "query": "x"}'
        if request.adapter is None:
            return base
        may = offered(request)
        if "interact" not in may or (any("interact" in text for text in told) and may != {"interact"}):
            return answer(confidence)
        return ASK if may == {"interact"} else first

    return reply


def played(gate: str, reply: Any, make_instance: Callable[..., Instance], **settings: Any) -> tuple[Episode, int]:
    """The episode of an agent behind a gate, and how many requests were made."""
    engine = ScriptedEngine(reply)
    agent = GatedAgent(gate, EngineAgent("taught", engine, adapter="somewhere"))
    world = World(
        simulator=RulesSimulator(), own_passage=lambda instance: Passage("p", "Revenue $1"), retrieval="own", **settings
    )
    episode = asyncio.run(play(agent, Environment(make_instance(), mode("interact"), world)))
    return episode, len(engine.requests)


@pytest.mark.parametrize(
    ("gate", "first", "confidence", "base", "actions"),
    [
        ("never-ask", ASK, 40, ASK, ["search", "answer"]),
        ("never-ask", answer(40), 40, ASK, ["search", "answer"]),
        ("always-ask", answer(99), 99, ASK, ["search", "interact", "answer"]),
        ("base-ask", answer(99), 99, ASK, ["search", "interact", "answer"]),
        ("base-ask", ASK, 40, answer(40), ["search", "answer"]),
        ("confidence-70", ASK, 40, ASK, ["search", "interact", "answer"]),
        ("confidence-70", ASK, 70, ASK, ["search", "answer"]),
        ("confidence-70", answer(69), 69, ASK, ["search", "interact", "answer"]),
        ("confidence-69.5", answer(70), 70, ASK, ["search", "answer"]),
    ],
)
def test_what_a_gate_makes_of_a_model(
    gate: str, first: str, confidence: int, base: str, actions: list[str], make_instance: Callable[..., Instance]
) -> None:
    episode, _ = played(gate, model(first, confidence, base), make_instance)
    assert [turn.action for turn in episode.turns] == actions
    assert episode.model == f"{gate}:taught"
    assert episode.ending == "answered"


def test_what_only_the_gate_read_is_no_part_of_the_episode(make_instance: Callable[..., Instance]) -> None:
    episode, requests = played("confidence-70", model(ASK, 40), make_instance)
    assert requests == len(episode.turns) + 1  # the silent answer
    said = [m["content"] for m in episode.opening] + [turn.text for turn in episode.turns]
    assert sum("answer" in json.loads(text)["action"] for text in said if text.startswith("{")) == 1


def test_a_model_that_cannot_be_held_is_told_and_may_still_ask(make_instance: Callable[..., Instance]) -> None:
    seen: list[str] = []

    def stubborn(request: Request) -> str:
        seen.append(request.messages[-1]["content"] if request.messages else "")
        return ASK if len(seen) < 4 else answer(10)

    engine = ScriptedEngine(stubborn)
    engine.can = replace(engine.can, structured=False)
    agent = GatedAgent("never-ask", EngineAgent("taught", engine))
    world = World(simulator=RulesSimulator(), own_passage=lambda i: Passage("p", "x"), retrieval="own")
    episode = asyncio.run(play(agent, Environment(make_instance(), mode("interact"), world)))
    assert seen[1].startswith(seen[0])  # the same message, with a word that this is the last turn
    assert len(seen[1]) > len(seen[0])
    assert episode.turns[0].action == "interact"  # it asked all the same, and that is counted


def test_names_of_gates() -> None:
    assert card_of("confidence-70:qwen3-4b") == "qwen3-4b"
    assert card_of("base-ask:mine=some/folder") == "mine=some/folder"
    assert [card_of(name) for name in ("confidence-:x", "sometimes-ask:x", "qwen3-4b", "module:factory")] == [None] * 4
    with pytest.raises(UserError, match="plain has no adapter, so that it is its own base"):
        GatedAgent("base-ask", EngineAgent("plain", ScriptedEngine([ASK])))


def test_a_run_opens_the_card_behind_a_gate_once() -> None:
    asked = ("always-ask:smollm2-135m", "never-ask:smollm2-135m", "smollm2-135m")
    cast = Cast(Lineup(agent=asked))
    cast.check_names()
    assert {card.name for card in cast.members()["agent"]} == {"smollm2-135m"}
    assert len(cast.plan().needs) == 1
