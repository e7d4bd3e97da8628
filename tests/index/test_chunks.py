from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fiqkit.errors import UserError
from fiqkit.index.chunks import headed, heading, split
from fiqkit.index.embedders import MiniLM, NoEmbedder
from fiqkit.records import Passage

MINILM = MiniLM()
COUNTERS = {"minilm": MINILM, "none": NoEmbedder()}

WORDS = st.sampled_from(
    ["revenue", "$18,315", "million.", "净利润", "28.40亿元。", "\n", "antidisestablishmentarianism", "  ", "—"]
)
TEXTS = st.one_of(st.lists(WORDS, min_size=1, max_size=900).map(" ".join), st.text(min_size=1, max_size=600))


def passage(text: str, **fields: str) -> Passage:
    return Passage(**{"passage_id": "p", "text": text, "company": "Visa", "ticker": "V", "form": "10-Q", **fields})


@pytest.mark.parametrize("name", COUNTERS)
@settings(max_examples=40, deadline=None)
@given(text=TEXTS)
def test_chunks_join_to_the_passage_and_fit_the_model(name: str, text: str) -> None:
    model = COUNTERS[name]
    whole = passage(text)
    chunks = list(split(whole, model.spans, model.limit))
    assert "".join(text[chunk.start : chunk.end] for chunk in chunks) == text
    for chunk in chunks:
        assert len(model.spans(headed(whole, chunk))) <= model.limit


def test_a_cut_prefers_the_end_of_a_sentence() -> None:
    text = "Revenue rose in every region this year. " * 90
    chunks = list(split(passage(text), MINILM.spans, MINILM.limit))
    assert len(chunks) > 2
    assert all(text[chunk.start : chunk.end].rstrip().endswith(".") for chunk in chunks)


def test_a_short_passage_is_one_chunk_with_its_heading() -> None:
    whole = passage("Net revenue: $8,123 million", period="2023-06-30", filed="2023-07-26")
    (chunk,) = split(whole, MINILM.spans, MINILM.limit)
    assert (
        headed(whole, chunk)
        == "Visa (V) · 10-Q · period ended 2023-06-30 · filed 2023-07-26\nNet revenue: $8,123 million"
    )


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (
            {"company": "云南白药", "ticker": "000538", "form": "年报", "period": "2022-12-31", "language": "zh"},
            "云南白药（000538） · 年报 · 报告期 2022-12-31",
        ),
        ({"company": None, "ticker": None, "form": None}, ""),
        ({"company": None, "ticker": "V", "form": None}, "(V)"),
        ({"company": "Visa", "ticker": None, "form": "10-Q"}, "Visa · 10-Q"),
    ],
)
def test_heading_shows_what_is_known_and_invents_nothing(fields: dict[str, str], expected: str) -> None:
    assert heading(passage("x", **fields)) == expected


def test_a_heading_that_would_fill_the_chunk_is_refused() -> None:
    with pytest.raises(UserError, match=r"passage 'p'.*shorten"):
        list(split(passage("x", company="Very Long Name " * 60), MINILM.spans, MINILM.limit))
