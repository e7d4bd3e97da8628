"""A value written in any notation is found again, wherever it stands; no text is too odd to read."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import example, given, settings
from hypothesis import strategies as st

from fiqkit.values import find, find_periods, mentions, same

# How an amount of n units of a scale may be written; each needs `{n}` and means n times the factor.
AMOUNTS = {
    "${n} billion": 1e9,
    "${n}B": 1e9,
    "US${n}bn": 1e9,
    "USD {n} million": 1e6,
    "${n}mn": 1e6,
    "${n} thousand": 1e3,
    "{n} million dollars": 1e6,
    "${n}": 1.0,
    "RMB {n} million": 1e6,
    "RMB{n}bn": 1e9,
    "{n}亿元": 1e8,
    "人民币{n}亿元": 1e8,
    "{n} 万元": 1e4,
    "{n}万亿元": 1e12,
    "{n}百万美元": 1e6,
    "¥{n}亿": 1e8,
}
RATES = ("{n}%", "{n} %", "{n} percent", "百分之{n}")
MINUS = ("-", "−", "minus ", "负")
AROUND = (
    "{v}",
    "It was {v}.",
    "净利润为{v}。",
    "2023年净利润为{v}（600019.SH）",
    "In fiscal 2023, revenue was {v}, per the 10-K.",
    "**{v}**",
)

numbers = st.decimals(min_value="0.01", max_value="99999", places=2, allow_nan=False)


@settings(deadline=None)
@given(numbers, st.sampled_from(sorted(AMOUNTS)), st.booleans(), st.sampled_from(AROUND))
def test_an_amount_is_found_again(number: object, notation: str, grouped: bool, around: str) -> None:
    written = notation.format(n=format(number, "," if grouped else ""))
    (value,) = find(around.format(v=written))
    assert value.kind == "currency"
    assert abs(value.number - float(str(number)) * AMOUNTS[notation]) <= 1e-9 * value.number


@settings(deadline=None)
@given(numbers, st.sampled_from(RATES), st.sampled_from(("", *MINUS)), st.sampled_from(AROUND))
def test_a_rate_keeps_its_sign(number: object, notation: str, minus: str, around: str) -> None:
    (value,) = find(around.format(v=minus + notation.format(n=number)))
    assert value.kind == "percent"
    assert value.number == (-1 if minus else 1) * float(str(number))


@settings(deadline=None)
@given(numbers, st.sampled_from(sorted(AMOUNTS)), st.sampled_from(sorted(AMOUNTS)))
def test_same_is_reflexive_and_mentions_follows(number: object, one: str, other: str) -> None:
    (a,), (b,) = find(one.format(n=number)), find(other.format(n=number))
    assert same(a, a) and mentions(a.text, a)
    assert not same(a, b) or mentions(a.text, b)


@settings(deadline=None)
@given(st.text(alphabet="0123456789.,%$¥()-−–亿万千百元年月日第一二三四十 \nabmkQFYto负降至", max_size=60))
@example("$(")
@example("()%" * 3)
@example("百分之")
@example("亿" * 9)
@example("1" * 400)
@example("点" + "一" * 50)
def test_no_text_is_too_odd(text: str) -> None:
    values = find(text)
    assert all(text[slice(*v.span)] == v.text and v.text for v in values)
    assert all(a.span[1] <= b.span[0] for a, b in pairwise(values))
    assert all(0 <= p.span[0] < p.span[1] <= len(text) for p in find_periods(text))


@settings(deadline=None)
@given(st.text(max_size=200))
def test_any_unicode(text: str) -> None:
    find(text)
    find(text, "en")
    find(text, "zh")
