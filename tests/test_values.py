"""The corpus of written values, one row a case, and what `same` and `mentions` make of them."""

from __future__ import annotations

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
    assert all(a.span[1] <= b.span[0] for a, b in zip(found, found[1:], strict=False))
