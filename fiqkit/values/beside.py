"""Which period of a text belongs to a place in it."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from fiqkit.values.period import Period, find_periods

_ADJACENT = re.compile(
    r"\s+(?:in|for|during|of)\s+(?:(?:the|its|full|most|recent|fiscal|year|ended)\s+){0,4}|\s?[(（]\s?", re.IGNORECASE
)
_CLAUSE = re.compile(r"[,，;；]")
_OPENS_VALUE = re.compile(r"(?:年度?|年报)?\s?[:：为]")


class PeriodIndex:
    """The periods of a text, to be looked up by place."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._all = find_periods(text)
        self._stated = [period for period in self._all if not period.compared]

    def beside(self, places: Sequence[tuple[int, int]], sentences: Sequence[int]) -> list[Period | None]:
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
                if later and (self._opens_value(later) or self._leads_to_another(end, later, places)):
                    later = None
                period = own if own and own is not claimed else _last(self._stated, low, start) or later
            found.append(period)
            before = end
        return found

    def _leads_to_another(self, end: int, period: Period, places: Sequence[tuple[int, int]]) -> bool:
        """Whether a later clause puts the period right before another place: "68亿元，其中第四季度20亿元"."""
        at = bisect_left(places, (period.span[1], 0))
        near = at < len(places) and places[at][0] - period.span[1] <= 12
        return near and bool(_CLAUSE.search(self._text, end, period.span[0]))

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
