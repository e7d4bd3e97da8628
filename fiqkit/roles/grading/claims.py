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
    ASKED = "asked"  # stands in a question to the user


@dataclass(frozen=True, slots=True)
class Claim:
    """A value with the part it plays, the words that label it and the period that the answer gives it."""

    value: Value
    part: Part
    label: str
    period: Period | None
    final: bool


_SENTENCE = re.compile(r"[。！？!?；;\n]+|(?<![A-Z])\.(?=\s|$)")
_CLAUSE = re.compile(r"[,，、。；;：:\n]")

_DENIED = re.compile(
    r"(?:\b(?:is|was|are|were|does|did)\s+not\b|n['’]t\b|\bnot\b|\brather\s+than|\binstead\s+of|不是|并非|而非|不等于|不为)"
    r"[\s\w$:]{0,20}$",
    re.IGNORECASE,
)
_BOUND_BEFORE = re.compile(
    r"(?:\b(?:less|fewer|lower|more|greater|higher)\s+than|\b(?:under|below|above|exceed(?:s|ed|ing)?|at\s+(?:most|least)|up\s+to)"
    r"|不超过|不足|低于|少于|超过|高于|不到)\s*(?:about|approximately|人民币)?\s*$",
    re.IGNORECASE,
)
_BOUND_AFTER = re.compile(r"\s*(?:or\s+(?:less|more|lower|higher|above|below)\b|以上|以下|以内)", re.IGNORECASE)
_ASIDE_BEFORE = re.compile(
    r"(?:\bcompared?\s+(?:to|with)|\bversus|\bvs\.?|\bup\s+from|\bdown\s+from|\bfrom|\bagainst|\bdriven\s+by|\bdue\s+to|\bof\s+which|"
    r"\bincluding|\bincludes?|\bcomprising|\bconsisting\s+of|\bcontribut(?:ed|ing)|\bfor\s+(?:reference|context|comparison)|"
    r"\b(?:the\s+)?(?:prior|previous)[\s-]+(?:fiscal\s+)?(?:year|period|quarter)|\ba\s+year\s+(?:ago|earlier)|"
    r"其中|包括|包含|上年同期|去年同期|同期|上年|去年|相比|较|比|供参考|作为参考|由)[^。；;\n]{0,80}$",
    re.IGNORECASE,
)
_FINAL = re.compile(
    r"(?:\bfinal\s+answer|\bthe\s+answer\s+is|\banswer\s*:|\bboxed|\btherefore\b|\bthus\b|\bin\s+(?:summary|conclusion)|"
    r"最终答案|答案[:：是为]|因此|综上|所以|故)",
    re.IGNORECASE,
)
_POINTS_BACK = re.compile(r"\s*[(（]?(?:this|that|these|it|the\s+(?:figure|value|number|data|amount)|note|该|此|以上|上述|这)", re.IGNORECASE)
_NO_DATA = re.compile(r"\b(?:not|no|unable|cannot|could)\b|n['’]t\b|没有|未|无法", re.IGNORECASE)


def read_claims(answer: str, language: str | None) -> list[Claim]:
    """Every value of an answer as a claim, in order."""
    text = _plain(answer)
    values = find(text, language)
    bounds = _sentences(text)
    starts = [start for start, _ in bounds]
    claims: list[Claim] = []
    for at, value in enumerate(values):
        sentence = bisect_right(starts, value.span[0]) - 1
        low, high = bounds[sentence]
        left = max(low, values[at - 1].span[1]) if at else low
        label = text[left : value.span[0]]
        claims.append(
            Claim(
                value=value,
                part=_part(text, value, low, high, left),
                label=label,
                period=_period(text, value, bounds, sentence),
                final=bool(_FINAL.search(text[low : value.span[0]])),
            )
        )
    return claims


def _plain(answer: str) -> str:
    """The answer without Markdown's marks; a table's cells stay apart."""
    return re.sub(r"\*\*|__|`|\\(?:boxed|text|,|%)", lambda m: "%" if m.group() == "\\%" else "", answer)


def _sentences(text: str) -> list[tuple[int, int]]:
    bounds, start = [], 0
    for match in _SENTENCE.finditer(text):
        bounds.append((start, match.end()))
        start = match.end()
    return [*bounds, (start, len(text))]


def _part(text: str, value: Value, low: int, high: int, left: int) -> Part:
    start, end = value.span
    before = text[max(left, start - 100) : start]
    clause = _CLAUSE.split(before)[-1]
    if _is_question(text[low:high]):
        return Part.ASKED
    if _DENIED.search(clause):
        return Part.DENIED
    if _BOUND_BEFORE.search(clause) or _BOUND_AFTER.match(text, end):
        return Part.VAGUE
    return Part.ASIDE if _ASIDE_BEFORE.search(before) else Part.MAIN


def _is_question(sentence: str) -> bool:
    ending = sentence.rstrip().rstrip(")）】]\"'”’")
    return ending.endswith(("?", "？")) or bool(re.search(r"[吗呢][。！]?$", ending))


def _period(text: str, value: Value, bounds: list[tuple[int, int]], sentence: int) -> Period | None:
    """The period of a value: of its own sentence, else of the one before, else of one after that points back to it."""
    if value.period:
        return find_periods(value.period)[0]
    if sentence:
        low, high = bounds[sentence - 1]
        before = text[low:high]
        named = [p for p in find_periods(before) if not p.compared]
        if named and not _NO_DATA.search(before) and not _is_question(before):
            return named[-1]
    for low, high in bounds[sentence + 1 : sentence + 2]:
        after = text[low:high]
        named = [p for p in find_periods(after) if not p.compared]
        if named and _POINTS_BACK.match(after) and not find(after):
            return named[0]
    return None
