"""An entity's fiscal calendar, read off the periods of its facts.

The `fy` and `fp` of SEC exports describe the filing that repeats a fact and are of no use here. A year is a span of
about 365 days that many facts share; trailing twelve months have few, and give way where they overlap.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from itertools import groupby
from typing import Any

from fiqkit.filings.store import FactStore

_LENGTHS = {"year": (350, 380), "quarter": (80, 100)}  # days; 52 or 53 weeks, 12 to 14 weeks


@dataclass(frozen=True, slots=True)
class FiscalPeriod:
    """A fiscal year or quarter; `facts` attest it."""

    kind: str
    start: str
    end: str
    facts: int


def fiscal_periods(spans: Iterable[tuple[str, str, int]]) -> list[FiscalPeriod]:
    """Years and quarters among (start, end, number of facts), by end; where two overlap the better attested stays."""
    found = list(spans)
    return [period for kind, (low, high) in _LENGTHS.items() for period in _chain(kind, low, high, found)]


def _chain(kind: str, low: int, high: int, spans: list[tuple[str, str, int]]) -> list[FiscalPeriod]:
    kept: list[tuple[date, date, FiscalPeriod]] = []
    for start, end, facts in sorted(spans, key=lambda span: (-span[2], span[1], span[0])):
        first, last = date.fromisoformat(start), date.fromisoformat(end)
        if not low <= (last - first).days + 1 <= high:
            continue
        # Calendars of 52 weeks and sloppy contexts may touch by some days; a real overlap is longer.
        if all((min(last, other_last) - max(first, other)).days < 10 for other, other_last, _ in kept):
            kept.append((first, last, FiscalPeriod(kind, start, end, facts)))
    return [period for _, _, period in sorted(kept, key=lambda item: item[1])]


def fiscal_calendar(store: FactStore, entity: str) -> list[FiscalPeriod]:
    """The fiscal years, then the quarters, of one entity in a store."""
    rows = store.conn.execute(
        "SELECT start, end, count(*) FROM facts WHERE entity=? AND start IS NOT NULL AND dims='{}' GROUP BY 1, 2",
        (entity,),
    )
    return fiscal_periods(rows)


def all_calendars(store: FactStore) -> Iterator[tuple[Any, ...]]:
    """Rows of the table `fiscal_periods` for every entity."""
    spans = store.conn.execute(
        "SELECT entity, start, end, count(*) FROM facts WHERE entity IS NOT NULL AND start IS NOT NULL AND dims='{}' "
        "GROUP BY 1, 2, 3 ORDER BY 1"
    )
    for entity, rows in groupby(spans, key=lambda row: row[0]):
        for period in fiscal_periods(row[1:] for row in rows):
            yield entity, period.kind, period.start, period.end, period.facts
