"""No message that the environment or a role authored holds C, A or A_d, but where a passage or the mode grants it."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from fiqkit import values
from fiqkit.agent.environment import Environment
from fiqkit.agent.modes import MODE_NAMES, Mode, mode
from fiqkit.agent.policy import play
from fiqkit.agent.prompts import Prompts
from fiqkit.agent.reference import ReferenceAgent
from fiqkit.agent.world import World
from fiqkit.bench_data import INSTANCES
from fiqkit.datasets import read_instances
from fiqkit.records import Instance
from fiqkit.roles import open_simulator

MODES = [mode(name.replace("-N", "-2")) for name in MODE_NAMES]


async def _nothing_found(query: str, language: str) -> list[str]:
    return []


def authored(instance: Instance, rules: Mode) -> Iterator[str]:
    """What the agent was told in an episode; the search finds nothing, so that no passage is among it."""
    environment = Environment(instance, rules, World(open_simulator("rules"), _nothing_found))
    asyncio.run(play(ReferenceAgent("template-asker", [instance]), environment))
    system, *rest = environment.messages
    # The system message is the same for every instance of a language, so it can give none away.
    assert system["content"] == Prompts.of(instance.language).system(rules)
    return (message["content"] for message in rest if message["role"] != "assistant")


def states(text: str, gold: str) -> bool:
    """Whether a text holds a gold as a whole value, in whatever notation."""
    [value] = values.find(gold)
    return any(values.same(found, value) for found in values.find(text))


def check(instances: list[Instance]) -> None:
    for rules in MODES:
        if rules.retrieval:
            continue
        for instance in instances:
            for text in authored(instance, rules):
                where = (instance.instance_id, rules.name, text)
                assert "context" in rules.gives or instance.context not in text, where
                assert "spans" in rules.gives or not states(text, instance.answer), where
                assert "spans" in rules.gives or not states(text, instance.default_answer), where


def test_nothing_leaks_on_the_bundled_set() -> None:
    check(read_instances(INSTANCES))


@pytest.mark.slow
@pytest.mark.conformance
def test_nothing_leaks_on_the_released_set(shared_data: Path) -> None:
    check(read_instances(shared_data / "fininteract" / "fininteract_v1.jsonl"))
