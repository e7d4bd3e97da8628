"""The words that name a reading, found in text by the table of `lexicon.toml`; the simulator and the judge share it.

A mark says "this wording puts `dimension` at `value`": "trailing twelve months" puts `span` at `ttm`.
Values of one dimension exclude one another, which lets the simulator say that a question contradicts a reading; each
dimension belongs to one ambiguity category, which lets the judge say what a question is about. A dimension
may be whether a component is in the figure (minority interests): its wordings follow from the component's names.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache

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
_A_NOT_A = re.compile(r"([一-鿿]{1,2})不\1")  # 要不要, 需不需要: asks whether, rules nothing out
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


@lru_cache(maxsize=4096)  # a question is read by simulator and judge, a reading with every question
def fold(text: str) -> str:
    """Text as the lexicon reads it: NFKC, lower case, plain quotes and hyphens, one kind of space, no "(yes/no)"."""
    plain = unicodedata.normalize("NFKC", text[:_LONGEST])[:_LONGEST].translate(_PLAIN).lower()
    plain = re.sub(r"(?<![a-z])series ([a-z0-9])(?![a-z0-9])", r"series-\1", plain)  # a name, as one word
    plain = re.sub(r"\s+", " ", _A_NOT_A.sub(r"\1", plain))
    if "yes" in plain or "是" in plain:  # no form of a reply is without
        plain = _REPLY_FORM.sub(" ", plain)
    return plain.strip()


def find_marks(text: str) -> list[Mark]:
    """Every mark in a folded text, in reading order; where two of one dimension overlap, the longer alone."""
    found: dict[str, list[Mark]] = {}
    for script, rows in _patterns().items():
        if _SCRIPTS[script].search(text):
            for dimension, value, pattern, name in rows:
                if name and not name.search(text):
                    continue
                for match in pattern.finditer(text):
                    found.setdefault(dimension, []).append(Mark(dimension, value, *match.span()))
    kept = [mark for marks in found.values() for mark in _longest(marks)]
    void = [mark for mark in kept if mark.value == BOTH]
    kept = [mark for mark in kept if mark in void or not any(v.start <= mark.start < v.end for v in void)]
    kept = [mark for mark in kept if not any(_within(mark, other) for other in kept)]
    return _negate(text, sorted(kept, key=lambda mark: (mark.start, mark.end)))


def negations(text: str, marks: Sequence[Mark]) -> list[tuple[int, int]]:
    """Stretches of a folded text that it rules out ("rather than …", "… left out"). A cue in a mark is part of it."""

    def is_part(found: re.Match[str]) -> bool:
        return any(mark.start <= found.start() and found.end() <= mark.end for mark in marks)

    stretches = []
    for found in cue("ruled_out").finditer(text):
        if not is_part(found):
            start = max((m.end() for m in cue("subject").finditer(text, 0, found.start())), default=0)
            stretches.append((start, found.start()))
    for found in cue("negation").finditer(text):
        if is_part(found):
            continue
        stop = cue("negation_end").search(text, found.end())
        stretches.append((found.end(), stop.start() if stop else len(text)))
    return stretches


@cache
def categories() -> dict[str, str]:
    """The ambiguity category of each dimension."""
    return {dimension: rows["category"] for dimension, rows in table("lexicon").items()}


@cache
def components() -> dict[str, tuple[str, str]]:
    """Dimension → (its value with the component, without it), of those that are about a component of the figure."""
    parts = {name: rows["component"] for name, rows in table("lexicon").items() if "component" in rows}
    return {name: (part["within"], part["without"]) for name, part in parts.items()}


_SCRIPTS = {"en": re.compile("[a-z]"), "zh": re.compile("[一-鿿]")}


_Row = tuple[str, str, re.Pattern[str], re.Pattern[str] | None]


@cache
def _patterns() -> dict[str, list[_Row]]:
    """(dimension, value, pattern, what must stand in the text for it to be tried) by script of the text."""
    return {script: list(_rows(script)) for script in _SCRIPTS}


def _rows(script: str) -> Iterator[_Row]:
    def whole(wordings: list[str]) -> re.Pattern[str]:
        return compiled(wordings, []) if script == "en" else compiled([], wordings)

    for dimension, rows in table("lexicon").items():
        frame = rows.get("frame", {}).get(script, "%s")
        for value, wordings in rows[script].items():
            yield dimension, value, whole([frame.replace("%s", said) for said in wordings]), None
        if "component" in rows:
            names = rows["component"][script]
            yield dimension, ANY, whole(names), None
            for cues in ("within", "without"):
                yield dimension, rows["component"][cues], whole(_with_verbs(names, cues, script)), whole(names)


def _with_verbs(names: list[str], cues: str, script: str) -> list[str]:
    """A component's names with what keeps it in or leaves it out before or after them ("net of …", "… included")."""
    verbs = table("phrasing")[cues][script]
    before, after, between, name = (
        "|".join(said) for said in (verbs["before"], verbs["after"], table("phrasing")["component"][script], names)
    )
    space = " " if script == "en" else ""
    gap = rf"(?:{space}(?:{between})){{0,6}}{space}"
    return [f"(?:{before}){gap}(?:{name})", f"(?:{name}){gap}(?:{after})"]


def _longest(marks: list[Mark]) -> Iterator[Mark]:
    taken = bytearray(max(mark.end for mark in marks))
    for mark in sorted(marks, key=lambda m: (m.start - m.end, m.value == ANY, m.start)):
        if not any(taken[mark.start : mark.end]):
            taken[mark.start : mark.end] = b"\1" * (mark.end - mark.start)
            yield mark


def _within(mark: Mark, other: Mark) -> bool:
    """Whether the mark's words have no meaning of their own, because a wording of another dimension holds them.

    "over time" in "recognized over time" is no period, nor is a component's name ("preferred dividends") a measure.
    """
    if other.value == ANY or mark.dimension == other.dimension or not other.start <= mark.start < mark.end <= other.end:
        return False
    if mark.value == ANY:
        return True
    inner = mark.end - mark.start < other.end - other.start
    named = mark.dimension in ("measure", "share_class") and other.dimension in components()
    return inner and (named or (mark.dimension, other.dimension) == ("quarter", "span"))


def _negate(text: str, marks: list[Mark]) -> list[Mark]:
    ruled_out: set[Mark] = set()
    for start, end in negations(text, marks):
        inside = [mark for mark in marks if start <= mark.start < end]
        ruled_out.update(set(inside) - _shared(inside, [mark for mark in marks if mark not in inside]))
    return [replace(mark, negated=mark in ruled_out) for mark in marks]


def _shared(inside: Sequence[Mark], outside: Sequence[Mark]) -> set[Mark]:
    """Marks of a stretch that belong to both sides: the income of "annual rather than quarterly income".

    Where one mark of the stretch has a counterpart outside, those that have none are shared; where none has, a measure
    beside something else ("revenue recognized over time be excluded") is not what is ruled out.
    """
    proposed = {mark.dimension for mark in outside if mark.value != ANY}
    facing = {mark for mark in inside if mark.dimension in proposed}
    # EBITDA is adjusted by its nature: "GAAP, not adjusted EBITDA" rules out the measure too.
    measures = {mark for mark in inside if mark.dimension in ("measure", "unit") and mark.value != "ebitda"}
    if measures & facing:
        return set()
    return measures if facing or len(measures) < len(inside) else set()
