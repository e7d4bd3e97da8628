"""Verdicts added beside others, and how two graders or judges are held against each other."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from fiqkit import roles
from fiqkit.cli import fiqkit
from fiqkit.errors import UserError
from fiqkit.models.cards.cards import find_card
from fiqkit.models.cards.weights import fingerprint, locate
from fiqkit.records import AnswerVerdict, Ending, Episode, Grade, Instance, Judgement, Outcome, QuestionVerdict, Turn
from fiqkit.store.store import Store
from fiqkit.verdicts.again import give_verdicts
from fiqkit.verdicts.agreement import grader_agreement, judge_agreement
from fiqkit.verdicts.opening import grade_runs, judge_runs
from fiqkit.verdicts.ruled import ruled_answers, ruled_questions, ruled_replies


class FirstWord:
    """A grader for tests: the first word of the answer is the outcome."""

    name = "first-word"

    async def grade(self, question, intended, default, answer, language):
        return Grade(Outcome(answer.split()[0]), value=intended.answer, why="first word")

    async def classify(self, question):
        return Judgement((question,), question)


ANSWERS = ["intended", "default", "other", "intended"]
RECORDED = [(True, False), (False, True), (True, False), (True, None)]


@pytest.fixture
def store(tmp_path: Path, make_instance: Callable[..., Instance]) -> Store:
    store = Store(tmp_path / "s.db", create=True)
    store.begin_run("r", "import", "d", [make_instance(instance_id=f"t{i}") for i in range(5)], {})
    asked = Turn("interact", {"question": "entity_scope"})
    pairs = [
        (
            Episode(f"t{i}", "m", "interact", Ending.ANSWERED, answer=f"{text} $5", turns=(asked,)),
            [
                AnswerVerdict("recorded", None, *RECORDED[i]),
                QuestionVerdict("recorded", 0, Judgement(("temporal_scope",) if i else ("entity_scope",), "")),
            ],
        )
        for i, text in enumerate(ANSWERS)
    ]
    store.write("r", [*pairs, (Episode("t4", "m", "interact", Ending.BUDGET), [])])
    return store


def test_regrading_adds_and_compares(store: Store):
    assert asyncio.run(give_verdicts(store, ["r"], "grader", FirstWord())).verdicts == 4
    assert {v["given_by"] for v in store.verdicts(1) if v["kind"] == "answer"} == {"recorded", "first-word"}
    found = grader_agreement(store, ["r"], "first-word")
    assert found["against"] == ["recorded"]
    assert (found["agreement"]["intended"]["n"], found["agreement"]["intended"]["raw"]) == (5, 0.8)
    assert (found["agreement"]["default"]["n"], found["agreement"]["default"]["raw"]) == (4, 1.0)
    assert found["answered"]["intended"]["raw"] == 0.75
    (wrong,) = found["disagreements"]
    assert (wrong["instance_id"], wrong["label"], wrong["first-word"], wrong["recorded"]) == (
        "t2",
        "intended",
        False,
        True,
    )
    assert (wrong["value"], wrong["intended"], wrong["why"]) == ("$46.75B", "$46.75B", "first word")


def test_values_labelled_both_ways(store: Store, make_instance):
    second = Episode("t0", "m", "search", Ending.ANSWERED, answer="intended $5")
    store.write("r", [(second, [AnswerVerdict("recorded", None, False, False)])])
    asyncio.run(give_verdicts(store, ["r"], "grader", FirstWord()))
    both = grader_agreement(store, ["r"], "first-word")["both_ways"]
    assert (both["values"], both["n"], both["instances"][0][0]) == (4, 1, "t0")


def test_rejudging(store: Store):
    assert asyncio.run(give_verdicts(store, ["r"], "judge", FirstWord())).verdicts == 4
    found = judge_agreement(store, ["r"], "first-word")
    assert (found["n"], found["touched_contains_recorded"]) == (4, 0.25)


def test_a_model_does_not_grade_itself(tmp_path: Path, store: Store):
    with pytest.raises(UserError, match="m would be its own grader"):
        grade_runs(tmp_path / "s.db", ["r"], "m")


def test_a_model_is_known_by_its_weights_under_any_name(tmp_path: Path, store: Store):
    weights = locate(find_card("smollm2-135m"))
    agent = {"name": "old", "engine": {"sha256": fingerprint(weights)}}
    store.add_to_manifest("r", {"agents": [agent]})
    with pytest.raises(UserError, match="old would be its own judge"):
        judge_runs(tmp_path / "s.db", ["r"], str(weights))


# --- files of ruled items -------------------------------------------------------------------------------------------


def ruled(path: Path, *rows: dict) -> Path:
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return path


def answer(**changes) -> dict:
    usual = {"id": "g1", "question": "Q?", "intended_answer": "$5", "default_answer": "$6", "final_answer": "other"}
    return usual | {"language": "en", "outcome": "other", "intended_interpretation": {"period": "FY2023"}} | changes


def test_ruled_answers(tmp_path: Path):
    path = ruled(
        tmp_path / "g.jsonl",
        answer(),
        answer(id="g2", final_answer="intended", flags=["scale_missing"]),
        answer(id="g3", outcome=None),
    )
    found = asyncio.run(ruled_answers(path, FirstWord()))
    assert (found["n"], found["accuracy"], found["without_scale_missing"]) == (2, 0.5, {"n": 1, "accuracy": 1.0})
    assert found["confusion"] == {"other": {"other": 1, "intended": 1}}
    assert [(w["id"], w["ruled"], w["given"]) for w in found["wrong"]] == [("g2", "other", "intended")]


def test_ruled_questions(tmp_path: Path):
    path = ruled(
        tmp_path / "q.jsonl",
        {"id": "a", "question": "entity_scope", "touched": ["entity_scope"], "central": "entity_scope"},
        {"id": "b", "question": "entity_scope", "touched": ["entity_scope", "temporal_scope"], "central": None},
        {"id": "c", "question": "entity_scope", "touched": None, "central": "generic"},
    )
    found = asyncio.run(ruled_questions(path, FirstWord()))
    assert (found["n"], found["touched"], found["central"]) == (3, 0.5, 0.5)
    assert found["macro_f1"] == pytest.approx((1.0 + 0.0) / 2)
    assert [w["id"] for w in found["wrong"]] == ["b", "c"]


def reply(**changes) -> dict:
    usual = {"id": "s1", "language": "en", "instance_question": "What was Acme's revenue?", "context": "Company-wide."}
    readings = {"intended_interpretation": {"entity": "consolidated"}, "default_interpretation": {"entity": "segment"}}
    return usual | readings | {"question": "Is it consolidated?", "reply": "yes"} | changes


def test_ruled_replies(tmp_path: Path):
    path = ruled(
        tmp_path / "s.jsonl",
        reply(),
        reply(id="s2", reply="no"),
        reply(id="s3", question="Which one?", reply="no"),
        reply(id="s4", reply=None),
    )
    found = CliRunner().invoke(fiqkit, ["simulate", "--file", str(path), "--json"])
    assert found.exit_code == 0, found.output
    said = json.loads(found.output)
    assert (said["n"], said["accuracy"], said["false_definite"]) == (3, 1 / 3, 1)
    assert [(w["id"], w["ruled"], w["given"]) for w in said["wrong"]] == [
        ("s2", "no", "yes"),
        ("s3", "no", "i_dont_know"),
    ]


@pytest.mark.parametrize("row", [reply(reply="maybe"), reply(context=""), reply(intended_interpretation="x"), {}])
def test_a_bad_ruled_reply_is_named(tmp_path: Path, row):
    with pytest.raises(UserError, match=r"s\.jsonl:2: field '"):
        asyncio.run(ruled_replies(ruled(tmp_path / "s.jsonl", reply(), row), roles.open_simulator("rules")))


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (answer(outcome="fine"), "field 'outcome' is 'fine'"),
        (answer(question=""), "field 'question' is ''"),
        (answer(intended_interpretation=[1]), "field 'intended_interpretation'"),
        (answer(final_answer=None), "field 'final_answer' is None"),
    ],
)
def test_bad_ruled_items_are_named(tmp_path: Path, row, said):
    with pytest.raises(UserError, match=r"g\.jsonl:2: ") as caught:
        asyncio.run(ruled_answers(ruled(tmp_path / "g.jsonl", answer(), row), FirstWord()))
    assert said in str(caught.value)
    with pytest.raises(UserError, match="'touched'"):
        asyncio.run(
            ruled_questions(ruled(tmp_path / "q.jsonl", {"question": "x", "touched": ["weather"]}), FirstWord())
        )
