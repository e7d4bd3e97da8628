"""The values of an answer and the part that each one plays: claimed, set beside another, rejected, asked about."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from fiqkit.roles.grader import parts
from fiqkit.roles.grader.sums import terms_and_results
from fiqkit.roles.grader.tables import Tables
from fiqkit.values import Period, Plain, Value, find_in_plain, find_periods, plain, same, sentence_ends


class Part(StrEnum):
    """What an answer does with a value that it mentions."""

    MAIN = "main"  # put forward as a figure
    CHANGE = "change"  # by how much a figure rose or fell
    ASIDE = "aside"  # a component, a comparison, a value for reference, another measure
    VAGUE = "vague"  # only a bound
    REJECTED = "rejected"  # denied, struck out, taken back
    TERM = "term"  # a term of a formula or a bare number that nothing puts forward
    ASKED = "asked"  # stands in a question to the user
    REMARK = "remark"  # no financial figure: how sure the answer is


@dataclass(frozen=True, slots=True)
class Claim:
    """A value with the part that it plays.

    Attributes:
        before: the words since the value before it, or since its sentence began; a table cell's headings.
        after: a bracket or a phrase that follows it and says which figure it is ("for the whole company").
        period: the period that it is for, None when none is stated.
        final: how strongly it is marked as the answer: 3 boxed or "final answer", 2 "the answer is", 1 "therefore", a
            bold conclusion or what a sum comes to in the end, 0 not at all.
        line: where its line begins.
    """

    value: Value
    part: Part
    before: str
    after: str
    period: Period | None
    final: int
    line: int

    @property
    def label(self) -> str:
        """All words that say which figure it is."""
        return f"{self.before} {self.after}"


_WINDOW = 200  # how far back a word can bear on a value
_AFTER = re.compile(
    r"\s*(?P<note>[(（][^()（）\n]{0,60}[)）])"
    r"|\s+(?P<phrase>(?:for|under|on|at|from|excluding|including|before|after|attributable|in|if)\s[^\n,，;；。.()]{1,60})"
    r"|\s+(?P<name>[A-Za-z-]+(?:\s[A-Za-z-]+){0,2})(?=[,;.]|\s*(?:\n|$))",
    re.IGNORECASE,
)


@dataclass(slots=True)
class _Sentence:
    """A sentence, and what every value in it asks of it, worked out once."""

    text: str
    start: int
    _periods: list[Period] | None = None

    @property
    def periods(self) -> list[Period]:
        """The periods it names other than to compare with."""
        if self._periods is None:
            self._periods = [period for period in find_periods(self.text) if not period.compared]
        return self._periods


def read_claims(answer: str) -> list[Claim]:
    """Every value of an answer as a claim, in order."""
    stripped = plain(answer)
    text = stripped.text
    values = find_in_plain(text)
    sentences = _sentences(text)
    starts = [sentence.start for sentence in sentences]
    places = [bisect_right(starts, value.span[0]) - 1 for value in values]
    terms, results = terms_and_results(text, values, [starts[place] for place in places])
    marks = parts.Marks.of(text)
    tables = Tables(text)
    boxed = sorted(stripped.boxed)
    concluding = _conclusions(stripped, values) | {index for index in results if index == len(values) - 1}
    claims: list[Claim] = []
    left = 0
    for index, (value, place) in enumerate(zip(values, places, strict=True)):
        start, end = value.span
        sentence = sentences[place]
        left = max(left, sentence.start, start - _WINDOW)
        row, column = tables.headings(start)
        after = _after(text, end, values, index)
        concluded = index in concluding or (column != "" and parts.is_total(row))
        before = f"{row} {column} " if column else text[marks.last_final(left, start) : start]
        claims.append(
            Claim(
                value=value,
                part=Part.TERM if index in terms else _part(text, value, sentence, left, marks),
                before=before,
                after=after,
                period=_period(value, column, text, sentences, place),
                final=3 if _covering(boxed, value) else _final(text, value, sentences, place, marks) or int(concluded),
                line=text.rfind("\n", 0, start) + 1,
            )
        )
        # A note or a phrase up to a comma is this value's alone.
        left = end + len(after) if index + 1 == len(values) or end + len(after) < values[index + 1].span[0] else end
    return _without_rejected(claims, stripped)


def _sentences(text: str) -> list[_Sentence]:
    found, start = [], 0
    for end in sentence_ends(text):
        found.append(_Sentence(text[start:end], start))
        start = end
    return [*found, _Sentence(text[start:], start)]


def _after(text: str, end: int, values: Sequence[Value], index: int) -> str:
    """The bracket or phrase behind a value, up to the next value."""
    match = _AFTER.match(text, end)
    if match is None:
        return ""
    stop = values[index + 1].span[0] if index + 1 < len(values) else len(text)
    return text[end : min(match.end(), stop)]


def _part(text: str, value: Value, sentence: _Sentence, left: int, marks: parts.Marks) -> Part:
    start, end = value.span
    before = text[left:start]
    clause = parts.last_clause(before)
    if parts.is_question(sentence.text):
        return Part.ASKED
    if parts.is_remark(value, text, before, follows=left > sentence.start):
        return Part.REMARK
    if parts.is_rejected_by_words(clause, text, end):
        return Part.REJECTED
    if value.kind == "plain" and not parts.is_stated(text, value, before):
        return Part.TERM
    if parts.is_operand(before, text, end):
        return Part.TERM
    if parts.is_bound(clause, text, end):
        return Part.VAGUE
    opened = text[max(text.rfind("\n", 0, start) + 1, start - _WINDOW) : start]
    if opened.count("(") > opened.count(")"):
        return Part.ASIDE
    if marks.is_aside(max(sentence.start, start - _WINDOW), start) or parts.is_aside(before, sentence.text, text, end):
        return Part.ASIDE
    return Part.CHANGE if parts.is_change(before, text, end) else Part.MAIN


def _final(text: str, value: Value, sentences: list[_Sentence], place: int, marks: parts.Marks) -> int:
    """How strongly words mark a value as the answer."""
    start, end = value.span
    sentence = sentences[place]
    low = max(sentence.start, start - _WINDOW)
    if parts.is_blank(text[low:start]) and (heading := _heading(sentences, place)):
        low = heading.start
    return max(marks.final(low, start), 2 * parts.concludes(text, end))


def _heading(sentences: list[_Sentence], place: int) -> _Sentence | None:
    """The line before a value that stands alone on its own, when that line is a heading: short, without a value."""
    for sentence in reversed(sentences[max(0, place - 2) : place]):
        if sentence.text.strip():
            return sentence if len(sentence.text) < 60 and not find_in_plain(sentence.text) else None
    return None


def _conclusions(stripped: Plain, values: Sequence[Value]) -> set[int]:
    """The indices of the values that bold type puts last or on a line of their own, where it singles one out."""
    strong = sorted(stripped.strong)
    bold = {index: span for index, value in enumerate(values) if (span := _covering(strong, value))}
    alone = {index for index, span in bold.items() if _fills_its_line(stripped.text, span)}
    if alone:
        return alone
    first = values[min(bold)] if bold else None
    several = first is not None and any(not same(first, values[index], 0.01) for index in bold)
    return set() if several else {index for index in bold if index == len(values) - 1}


def _covering(spans: Sequence[tuple[int, int]], value: Value) -> tuple[int, int] | None:
    """Which of some stretches, in order, a value stands in."""
    at = bisect_right(spans, value.span[0], key=lambda span: span[0]) - 1
    return spans[at] if at >= 0 and value.span[1] <= spans[at][1] else None


def _fills_its_line(text: str, span: tuple[int, int]) -> bool:
    low, high = span
    end = text.find("\n", high)
    line = text[text.rfind("\n", 0, low) + 1 : low] + text[high : end if end >= 0 else len(text)]
    return not line.strip(" .。:•")


def _period(value: Value, column: str, text: str, sentences: list[_Sentence], place: int) -> Period | None:
    """The period of a value: of its own sentence, else of the one before, else of one after that points back to it."""
    if value.period:
        return value.period
    if column and (headed := find_periods(column)):
        return headed[0]
    before = sentences[place - 1] if place else None
    if before and before.periods and not parts.lacks_data(before.text) and not parts.is_question(before.text):
        return before.periods[0]
    after = sentences[place + 1] if place + 1 < len(sentences) else None
    if after and parts.points_back(after.text) and after.periods and not find_in_plain(after.text):
        return after.periods[0]
    return None


def _without_rejected(claims: list[Claim], stripped: Plain) -> list[Claim]:
    """The claims, those that are struck out or taken back by what follows marked as rejected."""
    struck = sorted(stripped.struck)
    taken_back = 0  # all claims before this one are
    for index, claim in enumerate(claims[1:], 1):
        gap = stripped.text[claims[index - 1].value.span[1] : claim.value.span[0]][-_WINDOW:]
        if claim.part in (Part.MAIN, Part.ASIDE, Part.CHANGE) and parts.takes_back(gap):
            taken_back = index
    return [
        replace(claim, part=Part.REJECTED, final=0) if index < taken_back or _covering(struck, claim.value) else claim
        for index, claim in enumerate(claims)
    ]
