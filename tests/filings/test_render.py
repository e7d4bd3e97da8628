"""Rendered passages, readable names and the fiscal calendar."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from samples import KINDS, RESOURCES, companyfacts, inline, number

from fiqkit.filings.fiscal import FiscalPeriod, fiscal_calendar, fiscal_periods
from fiqkit.filings.ingest import ingest
from fiqkit.filings.labels import label, sentence
from fiqkit.filings.render import DOZEN, render_passages
from fiqkit.filings.store import FactStore
from fiqkit.filings.wording import Line, render_table


@pytest.fixture
def store(tmp_path: Path) -> FactStore:
    """A filing with eight lines in two years, one of them by segment, and a company's indicators."""
    lines = ["Revenues", "CostOfRevenue", "GrossProfit", "OperatingIncomeLoss", "IncomeTaxExpenseBenefit", "ProfitLoss"]
    body = "".join(
        number(f"us-gaap:{name}", f"{1000 * (n + 1) + year:,}", ref)
        for n, name in enumerate([*lines, "NetIncomeLoss", "InterestExpense"])
        for year, ref in ((23, "y"), (22, "y0"))
    )
    (tmp_path / "acme_0000012345-24-000001.html").write_bytes(inline(body + number("us-gaap:Revenues", "500", "s")))
    periods = "\n".join(f"{year}-12-31,{n}亿,{n}.5亿,{n}00万,1.2{n}" for n, year in enumerate(range(2020, 2025), 1))
    table = f"报告期,净利润,营业总收入,扣非净利润,基本每股收益\n{periods}\n"
    (tmp_path / "600519.csv").write_text(table, encoding="utf-8")
    ingest(sorted(tmp_path.glob("*.[hc]*")), tmp_path / "facts.db", name="贵州茅台")
    return FactStore(tmp_path / "facts.db")


def test_a_filing_in_plain_words(store: FactStore) -> None:
    (passage,) = render_passages(store, "12345")
    assert passage.text == (
        "Acme Rockets Inc. (ACME), Form 10-K.\n"
        "Results of operations. Amounts in millions of USD.\n"
        "Line | 12 months to 2023-12-31 | 12 months to 2022-12-31\n"
        "Revenue | 1,023 | 1,022\n"
        "Cost of revenue | 2,023 | 2,022\n"
        "Gross profit | 3,023 | 3,022\n"
        "Operating income | 4,023 | 4,022\n"
        "Income tax expense | 5,023 | 5,022\n"
        "Net income including noncontrolling interests | 6,023 | 6,022\n"
        "Net income attributable to the company's shareholders | 7,023 | 7,022\n"
        "Interest expense | 8,023 | 8,022"
    )
    assert (passage.ticker, passage.form, passage.period, passage.language) == ("ACME", "10-K", "2023-12-31", "en")


def test_a_chinese_company_in_chinese(store: FactStore) -> None:
    passages = list(render_passages(store, "600519"))
    assert passages and all(p.language == "zh" for p in passages)
    assert passages[0].text.split("\n")[:4] == [
        "贵州茅台（600519）。",
        "经营成果。金额单位：人民币亿元。",
        "项目 | 2024年度 | 2023年度 | 2022年度 | 2021年度",
        "净利润 | 5 | 4 | 3 | 2",
    ]


def test_every_passage_has_a_dozen_figures_two_periods_and_an_id_of_its_own(store: FactStore) -> None:
    passages = list(render_passages(store))
    assert len({p.passage_id for p in passages}) == len(passages)
    for passage in passages:
        table = [line.split(" | ")[1:] for line in passage.text.split("\n")[3:]]
        assert min(map(len, table)) >= 2
        assert sum(cell != "—" for row in table for cell in row) >= DOZEN


def test_amounts_are_never_rounded() -> None:
    span = ("2023-01-01", "2023-12-31")
    lines = [Line("Sales", "USD", {span: 1234567890.12}), Line("Margin", "pure", {span: 0.1234}, share=True)]
    text = render_table(lines, [span], "Results", company="Acme")
    assert "Sales | 1,234,567,890.12" in text and "Margin | 12.34%" in text


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("us-gaap:ResearchAndDevelopmentExpenseSoftware", "Research and Development Expense Software"),
        ("aapl:IPhoneMember", "iPhone"),
        ("country:US", "US"),
        ("us-gaap:NonUsMember", "Non Us"),
        ("srt:ParentCompanyMember", "Parent Company"),
        ("acme:EMEAMember", "EMEA"),
        ("us-gaap:TransferredOverTimeMember", "transferred over time"),
        ("typed:Lot 7", "Lot 7"),
        ("归属于母公司所有者的净利润", "归属于母公司所有者的净利润"),
    ],
)
def test_readable_names(name: str, expected: str) -> None:
    assert label(name) == expected


def test_lines_of_a_statement_keep_acronyms_only() -> None:
    assert sentence("acme:OtherAssetsEMEANoncurrent") == "Other assets EMEA noncurrent"


def test_trailing_twelve_months_give_way_to_the_fiscal_year() -> None:
    spans = [
        ("2021-09-26", "2022-09-24", 90, False),
        ("2022-09-25", "2023-09-30", 100, False),  # 53 weeks
        ("2022-04-01", "2023-03-31", 3, False),  # trailing
        ("2022-09-25", "2022-12-31", 40, False),
        ("2022-09-25", "2023-04-01", 30, False),  # half a year: neither
    ]
    assert fiscal_periods(spans) == [
        FiscalPeriod("year", "2021-09-26", "2022-09-24", 90),
        FiscalPeriod("year", "2022-09-25", "2023-09-30", 100),
        FiscalPeriod("quarter", "2022-09-25", "2022-12-31", 40),
    ]


def test_quarters_of_sixteen_weeks_and_a_transition_between_two_years() -> None:
    spans = [
        ("2022-01-30", "2023-01-28", 90, False),
        ("2022-01-30", "2022-05-21", 40, False),  # sixteen weeks
        ("2023-01-29", "2023-09-30", 30, False),  # a change of the year's end
        ("2023-10-01", "2024-09-28", 80, False),
        ("2023-03-01", "2023-09-30", 5, False),  # begins where no year ends
    ]
    assert [(p.kind, p.end) for p in fiscal_periods(spans)] == [
        ("year", "2023-01-28"),
        ("year", "2024-09-28"),
        ("transition", "2023-09-30"),
        ("quarter", "2022-05-21"),
    ]


def test_an_end_that_is_known_exactly_wins_over_a_rounded_one() -> None:
    exact, rounded = ("2023-10-01", "2024-09-28", 2, False), ("2023-10-01", "2024-09-30", 300, True)
    assert fiscal_periods([rounded, exact]) == [FiscalPeriod("year", "2023-10-01", "2024-09-28", 302)]
    assert fiscal_periods([rounded]) == [FiscalPeriod("year", "2023-10-01", "2024-09-30", 300)]


def test_the_calendar_ignores_fy(tmp_path: Path) -> None:
    (tmp_path / "CIK0000012345.json").write_bytes(companyfacts())
    ingest([tmp_path / "CIK0000012345.json"], tmp_path / "facts.db")
    store = FactStore(tmp_path / "facts.db")
    years = [(p.start, p.end) for p in fiscal_calendar(store, "12345")]
    assert years == [("2022-01-01", "2022-12-31"), ("2023-01-01", "2023-12-31")]


@pytest.mark.conformance
def test_the_calendar_of_a_published_company(shared_data: Path, tmp_path: Path) -> None:
    ingest([shared_data / "sec/companyfacts/CIK0001045810.json.gz"], tmp_path / "facts.db")
    calendar = fiscal_calendar(FactStore(tmp_path / "facts.db"), "1045810")
    ends = [p.end for p in calendar if p.kind == "year" and p.end > "2019"]
    assert ends[:5] == ["2019-01-27", "2020-01-26", "2021-01-31", "2022-01-30", "2023-01-29"]


def test_no_passage_of_a_question_set_or_a_filing_shows_a_candidate(tmp_path: Path) -> None:
    (tmp_path / "tatqa.json").write_bytes(KINDS["tatqa.json"])
    ingest([tmp_path / "tatqa.json"], tmp_path / "facts.db")
    (passage,) = FactStore(tmp_path / "facts.db").passages()
    assert not re.search("What were", passage.text)


LINES = ["Revenues", "CostOfRevenue", "GrossProfit", "OperatingIncomeLoss", "IncomeTaxExpenseBenefit", "ProfitLoss"]


def rendered(folder: Path, **files: bytes) -> list[str]:
    """The rendered passages of some files."""
    folder = folder / "in"
    folder.mkdir()
    for name, data in files.items():
        (folder / name.replace("_dot_", ".")).write_bytes(data)
    ingest([folder], folder.parent / "facts.db")
    return [passage.text for passage in render_passages(FactStore(folder.parent / "facts.db"))]


def two_years(unit: str = "usd", factor: int = 1) -> str:
    return "".join(
        number(f"us-gaap:{name}", f"{factor * (1000 * n + year):,}", ref, unit)
        for n, name in enumerate(LINES, 1)
        for year, ref in ((23, "y"), (22, "y0"))
    )


def test_a_filing_whose_path_names_no_accession_is_in_english_and_apart_from_another(tmp_path: Path) -> None:
    first, second = rendered(tmp_path, a_dot_htm=inline(two_years()), b_dot_htm=inline(two_years(factor=3)))
    assert first.startswith("Acme Rockets Inc. (ACME), Form 10-K.\nResults of operations. Amounts in millions of USD.")
    assert "Revenue | 1,023 | 1,022" in first and "Revenue | 3,069 | 3,066" in second


def test_two_currencies_never_stand_under_one_caption(tmp_path: Path) -> None:
    resources = RESOURCES + '<xbrli:unit id="cny"><xbrli:measure>iso4217:CNY</xbrli:measure></xbrli:unit>'
    body = two_years() + two_years("cny", 7)
    texts = rendered(tmp_path, a_dot_htm=inline(body, resources))
    assert (
        ["Revenue | 1,023 | 1,022" in text for text in texts] == ["of USD." in text for text in texts] == [True, False]
    )
    assert "Amounts in millions of CNY." in texts[1] and "Revenue | 7,161 | 7,154" in texts[1]
    with pytest.raises(ValueError, match="CNY, USD under one caption"):
        render_table([Line("a", "USD", {}), Line("b", "CNY", {})], [], "Results", company="Acme")


def test_a_figure_that_a_filing_states_twice_with_two_values_is_left_out(tmp_path: Path) -> None:
    (text,) = rendered(
        tmp_path,
        a_dot_htm=inline(
            two_years()
            + two_years().replace("1,023", "1,923")
            + two_years("usd", 2)[:0]
            + number("us-gaap:InterestExpense", "5")
            + number("us-gaap:InterestExpense", "4", "y0")
        ),
    )
    assert "Revenue | — | 1,022" in text and "Cost of revenue | 2,023 | 2,022" in text


def test_shares_quarters_and_currencies_of_an_export(tmp_path: Path) -> None:
    """A rate of 1250% is one; a turnover of 8.5 times is none; a single quarter is named by its months."""
    quarters = ("2024-09-30", "2024-06-30", "2024-03-31")
    table = (
        "报告期,币种,净利润,净利润同比,流动比率,存货周转率,基本每股收益,营业总收入,利润总额,净利润环比,毛利率\n"
        + "".join(f"{q},港币,{n}亿,1250,1.1,8.5,0.12,{n}5亿,3亿,-4.5,60.5\n" for n, q in enumerate(quarters, 2))
    )
    texts = rendered(tmp_path, **{"利润_单季_600001_dot_csv": table.encode()})
    text = "\n".join(texts)
    assert "2024年7-9月 | 2024年4-6月" in text
    assert "净利润同比 | 1,250% | 1,250%" in text and "存货周转率 | 8.5 | 8.5" in text


@pytest.mark.parametrize(
    ("unit", "value", "share", "text"),
    [
        ("pure", 12.5, True, "1,250%"),
        ("pure", 0.0236, True, "2.36%"),
        ("pure", 1.1, False, "1.1"),
        ("pure", 3, False, "3"),
        ("CNY/shares", 1.25, False, "1.25元"),
        ("HKD/shares", 1.25, False, "1.25港元"),
        ("shares", 1000, False, "1,000股"),
    ],
)
def test_figures_that_are_no_amounts(unit: str, value: float, share: bool, text: str) -> None:
    span = ("2024-01-01", "2024-12-31")
    table = render_table([Line("项", unit, {span: value}, share)], [span], "指标", company="样本", language="zh")
    assert table.endswith(f"项 | {text}")


@pytest.mark.parametrize(
    ("start", "end", "words"),
    [
        ("2024-01-01", "2024-12-31", "2024年度"),
        ("2024-01-01", "2024-09-30", "2024年1-9月"),
        ("2024-07-01", "2024-09-30", "2024年7-9月"),
        ("2023-04-01", "2024-03-31", "2023年4月-2024年3月"),
        ("2024-12-01", "2024-12-31", "2024年12月"),
        (None, "2024-12-31", "2024年12月31日"),
    ],
)
def test_chinese_periods_are_called_by_their_months(start: str | None, end: str, words: str) -> None:
    line = Line("净利润", "CNY", {(start, end): 100000000})
    text = render_table([line], [(start, end)], "经营成果", company="样本", language="zh")
    assert text.split("\n")[1:] == ["经营成果。金额单位：人民币亿元。", f"项目 | {words}", "净利润 | 1"]


def test_titles_that_share_their_first_words_give_ids_of_their_own(tmp_path: Path) -> None:
    """Twenty-eight lines whose names agree over more than forty characters make two tables."""
    body = "".join(
        number(f"acme:{'Very' * 12}LongName{chr(65 + n)}", f"{n + 1},{year}", ref)
        for n in range(28)
        for year, ref in ((123, "y"), (122, "y0"))
    )
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.htm").write_bytes(inline(body))
    ingest([folder], tmp_path / "facts.db")
    passages = list(render_passages(FactStore(tmp_path / "facts.db")))
    assert len(passages) == 2 == len({p.passage_id for p in passages})
    assert passages[0].passage_id.rpartition(":")[0] == passages[1].passage_id.rpartition(":")[0]
