"""Which reports are a company's under the name that a question calls it by."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fiqkit.construct.holdings import Company, companies
from fiqkit.construct.names import one_name
from fiqkit.filings.ingest import ingest
from fiqkit.filings.store import FactStore


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("SCHERING PLOUGH CORP", "Merck & Co., Inc.", False),
        ("COCA COLA CO", "Coca-Cola Company", True),
        ("The Boeing Company", "BOEING CO", True),
        ("LOWES COMPANIES INC", "Lowe's Companies, Inc.", True),
        ("AMAZON COM INC", "AMAZON.COM, INC.", True),
        ("WAL MART STORES INC", "Walmart Inc.", True),
        ("GRAINGER W W INC", "W.W. Grainger, Inc.", True),
        ("UNITED TECHNOLOGIES CORP /DE/", "RTX Corporation", False),
        ("AT&T INC", "ATLAS CORP", False),  # begins alike by chance
        ("振静股份", "巨星农牧", False),
        ("雷曼股份", "雷曼光电", False),  # half of a Chinese name is no name
        ("深中华Ａ", "深中华", True),
        ("五 粮 液", "五粮液", True),
    ],
)
def test_names_that_one_company_can_have_at_one_time(one: str, other: str, alike: bool) -> None:
    assert one_name(one, other) is alike
    assert one_name(other, one) is alike


def read(tmp_path: Path, rows: list[dict[str, object]]) -> Company:
    (tmp_path / "facts.jsonl").write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows))
    ingest([tmp_path / "facts.jsonl"], tmp_path / "facts.db")
    store = FactStore(tmp_path / "facts.db")
    (company,) = companies(store)
    store.close()
    return company


def test_a_report_from_before_the_company_took_its_name_is_left_out(tmp_path: Path) -> None:
    half = {"code": "603477", "company": "振静股份", "notice_date": "2018-08-01", "总营收": 4e8, "扣非净利润": 2e7}
    half |= {"归母净利润": 3e7, "利润总额": 4e7, "所得税费用": 1e7}
    year = {"code": "603477", "company": "巨星农牧", "year": 2020, "归母_source": "reported", "净利润": 1.5e8}
    year |= {"归母净利润": 1.3e8, "少数股东损益": 2e7, "营业总收入": 1.4e9, "营业收入": 1.4e9}
    company = read(tmp_path, [half, year])
    assert company.name == "巨星农牧"
    assert [report.form for report in company.reports] == ["年报"]


def test_a_register_number_that_changed_hands_keeps_the_present_filers_reports(tmp_path: Path) -> None:
    fact = {"cik": "310158", "form": "10-Q", "c": "us-gaap:IncomeTaxExpenseBenefit", "v": 1e8, "u": "USD", "dec": "-6"}
    fact |= {"start": "2009-04-01", "end": "2009-06-30", "dims": {}}
    before = {"name": "SCHERING PLOUGH CORP", "accession": "0000950123-09-025362", "filed": "2009-07-31"}
    after = {"name": "MERCK & CO INC", "accession": "0000310158-10-000001", "filed": "2010-03-01"}
    company = read(tmp_path, [fact | before, fact | after | {"v": 3e8}])
    assert [report.name for report in company.reports] == ["MERCK & CO INC"]
