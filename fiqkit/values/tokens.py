"""Number-like tokens of a text, with everything that merely looks like a financial value passed over."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from fiqkit.values import units, words
from fiqkit.values.period import MONTH

_LONGEST_NUMBER = 40  # a longer row of digits is no financial value
_LONGEST_WORDS = 200
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹−", "0123456789-")

_YEAR = r"(?:19|20)\d\d"
# What must follow digits that are grouped by spaces, or have a decimal comma, to make them one number.
_UNIT = (
    r"\s?(?:%|percent|thousand|million|billion|trillion|[mb]n\b|[mb]\b|USD|RMB|CNY|EUR|dollars|euros|yuan|[元万亿美])"
)
_LABELS = (
    "ASC|ASU|IFRS|IAS|SFAS|FAS|CAS|Topic|Item|Notes?|Pages?|pp?[.]|Section|Sec[.]|Table|Figure|Fig[.]|Exhibit|Level|Rule|Part|"
    "Chapter|Appendix|Step|Form|No[.]|Article|Phase|Tier|Version|CIK|Windows|Boeing|Stage|Option|Scenario|Case|iPhone|Model|Chunk|Source"
)

# Grouped by the first character, so that most positions of a text are dismissed by one look.
_TOKEN = re.compile(
    rf"""
    (?P<skip>
      (?<![A-Za-z])(?=[A-Za-z])(?:
          https?://\S+
        | {MONTH}\s{{1,3}}(?:\d{{1,2}}(?:st|nd|rd|th)?(?:\s?,?\s{{1,3}}{_YEAR})?(?![\d,]\d)\b|{_YEAR}(?!\d))
        | (?:FY|CY|Q[1-4]|H[12])\s?['’]?(?:(?:19|20)?\d\d)?(?![\d.,]\d|\d|\s?%)
        | (?:{_LABELS})[\s\#:.]{{0,3}}\d+[A-Za-z0-9.()-]*
        | (?:S&P|Fortune|Russell|Nasdaq|Dow|CSI|FTSE|Nikkei)\s?\d+
        | (?:SH|SZ|HK|BJ|SSE|SZSE|HKEX)\s?[.:]?\s?\d{{4,6}}(?!\d)
        | (?:ticker|stock\ code)\s?[:(]?\s?\d{{4,6}}(?!\d|[.,]\d)
        | (?<![0-9_])(?!(?:{units.CURRENCY_CODES})-?\d)[A-Za-z][A-Za-z_]{{0,20}}-?\d[A-Za-z0-9_-]*
      )
    | (?=\d)(?:
          (?<!\d)\d{{10}}-\d{{2}}-\d{{6}}(?!\d)
        | (?<![\d.,]){_YEAR}(?:\s?[-/]\s?(?:0?[1-9]|1[0-2])(?:\s?[-/]\s?\d{{1,2}})?
            |\.\d{{1,2}}\.\d{{1,2}}|\s?[-–/~至到]\s?(?:{_YEAR}|\d\d))
          (?!\d|[.,]\d|\s?%)年?
        | (?<![\d.])\d{{1,2}}/\d{{1,2}}/\d{{2,4}}(?!\d)
        | (?<![\d.,])\d{{1,2}}\s{{1,3}}{MONTH}(?:\s{{1,3}}{_YEAR})?\b
        | (?<![\d.,])(?:19|20)?\d\d\s?年(?:度|报|代|初|末|底|前|后)?
        | (?<![\d.,])\d{{1,2}}\s?(?:月份?(?:\s?\d{{1,2}}\s?[日号])?|[日号])
        | (?<![\d.,])\d{{1,9}}(?:\.\d{{1,9}})?(?:\s?[-–~至到]\s?\d{{1,9}})?(?:
              \s?(?:个月|个?季度|年|天|周|小时|分钟|岁)
            | [\s-]?(?:(?:fiscal|calendar|consecutive)\s)?
              (?:weeks?|months?|(?<!\.\d[ ])(?<!\.\d\d[ ])days?|years?|quarters?|hours?|minutes?|seconds?|yrs?|hrs?)\b)
        | (?<![\w.,$€£¥])(?:[369]|12)M\s?(?:FY\s?|CY\s?)?['’]?(?:20)?\d\d(?![\d.,]\d|\d|\s?%)
        | (?<![A-Za-z0-9])(?:[1-4]Q|[12]H)\s?['’]?(?:(?:19|20)?\d\d)?(?![\d.,]\d|\d|\s?%)
        | (?<![\d:.])\d{{1,2}}:\d\d(?::\d\d)?(?=\s?(?:am|pm|a\.m|p\.m|ET|EST|UTC)\b)
        | (?<![\d.])\d{{1,9}}(?:st|nd|rd|th)\b
        | (?<!\d)\d{{1,2}}-[KQF](?:SB|/A)?\b
        | (?<![\d.])\d{{4,6}}\.(?:SH|SZ|SS|HK|BJ|TW|US)(?![A-Za-z])
        | (?<!\d)(?:3M(?=\s(?:Co|Company|Corp)|['’]s) | 7-Eleven\b | 401\(?k\)? | 58同城 | 51job)
      )
    | [第\#]\s?\d+
    | (?:沪深|上证|中证|科创|创业板)\s?\d+ | (?:代码|代号)[为是]?\s?[:(]?\s?\d{{4,6}}(?!\d|[.,]\d)
    | [(\[]\d[)\]](?!\s?(?:%|million|billion|万|亿)) | (?<![\d|]\s)[(\[]\d\d[)\]](?!\s?(?:%|million|billion|万|亿))
    )
    | (?P<number>(?=[.\d])(?:
          (?<![\d.])\d{{1,9}}(?:\.\d{{1,15}})?(?:e|\s?[x×*·]\s?10\s?\^?\s?)
            (?P<exponent>[-+−]?(?:\d{{1,2}}(?![\w.]\d|\d)|[⁰¹²³⁴-⁹]{{1,2}}))
        | (?<![\d.,])(?<!\d[ ])\d{{1,3}}(?:[ ]\d{{3}})+(?![\d,]|[ ]\d)(?:\.\d{{1,9}})?
          (?:(?={_UNIT})|(?<=[$€£¥])|(?<=[ ]\d{{3}}[ ]\d{{3}})|\Z(?<=\A.{{5}})|\Z(?<=\A.{{6}})|\Z(?<=\A.{{7}}))
        | (?<![\d.,])\d{{1,2}}(?:,\d\d)+,\d{{3}}(?![\d,])
        | (?<![\d.,])(?P<points>\d{{1,3}}(?:\.\d{{3}}){{2,}})(?![\d.,])
        | (?<![\d.,])(?P<comma>\d{{1,3}},\d{{1,2}})(?={_UNIT})
        | (?<![\d.])(?<!\d,)(?:\d{{1,3}}(?:,\d{{3}})++(?!\d)|\d++)(?:\.\d++)?+(?!,\d)
        | (?<![\w.])\.\d++))
    """,
    re.IGNORECASE | re.VERBOSE,
)
_MANTISSA = re.compile(r"[\d.]+")
# "1.", "(2)", "3、" that open a line number what follows.
_LIST_MARK = re.compile(r"[.)\]、:](?![\d%])[^\S\n]{0,8}\S")
_LINE_START = re.compile(r"(?:^|\n)[^\S\n]{0,8}[(\[]?$")


@dataclass(frozen=True, slots=True)
class Number:
    """A number as it stands in a text, its unit not yet read. `written` is empty for one in words or with 亿 in it."""

    start: int
    end: int
    magnitude: float
    step: float
    written: str
    scale: float = 1.0  # the multiple that its words or its exponent state


def numbers(text: str, language: str | None) -> Iterator[Number]:
    """Every number in the text that is no date, code, label or list number; in order, never overlapping."""
    spelled = _spelled(text, language)
    at, end = 0, 0
    for match in _TOKEN.finditer(text):
        while at < len(spelled) and spelled[at].start <= match.start():
            if spelled[at].start >= end:
                yield spelled[at]
                end = spelled[at].end
            at += 1
        if match.start() < end:
            continue
        end = match.end()
        if match.lastgroup == "number" and end - match.start() <= _LONGEST_NUMBER and not _is_list_mark(match, text):
            yield _digits(match)
    yield from (number for number in spelled[at:] if number.start >= end)


def _is_list_mark(match: re.Match[str], text: str) -> bool:
    start, end = match.span()
    if end - start > 2 or not _LIST_MARK.match(text, end):
        return False
    low = max(0, start - 10)
    before = _LINE_START.search(text[low:start])
    return before is not None and (low == 0 or before.group().startswith("\n"))


def _digits(match: re.Match[str]) -> Number:
    written = match.group()
    mantissa, exponent = written, 0
    if match["exponent"]:
        mantissa = _MANTISSA.match(written).group()  # type: ignore[union-attr]
        exponent = int(match["exponent"].translate(_SUPERSCRIPTS))
    if match["points"]:
        mantissa = mantissa.replace(".", "")  # 46.751.000.000, as in much of Europe
    mantissa = mantissa.replace(",", "." if match["comma"] else "").replace(" ", "")
    _, point, decimals = mantissa.partition(".")
    scale = 10.0**exponent
    step = (10.0 ** -len(decimals) if point else 1.0) * scale
    return Number(*match.span(), float(f"{mantissa}e{exponent}"), step, written, scale)


def _spelled(text: str, language: str | None) -> list[Number]:
    found = []
    for pattern, read, other in (
        (words.ENGLISH_NUMBER, words.read_english, "zh"),
        (words.CHINESE_NUMBER, words.read_chinese, "en"),
        (words.MIXED_NUMBER, words.read_chinese, "en"),
    ):
        for match in pattern.finditer(text) if language != other else ():
            number = read(match.group()) if match.end() - match.start() <= _LONGEST_WORDS else None
            if number:
                found.append(Number(*match.span(), number[0], number[1], "", number[2]))
    return sorted(found, key=lambda number: number.start)
