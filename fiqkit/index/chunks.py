"""Passages to chunks that fit an embedding model, each headed by what it is about."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from fiqkit.errors import UserError
from fiqkit.records import Passage

TokenSpans = Callable[[str], Sequence[tuple[int, int]]]
"""Text to the (start, end) character offsets of its tokens, without the model's special tokens."""

_SENTENCE_END = re.compile(r"[.!?。！？；]\s*$|\n\s*$")
_WORD_EDGE = re.compile(r"[\s\u3000-\u9fff\uff00-\uffef]$")


@dataclass(frozen=True, slots=True)
class Chunk:
    """A stretch of a passage's text, `text[start:end]`; the chunks of a passage join to the whole of it."""

    passage_id: str
    start: int
    end: int


def heading(passage: Passage) -> str:
    """The line that stands before each chunk: company, ticker, form, period and filing date, as far as they are known.

    It is the largest lever on retrieval: a chunk from the middle of a filing seldom says whose filing it is.
    """
    zh = passage.language == "zh"
    name = passage.company or ""
    if passage.ticker:
        name = (f"{name}（{passage.ticker}）" if zh else f"{name} ({passage.ticker})").strip()
    parts = (
        name,
        passage.form or "",
        f"{'报告期' if zh else 'period ended'} {passage.period}" if passage.period else "",
        f"{'披露日' if zh else 'filed'} {passage.filed}" if passage.filed else "",
    )
    return " · ".join(part for part in parts if part)


def headed(passage: Passage, chunk: Chunk) -> str:
    """A chunk's text as it is indexed and shown: the heading, a line break, the stretch of the passage."""
    body = passage.text[chunk.start : chunk.end].strip()
    head = heading(passage)
    return f"{head}\n{body}" if head else body


def split(passage: Passage, spans: TokenSpans, limit: int) -> Iterator[Chunk]:
    """Cut a passage into chunks of at most `limit` tokens, the heading included; no character is lost.

    A cut falls after a sentence where one ends in the last half of the chunk, else between words.

    Raises:
        UserError: the heading alone takes more than half of the limit.
    """
    budget = limit - len(spans(heading(passage) + "\n"))
    if budget < limit / 2:
        raise UserError(
            f"passage {passage.passage_id!r}: company, ticker, form and dates take {limit - budget} of the {limit} "
            "tokens of a chunk; shorten them"
        )
    tokens = spans(passage.text)
    first = 0
    start = 0
    while len(tokens) - first > budget:
        first = _cut(passage.text, tokens, first, budget)
        yield Chunk(passage.passage_id, start, tokens[first][0])
        start = tokens[first][0]
    yield Chunk(passage.passage_id, start, len(passage.text))


def _cut(text: str, tokens: Sequence[tuple[int, int]], first: int, budget: int) -> int:
    """Index of the token that begins the next chunk."""
    latest = first + budget
    for edge, earliest in ((_SENTENCE_END, first + budget // 2), (_WORD_EDGE, first)):
        for stop in range(latest, earliest, -1):
            if edge.search(text, tokens[stop - 1][0], tokens[stop][0]):
                return stop
    return latest
