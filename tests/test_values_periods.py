"""The periods that a text names."""

from __future__ import annotations

import pytest

from fiqkit.values import find, find_periods


@pytest.mark.parametrize(
    ("text", "years", "part"),
    [
        ("2023", {2023}, None),
        ("2023年", {2023}, None),
        ("2023年度", {2023}, "FY"),
        ("FY2023", {2023}, "FY"),
        ("FY23", {2023}, "FY"),
        ("fiscal year 2023", {2023}, "FY"),
        ("Year ended December 31, 2023", {2023}, "FY"),
        ("fiscal year ended February 3, 2024", {2023, 2024}, "FY"),  # either year names it
        ("Year ended 2024-01-31", {2023, 2024}, "FY"),
        ("截至2022-12-31的年度", {2022}, "FY"),
        ("截至2023年12月31日", {2023}, None),
        ("31 January 2024", {2023, 2024}, None),
        ("Q3 2007", {2007}, "Q3"),
        ("3Q24", {2024}, "Q3"),
        ("2024Q1", {2024}, "Q1"),
        ("third quarter of 2023", {2023}, "Q3"),
        ("2023年第一季度", {2023}, "Q1"),
        ("2024年前三季度", {2024}, "9M"),
        ("2024年三季报", {2024}, "9M"),
        ("2023年上半年", {2023}, "H1"),
        ("2024年中报", {2024}, "H1"),
        ("second half of 2022", {2022}, "H2"),
        ("nine months ended September 30, 2023", {2023}, "9M"),
        ("three months ended March 31, 2023", {2023}, "3M"),
        ("trailing twelve months", set(), "TTM"),
        ("全年", set(), "FY"),
    ],
)
def test_one_period(text: str, years: set[int], part: str | None) -> None:
    first = find_periods(text)[0]
    assert first.years == years
    assert first.part == part
    assert not first.compared


@pytest.mark.parametrize("text", ["$2,023 million", "2023万元", "20231", "12.2023", "no year", "4.5%", "600019"])
def test_no_period(text: str) -> None:
    assert not find_periods(text)


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("Year-over-year 2022 vs. 2021", {2022}),
        ("Year-over-year change from 2021 to 2022", {2022}),
        ("grew 17% year over year in 2023", {2023}),
        ("较2022年增长，2023年", {2023}),
        ("the 10-K filed on March 15, 2024, for fiscal 2023", {2023}),
        ("as of my last update in October 2024, fiscal 2023", {2023}),
        ("2024年3月30日披露的2023年年度报告", {2023}),
        ("Fiscal year 2024 (year ended June 30, 2024) vs fiscal year 2023", {2024}),
    ],
)
def test_what_is_compared_with_is_not_stated(text: str, stated: set[int]) -> None:
    assert set().union(*(p.years for p in find_periods(text) if not p.compared)) == stated


@pytest.mark.parametrize(
    ("a", "b", "conflict"),
    [
        ("2023", "2024", True),
        ("fiscal 2023", "fiscal year ended February 3, 2024", False),
        ("fiscal 2024", "fiscal year ended February 3, 2024", False),
        ("fiscal 2022", "fiscal year ended February 3, 2024", True),
        ("2023年第一季度", "2023年度", True),
        ("2023", "2023年第一季度", False),
        ("全年", "2023年度", False),
        ("Q1 2023", "three months ended March 31, 2023", False),
    ],
)
def test_conflicts(a: str, b: str, conflict: bool) -> None:
    (first, *_), (second, *_) = find_periods(a), find_periods(b)
    assert first.conflicts(second) is conflict and second.conflicts(first) is conflict


@pytest.mark.parametrize(
    ("sentence", "years", "part"),
    [
        ("For the quarter ended June 30, net revenue was $8.1 billion.", set(), "3M"),
        ("截至2025年1月31日的年度，收入为84亿美元。", {2024, 2025}, "FY"),
        ("In the year ended 2025/01/31 it earned $5 million.", {2024, 2025}, "FY"),
        ("年度截至2025.01.31，净利润5亿元", {2024, 2025}, "FY"),
        ("In FY2022, Meta Platforms, Inc. earned $46.75B.", {2022}, "FY"),
        ("For the year ended Dec. 31, 2022, it earned $5 million.", {2022}, "FY"),
        ("for the twelve months ended Dec. 31, 2022", {2022}, "FY"),
        ("the 52 weeks ended January 28, 2024", {2023, 2024}, "FY"),
        ("the first nine months of fiscal 2023", {2023}, "9M"),
        ("Fiscal third quarter 2023", {2023}, "Q3"),
        ("Q3 of fiscal 2023", {2023}, "Q3"),
        ("Q3 FY23", {2023}, "Q3"),
        ("FQ3 2023", {2023}, "Q3"),
        ("third-quarter 2023", {2023}, "Q3"),
        ("1H23", {2023}, "H1"),
        ("fiscal '24", {2024}, "FY"),
        ("fiscal 2023/24", {2023, 2024}, "FY"),
        ("2023年1-9月", {2023}, "9M"),
        ("2023年1月1日至2023年12月31日", {2023}, "FY"),
        ("January 1, 2023 to March 31, 2023", {2023}, "3M"),
        ("year to date 2023", {2023}, "YTD"),
        ("2023年前9个月", {2023}, "9M"),
        ("31st of December 2023", {2023}, None),
    ],
)
def test_periods_inside_sentences(sentence: str, years: set[int], part: str | None) -> None:
    period = find_periods(sentence)[0]
    assert (period.years, period.part) == (years, part)


@pytest.mark.parametrize(
    ("text", "part"),
    [("9M FY23", "9M"), ("9M23", "9M"), ("6M 2023", "H1"), ("3M FY2023", "3M"), ("12M FY23", "FY")],
)
def test_months_in_short(text: str, part: str) -> None:
    (period,) = find_periods(text)
    assert (period.years, period.part) == ({2023}, part)
    assert not find(text)


def test_the_quarter_is_a_period() -> None:
    text = "Revenue was $14,571 million for the quarter and $41,795 million for the nine months."
    assert [value.period and value.period.part for value in find(text)] == ["3M", "9M"]
