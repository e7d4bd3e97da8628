"""The adversarial verifier, the pre-scan and the constructor that asks a model."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import pytest

from fiqkit.construct.llm import LlmConstructor, read_orbit
from fiqkit.construct.orbits import Proof, Quantity, Row, Source
from fiqkit.construct.prescan import prescan
from fiqkit.construct.rules import Case
from fiqkit.construct.verifier import (
    ACCEPTED,
    PENDING,
    REJECTED,
    Guess,
    LlmVerifier,
    aligned,
    guesses_by_rules,
    is_vote,
    orbit_ruling,
    ruling,
)
from fiqkit.models.scripted import ScriptedEngine
from fiqkit.records import Instance, Interpretation
from fiqkit.roles.asking import Refused

ONE = Instance(
    instance_id="i",
    question="What was Acme's profit?",
    context="The group's, with outside owners' share.",
    answer="$110 million",
    default_answer="$100 million",
    intended_interpretation=Interpretation(entity="consolidated, including noncontrolling interests"),
    default_interpretation=Interpretation(entity="attributable to the shareholders of the parent company"),
    categories=("entity_scope",),
    h0=1.0,
    language="en",
    company="Acme",
)
VOTE = Guess("110 million dollars", Interpretation(entity="including noncontrolling interests"))
DEFAULT = Guess("$100 million", Interpretation(entity="attributable to the parent"))
LUCK = Guess("$110 million", Interpretation(entity="attributable to the shareholders of the parent"))


def test_a_vote_needs_the_answer_and_the_reading() -> None:
    assert is_vote(ONE, VOTE)
    assert not is_vote(ONE, DEFAULT)
    assert not is_vote(ONE, LUCK)  # the right number under the wrong reading


def test_every_field_in_which_the_readings_differ_must_match() -> None:
    two = replace(
        ONE,
        intended_interpretation=Interpretation(entity="Widgets segment", period="fiscal year 2023"),
        default_interpretation=Interpretation(entity="consolidated", period="second quarter of 2023"),
    )
    assert aligned(two, Interpretation(entity="the Widgets segment", period="full fiscal year 2023"))
    assert not aligned(two, Interpretation(entity="the Widgets segment", period="the quarter"))


@pytest.mark.parametrize(
    ("guesses", "outcome"),
    [
        ([DEFAULT] * 10, ACCEPTED),
        ([VOTE] + [DEFAULT] * 9, ACCEPTED),
        ([VOTE] * 2 + [DEFAULT] * 8, REJECTED),
        ([VOTE] * 2 + [None] * 8, REJECTED),
        ([DEFAULT] * 9 + [None], PENDING),
        ([None] * 10, PENDING),
    ],
)
def test_two_votes_reject_and_fewer_than_ten_verdicts_decide_nothing(guesses: list[Guess | None], outcome: str) -> None:
    assert ruling(ONE, guesses).outcome == outcome


def orbit(question: str, *captions: str) -> list[Case]:
    readings = [
        {"interpretation": {"metric": c}, "value": f"${100 + 50 * n} million", "span": f"{c} | ${100 + 50 * n} million"}
        for n, c in enumerate(captions)
    ]
    made = []
    for n, reading in enumerate(readings):
        other = readings[0 if n else 1]
        sibling = replace(
            ONE,
            instance_id=f"s{n}",
            question=question,
            answer=reading["value"],
            default_answer=other["value"],
            intended_interpretation=Interpretation(metric=captions[n]),
            default_interpretation=Interpretation(metric=captions[0 if n else 1]),
            orbit="o",
            headline_intended=n == 0,
            extra={"readings": readings},
        )
        made.append(Case(sibling))
    return made


def test_a_question_whose_words_point_to_one_reading_is_rejected() -> None:
    assert orbit_ruling(orbit("What was Acme's gross profit?", "Net income", "Gross profit")).outcome == REJECTED


def test_a_question_whose_words_fit_all_readings_stays() -> None:
    captions = ("Net income attributable to the parent", "Net income including noncontrolling interests")
    found = orbit_ruling(orbit("What was Acme's profit?", *captions))
    assert (found.outcome, found.trials) == (ACCEPTED, 10)
    assert len(guesses_by_rules(orbit("What was Acme's profit?", *captions)[0])) == 10


def reply(guess: Guess) -> str:
    fields = {
        name: getattr(guess.interpretation, name) or "" for name in ("entity", "period", "metric", "basis", "vintage")
    }
    return json.dumps({"answer": guess.answer, "interpretation": fields})


def test_models_are_tried_ten_times_and_a_broken_one_is_an_error_not_a_pass() -> None:
    async def outcome(*replies: str) -> str:
        engines = [ScriptedEngine(lambda _, text=text: text) for text in replies]
        return (await LlmVerifier(engines).rule(Case(ONE, "passage"))).outcome

    assert asyncio.run(outcome(reply(DEFAULT))) == ACCEPTED
    assert asyncio.run(outcome(reply(DEFAULT), reply(VOTE))) == REJECTED
    assert asyncio.run(outcome(reply(DEFAULT), "no JSON at all")) == PENDING


# --- pre-scan and constructor ---------------------------------------------------------------------------------------


def row(caption: str, value: float, topic: str = "profit") -> Row:
    return Row(caption, Quantity(value, "money", Proof("value", ("f",))), topic)


ROWS = [row("Net income attributable to the parent", 100e6), row("Net income of the group, consolidated", 110e6)]
SOURCE = Source("1", "Acme", None, "en", "10-K", None, None, "2023-12-31", "fiscal year ended 2023-12-31")


def test_a_passage_needs_two_values_of_one_kind_and_a_signal() -> None:
    assert prescan(ROWS, "inline", "en").categories
    assert "entity_scope" in prescan(ROWS, "inline", "en").categories
    assert prescan(ROWS[:1], "inline", "en").why == "no two values of one kind"
    near = [ROWS[0], row("Net income of the group, consolidated", 101e6)]
    assert prescan(near, "inline", "en").why == "no two values of one kind"
    assert prescan([row("Net income", 1e6), row("Revenue", 2e6, "revenue")], "inline", "en").why


def test_what_a_source_cannot_tell_is_not_tried() -> None:
    quarter = [row("净利润（单季度）", 1e8), row("净利润（全年）", 4e8)]
    assert "temporal_scope" in prescan(quarter, "inline", "zh").categories
    assert "temporal_scope" not in prescan(quarter, "mined", "zh").categories


def said(*readings: tuple[int, str], question: str = "What was Acme's profit?") -> str:
    found = [{"line": line, "reading": text, "constraint": f"the one {text}"} for line, text in readings]
    return json.dumps({"viable": True, "question": question, "readings": found})


def test_a_models_orbit_has_the_facts_values_and_the_models_words() -> None:
    made = read_orbit(said((1, "of the parent"), (2, "of the group")), SOURCE, ROWS, "entity_scope")
    assert made
    assert [a.value for a in made.alternatives] == [100e6, 110e6]
    assert made.question == "What was Acme's profit?"
    assert made.alternatives[1].interpretation.entity == "of the group"
    assert read_orbit('{"viable": false}', SOURCE, ROWS, "entity_scope") is None


@pytest.mark.parametrize(
    "text",
    [
        said((1, "a")),
        said((1, "a"), (9, "b")),
        said((1, "a"), (1, "b")),
        said((1, "a"), (2, "a")),
        said((1, "a"), (2, "b"), question=""),
    ],
)
def test_a_reply_that_makes_no_orbit_is_refused(text: str) -> None:
    with pytest.raises(Refused):
        read_orbit(text, SOURCE, ROWS, "entity_scope")


def test_a_model_has_three_tries_a_passage_and_may_find_nothing() -> None:
    def run(text: str) -> tuple[object, str]:
        engine = ScriptedEngine(lambda _: text)
        return asyncio.run(LlmConstructor(engine).make(SOURCE, ROWS, "entity_scope"))

    made, why = run(said((1, "of the parent"), (2, "of the group")))
    assert made and not why
    assert run('{"viable": false}') == (None, "no viable ambiguity")
    assert run("nonsense")[0] is None
