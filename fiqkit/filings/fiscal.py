"""An entity's fiscal calendar, read off the periods of its facts.

The `fy` and `fp` of SEC exports describe the filing that repeats a fact and are of no use here. A year is a span of
about 365 days that many facts share; trailing twelve months have few, and give way where they overlap.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import groupby, pairwise
from typing import Any

from fiqkit.filings.store import FactStore

_LENGTHS = {"year": (350, 380), "quarter": (80, 119)}  # days; 52 or 53 weeks, 12 to 17 weeks
_ROUNDED = 10  # days by which an end that was rounded to a month's lies beside the exact one

_COUNTS = "count(*), min(source = 'fsds')"  # the SEC's data sets round a period's days to months' ends

Spans = Iterable[tuple[str, str, int, bool]]  # (start, end, facts that attest it, are its days rounded)


@dataclass(frozen=True, slots=True)
class FiscalPeriod:
    """A fiscal year or quarter, or the time between two years that is none (transition); `facts` attest it."""

    kind: str
    start: str
    end: str
    facts: int


def fiscal_periods(spans: Spans) -> list[FiscalPeriod]:
    """Years, transitions and quarters, each by end; where two overlap the better attested stays.

    Days that were rounded give way to the exact ones that they stand for. A transition fills the days between two
    years, as after a change of the year's end.
    """
    found = _exact(spans)
    years = _chain("year", found)
    return [*years, *_transitions(years, found), *_chain("quarter", found)]


def _exact(spans: Spans) -> list[tuple[date, date, int]]:
    """The spans, those with rounded days counted to the exact one that they stand for."""
    counts: dict[tuple[date, date], int] = {}
    rounded: list[tuple[date, date, int]] = []
    for start, end, facts, is_rounded in spans:
        span = (date.fromisoformat(start), date.fromisoformat(end))
        if is_rounded:
            rounded.append((*span, facts))
        else:
            counts[span] = counts.get(span, 0) + facts
    known = sorted(counts, key=lambda span: -counts[span])
    for first, last, facts in rounded:
        near = ((a, b) for a, b in known if abs((a - first).days) <= _ROUNDED and abs((b - last).days) <= _ROUNDED)
        span = next(near, (first, last))
        counts[span] = counts.get(span, 0) + facts
    return [(*span, facts) for span, facts in counts.items()]


def _chain(kind: str, spans: list[tuple[date, date, int]]) -> list[FiscalPeriod]:
    low, high = _LENGTHS[kind]
    kept: list[tuple[date, date, int]] = []
    for first, last, facts in sorted(spans, key=lambda span: (-span[2], span[1], span[0])):
        # Calendars of 52 weeks and sloppy contexts may touch by some days; a real overlap is longer.
        apart = all((min(last, other_last) - max(first, other)).days < 10 for other, other_last, _ in kept)
        if low <= (last - first).days + 1 <= high and apart:
            kept.append((first, last, facts))
    return [FiscalPeriod(kind, a.isoformat(), b.isoformat(), n) for a, b, n in sorted(kept, key=lambda span: span[1])]


def _transitions(years: list[FiscalPeriod], spans: list[tuple[date, date, int]]) -> Iterator[FiscalPeriod]:
    """The spans that begin where one year ends and end where the next one begins."""
    facts = {(a.isoformat(), b.isoformat()): n for a, b, n in spans}
    for before, after in pairwise(years):
        gap = (_next_day(before.end, 1), _next_day(after.start, -1))
        if gap in facts:
            yield FiscalPeriod("transition", *gap, facts[gap])


def _next_day(day: str, step: int) -> str:
    return (date.fromisoformat(day) + timedelta(days=step)).isoformat()


def fiscal_calendar(store: FactStore, entity: str) -> list[FiscalPeriod]:
    """The fiscal years, then the transitions, then the quarters, of one entity in a store."""
    rows = store.conn.execute(
        f"SELECT start, end, {_COUNTS} FROM facts WHERE entity=? AND start IS NOT NULL AND dims='{{}}' GROUP BY 1, 2",
        (entity,),
    )
    return fiscal_periods(rows)


def all_calendars(store: FactStore) -> Iterator[tuple[Any, ...]]:
    """Rows of the table `fiscal_periods` for every entity."""
    spans = store.conn.execute(
        f"SELECT entity, start, end, {_COUNTS} FROM facts WHERE entity IS NOT NULL AND start IS NOT NULL "
        "AND dims='{}' AND start <= end GROUP BY 1, 2, 3 ORDER BY 1"
    )
    for entity, rows in groupby(spans, key=lambda row: row[0]):
        for period in fiscal_periods(row[1:] for row in rows):
            yield entity, period.kind, period.start, period.end, period.facts
