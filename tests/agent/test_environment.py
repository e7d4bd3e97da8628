"""The environment's rules, one episode at a time, driven by scripted replies."""

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from fiqkit.agent.environment import Environment
from fiqkit.agent.modes import MODE_NAMES, mode
from fiqkit.agent.policy import EngineAgent, play
from fiqkit.agent.reference import POLICIES, ReferenceAgent
from fiqkit.agent.world import Budget, World
from fiqkit.errors import UserError
from fiqkit.models.engine import Completion, ContextOverflow, EngineError, Request
from fiqkit.models.scripted import ScriptedEngine
from fiqkit.records import Ending, Episode, Instance, Passage
from fiqkit.roles.simulator.rules import RulesSimulator

Make = Callable[..., Instance]
ALL_MODES = [name.replace("-N", "-3") for name in MODE_NAMES]


async def _two_hits(query: str, language: str) -> list[str]:
    return ["first passage", "second passage"]


def world(**fields: Any) -> World:
    own = lambda instance: Passage("p", "the instance's own passage")  # noqa: E731
    return World(**{"simulator": RulesSimulator(), "search": _two_hits, "own_passage": own} | fields)


def act(name: str, value: str = "x", **more: Any) -> str:
    field = {"search": "query", "interact": "question", "answer": "response"}[name]
    return json.dumps({"action": name, field: value, **more})


def run(instance: Instance, mode_name: str, replies: Sequence[str], **fields: Any) -> Episode:
    agent = EngineAgent("scripted", ScriptedEngine(replies))
    return asyncio.run(play(agent, Environment(instance, mode(mode_name), world(**fields))))


def test_an_episode_is_recorded_in_full(make_instance: Make) -> None:
    ask = "Do you mean the consolidated company-wide figure?"
    replies = [act("search", "q1"), act("interact", ask), act("answer", "$46.75B", confidence=90)]
    episode = run(make_instance(), "interact", replies)
    assert episode.ending == Ending.ANSWERED
    assert (episode.answer, episode.confidence) == ("$46.75B", 90.0)
    assert [turn.action for turn in episode.turns] == ["search", "interact", "answer"]
    assert episode.asks == (ask,)
    assert "first passage" in episode.turns[0].observation
    assert episode.turns[1].observation == "The user replies: Yes."
    assert [turn.text for turn in episode.turns] == replies
    assert [message["role"] for message in episode.opening] == ["system", "user"]


@pytest.mark.parametrize(
    ("mode_name", "forbidden"), [("answer", "search"), ("answer", "interact"), ("search", "interact")]
)
def test_what_the_mode_forbids_is_refused_and_counted(make_instance: Make, mode_name: str, forbidden: str) -> None:
    episode = run(make_instance(), mode_name, [act(forbidden), act("answer")])
    assert episode.turns[0].refused
    assert episode.count(forbidden) == 0
    assert episode.asks == ()
    assert episode.ending == Ending.ANSWERED


def test_a_fault_gets_one_repair_turn(make_instance: Make) -> None:
    mended = run(make_instance(), "answer", ["I think it is 46", act("answer")])
    assert (mended.ending, mended.flags, len(mended.turns)) == (Ending.ANSWERED, ("repaired",), 2)
    failed = run(make_instance(), "answer", ["I think it is 46", "46!"])
    assert (failed.ending, failed.answer) == (Ending.PARSE_FAILURE, None)
    twice = run(make_instance(), "search", ["no", act("search"), "no", act("answer")])
    assert (twice.ending, twice.flags) == (Ending.ANSWERED, ("repaired", "repaired"))


def test_budgets_end_the_episode_and_the_last_turn_is_announced(make_instance: Make) -> None:
    episode = run(make_instance(), "search", [act("search")] * 9, budget=Budget(turns=3))
    assert (episode.ending, len(episode.turns), episode.answer) == (Ending.BUDGET, 3, None)
    assert "last turn" in episode.turns[1].observation
    assert "last turn" not in episode.turns[0].observation


def test_questions_beyond_the_budget_are_refused(make_instance: Make) -> None:
    replies = [act("interact", "Is it GAAP?")] * 3 + [act("answer")]
    episode = run(make_instance(), "interact", replies, budget=Budget(questions=2))
    assert len(episode.asks) == 2
    assert [turn.refused is not None for turn in episode.turns] == [False, False, True, False]


def test_only_answers_are_offered_on_the_last_turn(make_instance: Make) -> None:
    environment = Environment(make_instance(), mode("interact"), world(budget=Budget(turns=2, questions=1)))

    async def first_turn() -> None:
        await environment.begin()
        assert environment.allowed == ("search", "interact", "answer")
        assert "first passage" in await environment.step(Completion(act("search")))
        assert environment.allowed == ("answer",)
        assert await environment.step(Completion(act("search"))) == ""
        assert environment.done

    asyncio.run(first_turn())


def test_forced_interact_ends_an_early_answer_as_wrong_and_leaves_room_for_its_questions(make_instance: Make) -> None:
    early = run(make_instance(), "forced-interact-4", [act("interact", "GAAP?"), act("answer")])
    assert (early.ending, early.answer) == (Ending.EARLY_ANSWER, "x")
    replies = [act("interact", "GAAP?")] * 10 + [act("answer")]
    patient = run(make_instance(), "forced-interact-10", replies, budget=Budget(turns=4, questions=2))
    assert (patient.ending, len(patient.asks)) == (Ending.ANSWERED, 10)


def test_always_ask_takes_exactly_one_question(make_instance: Make) -> None:
    replies = [act("answer"), act("interact", "GAAP?"), act("interact", "Segment?"), act("answer")]
    episode = run(make_instance(), "always-ask", replies)
    assert [turn.refused is None for turn in episode.turns] == [False, True, False, True]


@pytest.mark.parametrize(
    ("reply", "ending"),
    [
        (Completion("<think>" + act("answer")), Ending.TRUNCATED),
        (Completion(act("answer"), finish="length"), Ending.TRUNCATED),
        (EngineError("server gone"), Ending.ENGINE_ERROR),
        (ContextOverflow("9000 tokens into 8192"), Ending.CONTEXT_OVERFLOW),
    ],
)
def test_cut_replies_and_faults_are_endings_of_their_own(make_instance: Make, reply: Any, ending: Ending) -> None:
    class Faulty(ScriptedEngine):
        async def complete(self, request: Request) -> Completion:
            if isinstance(reply, Exception):
                raise reply
            return reply  # type: ignore[no-any-return]

    environment = Environment(make_instance(), mode("answer"), world())
    episode = asyncio.run(play(EngineAgent("m", Faulty([""])), environment))
    assert (episode.ending, episode.answer) == (ending, None)


def test_a_simulator_that_fails_is_an_engine_error(make_instance: Make) -> None:
    class Broken(RulesSimulator):
        async def reply(self, question: str, view: Any) -> str:
            raise EngineError("simulator gone")

    for mode_name in ("interact", "template-oracle"):
        episode = run(make_instance(), mode_name, [act("interact")], simulator=Broken())
        assert (episode.ending, episode.error) == (Ending.ENGINE_ERROR, "simulator gone")


def test_a_searching_mode_without_an_index_is_refused(make_instance: Make) -> None:
    with pytest.raises(UserError, match="no index"):
        Environment(make_instance(), mode("search"), world(search=None))


def test_a_result_holds_whole_passages_within_its_budget(make_instance: Make) -> None:
    async def long_hits(query: str, language: str) -> list[str]:
        return ["a" * 800, "b" * 800, "c" * 800]

    episode = run(make_instance(), "search", [act("search"), act("answer")], search=long_hits, result_tokens=450)
    seen = episode.turns[0].observation
    assert (seen.count("a" * 800), seen.count("b" * 800), "c" * 5 in seen) == (1, 1, False)


def test_only_the_seed_decides_the_order_of_the_spans(make_instance: Make) -> None:
    def first(key: str, seed: int) -> bool:
        environment = Environment(make_instance(instance_id=key), mode("context-oracle"), world(seed=seed))
        asyncio.run(environment.begin())
        text = environment.messages[1]["content"]
        return text.index("$46.75 billion") < text.index("$62,871")

    orders = [first(f"t{i}", 0) for i in range(200)]
    assert 70 < sum(orders) < 130
    assert orders == [first(f"t{i}", 0) for i in range(200)]


@pytest.mark.parametrize("mode_name", ALL_MODES)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_neither_c_nor_a_gold_reaches_the_agent_unless_the_mode_grants_it(
    make_instance: Make, mode_name: str, language: str
) -> None:
    """Leak test: every message that the environment or a role authored, in every mode, under every policy."""
    instance = make_instance(language=language, context="SECRET-CONSTRAINT")
    granted = mode(mode_name).gives
    for policy in POLICIES:
        agent = ReferenceAgent(policy, [instance])
        environment = Environment(instance, mode(mode_name), world())
        asyncio.run(play(agent, environment))
        authored = "\n".join(m["content"] for m in environment.messages if m["role"] != "assistant")
        assert ("SECRET-CONSTRAINT" in authored) == ("context" in granted)
        if "spans" not in granted:
            assert "46.75" not in authored
            assert "62.87" not in authored


@pytest.mark.parametrize("name", ["serach", "forced-interact-0", "forced-interact-100", "forced-interact-N", ""])
def test_unknown_modes_are_named(name: str) -> None:
    with pytest.raises(UserError, match="unknown mode"):
        mode(name)


# --- confidence after the answer, prompts in one language -----------------------------------------------------------


def post_hoc(instance: Instance, *replies: Any, mode_name: str = "answer") -> Episode:
    engine = ScriptedEngine([reply for reply in replies if isinstance(reply, str)])
    return asyncio.run(
        play(EngineAgent("m", engine), Environment(instance, mode(mode_name), world(confidence="post-hoc")))
    )


def test_confidence_is_asked_for_once_the_answer_stands_and_costs_no_turn(make_instance: Make) -> None:
    episode = post_hoc(make_instance(), act("answer", "$46.75B"), '{"action": "confidence", "confidence": 64}')
    assert (episode.ending, episode.answer, episode.confidence) == (Ending.ANSWERED, "$46.75B", 64.0)
    assert [turn.action for turn in episode.turns] == ["answer", "confidence"]
    assert episode.extra == {"n_turns": 1}
    assert "confidence" not in episode.opening[0]["content"]
    assert "0 to 100" in episode.turns[0].observation


def test_a_confidence_in_the_answer_does_not_count_when_it_is_asked_for_later(make_instance: Make) -> None:
    episode = post_hoc(make_instance(), act("answer", "$46.75B", confidence=99), "no idea")
    assert (episode.ending, episode.answer, episode.confidence) == (Ending.ANSWERED, "$46.75B", None)


def test_the_answer_stands_where_the_question_for_its_confidence_fails(make_instance: Make) -> None:
    class Dies(ScriptedEngine):
        async def complete(self, request: Request) -> Completion:
            if self.requests:
                raise EngineError("gone")
            return await super().complete(request)

    environment = Environment(make_instance(), mode("answer"), world(confidence="post-hoc"))
    episode = asyncio.run(play(EngineAgent("m", Dies([act("answer", "$46.75B")])), environment))
    assert (episode.ending, episode.answer, episode.confidence) == (Ending.ANSWERED, "$46.75B", None)
    assert episode.error == "gone"


def test_an_answer_on_the_last_turn_is_still_asked_for_its_confidence(make_instance: Make) -> None:
    environment = Environment(make_instance(), mode("answer"), world(confidence="post-hoc", budget=Budget(turns=1)))
    engine = ScriptedEngine([act("answer"), "70%"])
    episode = asyncio.run(play(EngineAgent("m", engine), environment))
    assert (episode.ending, episode.confidence) == (Ending.ANSWERED, 70.0)
    shapes = [dict((request.schema or {})["properties"]) for request in engine.requests]
    assert [sorted(shape) for shape in shapes] == [["action", "response"], ["action", "confidence"]]


def test_prompts_of_one_language_leave_question_and_template_in_the_users(make_instance: Make) -> None:
    instance = make_instance(language="zh", question="青砚陶业的营业利润是多少？")
    english = Environment(instance, mode("template-oracle"), world(prompt_language="en"))
    asyncio.run(english.begin())
    opening = english.messages[1]["content"]
    assert english.messages[0]["content"].startswith("You are")
    assert "Question: 青砚陶业" in opening
    assert "The user was asked: 您要的是" in opening


def test_a_mode_that_demands_questions_says_so(make_instance: Make) -> None:
    from fiqkit.agent.prompts import Prompts

    system = {name: Prompts.of("en").system(mode(name)) for name in ("forced-interact", "always-ask", "interact")}
    assert "at least 4 question(s)" in system["forced-interact"]
    assert "exactly 1 question(s)" in system["always-ask"]
    assert "question(s)" not in system["interact"]


def test_forced_interact_alone_means_the_papers_four() -> None:
    assert mode("forced-interact") == mode("forced-interact-4")
    assert mode("forced-interact").min_asks == 4


def test_the_category_oracle_is_told_what_the_category_means(make_instance: Make) -> None:
    environment = Environment(make_instance(), mode("category-oracle"), world())
    asyncio.run(environment.begin())
    assert "Entity scope (which part of the company" in environment.messages[1]["content"]
