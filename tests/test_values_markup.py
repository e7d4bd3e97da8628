"""Markup is looked through, and what it said is kept; every character knows where it came from."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fiqkit.values import find
from fiqkit.values.markup import Plain, plain


@pytest.mark.parametrize(
    ("text", "stripped"),
    [
        (r"\boxed{46{,}751 \text{ million}}", "46,751  million"),
        (r"$\approx \$46.75$ billion", "≈$46.75 billion"),
        ("cost $5 and then $6", "cost $5 and then $6"),  # two amounts, no formula
        ("$5$ and $6$", "5 and 6"),
        ("**bold** and *slanted* and __bold__ and _slanted_", "bold and slanted and bold and slanted"),
        ("a * b", "a * b"),
        ("5*3 = 15", "5*3 = 15"),
        ("snake_case_name", "snake_case_name"),
        ("* a\n* b", "•a\n•b".replace("•", "• ")),
        ("### Answer", " Answer"),
        ("`$46.75B`", "$46.75B"),
        ("```json\n5\n```", "5\n"),
        ("<b>5</b><br>6", "5\n6"),
        ("5 < 6 > 4", "5 < 6 > 4"),
        ("$46.75 billion[1] and【2†source】", "$46.75 billion and"),
        (r"\frac{a}{b}", "a / b"),
        ("46\u202f751", "46,751"),
        ("\u200b5\ufeff", "5"),
        ("１２，３４５．６％", "12,345.6%"),
    ],
)
def test_what_is_left(text: str, stripped: str) -> None:
    assert plain(text).text == stripped


def said(text: str, kind: str) -> list[str]:
    stripped = plain(text)
    return [stripped.text[start:end] for start, end in getattr(stripped, kind)]


def test_emphasis_is_kept() -> None:
    text = r"**one** \boxed{two} ~~three~~ <b>four</b> \textbf{five} <s>six</s> ***seven***"
    assert said(text, "strong") == ["one", "four", "five", "seven"]
    assert said(text, "boxed") == ["two"]
    assert said(text, "struck") == ["three", "six"]


def test_emphasis_ends_with_its_paragraph() -> None:
    assert said("a ** b **c\n\nd **e** f", "strong") == ["e"]


@settings(deadline=None)
@given(st.text(alphabet=r"ab1 2$\{}*_~<>b/[]`" + "\n，１,&;.%", max_size=80))
def test_every_character_knows_its_place(text: str) -> None:
    stripped = plain(text)
    assert isinstance(stripped, Plain)
    assert len(stripped.at) == len(stripped.text) + 1 and stripped.at[-1] == len(text)
    assert list(stripped.at) == sorted(stripped.at)
    for start, end in (*stripped.strong, *stripped.boxed, *stripped.struck):
        assert 0 <= start <= end <= len(stripped.text)
    assert all(text[slice(*value.span)] == value.text for value in find(text))
