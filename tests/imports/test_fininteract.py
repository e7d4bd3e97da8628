"""The release's files: what is read from a line, what is kept of it, and which lines are refused."""

from __future__ import annotations

import json
import random
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fiqkit.datasets import instance_row
from fiqkit.errors import UserError
from fiqkit.imports.fininteract import import_fininteract, parse_recorded
from fiqkit.records import Ending
from fiqkit.store.load import load_scored
from fiqkit.store.store import Store

LONG = "您是想了解" + "公司" * 110 + "的归母净利润吗？"


def line(**changes: Any) -> dict[str, Any]:
    """A recorded line: two questions and a third beyond the budget, a search, an answer; cut at 200 characters."""
    row = {
        "instance_id": "t0",
        "model": "gpt-5",
        "mode": "answer+search+interact",
        "user_sim": "llm",
        "forced_n": 0,
        "correct": True,
        "final_answer": "9.34亿元",
        "default_captured": False,
        "confidence": 80,
        "n_turns": 5,
        "n_asks": 2,
        "n_searches": 1,
        "axis_hits": [
            {"question": LONG, "axis_pred": "entity_scope", "is_hit": True},
            {"question": "Which one?", "axis_pred": "generic", "is_hit": False},
        ],
        "axes": ["entity_scope"],
        "trajectory": [
            {"turn": 0, "action": "interact", "content": str({"action": "interact", "question": LONG})[:200]},
            {"turn": 1, "action": "search", "content": "{'action': 'search', 'query': 'net profit'}"},
            {"turn": 2, "action": "interact", "content": "{'action': 'interact', 'question': 'Which one?'}"},
            {"turn": 3, "action": "interact", "content": "{'action': 'interact', 'question': 'And now?'}"},
            {"turn": 4, "action": "answer", "content": "{'action': 'answer', 'response': '9.34亿元'}"},
        ],
        "unheard_of": {"kept": [1, 2]},
    }
    return row | changes


def test_a_line_in_full():
    episode, (answer, first, second) = parse_recorded(line(), "f:1")
    assert (episode.mode, episode.ending, episode.answer, episode.confidence) == (
        "interact",
        "answered",
        "9.34亿元",
        80,
    )
    assert episode.asks == (LONG, "Which one?")
    assert [turn.action for turn in episode.turns] == ["interact", "search", "interact", "interact", "answer"]
    assert episode.turns[1].content == {"query": "net profit"}
    assert episode.turns[3].refused and episode.turns[3].content == {"question": "And now?"}
    assert episode.flags == ("trajectory_cut",)
    assert episode.extra["unheard_of"] == {"kept": [1, 2]}
    assert (episode.extra["n_asks"], episode.extra["user_sim"]) == (2, "llm")
    assert (answer.given_by, answer.outcome, answer.is_intended, answer.is_default) == ("recorded", None, True, False)
    assert (first.turn, first.judgement.touched, first.judgement.central) == (0, None, "entity_scope")
    assert (second.turn, second.judgement.touched, second.judgement.central) == (2, None, "generic")


@pytest.mark.parametrize(
    ("recorded", "forced", "mode"),
    [
        ("answer-only", 0, "answer"),
        ("answer+search", 0, "search"),
        ("answer+search+interact", None, "interact"),
        ("answer+search+interact", 4, "forced-interact-4"),
        ("interp-oracle", 0, "interpretation-oracle"),
        ("context-oracle", 0, "context-oracle"),
        ("forced-interact-6", 0, "forced-interact-6"),
    ],
)
def test_modes_are_named_as_in_the_protocol(recorded, forced, mode):
    assert parse_recorded(line(mode=recorded, forced_n=forced), "f:1")[0].mode == mode


def test_questions_without_labels_are_still_questions():
    episode, verdicts = parse_recorded(line(axis_hits=None), "f:1")
    assert [question[:5] for question in episode.asks] == ["您是想了解", "Which"]
    assert len(verdicts) == 1


def test_a_search_of_the_release_returned_the_own_passage():
    assert parse_recorded(line(), "f:1")[0].retrieval == "own"


def test_free_text_answers_are_marked():
    steps = [{"action": "answer_unstructured", "content": "It was $5."}]
    episode, _ = parse_recorded(line(trajectory=steps, final_answer="It was $5.", axis_hits=[]), "f:1")
    assert episode.flags == ("answer_unstructured",)
    assert episode.turns[0].action == "answer" and episode.turns[0].content == {"response": "It was $5."}


@pytest.mark.parametrize(
    ("changes", "ending"),
    [
        ({"final_answer": ""}, Ending.BUDGET),
        ({"final_answer": None, "trajectory": [], "axis_hits": []}, Ending.PARSE_FAILURE),
        ({"forced_n": 4, "n_asks": 3}, Ending.EARLY_ANSWER),
        ({"forced_n": 4, "n_asks": 4}, Ending.ANSWERED),
        ({"forced_n": 4, "n_asks": 3, "final_answer": ""}, Ending.BUDGET),
    ],
)
def test_endings(changes, ending):
    assert parse_recorded(line(**changes), "f:1")[0].ending == ending


def test_a_ceiling_line_has_no_trajectory():
    row = {k: line()[k] for k in ("instance_id", "model", "correct", "final_answer")} | {"mode": "context-oracle"}
    episode, (answer,) = parse_recorded(row, "f:1")
    assert [turn.content for turn in episode.turns] == [{"response": "9.34亿元"}]
    assert episode.flags == ("trajectory_not_recorded",)
    assert (answer.is_intended, answer.is_default) == (True, None)


def test_an_unknown_axis_label_is_unscored():
    hits = [{"question": "Well?", "axis_pred": "weather"}, {"question": "No label?"}]
    _, (_, *questions) = parse_recorded(line(axis_hits=hits), "f:1")
    assert [q.judgement.central for q in questions] == ["unscored", "unscored"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"instance_id": None}, "field 'instance_id' is None; a str is needed"),
        ({"mode": "telepathy"}, "mode 'telepathy' is unknown"),
        ({"correct": "yes"}, "field 'correct' is 'yes'; a bool is needed"),
        ({"correct": 1}, "field 'correct' is 1; a bool is needed"),
        ({"confidence": True}, "field 'confidence' is True; a float is needed"),
        ({"n_asks": 2.5}, "field 'n_asks' is 2.5; a int is needed"),
        ({"axis_hits": [{"axis_pred": "generic"}]}, "field 'axis_hits' has no text 'question'"),
        ({"trajectory": ["answer"]}, "field 'trajectory' needs the texts"),
    ],
)
def test_bad_fields_are_named(changes, said):
    with pytest.raises(UserError, match=r"^runs\.jsonl:7: ") as caught:
        parse_recorded(line(**changes), "runs.jsonl:7")
    assert said in str(caught.value) and "\n" not in str(caught.value)


# --- folders --------------------------------------------------------------------------------------------------------


@pytest.fixture
def release(tmp_path: Path, make_instance) -> Path:
    """A folder laid out as the release is: two versions of three and two instances, and one run of two lines."""
    folder = tmp_path / "release"
    (folder / "runs").mkdir(parents=True)
    rows = [instance_row(make_instance(instance_id=f"t{i}")) for i in range(3)]
    for row in rows:
        row["axes"] = row.pop("categories")
    write(folder / "fininteract_v1.jsonl", rows)
    write(folder / "fininteract_v1.1.jsonl", rows[:2])
    write(folder / "runs" / "eval_one.jsonl", [line(), line(instance_id="t1", correct=False)])
    return folder


def write(path: Path, rows: list[Any]) -> None:
    lines = (row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.mark.parametrize("inside", ["", "runs"])
def test_import_from_the_folder_or_from_its_runs(release: Path, tmp_path: Path, inside: str):
    imported, faults = import_fininteract(release / inside, tmp_path / "s.db")
    assert faults == []
    assert [(f.name, f.read) for f in imported] == [("fininteract_v1.1", 2), ("fininteract_v1", 3), ("eval_one", 2)]
    store = Store(tmp_path / "s.db")
    assert store.resolve("eval_one")["status"] == "done"
    scored = load_scored(store, ["eval_one"])
    assert [(e.instance_id, e.is_intended, e.grader, e.judge) for e in scored] == [
        ("t0", True, "recorded", "recorded"),
        ("t1", False, "recorded", "recorded"),
    ]
    assert [(e.n_asks, e.n_turns, e.n_searches) for e in scored] == [(2, 5, 1)] * 2
    assert [q.central for q in scored[0].questions] == ["entity_scope", "generic"]


def test_thinking_on_and_off_are_agents_of_their_own(release: Path, tmp_path: Path):
    for mark in ("on", "off"):
        write(release / "runs" / f"eval_think_{mark}_one.jsonl", [line()])
    import_fininteract(release, tmp_path / "s.db")
    runs = [run["run"] for run in Store(tmp_path / "s.db").runs()]
    models = {e.run: e.model for e in load_scored(Store(tmp_path / "s.db"), runs)}
    assert models == {
        "eval_one": "gpt-5",
        "eval_think_on_one": "gpt-5+thinking",
        "eval_think_off_one": "gpt-5+thinking-off",
    }


def test_importing_twice_adds_nothing(release: Path, tmp_path: Path):
    import_fininteract(release, tmp_path / "s.db")
    imported, _ = import_fininteract(release, tmp_path / "s.db")
    assert [(f.read, f.added) for f in imported if f.kind == "run"] == [(2, 0)]
    assert "(0 of them new)" in imported[-1].line()
    assert len(Store(tmp_path / "s.db").runs()) == 1


def test_bad_lines_are_named_and_the_good_ones_kept(release: Path, tmp_path: Path):
    bad = [
        "{oops",
        json.dumps([1]),
        line(instance_id="t9"),
        line(),
        line(instance_id="t2"),
        line(instance_id="t1", n_asks="two"),
    ]
    write(release / "runs" / "eval_one.jsonl", [line(), *bad])
    imported, faults = import_fininteract(release, tmp_path / "s.db")
    said = [str(fault).partition("eval_one.jsonl:")[2] for fault in faults]
    assert [text.partition(":")[0] for text in said] == ["2", "3", "4", "5", "7"]
    assert "'t9' is not among the released instances" in said[2]
    assert "stand in line 1 already" in said[3]
    assert imported[-1].read == 2
    store = Store(tmp_path / "s.db")
    assert store.resolve("eval_one")["status"] == "partial"
    write(release / "runs" / "eval_one.jsonl", [line(), line(instance_id="t1"), line(instance_id="t2")])
    imported, faults = import_fininteract(release, tmp_path / "s.db")
    assert (imported[-1].added, faults) == (1, [])
    assert store.resolve("eval_one")["status"] == "done"


def test_an_own_run_of_that_name_is_not_touched(release: Path, tmp_path: Path, make_instance):
    store = Store(tmp_path / "s.db", create=True)
    store.begin_run("eval_one", "run", "d", [make_instance()], {})
    with pytest.raises(UserError, match="has a run 'eval_one' of its own"):
        import_fininteract(release, tmp_path / "s.db")


def test_nothing_to_import(tmp_path: Path):
    with pytest.raises(UserError, match="no such folder"):
        import_fininteract(tmp_path / "nowhere", tmp_path / "s.db")
    (tmp_path / "empty" / "deep").mkdir(parents=True)
    with pytest.raises(UserError, match="no fininteract_v"):
        import_fininteract(tmp_path / "empty" / "deep", tmp_path / "s.db")
    assert not (tmp_path / "s.db").exists()


# --- anything at all ------------------------------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(line())), JSON)
def test_any_value_in_any_field_is_read_or_refused(name: str, value: Any):
    parsed_or_refused(line(**{name: value}))


def parsed_or_refused(row: dict[str, Any]) -> None:
    try:
        episode, verdicts = parse_recorded(row, "f:1")
    except UserError as error:
        assert str(error).startswith("f:1: ") and "\n" not in str(error)
    else:
        assert len(verdicts) <= 1 + len(episode.asks)
        json.dumps(asdict(episode), ensure_ascii=False)


@pytest.mark.slow
def test_twenty_thousand_mutated_lines():
    draw = random.Random(0)
    for _ in range(20_000):
        text = list(json.dumps(line(), ensure_ascii=False))
        for _ in range(draw.randint(1, 6)):
            at = draw.randrange(len(text))
            text[at : at + draw.randint(0, 3)] = draw.choice(['"', "{", "]", ",", "0", "null", "\\", "净", ""])
        try:
            row = json.loads("".join(text))
        except ValueError:
            continue
        if isinstance(row, dict):
            parsed_or_refused(row)
