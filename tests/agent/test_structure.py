"""Category-aware ReAct: pre-check, template questions, gate, each taken out alone, and the generic control."""

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fiqkit.agent.environment import Environment
from fiqkit.agent.modes import MODE_NAMES, Structure, mode
from fiqkit.agent.policy import EngineAgent, play
from fiqkit.agent.prompts import Prompts
from fiqkit.agent.structure import GENERIC_QUESTIONS, open_fields, question_about
from fiqkit.agent.world import Budget, World
from fiqkit.models.engine import Request
from fiqkit.models.scripted import ScriptedEngine
from fiqkit.records import Ending, Episode, Instance, Turn
from fiqkit.roles.judge.rules import classify_question
from fiqkit.roles.simulator.rules import RulesSimulator
from fiqkit.run.evaluation import Settings, evaluate
from fiqkit.run.lineup import load
from fiqkit.store.store import Store
from fiqkit.taxonomy import CATEGORIES, FIELDS, LANGUAGES, MODE_ORDER

Make = Callable[..., Instance]
ANSWER = '{"action": "answer", "response": "$46.75B", "confidence": 70}'
SEARCH = '{"action": "search", "query": "x"}'
ALL_UNKNOWN = json.dumps({"action": "state", "state": dict.fromkeys(FIELDS, "unknown")})


def state(**known: str) -> str:
    return json.dumps({"action": "state", "state": dict.fromkeys(FIELDS, "known") | known})


async def hits(query: str, language: str) -> list[str]:
    return ["a passage"]


class Recording(ScriptedEngine):
    """Keeps which actions each request was constrained to."""

    def offered(self) -> list[list[str]]:
        shapes = [request.schema or {} for request in self.requests]
        return [[s["properties"]["action"]["const"] for s in shape.get("anyOf", [shape])] for shape in shapes]


def run(instance: Instance, name: str, replies: Sequence[str], **world: Any) -> tuple[Episode, Recording]:
    engine = Recording(replies)
    environment = Environment(instance, mode(name), World(RulesSimulator(), hits, **world))
    return asyncio.run(play(EngineAgent("m", engine), environment)), engine


def actions(episode: Episode) -> list[str]:
    return [turn.action + ("!" if turn.refused else "") for turn in episode.turns]


def test_all_three_parts_state_then_fixed_questions_then_an_answer(make_instance: Make) -> None:
    episode, engine = run(make_instance(), "category-aware", [state(entity="unknown", metric="unknown"), ANSWER])
    assert actions(episode) == ["state", "interact", "interact", "answer"]
    # The metric has the most readings (4), then the entity (3): 2 bits against 1.6.
    assert episode.asks == tuple(CATEGORIES[c].template["en"] for c in ("metric_definition", "entity_scope"))
    assert episode.ending == Ending.ANSWERED
    assert engine.offered() == [["state"], ["state", "search", "interact", "answer"]]
    assert "Still unknown: metric, entity" in episode.turns[0].observation


def test_nothing_unknown_asks_nothing(make_instance: Make) -> None:
    episode, _ = run(make_instance(), "category-aware", [state(), ANSWER])
    assert actions(episode) == ["state", "answer"]
    assert "Nothing is unknown" in episode.turns[0].observation


def test_the_precheck_comes_first_whatever_the_agent_does(make_instance: Make) -> None:
    episode, _ = run(make_instance(), "category-aware", [SEARCH, ANSWER, state(), ANSWER])
    assert actions(episode) == ["search!", "answer!", "state", "answer"]


def test_without_the_precheck_every_field_is_required(make_instance: Make) -> None:
    episode, _ = run(make_instance(), "category-aware-no-precheck", [ANSWER])
    order = ("metric", "entity", "period", "basis", "vintage")
    assert episode.asks == tuple(question_about(name, "en") for name in order)
    assert actions(episode) == ["interact"] * 5 + ["answer"]
    refused, _ = run(make_instance(), "category-aware-no-precheck", [state(), ANSWER])
    assert "state" not in [turn.action for turn in refused.turns if turn.refused is None]


def test_without_templates_the_agent_asks_in_its_own_words_and_the_gate_reads_them(make_instance: Make) -> None:
    ask = '{"action": "interact", "question": "Do you mean the consolidated figure?"}'
    replies = [state(entity="unknown"), ANSWER, ask, ANSWER]
    episode, _ = run(make_instance(), "category-aware-no-template", replies)
    assert actions(episode) == ["state", "answer!", "interact", "answer"]
    assert "Still unknown: entity" in (episode.turns[1].refused or "")


def test_a_question_about_something_else_does_not_open_the_gate(make_instance: Make) -> None:
    ask = '{"action": "interact", "question": "Do you mean the full year rather than a quarter?"}'
    replies = [state(entity="unknown"), ask, ANSWER]
    episode, _ = run(make_instance(), "category-aware-no-template", [*replies, ANSWER], budget=Budget(turns=4))
    assert actions(episode)[:3] == ["state", "interact", "answer!"]


def test_the_user_may_decline(make_instance: Make) -> None:
    """The view says nothing of the vintage: i_dont_know, and the field no longer bars the answer."""
    episode, _ = run(make_instance(), "category-aware", [state(vintage="unknown"), ANSWER])
    assert episode.turns[1].content["reply"] == "i_dont_know"
    assert actions(episode) == ["state", "interact", "answer"]


def test_without_the_gate_an_answer_is_taken_at_any_time(make_instance: Make) -> None:
    environment = Environment(make_instance(), mode("category-aware-no-gate"), World(RulesSimulator(), hits))

    async def straight() -> None:
        from fiqkit.models.engine import Completion

        await environment.begin()
        await environment.step(Completion(ALL_UNKNOWN))
        assert "answer" in environment.allowed
        await environment.step(Completion(ANSWER))

    asyncio.run(straight())
    assert environment.ending == Ending.ANSWERED


def test_the_gate_opens_when_no_question_is_left_so_that_every_episode_can_end(make_instance: Make) -> None:
    episode, _ = run(make_instance(), "category-aware", [ALL_UNKNOWN, ANSWER], budget=Budget(12, 2))
    assert actions(episode) == ["state", "interact", "interact", "answer"]
    short, _ = run(make_instance(), "category-aware", [ALL_UNKNOWN, ANSWER], budget=Budget(3, 6))
    assert actions(short) == ["state", "interact", "answer"]
    assert short.ending == Ending.ANSWERED


def test_the_control_has_the_same_structure_and_never_names_a_category(make_instance: Make) -> None:
    details = {f"detail_{n}": "unknown" for n in range(1, 6)}
    replies = [json.dumps({"action": "state", "state": details}), ANSWER]
    control, _ = run(make_instance(), "generic-structured", replies)
    aware, _ = run(make_instance(), "category-aware", [ALL_UNKNOWN, ANSWER])
    assert actions(control) == actions(aware) == ["state", *["interact"] * 5, "answer"]
    assert control.asks == GENERIC_QUESTIONS["en"]
    for language in LANGUAGES:
        system = Prompts.of(language).system(mode("generic-structured"))
        assert not any(category.title[language] in system for category in CATEGORIES.values())
        assert not any(category.definition[language] in system for category in CATEGORIES.values())
        assert not any(f'"{name}"' in system for name in FIELDS)


@pytest.mark.parametrize("question", [q for texts in GENERIC_QUESTIONS.values() for q in texts])
def test_the_controls_questions_are_on_no_category(question: str) -> None:
    judged = classify_question(question)
    assert (judged.touched, judged.central in ("generic", "none")) == ((), True)


@pytest.mark.parametrize("name", list(CATEGORIES))
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_fixed_question_settles_its_own_field(name: str, language: str) -> None:
    category = CATEGORIES[name]
    turns = [Turn("interact", {"question": category.template[language], "reply": "yes"})]
    assert category.field not in open_fields(Structure(), turns)


def test_a_later_state_fills_in_but_opens_nothing_again() -> None:
    def told(**fields: str) -> Turn:
        return Turn("state", {"state": dict.fromkeys(FIELDS, "known") | fields})

    first = told(entity="unknown", period="unknown")
    assert open_fields(Structure(), [first]) == ("entity", "period")
    assert open_fields(Structure(), [first, told(period="Unknown.")]) == ("period",)
    assert open_fields(Structure(), [told(), told(metric="unknown")]) == ()
    assert open_fields(Structure(), [Turn("state", {"state": {"entity": "group"}})])[0] == "metric"


@pytest.mark.parametrize("name", ["answer", "search", "interact", "enumerate", "context-oracle"])
def test_other_modes_have_no_state(make_instance: Make, name: str) -> None:
    episode, _ = run(make_instance(), name, [state(), ANSWER])
    assert episode.turns[0].refused
    assert '"action": "state"' not in Prompts.of("en").system(mode(name))


def test_a_thinking_model_is_held_by_the_environment_alone(make_instance: Make) -> None:
    class Free(ScriptedEngine):
        async def complete(self, request: Request) -> Any:
            assert request.schema is None
            return await super().complete(request)

    agent = EngineAgent("m", Free([ANSWER, state(), ANSWER]), thinking=True)
    environment = Environment(make_instance(), mode("category-aware"), World(RulesSimulator(), hits))
    assert actions(asyncio.run(play(agent, environment))) == ["answer!", "state", "answer"]


@pytest.mark.slow
def test_a_real_model_is_held_to_the_structure_and_states_its_confidence(tmp_path: Path) -> None:
    lineup = replace(
        load("demo"),
        agent=("smollm2-135m",),
        modes=("category-aware",),
        confidence="post-hoc",
        retrieval="own",
        max_tokens=400,
    )
    run = asyncio.run(evaluate(Settings(lineup=lineup, store=tmp_path / "runs.db", limit=2))).run
    for _, episode in Store(tmp_path / "runs.db").episodes(run):
        assert episode.ending == Ending.ANSWERED
        assert [turn.action for turn in episode.turns][0 :: len(episode.turns) - 1] == ["state", "confidence"]
        assert set(episode.turns[0].content["state"]) == set(FIELDS)
        assert episode.confidence is not None


def test_every_mode_has_its_place_in_the_tables_order() -> None:
    names = [name.removesuffix("-N") for name in MODE_NAMES]
    assert sorted(names) == sorted(MODE_ORDER)
