"""The periods that a text names: fiscal and calendar years, quarters, halves, dates, and what is only compared with."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass

MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|"
    r"nov(?:ember)?|dec(?:ember)?)\.?"
)
_YEAR = r"(?:19|20)\d\d"

_PATTERN = re.compile(
    rf"""
      (?P<mdy>\b{MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?\s*,?\s+(?P<mdy_year>{_YEAR})(?!\d))
    | (?P<dmy>\b\d{{1,2}}\s+{MONTH}\s+(?P<dmy_year>{_YEAR})(?!\d))
    | (?P<my>\b{MONTH}\s+(?P<my_year>{_YEAR})(?!\d))
    | (?P<ymd>(?<![\d.])(?P<ymd_year>{_YEAR})\s*[-/.年]\s*(?P<ymd_month>\d{{1,2}})
        (?:\s*[-/.月]\s*\d{{1,2}}\s*日?|\s*月))
    | (?P<short>(?<![A-Za-z0-9])(?P<short_part>FY|CY|[1-4]Q|Q[1-4]|[12]H|H[12])\s*['’]?
        (?:20)?(?P<short_year>\d\d)(?!\d|[,.]\d|\s?%))
    | (?P<year>(?:\b(?:fiscal|calendar)\s+|(?<![\d.,$¥￥€£])(?<!\d-)){_YEAR}
        (?!\d|[,.]\d|\s?%|\s?(?:million|billion|thousand|[万亿元股])))
    | (?P<part>
        (?<![A-Za-z])(?:Q[1-4]|[1-4]Q|H[12]|[12]H)(?![A-Za-z])
      | \b(?:first|second|third|fourth|1st|2nd|3rd|4th)[\s-]+(?:fiscal\s+)?(?:quarter|half)\b
      | \bquarter(?:ly)?(?=\s+(?:ended|ending))
      | \b(?:three|six|nine|3|6|9)[\s-]+months?\b
      | 第?[一二三四1-4]季度?(?!报)|[一三]季度?报|前三季度|上半年|下半年|半年[度报]|中报
      | \b(?:trailing|last)[\s-]+(?:twelve|12)[\s-]+months?\b|\bTTM\b|\bLTM\b|滚动十二个月|近十二个月
      )
    | (?P<annual>\bfull[\s-]+(?:fiscal[\s-]+)?year\b|\b(?:fiscal|calendar)\s+year\b|\bannual\b(?!\s+(?:report|filing))
        |\byear\s+end(?:ed|ing)\b|全年|年度(?!报告))
    """,
    re.IGNORECASE | re.VERBOSE,
)
_COMPARED = re.compile(
    r"(?:\b(?:compared?\s+(?:to|with)|versus|vs\.?|against|relative\s+to|(?<!year[\s-])over|from|than(?:\s+in)?|between|since|"
    r"up\s+from|down\s+from|prior\s+to)"
    r"|[较比与对]|相较于|相比于|对比)"
    r"\s*(?:(?:[A-Za-z]+\s+){0,4}[^\sA-Za-z]\S{0,20}\s+(?:(?:million|billion|trillion|thousand|percent)\s+)?(?:in|for|during)\s+)?"
    r"(?:the\s+)?(?:(?:prior|previous|same|full|period|of|in|fiscal|calendar|year|years|ended|quarter|FY|上年|同期)\s*){0,4}\(?$",
    re.IGNORECASE,
)
# The date of a document or of someone's knowledge is no period either.
_DATED_BEFORE = re.compile(
    r"\b(?:filed|dated|published|released|issued|updated?|announced|submitted|accessed|cut-?off|knowledge)"
    r"(?:\s+(?:with\s+the\s+SEC|on|in|of|as\s+of|is|date))*\s*:?\s*$",
    re.IGNORECASE,
)
_DATED_AFTER = re.compile(r"\s?(?:披露|发布|公告|公布|更新|提交)")
_JOINED = re.compile(
    r"^\s*(?:年?度?|[(（,，:\s]|the|of|in|for|fiscal|year|ended|ending|full|第|之|-|/){0,8}$", re.IGNORECASE
)
_ADJACENT = re.compile(
    r"\s+(?:in|for|during)\s+(?:(?:the|its|full|most|recent|fiscal|year|ended)\s+){0,4}|\s?[(（]\s?", re.IGNORECASE
)
_OPENS_VALUE = re.compile(r"(?:年度?|年报)?\s?[:：为]")
_ORDINALS = {"first": "1", "second": "2", "third": "3", "fourth": "4", "一": "1", "二": "2", "三": "3", "四": "4"}
# How a part is written, most telling first; {} is the number found in it.
_PARTS = (
    (r"^fy$|^cy$", "FY"),
    (r"^(?:q[1-4]|[1-4]q)$", "Q{}"),
    (r"^(?:h[12]|[12]h)$", "H{}"),
    (r"ttm|ltm|trailing|last|滚动|近十二", "TTM"),
    (r"nine|9|前三季|三季度?报", "9M"),
    (r"six|6|上半年|半年[度报]|中报", "H1"),
    (r"下半年", "H2"),
    (r"half", "H{}"),
    (r"month|^quarter", "3M"),
    (r"quarter|季", "Q{}"),
)


@dataclass(frozen=True, slots=True)
class Period:
    """A period that a text names.

    Attributes:
        years: the years by which it may be called; a year that ends in January or February goes by either one. Empty
            when only a part is named ("the third quarter").
        part: "FY", "Q1" to "Q4", "H1", "H2", "9M", "3M", "TTM"; None when a bare year is named.
        compared: the text names it only to compare with ("up from 2022"), or as the date of a document.
        span, text: where it stands and how it is written.
    """

    years: frozenset[int]
    part: str | None
    compared: bool
    span: tuple[int, int]
    text: str

    def conflicts(self, other: Period) -> bool:
        """Whether the two cannot be one period: both name years and share none, or both name a part and it differs."""
        if self.years and other.years and not self.years & other.years:
            return True
        if not self.part or not other.part or self.part == other.part:
            return False
        return {self.part[0], other.part[0]} != {"3", "Q"}  # three months may be any quarter

    @property
    def is_partial(self) -> bool:
        """Whether it is less than a year."""
        return self.part not in (None, "FY", "TTM")


def find_periods(text: str) -> list[Period]:
    """Every period in a text, in order. A year and the quarter or half beside it are one period."""
    found: list[Period] = []
    for match in _PATTERN.finditer(text):
        period = _read(match, text)
        if found and _belongs(found[-1], period, text):
            period = _join(found[-1], period, text)
            found.pop()
        found.append(period)
    return found


def _read(match: re.Match[str], text: str) -> Period:
    groups = match.groupdict()
    start, end = match.span()
    years: frozenset[int] = frozenset()
    part: str | None = None
    if groups["part"]:
        part = _part(match.group())
    elif groups["annual"]:
        part = "FY"
    elif groups["short"]:
        years, part = frozenset((2000 + int(groups["short_year"]),)), _part(groups["short_part"] or "")
    else:
        years = _years(match, groups)
    before = text[max(0, start - 60) : start]
    aside = _COMPARED.search(before) or _DATED_BEFORE.search(before) or _DATED_AFTER.match(text, end)
    return Period(years, part, bool(aside), (start, end), match.group())


def _years(match: re.Match[str], groups: dict[str, str | None]) -> frozenset[int]:
    for name in ("mdy", "dmy", "my"):
        if groups[name]:
            year = int(groups[f"{name}_year"] or 0)
            early = re.search(r"\b(?:jan|feb)", match.group(), re.IGNORECASE)
            return frozenset((year, year - 1)) if early else frozenset((year,))
    if groups["ymd"]:
        year, month = int(groups["ymd_year"] or 0), int(groups["ymd_month"] or 0)
        return frozenset((year, year - 1)) if month in (1, 2) else frozenset((year,))
    return frozenset((int(match.group()[-4:]),))


def _part(text: str) -> str:
    lowered = text.lower()
    numbers = [_ORDINALS.get(word, word) for word in re.findall(r"[1-4]|first|second|third|fourth|[一二三四]", lowered)]
    number = numbers[0] if numbers else ""
    return next(name.format(number) for pattern, name in _PARTS if re.search(pattern, lowered))


def _belongs(before: Period, after: Period, text: str) -> bool:
    """Whether two neighbouring mentions name one period: "2023年" + "第一季度", "fiscal 2023" + "(ended …, 2023)"."""
    gap = text[before.span[1] : after.span[0]]
    if len(gap) > 40 or not _JOINED.match(gap):
        return False
    if before.years and after.years:
        return bool(before.years & after.years)
    return before.part is None or after.part is None or "FY" in (before.part, after.part)


def _join(before: Period, after: Period, text: str) -> Period:
    years = before.years | after.years
    parts = [p for p in (before.part, after.part) if p]
    part = next((p for p in parts if p != "FY"), parts[0] if parts else None)
    span = (before.span[0], after.span[1])
    return Period(years, part, before.compared, span, text[span[0] : span[1]])


class PeriodIndex:
    """Which period of a text belongs to a place in it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._all = find_periods(text)
        self._stated = [period for period in self._all if not period.compared]

    def beside(self, places: list[tuple[int, int]], sentences: list[int]) -> list[Period | None]:
        """The period of each place, within its sentence; places in order, `sentences` the ends of all sentences.

        One that follows at once ("$5 billion in 2023", "12亿元（2023年）") goes first, even one that is compared with;
        then the last one before the place that no earlier place has claimed, any before it, the next one after it.
        """
        found: list[Period | None] = []
        claimed: Period | None = None
        before = 0
        for start, end in places:
            at = bisect_right(sentences, start)
            low = sentences[at - 1] if at else 0
            high = sentences[at] if at < len(sentences) else len(self._text)
            following = _first(self._all, end, high)
            if following and self._is_adjacent(end, following):
                period: Period | None = following
                claimed = following
            else:
                own = _last(self._stated, max(low, before), start)
                later = _first(self._stated, end, high)
                later = None if later and self._opens_value(later) else later
                period = own if own and own is not claimed else _last(self._stated, low, start) or later
            found.append(period)
            before = end
        return found

    def _is_adjacent(self, end: int, period: Period) -> bool:
        gap = self._text[end : period.span[0]]
        return len(gap) < 40 and bool(_ADJACENT.fullmatch(gap)) and not self._opens_value(period)

    def _opens_value(self, period: Period) -> bool:
        """Whether it is the period of a value of its own: "（2021年为561亿元）"."""
        return bool(_OPENS_VALUE.match(self._text, period.span[1]))


def _start(period: Period) -> int:
    return period.span[0]


def _last(periods: list[Period], low: int, high: int) -> Period | None:
    """The last period that begins within `low:high`."""
    at = bisect_right(periods, high, key=_start) - 1
    return periods[at] if at >= 0 and periods[at].span[0] >= low else None


def _first(periods: list[Period], low: int, high: int) -> Period | None:
    """The first period within `low:high`."""
    at = bisect_left(periods, low, key=_start)
    return periods[at] if at < len(periods) and periods[at].span[1] <= high else None
