"""Runs leave as CSV, JSON lines and Parquet with the same values, and nothing is written over that is being read."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from fiqkit.cli import fiqkit
from fiqkit.errors import UserError
from fiqkit.report.datasette import metadata, write_metadata
from fiqkit.report.export import TABLES, cell, export
from fiqkit.store.store import Store
from fiqkit.whole_file import written_whole


def read(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".parquet":
        parquet = pytest.importorskip("pyarrow.parquet")
        return parquet.read_table(path).to_pylist()
    with path.open(encoding="utf-8") as lines:  # not splitlines, which splits at U+2028 too
        return [json.loads(line) for line in lines]


@pytest.mark.parametrize("table", TABLES)
def test_the_three_formats_hold_the_same(store_file: Path, tmp_path: Path, table: str) -> None:
    store = Store(store_file)
    counts = {export(store, ["r1"], table, tmp_path / f"x{end}") for end in (".csv", ".jsonl", ".parquet")}
    rows = read(tmp_path / "x.jsonl")
    assert counts == {len(rows)} == {{"results": 32, "questions": 16, "transcripts": 80}[table]}
    assert read(tmp_path / "x.parquet") == rows
    with (tmp_path / "x.csv").open(encoding="utf-8", newline="") as file:
        told = list(csv.DictReader(file))
    assert told == [{k: "" if v is None else str(cell(v)) for k, v in row.items()} for row in rows]


def test_results_have_their_types(store_file: Path, tmp_path: Path) -> None:
    export(Store(store_file), ["r1"], "results", tmp_path / "x.parquet")
    row = next(r for r in read(tmp_path / "x.parquet") if (r["instance_id"], r["mode"]) == ("t0", "interact"))
    assert (row["is_right"], row["is_default"], row["asks"], row["confidence"]) == (True, False, 1, None)
    assert row["answer"].startswith("</script>")


@settings(max_examples=60)
@given(st.text("=+-@\t\r\n 1.a²'", max_size=5))
def test_no_text_is_a_formula_in_a_spreadsheet(text: str) -> None:
    guarded = cell(text)
    assert guarded in (text, f"'{text}")
    if guarded[:1] in ("=", "@", "\t", "\r"):
        raise AssertionError(guarded)
    if guarded[:1] in ("+", "-"):
        float(guarded)


def test_numbers_stay_numbers() -> None:
    assert [cell(v) for v in ("-4.5", "+1", "-", "-1+cmd", "=1", True, -3.5, None)] == [
        *("-4.5", "+1", "'-", "'-1+cmd", "'=1", 1, -3.5, None)
    ]


def test_nothing_that_is_read_is_written_over(store_file: Path, tmp_path: Path, monkeypatch: Any) -> None:
    store = Store(store_file)
    link = tmp_path / "results.csv"
    link.symlink_to(store_file)
    for out, said in ((link, "would be lost"), (tmp_path / "x.xlsx", r"end it with \.csv"), (tmp_path, "folder")):
        with pytest.raises(UserError, match=said):
            export(store, ["r1"], "results", out if out != tmp_path else (tmp_path / "d.csv"))
        (tmp_path / "d.csv").mkdir(exist_ok=True)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setattr("fiqkit.errors.find_spec", lambda name: None)
    with pytest.raises(UserError, match=r'pip install "fiqkit\[parquet\]"'):
        export(store, ["r1"], "results", tmp_path / "x.parquet")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d.csv", "results.csv"]


def test_a_file_is_whole_or_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file"
    with written_whole(path) as scratch:
        scratch.write_text("old")
    for error in (OSError(28, "No space left on device"), KeyError("bug")):
        with pytest.raises((UserError, KeyError)), written_whole(path) as scratch:
            scratch.write_text("half")
            raise error
    assert [(p.name, p.read_text()) for p in path.parent.iterdir()] == [("file", "old")]


def test_the_metadata_describes_what_is_there(store_file: Path, tmp_path: Path) -> None:
    """Every table, view and column that it names is in the store, and every query of it runs."""
    copy = tmp_path / "runs.db"
    copy.write_bytes(store_file.read_bytes())
    write_metadata(copy, tmp_path / "metadata.json")
    told = json.loads((tmp_path / "metadata.json").read_text())
    store = Store(copy)
    assert told == metadata(store)
    described = told["databases"]["runs"]
    assert described["tables"]["results"]["columns"].keys() >= {"is_right", "grader", "mode"}
    for name, table in described["tables"].items():
        columns = [row[0] for row in store.conn.execute(f"SELECT * FROM {name} LIMIT 0").description]
        assert set(table.get("columns", {})) <= set(columns), name
    given_ = {"text": "净利润", "episode": 1}
    rows = {name: store.conn.execute(q["sql"], given_).fetchall() for name, q in described["queries"].items()}
    assert {name: len(found) for name, found in rows.items()} == {
        **{"accuracy": 4, "first_questions": 2, "search": 28, "episode": 2},
    }
    assert "«净利润»" in rows["search"][0][-1]


def test_the_command(store_file: Path, tmp_path: Path) -> None:
    def call(*args: str) -> Any:
        return CliRunner().invoke(fiqkit, ["export", *args, "--store", str(store_file)])

    done = call("last", "--out", str(tmp_path / "x.csv"), "--table", "questions")
    assert (done.exit_code, done.output) == (0, f"{tmp_path / 'x.csv'}: 16 questions of r1\n")
    assert isinstance(call("r9", "--out", "x.csv").exception, UserError)
    assert call("r1", "--to", "datasette", "--out", str(tmp_path / "m.json")).exit_code == 2
