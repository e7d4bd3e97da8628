"""The periods that a text names: fiscal and calendar years, quarters, halves and dates, English and Chinese.

>>> [(sorted(p.years), p.part) for p in find_periods("Q3 of fiscal 2023, year ended January 31, 2025")]
[([2023], 'Q3'), ([2024, 2025], 'FY')]
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from fiqkit.values.aside import is_aside

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|"
    r"nov(?:ember)?|dec(?:ember)?)\.?"
)
_YEAR = r"(?:19|20)\d\d"
_QUARTER = r"(?:[FC]?Q[1-4]|[1-4]Q)"
_HALF = r"(?:H[12]|[12]H)"
_MONTHS_OF = r"(?:[369]|12)M"
_COUNT = (
    r"(?:three|six|nine|twelve|[369]|12|13|26|39|52|53|thirteen|twenty[\s-]six|thirty[\s-]nine|fifty[\s-](?:two|three))"
)

_PATTERN = re.compile(
    rf"""
      (?P<mdy>(?<![A-Za-z]){MONTH}\s*\d{{1,2}}(?:st|nd|rd|th)?\s*,?\s*(?P<mdy_year>{_YEAR})(?!\d))
    | (?P<dmy>(?<![\d.,])\d{{1,2}}(?:st|nd|rd|th)?[\s-](?:of\s)?{MONTH}[\s,-]{{1,2}}(?P<dmy_year>{_YEAR})(?!\d))
    | (?P<my>(?<![A-Za-z]){MONTH}[\s,-]{{1,2}}(?P<my_year>{_YEAR})(?!\d))
    | (?P<ymd>(?<![\d.])(?P<ymd_year>{_YEAR})(?:
         \s*年\s*(?P<cn_month>1[0-2]|0?[1-9])\s*月(?!\s*[-–—~至])(?:\s*\d{{1,2}}\s*[日号])?
        |\s?(?P<sign>[-/.])\s?(?P<ymd_month>1[0-2]|0?[1-9])\s?(?P=sign)\s?\d{{1,2}}(?!\d)|-(?P<ym_month>1[0-2]|0[1-9])(?![\d-])))
    | (?P<span_year>(?:(?<![A-Za-z])(?:FY|fiscal)\s*|(?<![\d.,$¥￥€£A-Za-z]))
        (?P<first_year>{_YEAR})[-/–](?P<next_year>(?:20)?\d\d)(?!\d|[-/,.]\d))
    | (?P<short>(?<![A-Za-z0-9$€£¥.,])(?P<short_part>FY|CY|fiscal(?:\s+year)?
        |{_QUARTER}|{_HALF}|{_MONTHS_OF})\s*(?:of\s+)?(?:[FC]Y\s?)?
        (?:['’]\s?)?(?P<short_year>(?:19|20)\d\d(?!\d|[,.]\d)|\d\d(?!\d|[,.]\d|\s?%|\s+{MONTH})(?!\s*(?:weeks|million|billion))))
    | (?P<year>(?<![A-Za-z])(?:fiscal|calendar)\s+{_YEAR}(?!\d)
      |(?<![\d.,$¥￥€£A-Za-z])(?<!\d-){_YEAR}
        (?!\d|[,.]\d|\s?%|\.(?:hk|sh|sz)|\s?(?:million|billion|thousand|[万亿元股])))
    | (?P<part>
        (?<![A-Za-z])(?:[FC]?Q[1-4]|H[12])(?![A-Za-z0-9]) | (?<![A-Za-z0-9])(?:[1-4]Q|[12]H)(?![A-Za-z0-9])
      | \b(?:first|second|third|fourth|1st|2nd|3rd|4th|last|final)[\s-]+(?:(?:fiscal|calendar)\s+)?(?:quarter|half)\b
      | (?<!prior-year\s)(?<!previous\s)\bquarter(?:ly)?(?=\s+(?:ended|ending)|,|\s+(?:was|were|is)\b)
      | (?<=\bthe[ ])quarter\b(?![ ]of)
      | \b(?:first\s+)?{_COUNT}[\s-]+(?:months?|weeks?)(?!\s+ago)\b
      | 前三季度?|第?[一二三四1-4]季度?(?!报)|[一三]季度?报|上半年|下半年|半年[度报]?|中报
      | (?<![\d.])(?:1|一)\s?[-–—~至到]\s?(?:[369]|12|十二|[三六九])\s?月(?:份)?
      | [前首][369三六九]个?月|(?<![\d.])(?:[369三六九]|12|十二)个月(?:期间)?|(?:滚动|近|过去)(?:十二|12)个?月
      | \b(?:trailing|last|past)[\s-]+(?:twelve|12|four|4)[\s-]+(?:months?|quarters)\b|\bTTM\b|\bLTM\b
      | \byear[\s-]to[\s-]date\b|\bYTD\b|年初至今|年初至报告期末
      )
    | (?P<annual>\bfull[\s-]+(?:fiscal[\s-]+)?year\b|\b(?:fiscal|calendar)\s+year\b
        |\bannual\b(?!\s+(?:report|filing|\w+\s+report))|\byears?\s+end(?:ed|ing)\b|全年|整年|年度(?!报告))
    """,
    re.IGNORECASE | re.VERBOSE,
)
_JOINED = re.compile(
    r"^\s*(?:年?度?|[(（,，:\s]|the|of|in|for|on|fiscal|year|ended|ending|full|第|之|的|截至|止|[-/]|\(?5[23][\s-]weeks\)?){0,8}$",
    re.IGNORECASE,
)
_RANGE = re.compile(r"\s*(?:至|到|to|through|[-–—~])\s*", re.IGNORECASE)
_ORDINALS = {"first": "1", "second": "2", "third": "3", "fourth": "4", "last": "4", "final": "4"}
_ORDINALS |= {"一": "1", "二": "2", "三": "3", "四": "4"}
# How a part is written, most telling first; {} is the number found in it.
_PARTS = tuple(
    (re.compile(pattern), name)
    for pattern, name in (
        (r"^fy$|^cy$|^fiscal", "FY"),
        (r"^(?:[fc]?q[1-4]|[1-4]q)$", "Q{}"),
        (r"^(?:h[12]|[12]h)$", "H{}"),
        (r"ttm|ltm|(?:trailing|last|past)[\s-]+(?:tw|12|four|4)|滚动|近|过去", "TTM"),
        (r"to[\s-]date|ytd|年初", "YTD"),
        (r"twelve|12|十二|5[23]|fifty", "FY"),
        (r"nine|9|九|39|前三季|三季度?报", "9M"),
        (r"twenty|26|six|6|六|上半年|半年|中报", "H1"),
        (r"下半年", "H2"),
        (r"half", "H{}"),
        (r"month|week|月|^quarter|^3m", "3M"),
        (r"quarter|季", "Q{}"),
    )
)
_SPANS = {3: "3M", 6: "H1", 9: "9M", 12: "FY"}  # months to the part that they make
# Parts that may be one and the same stretch of time: three months may be any quarter.
_ALIKE = frozenset(
    frozenset(pair) for pair in (*(("3M", f"Q{n}") for n in "1234"), *(("YTD", p) for p in ("3M", "Q1", "H1", "9M")))
)


@dataclass(frozen=True, slots=True)
class Period:
    """A period that a text names.

    Attributes:
        years: the years by which it may be called; a year that ends in January or February goes by either one. Empty
            when only a part is named ("the third quarter").
        part: "FY", "Q1" to "Q4", "H1", "H2", "9M", "3M", "YTD", "TTM"; None when a bare year or date is named.
        closes: year and month of its last day, where the text gives that date.
        compared: the text names it only to compare with ("up from 2022"), or as the date of a document.
        span, text: where it stands and how it is written.
    """

    years: frozenset[int]
    part: str | None
    closes: tuple[int, int] | None
    compared: bool
    span: tuple[int, int]
    text: str

    @property
    def year(self) -> int:
        """The year as written, the later one of two; 0 when none is named."""
        return max(self.years, default=0)

    def agrees(self, other: Period) -> bool:
        """Whether both name years and may be of the same fiscal year, by their closing dates where both give one."""
        if self.closes and other.closes:
            return _months_between(self.closes, other.closes) <= 1
        return bool(self.years & other.years)

    def conflicts(self, other: Period) -> bool:
        """Whether the two cannot be one period: both name years that disagree, or both name a part and it differs."""
        if self.years and other.years and not self.agrees(other):
            return True
        if not self.part or not other.part or self.part == other.part:
            return False
        return frozenset((self.part, other.part)) not in _ALIKE

    @property
    def is_partial(self) -> bool:
        """Whether it is less than a year."""
        return self.part not in (None, "FY", "TTM")


def find_periods(text: str) -> list[Period]:
    """Every period in a text, in order. A year and the quarter, half or date beside it are one period."""
    found: list[Period] = []
    for period in _mentions(text):
        if found:
            gap = text[found[-1].span[1] : period.span[0]]
            joined = _range(found[-1], period, gap) or _join(found[-1], period, gap)
            if joined:
                span = (joined.span[0], period.span[1])
                found[-1] = replace(joined, span=span, text=text[slice(*span)])
                continue
        found.append(period)
    return found


def find_years(text: str) -> list[Period]:
    """Every mention of a year, each by itself: "fiscal 2024 (ended February 2, 2025)" names two."""
    return [period for period in _mentions(text) if period.years]


def _mentions(text: str) -> Iterator[Period]:
    for match in _PATTERN.finditer(text):
        years, part, closes = _read(match)
        aside = is_aside(text, *match.span())
        yield Period(years, part, closes, aside, match.span(), match.group())


def _read(match: re.Match[str]) -> tuple[frozenset[int], str | None, tuple[int, int] | None]:
    """Years, part and closing date of one mention."""
    groups = match.groupdict()
    if groups["part"]:
        return frozenset(), _part(match.group()), None
    if groups["annual"]:
        return frozenset(), "FY", None
    if groups["short"]:
        year = groups["short_year"]
        return frozenset((int(year) if len(year) == 4 else 2000 + int(year),)), _part(groups["short_part"]), None
    if groups["span_year"]:
        first, following = int(groups["first_year"]), int(groups["first_year"][:-2] + groups["next_year"][-2:])
        # "2023/24" is one year that straddles two; "2020-2023" a stretch of which no year may be told.
        return (frozenset((first, following)), "FY", None) if following == first + 1 else (frozenset(), None, None)
    closes = _closing_date(groups)
    if closes is None:
        return frozenset((int(match.group()[-4:]),)), None, None
    year, month = closes
    return frozenset((year, year - 1)) if month <= 2 else frozenset((year,)), None, closes


def _closing_date(groups: dict[str, str]) -> tuple[int, int] | None:
    for kind in ("mdy", "dmy", "my"):
        if groups[kind]:
            name = re.search("|".join(_MONTHS), groups[kind], re.IGNORECASE)
            assert name is not None
            return int(groups[f"{kind}_year"]), _MONTHS.index(name.group().lower()) + 1
    month = groups["cn_month"] or groups["ymd_month"] or groups["ym_month"]
    return (int(groups["ymd_year"]), int(month)) if month else None


def _part(text: str) -> str:
    lowered = text.lower()
    number = re.search(r"[1-4]|first|second|third|fourth|last|final|[一二三四]", lowered)
    name = next(name for pattern, name in _PARTS if pattern.search(lowered))
    return name.format(_ORDINALS.get(number.group(), number.group()) if number else "")


def _join(before: Period, after: Period, gap: str) -> Period | None:
    """Two neighbouring mentions as one, if they name one: "2023年" + "第一季度", "fiscal 2023" + "(ended …, 2023)"."""
    if len(gap) > 40 or not _JOINED.match(gap):
        return None
    if before.years and after.years and not before.years & after.years:
        return None
    parts = [part for part in (before.part, after.part) if part and part != "FY"]
    if len(set(parts)) > 1 and frozenset(parts) not in _ALIKE:
        return None
    part = parts[-1] if parts else before.part or after.part
    return replace(before, years=before.years | after.years, part=part, closes=before.closes or after.closes)


def _range(before: Period, after: Period, gap: str) -> Period | None:
    """The period from one date to another: "2023年1月1日至2023年12月31日"."""
    if not (before.closes and after.closes and _RANGE.fullmatch(gap)):
        return None
    months = _months_between(before.closes, after.closes) + 1
    return replace(after, part=_SPANS.get(months), compared=False, span=before.span)


def _months_between(a: tuple[int, int], b: tuple[int, int]) -> int:
    return abs((a[0] - b[0]) * 12 + a[1] - b[1])
