"""The views say what the report says, the search finds what was said, and both are there in a store of any schema."""

from __future__ import annotations

import lzma
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fiqkit.records import AnswerVerdict, Ending, Episode, Grade, Instance, Judgement, Outcome, QuestionVerdict, Turn
from fiqkit.report.document import make_report
from fiqkit.sqlite_file import execute_all
from fiqkit.store.load import verdict_givers
from fiqkit.store.merge import merge
from fiqkit.store.schema import migrations
from fiqkit.store.store import Store

SCHEMA_1 = Path(__file__).parent / "schema_1" / "runs.db.xz"
PASSAGE = "经重述的归属于母公司股东的净利润为 9.34 亿元"


@pytest.fixture
def store(tmp_path: Path, make_instance: Callable[..., Instance]) -> Store:
    """One episode of each kind that the views must count apart; t0 was asked about twice, first off its category."""
    store = Store(tmp_path / "runs.db", create=True)
    store.begin_run("r1", "run", "d1", [make_instance(instance_id=f"t{i}") for i in range(5)], {})
    asked = (
        Turn("interact", {"question": "GAAP?"}, observation="Yes."),
        Turn("search", {"query": "净利润"}, observation=PASSAGE),
        Turn("interact", {"question": "Consolidated?"}, observation="No."),
        Turn("answer", {"response": 46.75}),
    )
    judged = [
        QuestionVerdict("rules", 0, Judgement(("metric_definition",), "metric_definition", named=("entity_scope",))),
        QuestionVerdict("rules", 2, Judgement(None, "unscored")),
    ]
    right, unscored = (AnswerVerdict.of("rules", Grade(o)) for o in (Outcome.INTENDED, Outcome.UNSCORED))
    played = [
        (Episode("t0", "m", "interact", Ending.ANSWERED, "46.75", turns=asked), [right, *judged]),
        (Episode("t1", "m", "interact", Ending.BUDGET), []),
        (Episode("t2", "m", "interact", Ending.ENGINE_ERROR, error="gone"), []),
        (Episode("t3", "m", "interact", Ending.ANSWERED, "-$5"), [unscored]),
        (Episode("t4", "m", "interact", Ending.ANSWERED, "x"), [AnswerVerdict.of("rules", Grade(Outcome.DEFAULT))]),
    ]
    store.write("r1", played)
    store.write("r1", [(Episode("t4", "m", "interact", Ending.ANSWERED, "x", parent="5", fork_turn=0), [right])])
    store.fill_search()
    return store


def found(store: Store, text: str) -> list[int]:
    return [n for (n,) in store.conn.execute("SELECT rowid FROM episodes_fts(?) ORDER BY rowid", (f'"{text}"',))]


def test_results_count_as_the_report_does(store: Store) -> None:
    rows = list(store.db.query("SELECT instance_id, is_right, is_default FROM results ORDER BY episode"))
    told = [(row["instance_id"], row["is_right"], row["is_default"]) for row in rows]
    assert told == [("t0", 1, 0), ("t1", 0, 0), ("t2", None, None), ("t3", None, None), ("t4", 0, 1)]


def test_questions_stand_alone_with_what_was_judged(store: Store) -> None:
    first, second = store.db.query("SELECT * FROM questions ORDER BY turn")
    assert (first["question"], first["reply"], first["is_first"]) == ("GAAP?", "Yes.", 1)
    assert (first["judged"], first["named"], first["touch"], first["central"]) == ("metric_definition", 1, 0, 0)
    assert (second["is_first"], second["judged"], second["named"], second["central"]) == (0, "unscored", None, None)


def test_transcripts_read_from_top_to_bottom(store: Store) -> None:
    rows = store.conn.execute("SELECT action, said, heard FROM transcripts WHERE episode = 1 ORDER BY turn")
    assert list(rows)[1:] == [
        ("search", "净利润", PASSAGE),
        ("interact", "Consolidated?", "No."),
        ("answer", 46.75, ""),
    ]


@pytest.mark.parametrize("in_place", [True, False])
def test_every_accuracy_of_an_older_store_is_the_view_s(tmp_path: Path, in_place: bool) -> None:
    """Runs, an import and three graders that schema 1 recorded, read as they are and migrated."""
    path = tmp_path / "old.db"
    path.write_bytes(lzma.decompress(SCHEMA_1.read_bytes()))
    store = Store(path, write=not in_place)
    for run in store.runs():
        for grader in verdict_givers(store, run["run"], "answer"):
            for row in make_report(store, [run["run"]], grader).rows:
                given = (run["run"], grader, row["model"], row["mode"])
                sql = "SELECT count(is_right), avg(is_right), avg(is_default) FROM results WHERE run=? AND grader=? "
                n, accuracy, default = store.conn.execute(sql + "AND model=? AND mode=?", given).fetchone()
                assert (n, accuracy) == (row["n"], pytest.approx(row["accuracy"])), given
                assert row["default_capture"] is None or default == pytest.approx(row["default_capture"]), given
    assert store.conn.execute("SELECT count(*) FROM questions").fetchone()[0] > 0
    store.close()


def test_a_store_of_schema_2_gains_keys_views_and_search(store: Store, tmp_path: Path) -> None:
    store.close()
    old = sqlite3.connect(tmp_path / "old.db", isolation_level=None)
    from sqlite_utils import Database

    migrations.apply(Database(old), stop_before="3")
    old.execute(f"ATTACH '{store.path}' AS today")
    for table in ("runs", "instances", "datasets", "episodes", "turns", "verdicts"):
        old.execute(f"INSERT INTO main.{table} SELECT * FROM today.{table}")
    old.execute("DETACH today")
    old.execute("PRAGMA user_version=2")
    old.close()
    before = (tmp_path / "old.db").read_bytes()
    read = Store(tmp_path / "old.db")
    assert read.conn.execute("SELECT count(*) FROM results").fetchone() == (5,)
    read.close()
    assert (tmp_path / "old.db").read_bytes() == before
    migrated = Store(tmp_path / "old.db", write=True)
    assert found(migrated, "母公司") == [1]
    assert migrated.conn.execute("PRAGMA foreign_key_check").fetchall() == []
    assert schema(migrated) == schema(Store(store.path))
    migrated.write("r1", [(Episode("t0", "n", "answer", Ending.BUDGET), [])])
    migrated.close()
    assert Store(tmp_path / "old.db.schema2").count("r1") == 6


def schema(store: Store) -> dict[str, str]:
    rows = store.conn.execute("SELECT name, sql FROM sqlite_master WHERE name NOT LIKE '_sqlite%'")
    return dict(rows)


def test_the_search_reads_both_languages_and_what_is_inside_words(store: Store) -> None:
    assert found(store, "归属于母公司") == found(store, "consolid") == [1]
    assert found(store, "QUILLMARK") == [1, 2, 4, 5, 6]  # not the engine error, which is played again
    (mark,) = store.conn.execute(
        "SELECT snippet(episodes_fts, 3, '<', '>', '…', 9) FROM episodes_fts('净利润')"
    ).fetchone()
    assert "<净利润>" in mark


def test_a_number_used_again_never_finds_what_was_deleted(store: Store) -> None:
    store.conn.execute("DELETE FROM turns WHERE episode = 1")
    store.conn.execute("DELETE FROM verdicts WHERE episode = 1")
    store.conn.execute("DELETE FROM episodes WHERE episode IN (1, 6)")
    assert found(store, "Quillmark") == []
    store.write("r1", [(Episode("t0", "other", "answer", Ending.ANSWERED, "seventy"), [])])
    store.fill_search()
    assert (found(store, "seventy"), found(store, "母公司")) == ([6], [])
    store.conn.execute("INSERT INTO episodes_fts(episodes_fts, rank) VALUES ('integrity-check', 1)")
    store.conn.execute("VACUUM")
    assert found(store, "seventy") == [6]


def test_a_merged_store_is_searched_and_its_keys_hold(store: Store, tmp_path: Path) -> None:
    store.close()
    shutil.copy(store.path, tmp_path / "b.db")
    other = Store(tmp_path / "b.db", write=True)
    execute_all(other.db, "UPDATE runs SET run = 'r2';\nUPDATE episodes SET run = 'r2';\n")
    other.close()
    merge([store.path, tmp_path / "b.db"], tmp_path / "all.db")
    both = Store(tmp_path / "all.db")
    assert found(both, "母公司") == [1, 7]
    assert both.conn.execute("PRAGMA foreign_key_check").fetchall() == []
    keys: list[Any] = both.conn.execute("PRAGMA foreign_key_list(episodes)").fetchall()
    assert {row[2] for row in keys} == {"runs", "instances"}
