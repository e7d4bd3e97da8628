"""The years that a text names, and which of two is reported on: "2022 vs 2021", "FY24", "ended January 31, 2025"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = rf"(?P<month>{'|'.join(_MONTHS)})[a-z]{{0,6}}\.?"
_YEAR = re.compile(
    rf"(?<![a-z0-9])(?:{_MONTH} (?:\d{{1,2}}(?:st|nd|rd|th)?,? )?(?P<named>(?:19|20)\d\d)"
    r"|(?P<iso>(?:19|20)\d\d)-(?P<iso_month>\d{2})(?:-\d{2})?"
    r"|(?P<cn>(?:19|20)\d\d) ?年 ?(?P<cn_month>\d{1,2}) ?月"
    r"|(?:fy|fiscal|cy) ?'?(?P<short>\d\d)(?!\d)"
    r"|(?:fy ?|q[1-4] ?|[1-4]q ?)?(?P<bare>(?:19|20)\d\d))(?![\d%]|[,.]\d|\.hk| ?(?:million|billion|亿|万))"
)
_COMPARES = re.compile(
    r"(?<![a-z])(?:vs?\.?|versus|compared|relative to|against|over|from|prior|to)(?![a-z])|[较比]|相比|对比"
)


@dataclass(frozen=True, slots=True)
class Year:
    """A year in [start, end) of a text. `month` is set where the text gives the date on which the year ended."""

    number: int
    start: int
    end: int
    month: int | None = None

    @property
    def names(self) -> frozenset[int]:
        """The years that this may be called: one that ends in January or February goes by either calendar year."""
        early = self.month is not None and self.month <= 2
        return frozenset((self.number, self.number - 1)) if early else frozenset((self.number,))

    def agrees(self, other: Year) -> bool:
        """Whether both may be the same fiscal year."""
        if self.month is not None and other.month is not None:
            return (self.number, self.month) == (other.number, other.month)
        return bool(self.names & other.names)


def find_years(text: str) -> list[Year]:
    """Every year in a folded text, in reading order."""
    found = []
    for match in _YEAR.finditer(text):
        named = match.groupdict()
        number = named["named"] or named["iso"] or named["cn"] or named["bare"] or f"20{named['short']}"
        month = (
            _MONTHS.index(named["month"]) + 1 if named["month"] else int(named["iso_month"] or named["cn_month"] or 0)
        )
        found.append(Year(int(number), *match.span(), month if 1 <= month <= 12 else None))
    return found


def split_comparison(text: str, years: list[Year]) -> tuple[list[Year], list[Year]]:
    """(years reported on, years compared against): of "2022 vs 2021" the later is reported on."""
    latest = max((year.number for year in years), default=0)
    earlier = [year for year in years if year.number < latest]
    if not earlier or not any(_COMPARES.search(text, a.end, b.start) for a, b in pairwise(years)):
        return years, []
    return [year for year in years if year.number == latest], earlier
