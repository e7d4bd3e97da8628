"""Years out of text: which are named, which is reported on, and which may be one and the same fiscal year."""

import pytest

from fiqkit.roles.language.lexicon import fold
from fiqkit.values import find_years, split_comparison


@pytest.mark.parametrize(
    ("text", "years"),
    [
        ("fiscal year 2024", [2024]),
        ("FY24 results", [2024]),
        ("FY2024", [2024]),
        ("year ended January 31, 2025", [2025]),
        ("2022-12-31", [2022]),
        ("截至2023年12月31日的年度", [2023]),
        ("2024年度", [2024]),
        ("２０２３年", [2023]),
        ("Q3 2007", [2007]),
        ("under ASC 606", []),
        ("（600019）", []),
        ("$2,024 million", []),
        ("2024%", []),
        ("2020万元", []),
        ("2024.5", []),
        ("form 10-K", []),
    ],
)
def test_years_named(text: str, years: list[int]) -> None:
    assert [year.year for year in find_years(fold(text))] == years


@pytest.mark.parametrize(
    ("text", "main", "base"),
    [
        ("2022 vs 2021", {2022}, {2021}),
        ("from 2021 to 2022", {2022}, {2021}),
        ("2023年较2022年", {2023}, {2022}),
        ("year ended December 31, 2024 compared to the year ended December 31, 2023", {2024}, {2023}),
        ("2021 and 2022", {2021, 2022}, set()),
        ("2023", {2023}, set()),
    ],
)
def test_the_later_year_of_a_comparison_is_reported_on(text: str, main: set[int], base: set[int]) -> None:
    folded = fold(text)
    reported, compared = split_comparison(folded, find_years(folded))
    assert ({year.year for year in reported}, {year.year for year in compared}) == (main, base)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("January 31, 2025", "fiscal 2025", True),
        ("January 31, 2025", "fiscal 2024", True),
        ("January 31, 2025", "fiscal 2023", False),
        ("June 30, 2025", "fiscal 2024", False),
        ("2025-01-31", "January 2025", True),
        ("September 30, 2023", "December 31, 2023", False),
        ("2023", "FY23", True),
    ],
)
def test_a_year_ending_early_goes_by_either_name(one: str, other: str, same: bool) -> None:
    (a,), (b,) = find_years(fold(one)), find_years(fold(other))
    assert a.agrees(b) is same
    assert b.agrees(a) is same
