"""An orbit's siblings share one episode where nothing tells them apart, and only there."""

import asyncio
from collections.abc import Callable

import pytest

from fiqkit.agent.modes import mode
from fiqkit.agent.policy import Agent, EngineAgent
from fiqkit.agent.reference import ReferenceAgent
from fiqkit.agent.world import World
from fiqkit.models.engine import Completion, EngineError, Request
from fiqkit.models.scripted import ScriptedEngine
from fiqkit.records import AnswerVerdict, Episode, Instance, Interpretation
from fiqkit.roles import open_grader, open_judge
from fiqkit.roles.assess import Assessor
from fiqkit.roles.simulator.rules import RulesSimulator
from fiqkit.run.jobs import jobs_left
from fiqkit.run.scheduler import Finished, play_all
from fiqkit.run.work import Lane, Recorder

VALUES = {"the group": "$46.75B", "the pottery segment": "$62.87B", "the glass segment": "$12.10B"}


@pytest.fixture
def siblings(make_instance: Callable[..., Instance]) -> list[Instance]:
    found = []
    for orbit in ("o1", "o2"):
        for entity, value in VALUES.items():
            other = next(name for name in VALUES if name != entity)
            found.append(
                make_instance(
                    instance_id=f"{orbit} {entity}",
                    orbit=orbit,
                    answer=value,
                    default_answer=VALUES[other],
                    intended_interpretation=Interpretation(entity=entity),
                    default_interpretation=Interpretation(entity=other),
                )
            )
    return found


async def nothing(query: str, language: str) -> list[str]:
    return []


def play(agent: Agent, instances: list[Instance], *names: str, samples: int = 1, width: int = 4) -> list[Finished]:
    written: list[Finished] = []
    jobs = jobs_left([agent], [mode(name) for name in names], instances, set(), samples)
    assess = Assessor(open_grader("rules"), open_judge("rules"))
    world = World(RulesSimulator(), nothing)

    async def all_of_them() -> None:
        await play_all([Lane(jobs[0], width)], world, assess, Recorder(written.extend), once_an_orbit=True)

    asyncio.run(all_of_them())
    return written


def engine() -> ScriptedEngine:
    return ScriptedEngine(['{"action": "answer", "response": "$46.75B", "confidence": 50}'])


@pytest.mark.parametrize("width", [1, 4])
def test_one_episode_counts_for_every_reading_and_is_right_for_one(siblings: list[Instance], width: int) -> None:
    asked = engine()
    written = play(EngineAgent("m", asked), siblings, "answer", width=width)
    assert len(asked.requests) == 2  # one for each orbit
    assert len(written) == 6
    assert len({(e.instance_id, e.item) for e, _ in written}) == 6
    right = [v.is_intended for _, given in written for v in given if isinstance(v, AnswerVerdict)]
    assert right.count(True) == 2  # whatever it answers without asking, it is right for one reading of each orbit
    copies = [e for e, _ in written if "played_as" in e.extra]
    assert len(copies) == 4
    assert all(e.extra["played_as"].split()[0] == e.instance_id.split()[0] for e in copies)
    assert sum(t.output_tokens for e, _ in written for t in e.turns) == sum(
        len(turn.text.split()) for e, _ in written if e not in copies for turn in e.turns
    )


def test_samples_are_episodes_of_their_own(siblings: list[Instance]) -> None:
    asked = engine()
    play(EngineAgent("m", asked), siblings, "answer", "search", samples=3)
    assert len(asked.requests) == 2 * 2 * 3


def test_modes_that_tell_siblings_apart_are_played_for_each(siblings: list[Instance]) -> None:
    asked = engine()
    written = play(EngineAgent("m", asked), siblings, "interact", "interpretation-oracle")
    assert len(asked.requests) == 12
    assert not [e for e, _ in written if "played_as" in e.extra]


def test_a_policy_that_holds_the_key_is_played_for_each(siblings: list[Instance]) -> None:
    written = play(ReferenceAgent("intended-oracle", siblings), siblings, "answer")
    assert [v.is_intended for _, given in written for v in given if isinstance(v, AnswerVerdict)] == [True] * 6


def test_instances_without_an_orbit_are_nobodys_siblings(make_instance: Callable[..., Instance]) -> None:
    asked = engine()
    play(EngineAgent("m", asked), [make_instance(instance_id=f"i{n}") for n in range(3)], "answer")
    assert len(asked.requests) == 3


def test_an_engine_error_is_every_siblings(siblings: list[Instance]) -> None:
    class Dies(ScriptedEngine):
        async def complete(self, request: Request) -> Completion:
            await asyncio.sleep(0)
            raise EngineError("gone")

    endings: list[Episode] = [e for e, _ in play(EngineAgent("m", Dies([""])), siblings[:3], "answer")]
    assert [str(e.ending) for e in endings] == ["engine_error"] * 3
