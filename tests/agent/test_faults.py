"""What an exception costs: in a role its verdict or its episode, in a policy its episode, never more."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fiqkit.agent.environment import Environment
from fiqkit.agent.modes import mode
from fiqkit.agent.policy import EngineAgent, play
from fiqkit.agent.world import World
from fiqkit.errors import UserError
from fiqkit.models.cache import CachedEngine
from fiqkit.models.engine import Completion, ContextOverflow, Request
from fiqkit.models.scripted import ScriptedEngine
from fiqkit.records import AnswerVerdict, Ending, Episode, Grade, Instance, Judgement, Outcome, QuestionVerdict
from fiqkit.roles import open_grader, open_judge, open_simulator
from fiqkit.roles.assess import Assessor
from fiqkit.roles.judge.llm import LlmJudge
from fiqkit.roles.judge.rules import RulesJudge
from fiqkit.roles.simulator.rules import RulesSimulator
from fiqkit.store.transcript import Recorded, transcript
from fiqkit.taxonomy import CATEGORIES

Make = Callable[..., Instance]
ASK = '{"action": "interact", "question": "Is it GAAP?"}'
ANSWER = '{"action": "answer", "response": "$46.75B"}'


async def nothing(query: str, language: str) -> list[str]:
    return []


def played(instance: Instance, name: str = "interact", **world: Any) -> Episode:
    agent = EngineAgent("m", ScriptedEngine([ASK, ANSWER]))
    fields = {"simulator": RulesSimulator(), "search": nothing} | world
    return asyncio.run(play(agent, Environment(instance, mode(name), World(**fields))))


class Broken(RulesSimulator):
    async def reply(self, question: str, view: Any) -> str:
        raise KeyError("a fault of its own")


@pytest.mark.parametrize("name", ["interact", "template-oracle", "always-ask"])
def test_a_simulator_that_raises_is_an_engine_error_with_its_traceback(make_instance: Make, name: str) -> None:
    episode = played(make_instance(), name, simulator=Broken())
    assert (episode.ending, episode.answer) == (Ending.ENGINE_ERROR, None)
    assert "KeyError: 'a fault of its own'" in (episode.error or "")
    assert "in reply" in (episode.error or "")


def test_a_simulator_whose_context_overflows_is_not_the_agents_overflow(make_instance: Make) -> None:
    class Overflows(RulesSimulator):
        async def reply(self, question: str, view: Any) -> str:
            raise ContextOverflow("9000 tokens into 8192")

    assert played(make_instance(), simulator=Overflows()).ending == Ending.ENGINE_ERROR


def test_a_policy_or_a_search_that_raises_is_a_bug_with_its_traceback(make_instance: Make) -> None:
    class Odd(ScriptedEngine):
        async def complete(self, request: Request) -> Completion:
            raise ZeroDivisionError("odd")

    async def gone(query: str, language: str) -> list[str]:
        raise OSError("index gone")

    search = '{"action": "search", "query": "x"}'
    for engine, fault in ((Odd([""]), "ZeroDivisionError: odd"), (ScriptedEngine([search]), "OSError: index gone")):
        world = World(RulesSimulator(), gone)
        episode = asyncio.run(play(EngineAgent("m", engine), Environment(make_instance(), mode("search"), world)))
        assert (episode.ending, episode.answer) == (Ending.BUG, None)
        assert fault in (episode.error or "")


def test_what_the_user_can_mend_is_no_bug(make_instance: Make) -> None:
    async def stale(query: str, language: str) -> list[str]:
        raise UserError("the index is stale")

    agent = EngineAgent("m", ScriptedEngine(['{"action": "search", "query": "x"}']))
    environment = Environment(make_instance(), mode("search"), World(RulesSimulator(), stale))
    with pytest.raises(UserError, match="stale"):
        asyncio.run(play(agent, environment))


class OddGrader:
    """Raises once, then grades."""

    name = "odd"
    calls = 0

    async def grade(self, *given: Any) -> Grade:
        self.calls += 1
        if self.calls == 1:
            raise RuntimeError("odd answer")
        return Grade(Outcome.INTENDED)

    def describe(self) -> dict[str, Any]:
        return {}


class OddJudge(OddGrader):
    async def classify(self, question: str) -> Judgement:
        self.calls += 1
        if self.calls == 1:
            raise RuntimeError("odd question")
        return Judgement(("entity_scope",), "entity_scope")


def test_a_grader_or_judge_that_raises_costs_its_verdict_and_is_asked_again(make_instance: Make) -> None:
    instance = make_instance()
    episode = played(instance)
    assess = Assessor(OddGrader(), OddJudge())
    first = asyncio.run(assess(episode, instance))
    assert [v.outcome for v in first if isinstance(v, AnswerVerdict)] == ["unscored"]
    assert [v.judgement.central for v in first if isinstance(v, QuestionVerdict)] == ["unscored"]
    why = [v.why if isinstance(v, AnswerVerdict) else v.judgement.why for v in first]
    assert "RuntimeError: odd answer" in why[0]
    assert "RuntimeError: odd question" in why[1]
    assert all("Traceback" in text for text in why)
    second = asyncio.run(assess(episode, instance))
    assert [v.outcome for v in second if isinstance(v, AnswerVerdict)] == ["intended"]
    assert [v.judgement.central for v in second if isinstance(v, QuestionVerdict)] == ["entity_scope"]
    judge = assess.judge
    asyncio.run(assess(episode, instance))
    assert judge is not None
    assert judge.calls == 2  # type: ignore[attr-defined]  # what was judged is remembered


def test_no_cache_keeps_what_led_to_no_verdict(tmp_path: Path) -> None:
    usable = json.dumps(dict.fromkeys(CATEGORIES, "absent") | {"entity_scope": "raised", "central": "entity_scope"})
    behind = ScriptedEngine(["nonsense", "nonsense", usable])
    judge = LlmJudge(CachedEngine(behind, tmp_path / "cache.db"))
    assert asyncio.run(judge.classify("Is it the segment?")).central == "unscored"
    assert asyncio.run(judge.classify("Is it the segment?")).central == "entity_scope"
    assert asyncio.run(judge.classify("Is it the segment?")).central == "entity_scope"
    assert len(behind.requests) == 3  # the usable reply is remembered


def test_the_template_oracles_question_is_a_recorded_and_judged_ask(make_instance: Make) -> None:
    instance = make_instance()
    episode = played(instance, "template-oracle")
    [question] = episode.asks
    assert "consolidated" in question
    assert question in episode.opening[1]["content"]
    assert episode.turns[0].content["asked_by"] == "environment"
    assert (episode.turns[0].content["reply"], episode.turns[0].text) == ("yes", "")
    assert episode.extra == {"n_turns": len(episode.turns) - 1}
    verdicts = asyncio.run(Assessor(open_grader("rules"), RulesJudge())(episode, instance))
    assert [v.judgement.central for v in verdicts if isinstance(v, QuestionVerdict)] == ["entity_scope"]
    assert "hears    yes (asked for the agent)" in transcript(Recorded(1, "r", episode, instance, []))


def test_an_assessor_gives_the_verdicts_of_the_roles_that_it_has(make_instance: Make) -> None:
    instance = make_instance()
    episode = played(instance)
    kinds = {}
    for name, assess in {
        "both": Assessor(open_grader("rules"), open_judge("rules")),
        "grader": Assessor(open_grader("rules")),
        "judge": Assessor(judge=open_judge("rules")),
    }.items():
        kinds[name] = [type(v).__name__ for v in asyncio.run(assess(episode, instance))]
    assert kinds == {
        "both": ["AnswerVerdict", "QuestionVerdict"],
        "grader": ["AnswerVerdict"],
        "judge": ["QuestionVerdict"],
    }
    assert open_simulator("rules").name == "rules"
