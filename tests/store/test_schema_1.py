"""A store that the first version of this kit wrote is read in place and migrated, and no number changes.

`schema_1/runs.db.xz` holds a run of reference policies (with an engine error and an unscored answer), and an invented
imported run with the verdicts of `recorded`, `rules` and a model. `schema_1/reports.json.xz` is what that version's
`report --json` said of them: of all runs, of the first, and of the import by each grader.
"""

from __future__ import annotations

import json
import lzma
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fiqkit.errors import UserError
from fiqkit.records import AnswerVerdict, Episode
from fiqkit.report.document import make_report
from fiqkit.store.store import Store

KEPT = Path(__file__).parent / "schema_1"
RUN, IMPORT = "20261201-011830-0ae7", "eval_invented"
ASKED: dict[str, tuple[Any, ...]] = {
    "all": (["all"],),
    "run": ([RUN],),
    "recorded": ([IMPORT],),
    "rules": ([IMPORT], "rules", "rules"),
    "llm": ([IMPORT], "llm"),
}
# Numbers that follow from the rows alone, whatever interval a later version puts around them. Not any_category, which
# leaves out what was not judged since.
FACTS = (
    *("n", "episodes", "unscored", "engine_error", "accuracy", "accuracy_worst", "accuracy_best", "default_capture"),
    *("covers_both", "interaction_rate", "mean_asks", "mean_turns", "mean_searches", "ac1_touch", "ac1_central"),
    *("wrong_category", "generic_ask", "dise", "dise_plus_all", "dise_plus_interact", "commitment"),
    *("ece", "endings", "outcomes", "errors"),
)


@pytest.fixture
def old(tmp_path: Path) -> Path:
    path = tmp_path / "runs.db"
    path.write_bytes(lzma.decompress((KEPT / "runs.db.xz").read_bytes()))
    return path


@pytest.fixture(scope="module")
def said() -> dict[str, Any]:
    return json.loads(lzma.decompress((KEPT / "reports.json.xz").read_bytes()))


def facts(report: dict[str, Any]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for row in report["rows"]:
        for part, numbers in [("all", row), *row["by_language"].items(), *row["by_category"].items()]:
            for name in FACTS:
                if name in numbers:
                    yield (row["run"], row["model"], row["mode"], part, name), numbers[name]
    yield ("difficulty",), report["difficulty"]


def reports(path: Path) -> dict[str, Any]:
    store = Store(path)
    try:
        return {name: make_report(store, *args).numbers() for name, args in ASKED.items()}
    finally:
        store.close()


def test_every_number_is_what_it_was(old: Path, said: dict[str, Any]) -> None:
    for name, report in reports(old).items():
        then, today = dict(facts(said[name])), dict(facts(report))
        assert then.keys() == today.keys()
        for key, value in then.items():
            same = value if value is None else pytest.approx(value, rel=1e-12)
            assert today[key] == same, (name, key)


def test_migrated_it_says_the_same_and_a_copy_of_it_stays(old: Path, tmp_path: Path) -> None:
    before = reports(old)
    store = Store(old, write=True)
    assert store.conn.execute("PRAGMA user_version").fetchone() == (3,)
    assert store.conn.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    store.close()
    assert reports(old) == before
    copy = tmp_path / "runs.db.schema1"
    assert sqlite3.connect(copy).execute("SELECT count(*) FROM episodes").fetchone() == (280,)
    assert sorted(run["run"] for run in Store(copy).runs()) == sorted((RUN, IMPORT))
    Store(old, write=True).close()  # today's schema: nothing more to do, and no second copy
    assert sorted(path.name for path in tmp_path.iterdir()) == ["runs.db", "runs.db.schema1"]


def test_read_in_place_no_byte_of_it_changes(old: Path) -> None:
    content = old.read_bytes()
    old.chmod(stat.S_IRUSR)
    reports(old)
    store = Store(old)
    [first, *_] = store.episodes(RUN)
    assert first[1].item
    assert first[1].sample == 0
    assert (old.read_bytes(), [path.name for path in old.parent.iterdir()]) == (content, ["runs.db"])
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        store.set_status(RUN, "partial")


def test_episodes_come_back_equal_before_and_after(old: Path) -> None:
    def everything() -> list[tuple[Episode, list[dict[str, Any]]]]:
        store = Store(old)
        found = [(e, store.verdicts(n)) for run in (RUN, IMPORT) for n, e in store.episodes(run)]
        store.close()
        return found

    before = everything()
    Store(old, write=True).close()
    assert everything() == before
    assert len(before) == 280


def test_a_writer_goes_on_in_the_migrated_store(old: Path) -> None:
    store = Store(old, write=True)
    number, first = next(store.episodes(RUN))
    store.add_verdicts([(number, AnswerVerdict("llm other@12345678", "other", False, False))])
    assert {verdict["given_by"] for verdict in store.verdicts(number)} >= {"rules", "llm other@12345678"}
    with pytest.raises(sqlite3.IntegrityError):
        store.write(RUN, [(first, [])])


def test_a_killed_migration_leaves_the_old_store(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = old.read_bytes()
    monkeypatch.setattr("fiqkit.store.schema._TABLES_2", "CREATE TABLE instances (x);\nCREATE TABLE broken (;\n")
    with pytest.raises(UserError, match="cannot be"):
        Store(old, write=True)
    monkeypatch.undo()
    assert len(reports(old)["all"]["rows"]) == 22
    assert len(old.read_bytes()) == len(content)


def test_a_store_of_a_later_version_is_refused(old: Path) -> None:
    with sqlite3.connect(old) as conn:
        conn.execute("PRAGMA user_version=99")
    for options in ({}, {"write": True}, {"create": True}):
        with pytest.raises(UserError, match="of a later fiqkit"):
            Store(old, **options)
