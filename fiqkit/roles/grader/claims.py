"""The values of an answer and the part that each one plays: claimed, set beside another, denied, asked about."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from enum import StrEnum

from fiqkit.values import Period, Value, find, find_periods


class Part(StrEnum):
    """What an answer does with a value that it mentions."""

    MAIN = "main"  # put forward as a figure
    ASIDE = "aside"  # a component, a comparison, a value for reference, another measure
    VAGUE = "vague"  # only a bound
    DENIED = "denied"
    OPERAND = "operand"  # a term of a formula or a bare number that nothing puts forward
    ASKED = "asked"  # stands in a question to the user


@dataclass(frozen=True, slots=True)
class Claim:
    """A value with the part it plays, the words that label it (before it, or in brackets after it) and its period."""

    value: Value
    part: Part
    label: str
    period: Period | None
    final: bool


_WINDOW = 200  # how far back a word can bear on a value

_SENTENCE = re.compile(
    r"[。！？!?；;\n]+|(?<!\bInc)(?<!\bCo)(?<!\bCorp)(?<!\bLtd)(?<!\bU\.S)(?<!\bvs)(?<!\bNo)(?<!approx)\.(?=\s|$)",
    re.IGNORECASE,
)
_NOTE = re.compile(r"\s*[(（][^()（）\n]{0,60}[)）]")
_CLAUSE = re.compile(r"[,，、。；;：:\n]")

_DENIED = re.compile(
    r"(?:\b(?:is|was|are|were|does|did)\s+not\b|n['’]t\b|\bnot\b|\brather\s+than|\binstead\s+of|不是|并非|而非|不等于|不为)"
    r"[\s\w$:]{0,20}$",
    re.IGNORECASE,
)
# "Over" and 超过 still put their number forward; these only fence it in.
_BOUND_BEFORE = re.compile(
    r"(?:\b(?:(?:less|fewer|lower)\s+than|no\s+more\s+than|under|below|at\s+(?:most|least)|up\s+to)|不超过|不足|低于|少于|不到)"
    r"\s*(?:about|approximately|人民币)?\s*$",
    re.IGNORECASE,
)
_BOUND_AFTER = re.compile(r"\s*(?:or\s+(?:less|more|lower|higher|above|below)\b|以上|以下|以内)", re.IGNORECASE)
# What such a word introduces is set beside the figure: to the end of its sentence, of its clause, or right after it.
_ASIDE_IN_SENTENCE = re.compile(
    r"其中|供参考|作为参考|\b(?:of\s+which|driven\s+by|due\s+to|reflecting|contribut(?:ed|ing)|comprising|comprised\s+of|consisting\s+of|"
    r"for\s+(?:reference|context|comparison))\b",
    re.IGNORECASE,
)
_ASIDE_IN_CLAUSE = re.compile(
    r"(?:\b(?:compared?\s+(?:to|with)|versus|vs|against)\b|\b(?:prior|previous)[\s-]+(?:fiscal\s+)?(?:year|period|quarter)\b|"
    r"上年|去年|同期|相比|较|比)(?:(?!\b(?:was|were|is|increas|decreas|declin|grew|rose|fell)|[为是]|增|减|降|升|跌)[^,，。；;：:)）\n]){0,60}$",
    re.IGNORECASE,
)
_ASIDE_AT_ONCE = re.compile(
    r"(?:\bincluding|\bincludes?|\bfrom|包括|包含|从|由)\s*(?:about|approximately|roughly|约|人民币|\s)*$",
    re.IGNORECASE,
)
# A term of a formula, "(new - old) / old × 100"; what follows the equals sign is its result.
_OPERAND_BEFORE = re.compile(
    r"(?:[×*/÷+]|\b(?:multipl(?:y|ied)|divided?)\s+by)\s*\(?\s*$|[)\]]\s*[-−–]\s*$|\w\s+[−–]\s+$", re.IGNORECASE
)
_OPERAND_AFTER = re.compile(r"\s*\)?\s*(?:[×÷]|\*(?!\*))")
# What a bare number, without any unit, must follow to be put forward as a value.
_STATED = re.compile(
    r"(?:\b(?:is|was|were|of|about|approximately|roughly|at|by|to|reached|totall?ed|answer)|[:：=≈~|$]|[为是约达])\s*$",
    re.IGNORECASE,
)
_CLOSES = re.compile(r"\s*(?:[。;；\n]|\.(?=\s|$)|$)")
_FINAL = re.compile(
    r"(?:\bfinal\s+answer|\bthe\s+answer\s+is|\banswer\s*:|\bboxed|\btherefore\b|\bthus\b|\bin\s+(?:summary|conclusion)|\btotal\s*[:：]|合计|总计|"
    r"最终答案|答案[:：是为]|因此|综上|所以|故)",
    re.IGNORECASE,
)
_POINTS_BACK = re.compile(
    r"\s*[(（]?(?:this|that|these|it|the\s+(?:figure|value|number|data|amount)|note|该|此|以上|上述|这)", re.IGNORECASE
)
_NO_DATA = re.compile(r"\b(?:not|no|unable|cannot|could)\b|n['’]t\b|没有|未|无法", re.IGNORECASE)


def read_claims(answer: str) -> list[Claim]:
    """Every value of an answer as a claim, in order."""
    text = _plain(answer)
    values = find(text)
    sentences = _sentences(text)
    starts = [sentence.start for sentence in sentences]
    asides = [match.end() for match in _ASIDE_IN_SENTENCE.finditer(text)]
    finals = [match.end() for match in _FINAL.finditer(text)]
    claims: list[Claim] = []
    left = 0
    for value in values:
        start, end = value.span
        at = bisect_right(starts, start) - 1
        sentence = sentences[at]
        left = max(left, sentence.start, start - _WINDOW)
        note = _NOTE.match(text, end)
        low = max(sentence.start, start - _WINDOW)
        claims.append(
            Claim(
                value=value,
                part=_part(text, value, sentence, left, aside=_stands_within(asides, low, start)),
                label=text[left:start] + (note.group() if note else ""),
                period=_period(text, value, sentences, at),
                final=_stands_within(finals, low, start),
            )
        )
        left = end
    return claims


def _stands_within(ends: list[int], low: int, high: int) -> bool:
    """Whether the last match that ends by `high` ends after `low`."""
    at = bisect_right(ends, high) - 1
    return at >= 0 and ends[at] > low


@dataclass(slots=True)
class _Sentence:
    """A sentence, and what every value in it asks of it, worked out once."""

    text: str
    start: int
    _periods: list[Period] | None = None

    @property
    def is_question(self) -> bool:
        """Whether it asks."""
        ending = self.text[-12:].rstrip().rstrip(")）】]\"'”’")
        return ending.endswith(("?", "？")) or bool(re.search(r"[吗呢][。！]?$", ending))

    @property
    def periods(self) -> list[Period]:
        """The periods it names other than to compare with."""
        if self._periods is None:
            self._periods = [period for period in find_periods(self.text) if not period.compared]
        return self._periods


def _plain(answer: str) -> str:
    """The answer without the marks of Markdown and LaTeX."""
    return re.sub(r"\*\*|__|`|\\(?:boxed|text|,|%)", lambda mark: "%" if mark.group() == "\\%" else "", answer)


def _sentences(text: str) -> list[_Sentence]:
    found, start = [], 0
    for match in _SENTENCE.finditer(text):
        found.append(_Sentence(text[start : match.end()], start))
        start = match.end()
    return [*found, _Sentence(text[start:], start)]


def _part(text: str, value: Value, sentence: _Sentence, left: int, aside: bool) -> Part:
    start, end = value.span
    before = text[left:start]
    clause = _CLAUSE.split(before)[-1]
    if sentence.is_question:
        return Part.ASKED
    if _DENIED.search(clause):
        return Part.DENIED
    if value.kind == "plain" and not _is_stated(text, value, before):
        return Part.OPERAND
    if _OPERAND_BEFORE.search(before) or _OPERAND_AFTER.match(text, end):
        return Part.OPERAND
    if _BOUND_BEFORE.search(clause) or _BOUND_AFTER.match(text, end):
        return Part.VAGUE
    if len(re.findall(r"[(（]", before)) > len(re.findall(r"[)）]", before)):
        return Part.ASIDE
    return Part.ASIDE if aside or _ASIDE_IN_CLAUSE.search(before) or _ASIDE_AT_ONCE.search(before) else Part.MAIN


def _is_stated(text: str, value: Value, before: str) -> bool:
    """Whether a bare number is put forward as a value.

    It fills its line, has a scale, follows "is", "为" or "=", or has decimals or separators and closes its sentence.
    """
    start, end = value.span
    line = text[max(0, start - 40) : start].rpartition("\n")[2] + text[end : end + 40].partition("\n")[0]
    if any(mark in value.text for mark in ".,") and _CLOSES.match(text, end):
        return True
    return len(line.strip()) <= 3 or value.scale != 1 or bool(_STATED.search(before))


def _period(text: str, value: Value, sentences: list[_Sentence], at: int) -> Period | None:
    """The period of a value: of its own sentence, else of the one before, else of one after that points back to it."""
    if value.period:
        return value.period
    before = sentences[at - 1] if at else None
    if before and before.periods and not _NO_DATA.search(before.text) and not before.is_question:
        return before.periods[0]
    after = sentences[at + 1] if at + 1 < len(sentences) else None
    if after and _POINTS_BACK.match(after.text) and after.periods and not find(after.text):
        return after.periods[0]
    return None
