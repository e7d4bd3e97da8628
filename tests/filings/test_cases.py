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


# Case → the passages' texts.
PASSAGES = {
    "14a-latin1.htm": ["Société Générale - résultat EUR\n3"],
    "14b-cp1252.htm": ["Société Générale – résultat €\n3"],
    "20-8k-ex991.txt": [
        "Item 2.02 Results of Operations. A press release is furnished as Exhibit 99.1.",
        "Example Corp reported total revenues of $509,589 in 2024.",
    ],
    "22-daily-feed.nc": ["Sales rose to 10 million."],
    "23-submission-2012.txt": ["Item 8. Financial Statements\nTotal assets were 7 dollars."],
    "28-blank-cells.htm": [
        "Consolidated statement of equity\n | Common stock | Retained earnings | Treasury stock | Total\n"
        "Balance, January 1 | 100 | 500 | (50) | 550\nNet income |  | 30 |  | 30\nPurchases |  |  | (5) | (5)\n"
        "Balance, March 31 | 100 | 530 | (55) | 575"
    ],
    "29-title-two-lines-above.htm": [
        "Item 8. Financial Statements\nEXAMPLE CORP\nCONSOLIDATED BALANCE SHEETS\n(in thousands)\n | 2024 | 2023\n"
        "Cash | 10 | 9\nTotal assets | 100 | 90"
    ],
    "32-html5-header.htm": ["Annual report 2024\nRevenue was 5 million.\nBody text here."],
    "33-inline-words.htm": ["Note\n | 2024 | 2023\nInventories(1) | 1,234 | 987\nCash | 567 | 8"],
    "35-two-tables.htm": [
        "Item 8. Financial Statements\nBalance sheet (in millions)\n | 2024\nCash | 10\nAssets | 100",
        "Item 8. Financial Statements\n | 2024\nDebt | 10\nEquity | 90",
    ],
    "36-nested-table.htm": ["Caption\nOuter\n | 2024 | 2023\nCash | 10 | 9\nDebt | 8 | 7"],
    "37-marker-in-cell.htm": ["Caption\n | 2024 | 2023\nBacklog | 1,234 (1) | 987\nOrders | $ 5 | $ 6"],
}


@pytest.mark.parametrize("name", PASSAGES)
def test_passages(name: str, cases: Path) -> None:
    assert [passage.text for passage in read(cases / name).passages] == PASSAGES[name]


def test_25_plain_text(cases: Path) -> None:
    texts = [passage.text for passage in read(cases / "25-plain-text.txt").passages]
    assert max(len(text.split()) for text in texts) <= 250
    assert (
        "ITEM 1. BUSINESS\nCONSOLIDATED BALANCE SHEET\n(In thousands)\n | 1998 | 1997\nCash | $1,234 | $987\n"
        "Receivables | 456 | 321\nTotal assets | $1,690 | $1,308" in texts
    )


def test_31_a_long_paragraph(cases: Path) -> None:
    texts = [passage.text for passage in read(cases / "31-long-paragraph.htm").passages]
    assert max(len(text.split()) for text in texts) <= 250
    assert " ".join(text.partition("\n")[2] for text in texts).split() == [f"w{n}" for n in range(900)]


@pytest.mark.parametrize(
    ("name", "form", "accession", "filed", "entity"),
    [
        ("21a-form.txt", "DEF 14A", "0001234567-25-000020", "2025-03-01", "12345"),
        ("21b-form.txt", "NT 10-K", "0001234567-25-000020", "2025-03-01", "12345"),
        ("22-daily-feed.nc", "8-K", "0001493152-25-001317", "2025-01-08", "880984"),
    ],
)
def test_headers(name: str, form: str, accession: str, filed: str, entity: str, cases: Path) -> None:
    from fiqkit.filings.submission import origin

    about = origin((cases / name).read_bytes(), cases / name)
    assert (about.form, about.accession, about.filed, about.entity) == (form, accession, filed, entity)
    assert {(p.form, p.filed) for p in read(cases / name).passages} == {(form, filed)}


# Case → (concept, end, dims) → (value, start), of all facts.
FACTS: dict[str, dict[tuple[str, str, str], tuple[Any, ...]]] = {
    "01-idref-space.xml": {
        ("us-gaap:AreaOfRealEstateProperty", "2024-12-31", "{}"): (14_500, None),
        ("us-gaap:Assets", "2024-12-31", "{}"): (7, None),
    },
    "02-scenario-typed.xml": {
        ("us-gaap:Revenues", "2024-12-31", '{"xx:CustomerAxis": "typed:C 7", "xx:RegionAxis": "xx:EastMember"}'): (
            41,
            "2024-01-01",
        ),
        ("us-gaap:Revenues", "2024-12-31", "{}"): (100, "2024-01-01"),
    },
    "03-nested.htm": {
        ("us-gaap:CommonStockParOrStatedValuePerShare", "2024-12-31", "{}"): (1e-05, None),
        ("us-gaap:CommonStockParOrStatedValuePerShare", "2023-12-31", "{}"): (1e-05, None),
    },
    "04-scale-minus2.htm": {
        ("us-gaap:EffectiveIncomeTaxRateContinuingOperations", "2024-12-31", "{}"): (0.007, "2024-01-01"),
        ("xx:A", "2024-12-31", "{}"): (0.1235, "2024-01-01"),
        ("xx:B", "2024-12-31", "{}"): (12.345, "2024-01-01"),
    },
    "05-parens-sign.htm": {("us-gaap:OperatingIncomeLoss", "2024-12-31", "{}"): (-500, "2024-01-01")},
    "08-fraction.htm": {("xx:StockSplit", "2024-12-31", "{}"): (0.125, "2024-01-01")},
    "09-targets.htm": {("us-gaap:Revenues", "2024-12-31", "{}"): (10_000_000, "2024-01-01")},
    "14a-latin1.htm": {("us-gaap:Assets", "2024-12-31", "{}"): (3_000_000, None)},
    "14b-cp1252.htm": {("us-gaap:Assets", "2024-12-31", "{}"): (3_000_000, None)},
    "14d-utf16.xml": {("us-gaap:Assets", "2024-12-31", "{}"): (7, None)},
    "15a-gz-without-suffix.htm": {("us-gaap:Assets", "2024-12-31", "{}"): (3_000_000, None)},
    "15b-double.htm.gz": {("us-gaap:Assets", "2024-12-31", "{}"): (3_000_000, None)},
    "15d-multi-member.htm.gz": {("us-gaap:Assets", "2024-12-31", "{}"): (3_000_000, None)},
    "17-prefix.xml": {
        ("us-gaap:Revenues", "2024-12-31", "{}"): (41, "2024-01-01"),
        ("us-gaap:Assets", "2024-12-31", "{}"): (9, None),
    },
    "23-submission-2012.txt": {("us-gaap:Assets", "2024-12-31", "{}"): (7, None)},
    "64-notes.zip": {
        ("us-gaap:Revenues", "2024-12-31", "{}"): (100, "2024-01-01"),
        ("us-gaap:Revenues", "2024-12-31", '{"BusinessSegments": "East"}'): (60, "2024-01-01"),
        ("us-gaap:Revenues", "2024-12-31", '{"BusinessSegments": "West"}'): (40, "2024-01-01"),
    },
    "68-cik-string.json": {("us-gaap:Revenues", "2023-12-31", "{}"): (100, "2023-01-01")},
    "69-bom.json": {("us-gaap:Revenues", "2023-12-31", "{}"): (100, "2023-01-01")},
    "73-odd-values.json": {("us-gaap:Revenues", "2023-12-31", "{}"): (100, "2023-01-01")},
    "24-two-sets-same-id.txt": {
        ("us-gaap:Revenues", "2024-12-31", "{}"): (10_000_000, "2024-01-01"),
        ("xx:TtlFeeAmt", "2025-03-01", "{}"): (5_000_000, "2025-03-01"),
    },
}


@pytest.mark.parametrize("name", FACTS)
def test_facts(name: str, cases: Path) -> None:
    assert {(f.concept, f.end, f.dims): (f.value, f.start) for f in read(cases / name).facts} == FACTS[name]


def test_other_facts(cases: Path) -> None:
    prefix = read(cases / "17-prefix.xml").facts[0]
    assert (prefix.name, prefix.form) == ("Prefix Corp", "10-K")
    assert [t.value for t in read(cases / "19-cover-code.htm").texts] == ["E9", "Z4", "L3", "P49D"]
    assert {f.entity for f in read(cases / "68-cik-string.json").facts} == {"12345"}
    segments = {f.dims: f.value for f in read(cases / "65-segments.zip").facts}
    assert (segments["{}"], segments['{"ProductOrService": "A"}']) == (100, 60)
    assert sorted(f.value for f in read(cases / "73b-big-integer.json").facts) == [100, 9.3e18]


def test_what_is_left_out_is_counted(cases: Path) -> None:
    assert sum(read(cases / "73-odd-values.json").left_out.values()) == 4
    assert sum(read(cases / "05-parens-sign.htm").left_out.values()) == 1
    assert read(cases / "09-targets.htm").left_out == {"meant for another target document": 1}
    odd = read(cases / "13-odd-date.htm")
    assert ("us-gaap:Assets", "2024-12-31") in {(f.concept, f.end) for f in odd.facts}
    assert any("context refused" in reason for reason in odd.left_out)


def test_06_exclusions_and_continuations(cases: Path) -> None:
    (text,) = read(cases / "06-continuation-exclude.htm").texts
    assert " ".join(text.value.split()) == "Alpha beta. Gamma Delta Epsilon."


def test_10_duplicates(cases: Path) -> None:
    reading = read(cases / "10-duplicates.htm")
    assert [(f.concept, f.value, f.copies) for f in reading.facts] == [
        ("us-gaap:Assets", 171_797_000_000, 2),
        ("us-gaap:Liabilities", 500_000_000, 1),
        ("us-gaap:Liabilities", 507_000_000, 1),
    ]
    assert sum(reading.remarks.values()) == 1


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("15c-filing.zip", "unpack it"),
        ("16-browser-saved.htm", "saved by a browser"),
        ("72a-companyconcept.json", "companyconcept"),
        ("72b-frames.json", "frames"),
        ("72c-submissions.json", "submissions"),
        ("74-cut.json", "damaged JSON"),
        ("79-finqa.json", "FinQA"),
    ],
)
def test_files_that_are_refused_in_one_line(name: str, words: str, cases: Path) -> None:
    with pytest.raises(UserError, match=words) as error:
        read(cases / name)
    assert "\n" not in str(error.value)


def test_27_a_folder_as_the_sec_serves_it(cases: Path, tmp_path: Path) -> None:
    summary = ingested(cases / "27-sec-folder", tmp_path)[0]
    assert (summary.faults, summary.facts, len(summary.skipped)) == ([], 1, 7)


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


def test_calendars(cases: Path, tmp_path: Path) -> None:
    from fiqkit.filings.fiscal import fiscal_calendar

    def periods(name: str, kind: str) -> list[tuple[str, str]]:
        place = tmp_path / f"{name}-{kind}"
        place.mkdir()
        return [(p.start, p.end) for p in fiscal_calendar(ingested(cases / name, place)[1], "12345") if p.kind == kind]

    assert periods("76-53-weeks.json", "year") == [("2022-09-25", "2023-09-30"), ("2023-10-01", "2024-09-28")]
    assert len(periods("76-53-weeks.json", "quarter")) >= 4
    assert len(periods("77-transition.json", "year")) == 3
    assert periods("77-transition.json", "transition") == [("2023-07-01", "2024-03-31")]
    assert periods("78-two-sources", "year") == [("2023-10-01", "2024-09-28")]


def test_question_sets(cases: Path) -> None:
    tatqa = read(cases / "80-tatqa.json")
    assert [p.text for p in tatqa.passages] == [" | 2019 | 2018\nRevenue | 10 | 9\nOther |  | 4\nPara."]
    assert [c["value"] for c in tatqa.candidates[tatqa.passages[0].passage_id]] == ["10; 9 million", "-1.9 percent"]
    bench = read(cases / "82-financebench-empty.jsonl")
    assert [p.text for p in bench.passages] == ["Page nine text"]
    docs = read(cases / "83-docfinqa.json")
    assert len(docs.passages) == 1 and [c["value"] for c in docs.candidates[docs.passages[0].passage_id]] == ["5", "6"]


def test_every_case_stands_here(cases: Path) -> None:
    """Each input that is at hand is named by a test of this file."""
    text = Path(__file__).read_text("utf-8")
    assert [path.name for path in cases.iterdir() if path.name != "EXPECTED.txt" and path.name not in text] == []
