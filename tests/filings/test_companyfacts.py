"""SEC companyfacts and Financial Statement Data Sets."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest
from samples import companyfacts, fsds

from fiqkit.errors import UserError
from fiqkit.filings import fsds as data_sets
from fiqkit.filings.companyfacts import read_companyfacts
from fiqkit.filings.exports import NotOurs
from fiqkit.filings.fact import Reading


def test_periods_come_from_the_dates_and_every_version_stays() -> None:
    reading = Reading()
    read_companyfacts(io.BytesIO(companyfacts()), "x.json", reading)
    revenue = [(f.start, f.end, f.value, f.filed) for f in reading.facts if f.concept == "us-gaap:Revenues"]
    assert revenue == [
        ("2022-01-01", "2022-12-31", 1100000000, "2023-02-01"),
        ("2022-01-01", "2022-12-31", 1090000000, "2024-02-01"),
        ("2023-01-01", "2023-12-31", 1234000000, "2024-02-01"),
    ]
    instant = reading.facts[0]
    assert (instant.entity, instant.concept, instant.start, instant.unit) == (
        "12345",
        "dei:EntityCommonStockSharesOutstanding",
        None,
        "shares",
    )
    assert {f.accession for f in reading.filings} == {"0000012345-23-000001", "0000012345-24-000001"}
    assert reading.labels["us-gaap:Revenues"] == "Revenues"


@pytest.mark.parametrize(
    "broken",
    [b'"val": "many"', b'"val": null', b'"val": true', b'"end": 5, "val": 1', b'"end": "2022-02-30", "val": 1'],
)
def test_a_row_without_a_number_or_a_date_is_left_out(broken: bytes) -> None:
    reading = Reading()
    whole = companyfacts()
    read_companyfacts(io.BytesIO(whole.replace(b'"val": 1090000000', broken)), "x.json", reading)
    assert sum(reading.left_out.values()) == 2
    assert len(reading.facts) == 5


@pytest.mark.parametrize("cut", [60, 300, 900])
def test_a_cut_file_is_one_line(cut: int) -> None:
    with pytest.raises(UserError, match=r"^x.json:1: .*download the file again"):
        read_companyfacts(io.BytesIO(companyfacts()[:cut]), "x.json", Reading())


def test_a_file_longer_than_its_beginning() -> None:
    reading = Reading()
    data = companyfacts(concepts=400)
    assert len(data) > 2 * (1 << 16)
    read_companyfacts(io.BytesIO(data), "x.json", reading)
    assert len(reading.facts) == 1 + 3 * 400


def read_slices(path: Path, size: int, monkeypatch: pytest.MonkeyPatch) -> Reading:
    monkeypatch.setattr(data_sets, "SLICE", size)
    reading = Reading()
    for bounds in data_sets.slices(zipfile.ZipFile(path)):
        data_sets.read_fsds(path, bounds, reading)
    return reading


def test_data_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "2023q4.zip"
    path.write_bytes(fsds())
    reading = read_slices(path, 1 << 20, monkeypatch)
    rows = [(f.concept, f.value, f.start, f.end, f.dims, f.filed) for f in reading.facts]
    assert rows == [
        ("us-gaap:Revenues", 1234000000, "2023-01-01", "2023-12-31", "{}", "2024-02-01"),
        (
            "us-gaap:Revenues",
            300000000.5,
            "2023-10-01",
            "2023-12-31",
            '{"BusinessSegments": "Rockets", "coreg": "AcmeSub"}',
            "2024-02-01",
        ),
        ("us-gaap:Assets", 99, None, "2023-12-31", "{}", "2024-02-01"),
        ("0000012345-24-000001:RocketsSold", 7, "2023-01-01", "2023-12-31", "{}", "2024-02-01"),
    ]
    assert reading.left_out == {"nil": 1, "filing that sub does not list": 1}
    assert reading.labels == {"us-gaap:Revenues": "Revenues"}


@pytest.mark.parametrize("size", [1, 7, 64, 100, 333])
def test_slices_of_any_size_give_the_same_facts(size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "2023q4.zip"
    path.write_bytes(fsds())
    whole = read_slices(path, 1 << 20, monkeypatch)
    assert read_slices(path, size, monkeypatch).facts == whole.facts


def test_a_data_set_without_a_column_names_it(tmp_path: Path) -> None:
    path = tmp_path / "2023q4.zip"
    path.write_bytes(fsds("adsh\ttag\n"))
    with pytest.raises(UserError, match=r"num\.txt:1: no column 'version'"):
        data_sets.read_fsds(path, (0, 100), Reading())


@pytest.mark.conformance
def test_the_published_quarter_is_read_to_the_last_line(shared_data: Path) -> None:
    path = shared_data / "sec/fsds/2009q3.zip"
    reading = Reading()
    for bounds in data_sets.slices(zipfile.ZipFile(path)):
        data_sets.read_fsds(path, bounds, reading)
    lines = sum(1 for _ in zipfile.ZipFile(path).open("num.txt")) - 1
    assert len(reading.facts) + sum(reading.left_out.values()) == lines == 126650
    assert reading.left_out == {"nil": 52}


def test_a_byte_order_mark_and_a_number_beyond_64_bits() -> None:
    plain, marked, large = Reading(), Reading(), Reading()
    read_companyfacts(io.BytesIO(companyfacts()), "x", plain)
    read_companyfacts(io.BytesIO(b"\xef\xbb\xbf" + companyfacts()), "x", marked)
    assert marked.facts == plain.facts
    read_companyfacts(io.BytesIO(companyfacts().replace(b"1234000000", b"9300000000000000000")), "x", large)
    assert len(large.facts) == len(plain.facts) and large.left_out == plain.left_out
    assert 9.3e18 in {fact.value for fact in large.facts}


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b'{"cik": 1, "taxonomy": "us-gaap", "tag": "Revenues", "units": {}}', "companyconcept"),
        (b'{"taxonomy": "us-gaap", "tag": "Revenues", "ccp": "CY2023", "pts": 1, "data": [{"cik": 1}]}', "frames"),
        (b'{"cik": "1", "name": "x", "filings": {"recent": {}}}', "submissions"),
    ],
)
def test_other_files_of_the_sec_are_named(data: bytes, words: str) -> None:
    with pytest.raises(NotOurs, match=words):
        read_companyfacts(io.BytesIO(data), "x", Reading())


NOTES_NUM = "adsh\ttag\tversion\tddate\tqtrs\tuom\tdimh\tvalue\tdcml\n" + "".join(
    f"0000012345-24-000001\tRevenues\tus-gaap/2023\t20231231\t4\tUSD\t{key}\t{value}\t{digits}\n"
    for key, value, digits in (("0x00000000", 100, -6), ("0x0a", 60, 32767), ("0x0b", 40, 0), ("0xff", 7, 0))
)


def test_a_data_set_with_notes_is_joined_to_its_dimensions(tmp_path: Path) -> None:
    path = tmp_path / "notes.zip"
    with zipfile.ZipFile(io.BytesIO(fsds())) as base, zipfile.ZipFile(path, "w") as archive:
        for table in ("sub", "tag"):
            archive.writestr(f"{table}.tsv", base.read(f"{table}.txt"))
        archive.writestr("num.tsv", NOTES_NUM)
        archive.writestr("dim.tsv", "dimhash\tsegments\tsegt\n0x0a\tBusinessSegments=East;\t0\n0x0b\tA=B;C=D;\t0\n")
    reading = Reading()
    data_sets.read_fsds(path, (0, 1 << 20), reading)
    assert [(f.value, f.dims, f.decimals) for f in reading.facts] == [
        (100, "{}", "-6"),
        (60, '{"BusinessSegments": "East"}', "INF"),
        (40, '{"A": "B", "C": "D"}', "0"),
    ]
    assert sum(reading.left_out.values()) == 1
