"""The words that name a reading, found in text: the table of `lexicon.toml`, shared by the simulator and the judge.

A mark says "this wording puts `dimension` at `value`", for example "trailing twelve months" puts `span` at `ttm`. Values
of one dimension exclude one another, which lets the simulator say that a question contradicts a reading; each dimension
belongs to one ambiguity category, which lets the judge say what a question is about.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

ANY = "any"  # the value of a mark that names a dimension without putting a value to it
TEMPORAL = "temporal_scope"  # the category of years, which are found by rule and not in the table
BOTH = "both"  # the value of a mark that declares a distinction void ("irrespective of the timing or gross or net …")

_PLAIN = str.maketrans(
    {"‘": "'", "’": "'", "“": '"', "”": '"', "‐": "-", "‑": "-", "‒": "-", "–": "-", "—": "-", "−": "-"}
)
_REPLY_FORM = re.compile(
    r"[(（]?(?:please )?(?:answer|reply|respond)?(?: with)?[: ]*['\"]?yes['\"]? ?(?:/|or|, ?) ?['\"]?no['\"]?"
    r"(?: ?(?:/|or|,|, or) ?['\"]?(?:i ?do ?n['o]?t know|unknown|unsure|not sure)['\"]?)?[)）.]?"
    r"|[(]?(?:请)?(?:回答|回复)?[: ]*[\"']?是[\"']? ?(?:/|或|、) ?[\"']?否[\"']?(?: ?(?:/|或|、) ?[\"']?我?不(?:知道|确定|清楚)[\"']?)?[)。]?"
)
_LONGEST = 4_000  # characters of a question that are read; a clarifying question is a sentence or two


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
    plain = unicodedata.normalize("NFKC", text[:_LONGEST]).translate(_PLAIN).lower()
    return _REPLY_FORM.sub(" ", re.sub(r"\s+", " ", plain)).strip()


def find_marks(text: str) -> list[Mark]:
    """Every mark in a folded text, in reading order; where two of one dimension overlap, the longer alone."""
    found: dict[str, list[Mark]] = {}
    for dimension, value, pattern in _patterns():
        for match in pattern.finditer(text):
            if match.end() > match.start():
                found.setdefault(dimension, []).append(Mark(dimension, value, *match.span()))
    kept = [mark for marks in found.values() for mark in _longest(marks)]
    whole = [mark for mark in kept if mark.value == BOTH]
    kept = [mark for mark in kept if mark.value == BOTH or not any(w.start <= mark.start < w.end for w in whole)]
    return _negate(text, sorted(kept, key=lambda mark: (mark.start, mark.end)))


@cache
def categories() -> dict[str, str]:
    """The ambiguity category of each dimension."""
    return {dimension: table["category"] for dimension, table in _table().items()}


@cache
def _table() -> dict[str, dict]:
    return tomllib.loads(files("fiqkit.roles").joinpath("lexicon.toml").read_text(encoding="utf-8"))


@cache
def _patterns() -> tuple[tuple[str, str, re.Pattern[str]], ...]:
    """(dimension, value, pattern) of every row: one pattern for both languages."""
    return tuple(
        (dimension, value, _pattern(table["en"].get(value, ()), table["zh"].get(value, ())))
        for dimension, table in _table().items()
        for value in dict.fromkeys([*table["en"], *table["zh"]])
    )


def _pattern(english: list[str], chinese: list[str]) -> re.Pattern[str]:
    # English words may touch Chinese characters ("非gaap口径"), so a boundary is "no Latin letter or digit beside it".
    whole = rf"(?<![a-z0-9])(?:{'|'.join(english)})(?![a-z0-9])" if english else ""
    return re.compile("|".join(part for part in (whole, *chinese) if part))


def _longest(marks: list[Mark]) -> Iterator[Mark]:
    taken: list[Mark] = []
    for mark in sorted(marks, key=lambda m: (m.start - m.end, m.value == ANY, m.start)):
        if all(mark.end <= other.start or other.end <= mark.start for other in taken):
            taken.append(mark)
            yield mark


# --- negation -------------------------------------------------------------------------------------------------------

_CUE = re.compile(
    r"(?<![a-z])(?:not(?! only)|never|rather than|instead of|as opposed to|other than|except(?: for)?|exclud(?:es?|ing)|without|n't|n't)(?![a-z])"
    r"|(?<=[a-z])n't(?![a-z])"
    r"|而非|而不是|(?<!是)不是|并非|不包[括含]|不含|不要|排除|剔除|除了?(?!非)(?=[^,。;?]{1,20}(?:以外|之外|外))|非(?=合并|归母|单|季|年|少数|公司|集团|母公司|仅)"
)
_SCOPE_END = re.compile(
    r"[.;?!。()]|, (?:for|in|during|as of|on|and|but|is|are|correct|right)\b|(?<![a-z])but(?![a-z])|,(?=[一-鿿])|而是|对吗|是吗|以外|之外"
)


def negations(text: str, marks: list[Mark]) -> list[tuple[int, int]]:
    """Stretches of a folded text that it rules out ("rather than …", "而非…"). A cue inside a mark is part of the mark."""
    stretches = []
    for cue in _CUE.finditer(text):
        if any(mark.start <= cue.start() and cue.end() <= mark.end for mark in marks):
            continue
        stop = _SCOPE_END.search(text, cue.end())
        stretches.append((cue.end(), stop.start() if stop else len(text)))
    return stretches


def _negate(text: str, marks: list[Mark]) -> list[Mark]:
    stretches = negations(text, marks)
    return [
        replace(mark, negated=True) if any(start <= mark.start < end for start, end in stretches) else mark
        for mark in marks
    ]
