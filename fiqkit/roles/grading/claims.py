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


_SENTENCE = re.compile(
    r"[。！？!?；;\n]+|(?<!\bInc)(?<!\bCo)(?<!\bCorp)(?<!\bLtd)(?<!\bU\.S)(?<!\bvs)(?<!\bNo)(?<!approx)\.(?=\s|$)", re.IGNORECASE
)
_NOTE = re.compile(r"\s*[(（][^()（）\n]{0,60}[)）]")
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
# What such a word introduces is set beside the figure: to the end of its sentence, of its clause, or right after it.
_ASIDE_BEFORE = (
    re.compile(
        r"其中|供参考|作为参考|\b(?:of\s+which|driven\s+by|due\s+to|reflecting|contribut(?:ed|ing)|comprising|comprised\s+of|consisting\s+of|"
        r"for\s+(?:reference|context|comparison))\b",
        re.IGNORECASE,
    ),
    re.compile(
        r"(?:\b(?:compared?\s+(?:to|with)|versus|vs|against)\b|\b(?:prior|previous)[\s-]+(?:fiscal\s+)?(?:year|period|quarter)\b|"
        r"上年|去年|同期|相比|较|比)(?:(?!\b(?:was|were|is|increas|decreas|declin|grew|rose|fell)|[为是]|增|减|降|升|跌)[^,，。；;：:)）\n]){0,60}$",
        re.IGNORECASE,
    ),
    re.compile(r"(?:\bincluding|\bincludes?|\bfrom|包括|包含|从|由)\s*(?:about|approximately|roughly|约|人民币|\s)*$", re.IGNORECASE),
)
# A term of a formula, "(new - old) / old × 100"; what follows the equals sign is its result.
_OPERAND_BEFORE = re.compile(r"(?:[×*/÷+]|\b(?:multipl(?:y|ied)|divided?)\s+by)\s*\(?\s*$|[)\]]\s*[-−–]\s*$|\w\s+[−–]\s+$", re.IGNORECASE)
_OPERAND_AFTER = re.compile(r"\s*\)?\s*(?:[×÷]|\*(?!\*))")
# What a bare number, without any unit, must follow to be put forward as a value.
_STATED = re.compile(
    r"(?:\b(?:is|was|were|of|about|approximately|roughly|at|by|to|reached|totall?ed|answer)|[:：=≈~|$]|[为是约达])\s*$", re.IGNORECASE
)
_FINAL = re.compile(
    r"(?:\bfinal\s+answer|\bthe\s+answer\s+is|\banswer\s*:|\bboxed|\btherefore\b|\bthus\b|\bin\s+(?:summary|conclusion)|"
    r"最终答案|答案[:：是为]|因此|综上|所以|故)",
    re.IGNORECASE,
)
_POINTS_BACK = re.compile(r"\s*[(（]?(?:this|that|these|it|the\s+(?:figure|value|number|data|amount)|note|该|此|以上|上述|这)", re.IGNORECASE)
_NO_DATA = re.compile(r"\b(?:not|no|unable|cannot|could)\b|n['’]t\b|没有|未|无法", re.IGNORECASE)


def read_claims(answer: str) -> list[Claim]:
    """Every value of an answer as a claim, in order."""
    text = _plain(answer)
    values = find(text)
    bounds = _sentences(text)
    starts = [start for start, _ in bounds]
    claims: list[Claim] = []
    for at, value in enumerate(values):
        sentence = bisect_right(starts, value.span[0]) - 1
        low, high = bounds[sentence]
        left = max(low, values[at - 1].span[1]) if at else low
        note = _NOTE.match(text, value.span[1])
        label = text[left : value.span[0]] + (note.group() if note else "")
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
    if value.kind == "plain" and not _is_stated(text, value, before):
        return Part.OPERAND
    if _OPERAND_BEFORE.search(before) or _OPERAND_AFTER.match(text, end):
        return Part.OPERAND
    if _BOUND_BEFORE.search(clause) or _BOUND_AFTER.match(text, end):
        return Part.VAGUE
    in_brackets = len(re.findall(r"[(（]", before)) > len(re.findall(r"[)）]", before))
    to_sentence, to_clause, right_after = _ASIDE_BEFORE
    aside = to_sentence.search(text, max(low, start - 200), start) or to_clause.search(before) or right_after.search(before)
    return Part.ASIDE if in_brackets or aside else Part.MAIN


def _is_stated(text: str, value: Value, before: str) -> bool:
    start, end = value.span
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", end)
    rest = text[line_start:start] + text[end : len(text) if line_end < 0 else line_end]
    return len(rest.strip()) <= 3 or value.scale != 1 or bool(_STATED.search(before))


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
