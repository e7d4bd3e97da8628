"""The corpus of written values, one row a case, and what `same` and `mentions` make of them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from fiqkit.values import Value, find, mentions, same, same_digits

CORPUS = [
    line.split("\t")
    for line in (Path(__file__).parent / "values_corpus.tsv").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]


def one(text: str) -> Value:
    (value,) = find(text)
    return value


def test_corpus_is_large_and_has_no_case_twice() -> None:
    assert len(CORPUS) >= 300
    assert len({text for text, _ in CORPUS}) == len(CORPUS)


@pytest.mark.parametrize(("text", "expected"), CORPUS)
def test_corpus(text: str, expected: str) -> None:
    text = text.replace("\\n", "\n")
    wanted = [] if expected == "none" else [case.split() for case in expected.split(" | ")]
    found = find(text)
    assert [(v.kind, v.currency or "-") for v in found] == [(kind, currency) for _, kind, currency in wanted]
    assert [v.number for v in found] == pytest.approx([float(number) for number, _, _ in wanted], rel=1e-12)
    assert all(v.text == text[slice(*v.span)] for v in found)
    assert all(a.span[1] <= b.span[0] for a, b in pairwise(found))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("$46.75 billion", "$46.75B"),
        ("$46,750 million", "46.75B"),
        ("46.3 billion dollars", "$46.75B"),  # 0.96% off
        ("85.68亿元", "人民币8,568百万元"),
        ("46.75亿美元", "$4.675 billion"),
        ("42%", "42.1%"),
        ("182%", "182.4%"),
        ("8%", "8.0%"),
        ("-15%", "-14.5%"),  # rounds to the precision shown
        ("14.8%", "14.7%"),
        ("-97%", "-97.5%"),
        ("42.3", "42.3%"),  # unit left out
        ("$1.23 per share", "$1.23"),
        ("0", "0%"),
        ("50 bps", "0.5 percentage points"),
    ],
)
def test_same(a: str, b: str) -> None:
    assert same(one(a), one(b))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("$1,899.3 million", "$1.81B"),
        ("14.5%", "-14.5%"),
        ("0.28", "28%"),  # a fraction is no percentage
        ("5.4%", "5.4 percentage points"),
        ("$68.41", "68.41元"),
        ("85.68亿元", "85.68亿美元"),
        ("1.2万亿元", "1.2亿元"),
        ("46.75", "$46.75B"),
        ("46.2 million shares", "$46.2 million"),
        ("3.2 times", "3.2%"),
        ("$47.3 billion", "$46.75B"),
    ],
)
def test_not_same(a: str, b: str) -> None:
    assert not same(one(a), one(b))


def test_tolerance_is_relative_to_the_second() -> None:
    assert same(one("$101"), one("$100")) and not same(one("$101.1"), one("$100"))
    assert same(one("$110"), one("$100"), tolerance=0.1)


@pytest.mark.parametrize("digits", ["46.75", "46,750", "$46,750", "46,750,000", "467.5"])
def test_digits_without_their_scale(digits: str) -> None:
    assert same_digits(one(digits), one("$46.75B")) and not same(one(digits), one("$46.75B"))


@pytest.mark.parametrize("digits", ["46.75 million", "4.9", "46.75%", "$46,750,000,000"])
def test_a_stated_scale_or_other_digits_are_no_missing_scale(digits: str) -> None:
    assert not same_digits(one(digits), one("$46.75B"))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("as in the table (in millions): 46,750", "$46.75B"),
        ("a total of 46.75", "$46.75B"),
        ("forty-six point seven five billion dollars", "$46.75B"),
        ("467.5亿美元", "$46.75B"),
        ("净亏损5.76亿元", "-5.76亿元"),
        ("576,000,000元", "-5.76亿元"),
        ("a share of 0.423", "42.3%"),
        ("百分之四十二点三", "42.3%"),
    ],
)
def test_mentions_in_any_notation(text: str, value: str) -> None:
    assert mentions(text, value) and mentions(text, one(value))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("consolidated, fiscal 2023, GAAP", "$46.75B"),
        ("归属于上市公司股东口径（600019.SH），2024年度", "6.0019亿元"),
        ("46.75%", "$46.75B"),
        ("$62.87B", "$46.75B"),
    ],
)
def test_mentions_nothing_else(text: str, value: str) -> None:
    assert not mentions(text, value)


@pytest.mark.parametrize(
    ("text", "periods"),
    [
        ("2023年净利润80亿元，2024年为85亿元", ["2023", "2024"]),
        ("$46.75 billion in 2023 and $28.94 billion in 2022", ["2023", "2022"]),
        ("$96.77 billion (2023), $81.46 billion (2022)", ["2023", "2022"]),
        ("For fiscal 2022, compared to 2021, it grew 5%.", ["fiscal 2022"]),
        ("decreased by 97% in 2023 compared to 2022", ["2023"]),
        ("2022年营收571亿元（2021年为561亿元）。净利润18亿元（2021年为16亿元）", ["2022", "2021", "", "2021"]),
        ("grew 18.3% to $10.2 billion compared to $8.6 billion in fiscal 2021", ["", "", "fiscal 2021"]),
        ("fell 42.3%, from $20.0 billion in 2022 to $11.5 billion in 2023", ["2023", "2022", "2023"]),
        ("In 2021 it moved. Then it was $5 million.", [""]),
        ("$5 million", [""]),
    ],
)
def test_the_period_beside_a_value(text: str, periods: list[str]) -> None:
    assert [value.period.text if value.period else "" for value in find(text)] == periods
