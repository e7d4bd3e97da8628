"""Number-like tokens of a text, with everything that merely looks like a financial value passed over."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from fiqkit.values import units, words
from fiqkit.values.period import MONTH

_LONGEST_NUMBER = 40  # a longer row of digits is no financial value
_LONGEST_WORDS = 200

_YEAR = r"(?:19|20)\d\d"
_LABELS = (
    "ASC|ASU|IFRS|IAS|SFAS|FAS|CAS|Topic|Item|Notes?|Pages?|pp?[.]|Section|Sec[.]|Table|Figure|Fig[.]|Exhibit|Level|Rule|Part|"
    "Chapter|Appendix|Step|Form|No[.]|Article|Phase|Tier|Version|CIK|Windows|Boeing|Stage|Option|Scenario|Case|Chunk|Source"
)
_INDEXES = r"S&P|Fortune|Russell|Nasdaq|Dow|CSI|FTSE|Nikkei|沪深|上证|中证|科创|创业板"

_TOKEN = re.compile(
    rf"""
    (?P<skip>
        https?://\S+ | (?<![\w.+-])[\w.+-]{{1,64}}@[\w-]{{1,64}}\.[\w.]{{1,64}}
      | (?<!\d)\d{{10}}-\d{{2}}-\d{{6}}(?!\d)
      # dates, years, periods and durations
      | (?<![\d.,]){_YEAR}(?:\s?[-/]\s?(?:0?[1-9]|1[0-2])(?:\s?[-/]\s?\d{{1,2}})?|\.\d{{1,2}}\.\d{{1,2}}|\s?[-–/~至到]\s?(?:{_YEAR}|\d\d))
        (?!\d|[.,]\d|\s?%)年?
      | (?<![\d.])\d{{1,2}}/\d{{1,2}}/\d{{2,4}}(?!\d)
      | \b{MONTH}\s{{1,3}}\d{{1,2}}(?:st|nd|rd|th)?(?:\s?,?\s{{1,3}}{_YEAR})?(?![\d,]\d)\b | \b{MONTH}\s{{1,3}}{_YEAR}(?!\d)
      | (?<![\d.,])\d{{1,2}}\s{{1,3}}{MONTH}(?:\s{{1,3}}{_YEAR})?\b
      | (?<![\d.,])(?:19|20)?\d\d\s?年(?:度|报|代|初|末|底|前|后)?
      | (?<![\d.,])\d{{1,2}}\s?(?:月份?(?:\s?\d{{1,2}}\s?[日号])?|[日号])
      | (?<![\d.,])\d+(?:\.\d+)?(?:\s?[-–~至到]\s?\d+)?\s?(?:个月|个?季度|年|天|周|小时|分钟|岁)
      | (?<![\d.,])\d+(?:\.\d+)?(?:\s?[-–]\s?\d+)?[\s-]?(?:(?:fiscal|calendar|consecutive)\s)?
          (?:weeks?|months?|days?|years?|quarters?|hours?|minutes?|seconds?|yrs?|hrs?)\b
      | (?<![A-Za-z0-9])(?:FY|CY|[1-4]Q|Q[1-4]|[12]H|H[12])\s?['’]?(?:(?:19|20)?\d\d)?(?![\d.,]\d|\d|\s?%)
      | (?<![\d:.])\d{{1,2}}:\d\d(?::\d\d)?(?=\s?(?:am|pm|a\.m|p\.m|ET|EST|UTC)\b)
      # ordinals, labels, list numbers
      | 第\s?\d+ | \b\d+(?:st|nd|rd|th)\b | \#\d+
      | \b(?:{_LABELS})[\s\#:.]{{0,3}}\d+[A-Za-z0-9.()-]*
      | (?:{_INDEXES})\s?\d+
      | \b\d{{1,2}}-[KQF](?:SB|/A)?\b
      | (?m:^)[^\S\n]{{0,8}}[(\[]?\d{{1,2}}[.)\]、:](?![\d%])(?=[^\S\n]{{0,8}}[^\s])
      | [(\[]\d[)\]](?!\s?(?:%|million|billion|万|亿)) | (?<![\d|]\s)[(\[]\d\d[)\]](?!\s?(?:%|million|billion|万|亿))
      # codes and names
      | (?<![\d.])\d{{4,6}}\.(?:SH|SZ|SS|HK|BJ|TW|US)(?![A-Za-z]) | (?<![A-Za-z])(?:SH|SZ|HK|BJ|SSE|SZSE|HKEX)\s?[.:]?\s?\d{{4,6}}(?!\d)
      | (?:代码|代号|ticker|stock\ code)(?:为|是)?\s?[:(]?\s?\d{{4,6}}(?!\d|[.,]\d)
      | \b3M(?=\s(?:Co|Company|Corp)|['’]s) | \b7-Eleven\b | \b401\(?k\)? | 58同城 | 51job
      | (?<![A-Za-z0-9_])(?!(?:{units.CURRENCY_CODES})-?\d)[A-Za-z][A-Za-z_]{{0,20}}-?\d[A-Za-z0-9_-]*
    )
    | (?P<number>(?<![\d.])(?<!\d,)(?:\d{{1,3}}(?:,\d{{3}})++(?!\d)|\d++)(?:\.\d++)?+(?!,\d)|(?<![\w.])\.\d++)
    """,
    re.IGNORECASE | re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Number:
    """A number as it stands in a text, its unit not yet read. `written` is empty for one in words."""

    start: int
    end: int
    magnitude: float
    step: float
    written: str


def numbers(text: str, language: str | None) -> Iterator[Number]:
    """Every number in the text that is no date, code, label or list number; in order, never overlapping."""
    spelled = _spelled(text, language)
    at, end = 0, 0
    for match in _TOKEN.finditer(text):
        while at < len(spelled) and spelled[at].start < match.start():
            if spelled[at].start >= end:
                yield spelled[at]
                end = spelled[at].end
            at += 1
        if match.start() < end:
            continue
        end = match.end()
        if match.lastgroup == "number" and end - match.start() <= _LONGEST_NUMBER:
            yield _digits(match)
    yield from (number for number in spelled[at:] if number.start >= end)


def _digits(match: re.Match[str]) -> Number:
    written = match.group()
    _, point, decimals = written.partition(".")
    return Number(*match.span(), float(written.replace(",", "")), 10.0 ** -len(decimals) if point else 1.0, written)


def _spelled(text: str, language: str | None) -> list[Number]:
    found = []
    for pattern, read, other in (
        (words.ENGLISH_NUMBER, words.read_english, "zh"),
        (words.CHINESE_NUMBER, words.read_chinese, "en"),
    ):
        for match in pattern.finditer(text) if language != other else ():
            number = read(match.group()) if match.end() - match.start() <= _LONGEST_WORDS else None
            if number:
                found.append(Number(*match.span(), *number, ""))
    return sorted(found, key=lambda number: number.start)
