"""Small inputs that readers of filings have been reported to misread, each with what it must give.

The inputs are in `../shared/data/cases/filings` and are no part of the project; the kinds behind them have inputs of
their own in the other tests of this folder.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fiqkit.errors import UserError
from fiqkit.filings.fact import Reading
from fiqkit.filings.ingest import Summary, ingest
from fiqkit.filings.kinds import parts
from fiqkit.filings.read import read_part
from fiqkit.filings.store import FactStore
from fiqkit.records import Passage

pytestmark = pytest.mark.conformance
Figures = dict[tuple[str, ...], Any]


@pytest.fixture(scope="session")
def cases(shared_data: Path) -> Path:
    folder = shared_data / "cases/filings"
    if not folder.exists():
        pytest.skip("../shared/data/cases is not at hand")
    return folder


def read(path: Path) -> Reading:
    """All that a file gives.

    Raises:
        UserError: nothing, and why.
    """
    whole = Reading()
    for part in parts(path):
        outcome = read_part(part)
        if outcome.reading is None:
            raise UserError(outcome.error)
        for name in ("facts", "texts", "passages", "filings"):
            getattr(whole, name).extend(getattr(outcome.reading, name))
        for name in ("candidates", "left_out", "remarks"):
            getattr(whole, name).update(getattr(outcome.reading, name))
    return whole


EXPORTS: dict[str, dict[tuple[str, str], tuple[Any, ...]]] = {
    "41-cninfo-600001.csv": {
        ("营业总收入", "2024-12-31"): (10_000_000_000, "CNY", "2024-01-01"),
        ("营业总收入", "2024-06-30"): (4_000_000_000, "CNY", "2024-01-01"),
        ("净利润", "2024-03-31"): (400_000_000, "CNY", "2024-01-01"),
        ("净利润", "2024-09-30"): (1_400_000_000, "CNY", "2024-01-01"),
    },
    "41b-mixed-600001.csv": {
        ("营业总收入", "2024-06-30"): (4_000_000_000, "CNY", "2024-01-01"),
        ("净利润", "2024-03-31"): (400_000_000, "CNY", "2024-01-01"),
    },
    "42-lrb_em_20241231.csv": {
        ("净利润同比", "2024-12-31"): (0.125, "pure", "2024-01-01"),
        ("营业总收入同比", "2024-12-31"): (-0.0325, "pure", "2024-01-01"),
        ("利润总额", "2024-12-31"): (1_078_821_000, "CNY", "2024-01-01"),
    },
    "43-zcfz_em_20241231.csv": {
        ("资产-货币资金", "2024-12-31"): (500_000_000, "CNY", None),
        ("资产-总资产", "2024-12-31"): (9_000_000_000, "CNY", None),
        ("资产-总资产同比", "2024-12-31"): (0.045, "pure", None),
        ("负债-总负债", "2024-12-31"): (1_800_000_000, "CNY", None),
        ("股东权益合计", "2024-12-31"): (7_200_000_000, "CNY", None),
        ("资产负债率", "2024-12-31"): (0.2, "pure", None),
    },
    "45-balance_sheet_by_report_em.csv": {
        ("TOTAL_ASSETS", "2024-12-31"): (9_000_000_000, "CNY", None),
        ("MONETARYFUNDS", "2024-12-31"): (500_000_000, "CNY", None),
        ("TOTAL_ASSETS_YOY", "2024-12-31"): (0.045, "pure", None),
    },
    "46-financial_abstract_600004.csv": {
        ("股东权益合计(净资产)", "2024-09-30"): (18_500_000_000, "CNY", None),
        ("商誉", "2023-12-31"): (6_000_000, "CNY", None),
        ("归母净利润", "2024-12-31"): (926_000_000, "CNY", "2024-01-01"),
        ("净资产收益率(ROE)", "2024-12-31"): (0.0506, "pure", "2024-01-01"),
        ("总资产周转率", "2024-12-31"): (0.27, "pure", "2024-01-01"),
    },
    "48-analysis_indicator_600004.csv": {
        ("1-2年以内应收帐款", "2024-12-31"): (60_000, "CNY", None),
        ("主营利润比重", "2024-12-31"): (0.952, "pure", "2024-01-01"),
        ("流动比率", "2024-12-31"): (1.1, "pure", None),
    },
    "50a-long-ths-000063.csv": {
        ("货币资金", "2024-12-31"): (43_885_000_000, "CNY", None),
        ("资产总计", "2024-12-31"): (207_323_000_000, "CNY", None),
    },
    "51-profit_sheet_by_quarterly_em.csv": {
        ("TOTAL_OPERATE_INCOME", "2024-09-30"): (1_500_000_000, "CNY", "2024-07-01"),
        ("PARENT_NETPROFIT", "2024-06-30"): (280_000_000, "CNY", "2024-04-01"),
        ("PARENT_NETPROFIT_QOQ", "2024-09-30"): (0.112, "pure", "2024-07-01"),
    },
    "54-utf16-600001.csv": {("营业总收入", "2024-12-31"): (10_000_000_000, "CNY", "2024-01-01")},
    "59-unit-above-600001.csv": {("营业收入", "2024-12-31"): (1_000_000_000, "CNY", "2024-01-01")},
    "60-cells-600001.csv": {
        ("营业收入", "2024-12-31"): (1234.56, "CNY", "2024-01-01"),
        ("净利润", "2024-12-31"): (12_000_000_000, "CNY", "2024-01-01"),
        ("投资收益", "2024-12-31"): (-1234, "CNY", "2024-01-01"),
    },
    "61-sina-download-600004.xls": {
        ("货币资金", "2024-12-31"): (100, "CNY", None),
        ("资产总计", "2023-12-31"): (900, "CNY", None),
    },
}


@pytest.mark.parametrize("name", EXPORTS)
def test_export_tables(name: str, cases: Path) -> None:
    found = {(f.concept, f.end): (f.value, f.unit, f.start) for f in read(cases / name).facts}
    assert {key: found.get(key) for key in EXPORTS[name]} == EXPORTS[name]
    assert not {"value", "yoy", "AMOUNT"} & {concept for concept, _ in found}


def test_codes_and_currencies(cases: Path) -> None:
    def units(name: str) -> set[tuple[str | None, str | None]]:
        return {(f.entity, f.unit) for f in read(cases / name).facts}

    assert units("49-hk.csv") == {("00700", "HKD")}
    assert units("62-codes.csv") == {("000001", "CNY")}
    assert units("92-currency-words.csv") == {("200002", "HKD"), ("900901", "USD")}


def test_publication_dates(cases: Path) -> None:
    filed = {(f.value, f.filed) for f in read(cases / "55-two-versions.csv").facts if "净利润" in f.concept}
    assert filed == {(2_000_000_000, "2018-04-20"), (1_900_000_000, "2019-04-27")}
    assert {f.filed for f in read(cases / "57-ann-before-end.csv").facts} == {None}


@pytest.mark.parametrize(("name", "words"), [("53-tushare-income.csv", "Tushare"), ("93-prices-600519.csv", "prices")])
def test_tables_that_are_no_statements(name: str, words: str, cases: Path) -> None:
    with pytest.raises(UserError, match=words):
        read(cases / name)


def ingested(folder: Path, tmp_path: Path) -> tuple[Summary, FactStore]:
    summary = ingest([folder], tmp_path / "facts.db", jobs=1)
    return summary, FactStore(tmp_path / "facts.db")


def rendered(path: Path, tmp_path: Path) -> list[Passage]:
    from fiqkit.filings.render import render_passages

    return list(render_passages(ingested(path, tmp_path)[1]))


def test_11_two_currencies(cases: Path, tmp_path: Path) -> None:
    path = cases / "11-two-currencies_0001234567-25-000011.htm"
    assert {f.unit for f in read(path).facts} == {"CNY", "USD"}
    passages = rendered(path, tmp_path)
    assert passages
    for passage in passages:
        assert ("CNY" in passage.text) != ("USD" in passage.text)


def test_52_a_single_quarter_is_called_by_its_months(cases: Path, tmp_path: Path) -> None:
    texts = [p.text for p in rendered(cases / "52-单季-600001.csv", tmp_path)]
    assert texts and all("7-9月" in text and "1-9月" not in text for text in texts)


def test_63_growth_in_per_cent(cases: Path, tmp_path: Path) -> None:
    text = "\n".join(p.text for p in rendered(cases / "63-yoy-render.csv", tmp_path))
    assert "净利润同比 | 12.5% | 4.5%" in text and "营业总收入同比 | -3.25% | 8.25%" in text
    assert "净资产收益率 | 15.5% | 15.5%" in text


def versions(store: FactStore, concept: str, end: str) -> list[tuple[Any, ...]]:
    return list(
        store.conn.execute(
            "SELECT value, version FROM versions WHERE concept=? AND end=? AND dims='{}' ORDER BY version, value",
            (concept, end),
        )
    )


def test_versions(cases: Path, tmp_path: Path) -> None:
    for name, concept, end, expected in (
        ("10-duplicates.htm", "us-gaap:Liabilities", "2024-12-31", [(500_000_000, 1), (507_000_000, 1)]),
        ("55-two-versions.csv", "营业总收入", "2017-12-31", [(10_000_000_000, 1), (10_000_000_000, 2)]),
        ("71-restated.json", "us-gaap:Revenues", "2023-12-31", [(100, 1), (90, 2), (95, 3)]),
        ("91-versions", "us-gaap:Revenues", "2023-12-31", [(100, 1), (97, 2), (95, 3)]),
    ):
        place = tmp_path / name
        place.mkdir()
        assert versions(ingested(cases / name, place)[1], concept, end) == expected, name


def test_87_two_companies_files_of_one_name(cases: Path, tmp_path: Path) -> None:
    passages = list(ingested(cases / "87-same-stem", tmp_path)[1].passages())
    assert {p.company for p in passages} == {"Alpha Corp", "Beta Corp"}
    assert len({p.passage_id for p in passages}) == len(passages)
