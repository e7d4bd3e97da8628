"""Facts as lines: dumps, mined pairs, tables by hand; what is derived or missing is left out and counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fiqkit.errors import UserError
from fiqkit.filings.fact import Fact, Reading
from fiqkit.filings.kinds import parts
from fiqkit.filings.lines import is_lines, read_lines

DUMP = {"cik": "0000320193", "name": "Apple Inc.", "form": "10-K", "accession": "0000320193-24-000123"}
DUMP |= {"c": "us-gaap:NetIncomeLoss", "v": 93736000000, "u": "USD", "dec": "-6", "start": "2023-10-01", "dims": {}}
DUMP |= {"end": "2024-09-28"}


def read(*rows: dict[str, Any] | str) -> Reading:
    text = "\n".join(row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows)
    reading = Reading()
    read_lines(text.encode(), Path("x.jsonl"), reading)
    return reading


def test_a_dumped_fact_keeps_everything_it_says() -> None:
    (fact,) = read(DUMP, DUMP).facts  # the same line twice is one fact
    assert fact == Fact(
        "320193", "Apple Inc.", "us-gaap:NetIncomeLoss", 93736000000, "USD", "-6", "2023-10-01", "2024-09-28", "{}",
        "10-K", "0000320193-24-000123", None, "inline",
    )  # fmt: skip


def test_a_period_with_a_time_of_day_is_left_out_and_counted() -> None:
    reading = read(DUMP | {"end": "2024-09-28T03:00:00"}, DUMP)
    assert len(reading.facts) == 1
    assert reading.left_out["period with a time of day"] == 1


def test_two_filings_of_one_figure_are_two_facts() -> None:
    row = {"cik": "1800", "company": "ABBOTT", "concept": "Assets", "end": "20081231", "qtrs": 0}
    row |= {"as_originally_reported": 10.0, "orig_form": "10-Q", "orig_filed": "20090807", "orig_accession": "a"}
    row |= {"restated": 12.0, "new_form": "10-K", "new_filed": "20100219", "new_accession": "b"}
    facts = read(row).facts
    assert [(f.value, f.form, f.filed, f.accession) for f in facts] == [
        (10, "10-Q", "2009-08-07", "a"),
        (12, "10-K", "2010-02-19", "b"),
    ]
    assert {(f.concept, f.start, f.end) for f in facts} == {("us-gaap:Assets", None, "2008-12-31")}
    assert not read(row | {"scale_suspect": True}).facts


def test_quarters_give_the_start() -> None:
    row = {"cik": "1", "company": "A", "end": "20090630", "qtrs": 2, "form": "10-Q", "accession": "x"}
    (a, b) = read(row | {"a": "NetIncomeLoss", "a_value": 1.0, "b": "ProfitLoss", "b_value": 2.0}).facts
    assert (a.start, a.end, b.concept) == ("2009-01-01", "2009-06-30", "us-gaap:ProfitLoss")


def test_what_is_derived_or_missing_is_no_fact() -> None:
    row = {"code": "600299", "company": "安迪苏", "year": 2019, "归母_source": "derived=净利润-少数股东损益"}
    row |= {"净利润": 12.0, "归母净利润": 9.0, "少数股东损益": -1, "营业总收入": 110.0, "营业收入": None}
    reading = read(row)
    assert {f.concept: f.value for f in reading.facts} == {"净利润": 12, "营业总收入": 110}
    assert reading.left_out == {"derived figure": 1, "missing figure": 2}
    assert {f.unit for f in reading.facts} == {"CNY"}


def test_an_express_report_after_the_final_one_is_no_first_report() -> None:
    row = {"code": "2055", "company": "得润电子", "period": "2018H1", "metric": "归母净利润"}
    row |= {"业绩快报": 55.0, "快报日期": "2018-07-31", "正式半年报": 52.0, "公告日期": "2018-08-25"}
    assert [(f.entity, f.value, f.form) for f in read(row).facts] == [
        ("002055", 55, "业绩快报"),
        ("002055", 52, "半年报"),
    ]
    assert not read(row | {"快报日期": "2018-09-01"}).facts


def test_a_table_by_hand() -> None:
    table = "entity,name,concept,value,unit,start,end,dims,form\n"
    dims = '"{""measure"": ""non-GAAP""}"'
    table += f"50863,Intel Corporation,us-gaap:GrossProfit,6145000000,USD,2022-10-01,2022-12-31,{dims},8-K\n"
    table += "50863,Intel Corporation,us-gaap:Assets,1.5e9,USD,,2022-12-31,,8-K\n"
    gross, assets = read(table).facts
    assert (gross.value, gross.dims, gross.source) == (6145000000, '{"measure": "non-GAAP"}', "hand")
    assert (assets.start, assets.dims, assets.value) == (None, "{}", 1500000000)


def test_the_kind_is_told_by_the_first_line(tmp_path: Path) -> None:
    for name, text in (
        ("d.jsonl", json.dumps(DUMP)),
        ("t.csv", "entity,name,concept,value,unit,start,end,dims,form\n"),
    ):
        (tmp_path / name).write_text(text)
        assert parts(tmp_path / name)[0].kind == "lines"
    assert not is_lines(b'{"cik": 320193, "entityName": "Apple Inc.", "facts": {}}')


@pytest.mark.parametrize(
    "row",
    [
        "{", DUMP | {"v": "many"}, DUMP | {"end": "yesterday"}, DUMP | {"dims": 3}, {"something": 1},
        DUMP | {"v": True}, {k: v for k, v in DUMP.items() if k != "end"},
    ],
)  # fmt: skip
def test_bad_lines_name_the_line(row: dict[str, Any] | str) -> None:
    with pytest.raises(UserError, match=r"^x\.jsonl:2: [^\n]+$"):
        read(DUMP, row)


@given(st.binary(max_size=300))
def test_no_bytes_end_in_a_traceback(data: bytes) -> None:
    is_lines(data)
    try:
        read_lines(data, Path("x.jsonl"), Reading())
    except UserError as error:
        assert "\n" not in str(error)
