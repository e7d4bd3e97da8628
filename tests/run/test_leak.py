"""No message that the environment or a role authored holds C, A or A_d, but where a passage or the mode grants it."""

import asyncio
import gc
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from fiqkit import values
from fiqkit.agent.dialogue import Dialogue
from fiqkit.agent.environment import Environment
from fiqkit.agent.modes import MODE_NAMES, Mode, mode
from fiqkit.agent.policy import EngineAgent, play
from fiqkit.agent.prompts import Prompts
from fiqkit.agent.reference import ReferenceAgent
from fiqkit.agent.world import World, spans_by_orbit
from fiqkit.bench_data import INSTANCES
from fiqkit.datasets import read_instances
from fiqkit.models.engine import Completion
from fiqkit.models.scripted import ScriptedEngine
from fiqkit.records import Ending, Episode, Instance, Interpretation
from fiqkit.roles import SIMULATORS, open_simulator
from fiqkit.roles.interfaces import Simulator, UserView

Make = Callable[..., Instance]
MODES = [mode(name.replace("-N", "-2")) for name in MODE_NAMES]
OPEN_QUESTIONS = {
    "en": "Which scope, period and definition do you mean?",
    "zh": "您指的是哪个口径、哪个期间、哪种定义？",
}


async def _nothing_found(query: str, language: str) -> list[str]:
    return []


def simulators(instance: Instance) -> dict[str, Simulator]:
    """Every kind there is; those that need a model get one that states both values whatever it is asked."""
    talkative = ScriptedEngine([f"No. It is {instance.answer}, not {instance.default_answer}."])
    return {
        kind: open_simulator(kind, talkative if "engine" in takes else None)
        for kind, (_, _, takes) in SIMULATORS.items()
    }


def authored(instance: Instance, rules: Mode, user: Simulator, orbits: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    """What the agent was told in an episode; the search finds nothing, so that no passage is among it."""
    question = OPEN_QUESTIONS[instance.language]
    asks = [f'{{"action": "interact", "question": "{question}"}}', '{"action": "answer", "response": "x"}']
    for agent in (ReferenceAgent("template-asker", [instance]), EngineAgent("m", ScriptedEngine(asks))):
        environment = Environment(instance, rules, World(user, _nothing_found, orbits=orbits))
        asyncio.run(play(agent, environment))
        system, *rest = environment.messages
        # The system message is the same for every instance of a language, so it can give none away.
        assert system["content"] == Prompts.of(instance.language).system(rules)
        yield from (message["content"] for message in rest if message["role"] != "assistant")


def states(text: str, gold: str) -> bool:
    """Whether a text holds a gold as a whole value, in whatever notation."""
    [value] = values.find(gold)
    return any(values.same(found, value) for found in values.find(text))


def check(instances: list[Instance], kinds: tuple[str, ...], step: int = 1) -> None:
    orbits = spans_by_orbit(instances)
    for instance in instances[::step]:
        for kind, user in simulators(instance).items():
            for rules in (m for m in MODES if not m.retrieval and kind in kinds):
                for text in authored(instance, rules, user, orbits):
                    where = (instance.instance_id, rules.name, kind, text)
                    assert "context" in rules.gives or instance.context not in text or kind == "free-form", where
                    assert "spans" in rules.gives or not states(text, instance.answer), where
                    assert "spans" in rules.gives or not states(text, instance.default_answer), where


def test_nothing_leaks_on_the_bundled_set() -> None:
    check(read_instances(INSTANCES), tuple(SIMULATORS), step=61)


@pytest.mark.slow
@pytest.mark.conformance
def test_nothing_leaks_on_the_released_set(shared_data: Path) -> None:
    released = read_instances(shared_data / "fininteract" / "fininteract_v1.jsonl")
    check(released, ("free-form",))  # the one that says more than yes, no and i_dont_know
    check(released[::4], tuple(SIMULATORS))


# --- a user that gives a value away ---------------------------------------------------------------------------------


class Says:
    """A user that replies with the texts given, one after the other, the last for ever."""

    name = "says"

    def __init__(self, *replies: str) -> None:
        self.replies = list(replies)
        self.draws: list[str] = []

    async def reply(self, question: str, view: UserView) -> str:
        self.draws.append(view.draw)
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]

    def describe(self) -> dict[str, Any]:
        return {}


def asked(instance: Instance, user: Simulator, name: str = "interact", sample: int = 0) -> tuple[Episode, str]:
    replies = ['{"action": "interact", "question": "Which one?"}', '{"action": "answer", "response": "x"}']
    environment = Environment(instance, mode(name), World(user, _nothing_found), sample)
    episode = asyncio.run(play(EngineAgent("m", ScriptedEngine(replies)), environment))
    return episode, "\n".join(message["content"] for message in environment.messages)


NOTATIONS = (
    "4 6 . 7 5 billion",
    "46_750 million",
    "forty-six point seven five billion",
    "$46.75B",
    "about 46.8 billion",
    "46,750 (in millions)",
    "US$(46.75) bn",
    "467.5亿美元",
    "-46,750,000,000",
)
DEFAULTS = ("62.87 billion", "62,871 million dollars", "628.7亿")


@pytest.mark.parametrize(
    "value", ["4.5%", "450 bps", "4.5 percentage points", "450 basis points", "0.045", "百分之四点五"]
)
def test_a_rate_is_given_away_in_points_and_fractions_too(make_instance: Make, value: str) -> None:
    instance = make_instance(answer="4.5%", default_answer="6.1%")
    episode, seen = asked(instance, Says(f"I mean the one of {value}, of fiscal 2023."))
    assert episode.ending == Ending.ENGINE_ERROR
    assert value not in seen


@pytest.mark.parametrize("value", NOTATIONS + DEFAULTS)
def test_a_reply_with_a_value_is_dropped_and_asked_for_once_more(make_instance: Make, value: str) -> None:
    user = Says(f"The one that is {value}.", "The consolidated one.")
    episode, seen = asked(make_instance(), user)
    assert episode.ending == Ending.ANSWERED
    assert value not in seen
    assert "The consolidated one." in seen
    assert len(user.draws) == len(set(user.draws)) == 2  # the second try must not repeat the draw of the first


@pytest.mark.parametrize("value", NOTATIONS + DEFAULTS)
@pytest.mark.parametrize("name", ["interact", "template-oracle"])
def test_a_user_who_insists_on_the_value_is_an_engine_error(make_instance: Make, value: str, name: str) -> None:
    episode, seen = asked(make_instance(), Says(f"It is {value}."), name)
    assert episode.ending == Ending.ENGINE_ERROR
    assert "gold value" in (episode.error or "")
    assert value not in f"{seen}{episode}"


def test_a_year_or_another_value_is_no_leak(make_instance: Make) -> None:
    for reply in ("Fiscal year 2023, please.", "Not the $12 million one.", "是2023年度的。"):
        episode, seen = asked(make_instance(), Says(reply))
        assert episode.ending == Ending.ANSWERED
        assert reply in seen


def test_samples_are_other_draws_and_the_first_is_the_usual_one(make_instance: Make) -> None:
    draws = []
    for sample in (0, 1, 2):
        user = Says("yes")
        asked(make_instance(), user, sample=sample)
        draws += user.draws
    assert draws[0] == ""
    assert len(set(draws)) == 3


# --- what a policy can reach ----------------------------------------------------------------------------------------


def reachable(thing: object) -> Iterator[object]:
    """Every object that can be had from another by following references, code and types left out."""
    seen, queue = set(), [thing]
    while queue:
        current = queue.pop()
        if id(current) in seen or isinstance(current, type) or callable(current):
            continue
        seen.add(id(current))
        yield current
        queue += gc.get_referents(current)


@pytest.mark.parametrize("rules", MODES, ids=lambda rules: rules.name)
def test_a_policy_cannot_reach_the_instance(make_instance: Make, rules: Mode) -> None:
    instance = make_instance()
    found: list[object] = []

    class Snoops:
        name = "snoops"

        def begin(self, instance_id: str, mode: str, sample: int = 0) -> "Snoops":
            return self

        def describe(self) -> dict[str, Any]:
            return {}

        async def act(self, dialogue: Dialogue) -> Completion:
            found.extend(reachable(dialogue))
            return Completion('{"action": "answer", "response": "x"}')

    world = World(open_simulator("rules"), _nothing_found, own_passage=lambda _: None)  # type: ignore[arg-type,return-value]
    asyncio.run(play(Snoops(), Environment(instance, rules, world)))
    assert any(isinstance(thing, Dialogue) for thing in found)
    forbidden = (Instance, Interpretation, Environment, World, UserView)
    assert [thing for thing in found if isinstance(thing, forbidden)] == []
    if not rules.gives:
        texts = "\n".join(thing for thing in found if isinstance(thing, str))
        assert instance.answer not in texts
        assert instance.default_answer not in texts
        assert instance.context not in texts
