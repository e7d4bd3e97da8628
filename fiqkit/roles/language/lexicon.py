"""The words that name a reading, found in text by the table of `lexicon.toml`; the simulator and the judge share it.

A mark says "this wording puts `dimension` at `value`", for example "trailing twelve months" puts `span` at `ttm`.
Values of one dimension exclude one another, which lets the simulator say that a question contradicts a reading; each
dimension belongs to one ambiguity category, which lets the judge say what a question is about.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

from fiqkit.roles.language.phrasing import compiled, cue, table

TEMPORAL = "temporal_scope"  # the category of years, which are found by rule and not in the table
ANY = "any"  # the value of a mark that names a dimension without putting a value to it
BOTH = "both"  # the value of a mark that declares a distinction void ("irrespective of the timing or gross or net …")

_PLAIN = str.maketrans("‘’“”‐‑‒–—−", "''\"\"------")
_REPLY_FORM = re.compile(
    r"[(]?(?:please )?(?:answer|reply|respond)?(?: with)?[: ]*['\"]?\byes['\"]? ?(?:/|or|,) ?['\"]?no\b['\"]?"
    r"(?: ?(?:/|or|,|, or) ?['\"]?(?:i ?do ?n['o]?t know|unknown|unsure|not sure)['\"]?)?[).]?"
    r"|[(]?请?(?:回答|回复)?[: ]*[\"']?是[\"']? ?[/或、] ?[\"']?否[\"']?"
    r"(?: ?[/或、] ?[\"']?我?不(?:知道|确定|清楚)[\"']?)?[)。]?"
)
_LONGEST = 2_000  # characters of a text that are read; a clarifying question is a sentence or two


@dataclass(frozen=True, slots=True)
class Mark:
    """A wording found at [start, end) of the folded text. `negated`: the text rules this value out."""

    dimension: str
    value: str
    start: int
    end: int
    negated: bool = False

    @property
    def category(self) -> str:
        """The ambiguity category that its dimension belongs to."""
        return categories()[self.dimension]


def fold(text: str) -> str:
    """Text as the lexicon reads it: NFKC, lower case, plain quotes and hyphens, one kind of space, no "(yes/no)"."""
    plain = unicodedata.normalize("NFKC", text[:_LONGEST])[:_LONGEST].translate(_PLAIN).lower()
    return _REPLY_FORM.sub(" ", re.sub(r"\s+", " ", plain)).strip()


def find_marks(text: str) -> list[Mark]:
    """Every mark in a folded text, in reading order; where two of one dimension overlap, the longer alone."""
    found: dict[str, list[Mark]] = {}
    for script, rows in _patterns().items():
        if _SCRIPTS[script].search(text):
            for dimension, value, pattern in rows:
                for match in pattern.finditer(text):
                    found.setdefault(dimension, []).append(Mark(dimension, value, *match.span()))
    kept = [mark for marks in found.values() for mark in _longest(marks)]
    void = [mark for mark in kept if mark.value == BOTH]
    kept = [mark for mark in kept if mark in void or not any(v.start <= mark.start < v.end for v in void)]
    kept = [mark for mark in kept if not (mark.value == ANY and any(_within(mark, other) for other in kept))]
    return _negate(text, sorted(kept, key=lambda mark: (mark.start, mark.end)))


def negations(text: str, marks: Sequence[Mark]) -> list[tuple[int, int]]:
    """Stretches of a folded text that it rules out ("rather than …", "而非…"); a cue inside a mark is part of it."""
    stretches = []
    for found in cue("negation").finditer(text):
        if any(mark.start <= found.start() and found.end() <= mark.end for mark in marks):
            continue
        stop = cue("negation_end").search(text, found.end())
        stretches.append((found.end(), stop.start() if stop else len(text)))
    return stretches


@cache
def categories() -> dict[str, str]:
    """The ambiguity category of each dimension."""
    return {dimension: rows["category"] for dimension, rows in table("lexicon").items()}


_SCRIPTS = {"en": re.compile("[a-z]"), "zh": re.compile("[一-鿿]")}


@cache
def _patterns() -> dict[str, list[tuple[str, str, re.Pattern[str]]]]:
    """(dimension, value, pattern) by script, so that a text in one need not be searched for the other."""
    return {
        "en": [
            (d, value, compiled(row, [])) for d, rows in table("lexicon").items() for value, row in rows["en"].items()
        ],
        "zh": [
            (d, value, compiled([], row)) for d, rows in table("lexicon").items() for value, row in rows["zh"].items()
        ],
    }


def _longest(marks: list[Mark]) -> Iterator[Mark]:
    taken = bytearray(max(mark.end for mark in marks))
    for mark in sorted(marks, key=lambda m: (m.start - m.end, m.value == ANY, m.start)):
        if not any(taken[mark.start : mark.end]):
            taken[mark.start : mark.end] = b"\1" * (mark.end - mark.start)
            yield mark


def _within(mark: Mark, other: Mark) -> bool:
    """Whether a value of another dimension holds the mark's words, so that they have no meaning of their own there:
    "over time" in "recognized over time" is no period."""
    return (
        other.value != ANY and mark.dimension != other.dimension and other.start <= mark.start and mark.end <= other.end
    )


def _negate(text: str, marks: list[Mark]) -> list[Mark]:
    stretches = negations(text, marks)
    return [
        replace(mark, negated=True) if any(start <= mark.start < end for start, end in stretches) else mark
        for mark in marks
    ]
