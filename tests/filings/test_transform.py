"""Displayed text and the value that it stands for."""

from __future__ import annotations

from contextlib import suppress
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fiqkit.filings.transform import UnknownFormat, transform
from fiqkit.filings.transform.words import number

CASES = [
    ("num-dot-decimal", "1,024.50", "1024.50"),
    ("num-dot-decimal", "1\u00a0024", "1024"),
    ("numdotdecimal", ".5", ".5"),
    ("num-dot-decimal", "１，０２４", "1024"),
    ("num-dot-decimal-in", "12,34,567", "1234567"),
    ("num-dot-decimal-apos", "1'234'567.8", "1234567.8"),
    ("num-comma-decimal", "1.024,5", "1024.5"),
    ("numcommadot", "1,024.5", "1024.5"),
    ("numdotcomma", "1.024,5", "1024.5"),
    ("numspacecomma", "1 024,5", "1024.5"),
    ("num-unit-decimal", "12円50銭", "12.50"),
    ("num-unit-decimal", "1,234 euros 5 cents", "1234.05"),
    ("fixed-zero", "—", "0"),
    ("fixed-zero", "no amount", "0"),
    ("zerodash", "–", "0"),
    ("numdash", "-", "0"),
    ("fixed-true", "☒", "true"),
    ("booleanfalse", "No", "false"),
    ("nocontent", "anything", ""),
    ("date-monthname-day-year-en", "September 28, 2024", "2024-09-28"),
    ("datemonthdayyearen", "Sept. 28 2024", "2024-09-28"),
    ("date-day-monthname-year-en", "28th of September, 2024", "2024-09-28"),
    ("datelongus", "May 1, 99", "2099-05-01"),
    ("dateslasheu", "03/04/2020", "2020-04-03"),
    ("dateslashus", "03/04/2020", "2020-03-04"),
    ("date-month-day", "12/31", "--12-31"),
    ("date-monthname-day-en", "February 29", "--02-29"),
    ("date-monthname-year-en", "June 2024", "2024-06"),
    ("date-year-month", "2024-6", "2024-06"),
    ("dateyearmonthdaycjk", "2024年9月28日", "2024-09-28"),
    ("dateyearmonthdaycjk", "２０２４年９月２８日", "2024-09-28"),
    ("date-jpn-era-year-month-day", "令和元年5月1日", "2019-05-01"),
    ("dateerayearmonthdayjp", "平成 31 年 4 月 30 日", "2019-04-30"),
    ("date-day-monthname-year-fr", "1er août 2023", "2023-08-01"),
    ("date-day-monthname-year-de", "3. März 2021", "2021-03-03"),
    ("date-day-monthname-year-hr", "5. listopada 2020", "2020-10-05"),
    ("date-day-monthname-year-pl", "5 listopada 2020", "2020-11-05"),
    ("date-day-monthroman-year", "7.XII.2022", "2022-12-07"),
    ("numwordsen", "No", "0"),
    ("numwordsen", "none", "0"),
    ("numwordsen", "twenty-one", "21"),
    ("numwordsen", "one hundred and five thousand, two hundred twelve", "105212"),
    ("numwordsen", "two and one-half", "2.5"),
    ("numwordsen", "1.5 million", "1500000"),
    ("numwordsen", "a dozen", "12"),
    ("durwordsen", "eighteen months", "P18M"),
    ("durwordsen", "one year and six months", "P1Y6M"),
    ("durwordsen", "two and a half years", "P2Y6M"),
    ("durwordsen", "90 days", "P90D"),
    ("duryear", "3.5", "P3Y6M"),
    ("duryear", "10", "P10Y"),
    ("durmonth", "18", "P18M"),
    ("durweek", "2", "P14D"),
    ("durday", "1,000", "P1000D"),
    ("durhour", "6", "PT6H"),
    ("boolballotbox", "☐", "false"),
    ("boolballotbox", "þ", "true"),
    ("exchnameen", "The NASDAQ Stock Market LLC", "NASDAQ"),
    ("exchnameen", "Some Other Exchange", "Some Other Exchange"),
    ("stateprovnameen", "New Jersey", "NJ"),
    ("edgarprovcountryen", "Ireland", "L2"),
    ("edgarprovcountryen", "Cayman Islands", "E9"),
    ("edgarprovcountryen", "Canada", "Z4"),
    ("edgarprovcountryen", "The People’s Republic of China", "F4"),
    ("edgarprovcountryen", "Ontario", "A6"),
    ("edgarprovcountryen", "Delaware", "DE"),
    ("countrynameen", "Ireland", "IE"),
    ("stateprovnameen", "Ontario", "ON"),
    ("durwordsen", "two years and one week", "P2Y7D"),
    ("duryear", "-2.5", "-P2Y6M"),
    ("calindaymonthyear", "1 1 1879", "1957-03-22"),  # the day that the calendar came into force
    ("date-ind-day-monthname-year-hi", "१ चैत्र १९४२", "2020-03-21"),  # of a leap year
    ("date-year-day-monthname-lv", "2019. gada 24. marts", "2019-03-24"),
    ("entityfilercategoryen", "Large accelerated filer", "Large Accelerated Filer"),
    ("datequarterend", "fourth quarter of 2023", "2023-12-31"),
    ("datequarterend", "Q1 2024", "2024-03-31"),
]


@pytest.mark.parametrize(("name", "text", "expected"), CASES)
def test_formats(name: str, text: str, expected: str) -> None:
    assert transform(name, text) == expected


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("num-dot-decimal", "1.2.3"),
        ("num-dot-decimal", "1.234,5"),
        ("num-comma-decimal", "1,234.5"),
        ("calindaymonthyear", "31 13 1879"),
        ("num-dot-decimal", "twelve"),
        ("num-dot-decimal", ""),
        ("num-dot-decimal", "-5"),
        ("num-dot-decimal", "9" * 5000),
        ("zerodash", "0"),
        ("date-monthname-day-year-en", "February 30, 2024"),
        ("date-monthname-day-year-en", "2024"),
        ("date-jpn-era-year-month-day", "2019年5月1日"),
        ("numwordsen", "several"),
        ("numwordsen", ""),
        ("durwordsen", "a while"),
        ("boolballotbox", "maybe"),
        ("datequarterend", "fifth quarter 2023"),
    ],
)
def test_text_that_a_format_does_not_admit_is_refused(name: str, text: str) -> None:
    with pytest.raises(ValueError):
        transform(name, text)


def test_an_unknown_format_is_named() -> None:
    with pytest.raises(UnknownFormat, match="num-imaginary"):
        transform("num-imaginary", "1")


@given(st.integers(0, 10**15))
def test_grouped_numbers_come_back(n: int) -> None:
    assert int(transform("num-dot-decimal", f"{n:,}")) == n
    assert int(transform("num-comma-decimal", f"{n:,}".replace(",", "."))) == n


_ONES = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]


@given(st.integers(1, 9), st.integers(1, 9), st.sampled_from([("thousand", 10**3), ("million", 10**6)]))
def test_words_add_up(hundreds: int, ones: int, scale: tuple[str, int]) -> None:
    words = f"{_ONES[hundreds]} hundred and {_ONES[ones]} {scale[0]} {_ONES[ones]}"
    assert number(words) == (hundreds * 100 + ones) * scale[1] + ones


@given(st.dates(date(2000, 1, 1), date(2099, 12, 31)))
def test_dates_come_back_in_every_order(day: date) -> None:
    iso = day.isoformat()
    assert transform("date-monthname-day-year-en", day.strftime("%B %d, %Y")) == iso
    assert transform("date-day-month-year", day.strftime("%d.%m.%y")) == iso
    assert transform("dateyearmonthdaycjk", f"{day.year}年{day.month}月{day.day}日") == iso


@given(st.text(max_size=40), st.sampled_from([name for name, _, _ in CASES]))
def test_any_text_gives_a_string_or_a_value_error(text: str, name: str) -> None:
    with suppress(ValueError):
        assert isinstance(transform(name, text), str)
