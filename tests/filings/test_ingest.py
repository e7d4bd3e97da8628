"""Ingestion: every kind in one store, the journal, what stops it and how it goes on."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from samples import FILING, KINDS, bulk, companyfacts
from sqlite_utils import Database

from fiqkit.commands.ingest import command
from fiqkit.errors import UserError
from fiqkit.filings.ingest import ingest
from fiqkit.filings.store import FactStore


def rows(store: Path, query: str) -> list[tuple[object, ...]]:
    with sqlite3.connect(store) as conn:
        return list(conn.execute(query))


def content(store: Path) -> dict[str, list[tuple[object, ...]]]:
    """All rows but for the journal's times and numbers."""
    tables = ("facts", "text_facts", "passages", "filings", "labels", "fiscal_periods")
    return {table: sorted(rows(store, f"SELECT * FROM {table}"), key=repr) for table in tables}


def assert_whole(store: Path) -> None:
    """What the journal claims is what the tables hold."""
    for table, column in (("facts", "facts"), ("text_facts", "text_facts"), ("passages", "passages")):
        claimed = dict(rows(store, f"SELECT file, {column} FROM files WHERE {column} > 0"))
        assert dict(rows(store, f"SELECT file, count(*) FROM {table} GROUP BY 1")) == claimed
    assert rows(store, "PRAGMA integrity_check") == [("ok",)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One file of every kind."""
    place = tmp_path / "in"
    place.mkdir()
    for name, data in KINDS.items():
        (place / name).write_bytes(data)
    (place / "README.md").write_text("not a filing")
    return place


def test_every_kind_lands_in_one_table(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "facts.db"
    summary = ingest([folder], out)
    assert summary.faults == []
    assert len(summary.skipped) == 1 and "README.md:1: no kind of file" in summary.skipped[0]
    assert summary.read == {
        "filing": 3,
        "companyfacts": 1,
        "companyfacts_zip": 3,
        "fsds": 1,
        "export": 2,
        "questions": 1,
    }
    assert_whole(out)
    assert dict(rows(out, "SELECT source, count(*) FROM facts GROUP BY 1")) == {
        "companyfacts": 28,
        "export": 15,
        "fsds": 4,
        "inline": 10,
        "instance": 2,
    }
    assert {column.name for column in Database(out)["facts"].columns} >= {"entity", "name", "concept", "value", "unit"}


def test_the_result_does_not_depend_on_the_number_of_processes(folder: Path, tmp_path: Path) -> None:
    ingest([folder], tmp_path / "one.db", jobs=1)
    ingest([folder], tmp_path / "two.db", jobs=2)
    assert content(tmp_path / "one.db") == content(tmp_path / "two.db")


def test_what_has_not_changed_is_not_read_again(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "facts.db"
    ingest([folder], out)
    before = content(out)
    os.utime(folder / "tatqa.json", (1, 1))
    again = ingest([folder], out)
    assert (sum(again.read.values()), again.already) == (0, len(KINDS))
    assert content(out) == before


def test_a_changed_file_replaces_its_rows_and_a_copy_adds_none(tmp_path: Path) -> None:
    out, path = tmp_path / "facts.db", tmp_path / "a.html"
    path.write_bytes(FILING)
    ingest([path], out)
    path.write_bytes(FILING.replace(b"1,234", b"1,235"))
    (tmp_path / "b.html").write_bytes(path.read_bytes())
    summary = ingest([path, tmp_path / "b.html"], out)
    assert summary.skipped == [f"{tmp_path / 'b.html'}: the same bytes as {path}"]
    assert rows(out, "SELECT DISTINCT value FROM facts WHERE concept='us-gaap:Revenues' AND end='2023-12-31'") == [
        (1235000000,),
        (1200000000,),
    ]
    assert_whole(out)


@pytest.mark.parametrize("later", [False, True], ids=["together", "submission later"])
def test_a_submission_beside_its_documents_is_read_once(tmp_path: Path, later: bool) -> None:
    place, out = tmp_path / "in", tmp_path / "facts.db"
    place.mkdir()
    (place / "a.htm").write_bytes(FILING)
    (place / "b.htm").write_text("<html><body><p>Another filing's exhibit.</p></body></html>")
    if later:
        ingest([place], out)
    (place / "0000001750-24-000001.txt").write_bytes(
        b"<SEC-DOCUMENT>x.txt\n<SEC-HEADER>\nACCESSION NUMBER: 0000001750-24-000001\nFILED AS OF DATE: 20240301\n"
        b"<DOCUMENT>\n<TYPE>10-K\n<FILENAME>a.htm\n<TEXT>\n<XBRL>\n" + FILING + b"\n</XBRL>\n</TEXT>\n</DOCUMENT>\n"
        b"<DOCUMENT>\n<TYPE>EX-99\n<FILENAME>b.htm\n<TEXT>\n<html><p>The filing's own.</p></html></TEXT></DOCUMENT>\n"
    )
    summary = ingest([place], out)
    assert summary.skipped == [f"{place}/a.htm: a document of {place}/0000001750-24-000001.txt, which is read"]
    texts = [text for (text,) in rows(out, "SELECT text FROM passages")]
    assert len(texts) == len(set(texts)) and sum("exhibit" in text for text in texts) == 1
    assert rows(out, "SELECT DISTINCT accession FROM facts") == [("0000001750-24-000001",)]
    assert_whole(out)
    again = ingest([place], out)
    assert (again.read, again.faults) == ({}, [])


def test_a_damaged_file_is_one_line_and_is_read_once_mended(folder: Path, tmp_path: Path) -> None:
    out, bad = tmp_path / "facts.db", folder / "acme-20231231.xml"
    good = bad.read_bytes()
    bad.write_bytes(good[:500])
    result = CliRunner().invoke(command, [str(folder), "--out", str(out), "--jobs", "1", "--json"])
    assert isinstance(result.exception, UserError) and "1 of 10 files" in str(result.exception)
    summary = json.loads(result.stdout)
    assert len(summary["faults"]) == 1 and summary["faults"][0].startswith(f"{bad}:1: damaged XML")
    assert summary["read"]["filing"] == 2
    bad.write_bytes(good)
    assert ingest([folder], out).read == {"filing": 1}
    assert_whole(out)


def test_a_damaged_company_of_a_bulk_zip_does_not_cost_the_others(tmp_path: Path) -> None:
    import zipfile

    path = tmp_path / "companyfacts.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("CIK0000000001.json", companyfacts(1))
        archive.writestr("CIK0000000002.json", companyfacts(2)[:700])
        archive.writestr("CIK0000000003.json", companyfacts(3))
    summary = ingest([path], tmp_path / "facts.db")
    assert len(summary.faults) == 1 and "CIK0000000002.json:1: damaged JSON" in summary.faults[0]
    assert rows(tmp_path / "facts.db", "SELECT entity, count(*) FROM facts GROUP BY 1") == [("1", 7), ("3", 7)]


def test_a_changed_zip_whose_first_company_is_damaged_keeps_no_older_rows(tmp_path: Path) -> None:
    import zipfile

    out, path = tmp_path / "facts.db", tmp_path / "companyfacts.zip"
    path.write_bytes(bulk(3))
    ingest([path], out)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("CIK0000000001.json", companyfacts(1)[:700])
        archive.writestr("CIK0000000002.json", companyfacts(2).replace(b"1234000000", b"1235000000"))
    assert len(ingest([path], out).faults) == 1
    assert rows(out, "SELECT DISTINCT entity FROM facts") == [("2",)]
    assert rows(out, "SELECT count(*) FROM facts WHERE value = 1235000000") == [(2,)]
    assert_whole(out)


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("nothing.html", b"", "empty"),
        ("x.zip", b"not a zip", "not a zip"),
        ("x.json.gz", b"not gzip", "cannot be read"),
        ("x.csv", b"a,b\n1,2\n", "no export table"),
        ("x.json", b'{"a": 1}', "no question set"),
        ("x.html", b"plain words", "neither XBRL nor HTML"),
        ("x.pdf", b"%PDF", "no kind of file"),
    ],
)
def test_a_named_file_that_cannot_be_read_is_a_fault(tmp_path: Path, name: str, data: bytes, words: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    (fault,) = ingest([path], tmp_path / "facts.db").faults
    assert fault.startswith(str(path)) and words in fault and "\n" not in fault


def test_bad_arguments(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file"):
        ingest([tmp_path / "nowhere"], tmp_path / "facts.db")
    (tmp_path / "other.db").write_bytes(b"no database, just text that is long enough to be looked at")
    with pytest.raises(UserError, match="cannot be used as a fact store"):
        ingest([], tmp_path / "other.db")
    Database(tmp_path / "foreign.db")["t"].insert({"a": 1})
    with pytest.raises(UserError, match="not a fact store"):
        ingest([], tmp_path / "foreign.db")
    with pytest.raises(UserError, match="no fact store there"):
        FactStore(tmp_path / "missing.db")


def test_versions_by_filing_date_across_sources(tmp_path: Path) -> None:
    out = tmp_path / "facts.db"
    (tmp_path / "CIK0000012345.json").write_bytes(companyfacts())
    (tmp_path / "acme_0000012345-24-000001.html").write_bytes(FILING)
    ingest(sorted(tmp_path.glob("*.[jh]*")), out)
    found = rows(
        out,
        "SELECT start, value, version, versions, filed, decimals FROM versions WHERE entity='12345' AND dims='{}' "
        "AND concept='us-gaap:Revenues' ORDER BY end, version, source",
    )
    assert found == [
        ("2022-01-01", 1100000000, 1, 2, "2023-02-01", None),
        ("2022-01-01", 1090000000, 2, 2, "2024-02-01", None),  # as companyfacts has it of the same filing
        ("2022-01-01", 1100000000, 2, 2, "2024-02-01", "-6"),
        ("2023-01-01", 1234000000, 1, 1, "2024-02-01", "-6"),
    ]


def start(path: Path, out: Path, jobs: int) -> subprocess.Popen[str]:
    code = "from fiqkit.cli import main; main()"
    line = [sys.executable, "-c", code, "ingest", str(path), "--out", str(out), "--jobs", str(jobs)]
    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


def wait_for_rows(process: subprocess.Popen[str], out: Path) -> None:
    """Until some parts are written, and before all are."""
    while process.poll() is None:
        try:
            if rows(out, "SELECT count(*) FROM files")[0][0] >= 5:
                return
        except sqlite3.Error:
            pass
        time.sleep(0.01)
    raise AssertionError(f"ended too early: {process.communicate()}")


@pytest.mark.parametrize(
    ("stop", "jobs"),
    [
        (lambda process: process.kill(), 1),
        (lambda process: process.kill(), 2),
        (lambda process: process.send_signal(signal.SIGINT), 1),
        (lambda process: os.killpg(process.pid, signal.SIGINT), 2),
    ],
    ids=["killed", "killed-2", "interrupted", "interrupted-2"],
)
def test_a_stopped_ingestion_is_whole_and_goes_on(
    stop: Callable[[subprocess.Popen[str]], None], jobs: int, tmp_path: Path
) -> None:
    path, out = tmp_path / "companyfacts.zip", tmp_path / "facts.db"
    path.write_bytes(bulk(400))
    process = start(path, out, jobs)
    wait_for_rows(process, out)
    stop(process)
    _, errors = process.communicate(timeout=60)
    assert process.returncode in (-signal.SIGKILL, 130)
    assert "Traceback" not in errors
    assert_whole(out)
    held = rows(out, "SELECT count(*) FROM files")[0][0]
    assert 5 <= held < 400
    assert sum(ingest([path], out).read.values()) == 400 - held
    assert_whole(out)
    assert rows(out, "SELECT count(*), count(DISTINCT entity) FROM facts") == [(2800, 400)]


def test_a_full_disk_is_one_line_and_leaves_the_store_whole(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "facts.db"
    ingest([folder / "tatqa.json"], out)
    store = FactStore(out, write=True)
    store.conn.execute("PRAGMA max_page_count=30")
    from fiqkit.filings.kinds import Part
    from fiqkit.filings.read import read_part

    big = folder / "big.zip"
    big.write_bytes(bulk(1))
    outcome = read_part(Part(str(big), "companyfacts_zip", "CIK0000000001.json"))
    assert outcome.reading is not None
    outcome.reading.facts *= 3000
    with pytest.raises(UserError, match=r"cannot be written .*full"):
        store.add(outcome.part, outcome.reading, size=1, modified=1, sha256="x")
    store.close()
    assert_whole(out)
