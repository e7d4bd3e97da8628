"""The view `versions`: order by what is known of a filing, contradictions side by side."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from samples import companyfacts, inline, number

from fiqkit.filings.ingest import ingest
from fiqkit.filings.store import FactStore

Row = tuple[object, ...]


def versions(folder: Path, concept: str = "us-gaap:Revenues", end: str = "2023-12-31") -> list[Row]:
    """(value, version, versions, remark) of one fact in all files of a folder."""
    ingest([folder], folder.parent / "facts.db")
    store = FactStore(folder.parent / "facts.db")
    return list(
        store.conn.execute(
            "SELECT value, version, versions, remark FROM versions WHERE concept=? AND end=? AND dims='{}' "
            "ORDER BY version, value",
            (concept, end),
        )
    )


def filing(folder: Path, accession: str, body: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / f"a_{accession}.htm").write_bytes(inline(body).replace(b"December 31, 2023", b"no day"))


def test_two_agents_prefixes_do_not_order_their_filings(tmp_path: Path) -> None:
    """The later filing has the smaller prefix; neither states a filing date."""
    folder = tmp_path / "in"
    filing(folder, "0001999999-24-000007", number("us-gaap:Revenues", "100"))
    filing(folder, "0000012345-25-000001", number("us-gaap:Revenues", "95"))
    assert versions(folder) == [(100000000, 1, 2, None), (95000000, 2, 2, None)]


def test_a_filing_without_a_date_comes_after_those_of_earlier_years(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    filing(folder, "0000012345-25-000050", number("us-gaap:Revenues", "95"))
    (folder / "CIK0000012345.json").write_bytes(companyfacts())
    assert versions(folder) == [(1234000000, 1, 2, None), (95000000, 2, 2, None)]


def test_values_of_one_filing_that_contradict_each_other_are_both_there(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    filing(folder, "0000012345-24-000007", number("us-gaap:Revenues", "100") + number("us-gaap:Revenues", "90"))
    remark = "the filing states another value too"
    assert versions(folder) == [(90000000, 1, 1, remark), (100000000, 1, 1, remark)]


def test_a_rounded_duplicate_in_another_file_of_the_filing_contradicts_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for name, text, scale, decimals in (("main", "1,234", "6", "-6"), ("ex99", "1.2", "9", "-8")):
        (folder / f"{name}_0000012345-24-000007.htm").write_bytes(
            inline(number("us-gaap:Revenues", text, scale=scale, decimals=decimals))
        )
    assert versions(folder) == [(1234000000, 1, 1, None)]


def test_an_export_of_which_nothing_is_known_has_no_number_beside_one_that_is_dated(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a_600001.csv").write_text("报告期,公告日期,净利润\n2023-12-31,2024-04-20,20亿\n", encoding="utf-8")
    (folder / "b_600001.csv").write_text("报告期,净利润\n2023-12-31,19亿\n", encoding="utf-8")
    assert versions(folder, "净利润") == [(1900000000, None, 2, None), (2000000000, 1, 2, None)]


def test_a_store_of_the_version_before_gets_the_new_view(tmp_path: Path) -> None:
    path = tmp_path / "facts.db"
    FactStore(path, create=True).close()
    with sqlite3.connect(path) as conn:
        conn.executescript(
            "DROP VIEW versions; CREATE VIEW versions AS SELECT 1 AS old; PRAGMA user_version=1;"
            "DROP TABLE _sqlite_migrations;"
        )
    before = path.read_bytes()
    for options in ({}, {"write": True}):  # read in place, and brought up by a writer
        store = FactStore(path, **options)
        columns = [c[0] for c in store.conn.execute("SELECT * FROM versions").description]
        assert "remark" in columns and "old" not in columns
        store.close()
        if not options:
            assert path.read_bytes() == before
    assert sorted(file.name for file in tmp_path.iterdir()) == ["facts.db", "facts.db.schema1"]
