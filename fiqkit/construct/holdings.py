"""The fact store as miners see it: a company's reports, each with its figures by concept, dimensions and period.

One company is in memory at a time. What a report contradicts itself on is not a figure and is left out.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from typing import NamedTuple

from fiqkit.construct.names import is_chinese, one_name, short_name
from fiqkit.construct.orbits import Proof, Quantity
from fiqkit.construct.topics import MONEY, PER_SHARE, PERCENT
from fiqkit.filings.store import FactStore

Span = tuple[str | None, str]  # (start, end); start is None for an instant


class Figure(NamedTuple):
    """One fact of one report."""

    name: str
    value: float
    unit: str | None

    def quantity(self) -> Quantity:
        """As a line of a passage gives it; a pure number is a share."""
        unit = self.unit or ""
        if unit == "pure":
            return Quantity(100 * self.value, PERCENT, Proof("percent", (self.name,)))
        kind = PER_SHARE if unit.endswith("/shares") else MONEY
        return Quantity(self.value, kind, Proof("value", (self.name,)), unit.removesuffix("/shares"))


@dataclass
class Report:
    """One filing of a company.

    Attributes:
        form: "10-K", "年报"; None where the figures are of no report that can be named.
        whole: concept (without `us-gaap:`) → span → figure, for the company as a whole.
        parts: (concept, axis, member) → span → figure, for figures with one dimension.
    """

    entity: str
    name: str | None
    form: str | None
    accession: str | None
    filed: str | None
    source: str
    whole: dict[str, dict[Span, Figure]] = field(default_factory=dict)
    parts: dict[tuple[str, str, str], dict[Span, Figure]] = field(default_factory=dict)

    @cached_property
    def ends(self) -> list[str]:
        """Ends of period that the report is about, the latest first: those with a third of the best one's figures."""
        count = Counter(end for spans in self.whole.values() for start, end in spans if start)
        count = count or Counter(end for spans in self.whole.values() for _, end in spans)
        most = max(count.values(), default=0)
        return sorted((end for end, n in count.items() if 3 * n >= most), reverse=True)

    @cached_property
    def end(self) -> str | None:
        """The latest end of period that it is about."""
        return next(iter(self.ends), None)

    def spans(self, end: str) -> dict[int, Span]:
        """Months → the best attested span of that length that ends there; 0 for the instant."""
        count: dict[int, Counter[Span]] = {}
        for spans in self.whole.values():
            for span in spans:
                if span[1] == end:
                    count.setdefault(months(span), Counter())[span] += 1
        return {length: max(spans, key=lambda s: (spans[s], s[0] or "")) for length, spans in sorted(count.items())}

    def figure(self, concept: str, span: Span | None) -> Figure | None:
        """A figure of the company as a whole, if it is what its concept says."""
        return self.whole.get(concept, {}).get(span) if span and (concept, span) not in self.misnamed else None

    @cached_property
    def misnamed(self) -> set[tuple[str, Span]]:
        """(concept, span) of figures that other figures of the report show to be of something else."""
        return {
            (concept, span)
            for concept, doubt in _DOUBTS.items()
            for span, figure in self.whole.get(concept, {}).items()
            if doubt(self, concept, span, figure.value)
        }

    def _stated(self, concept: str, span: Span) -> float:
        figure = self.whole.get(concept, {}).get(span)
        return figure.value if figure else 0.0


def _part_of_intangibles(report: Report, concept: str, span: Span, value: float) -> bool:
    """Finite-lived intangible assets beside others that have no end."""
    total = report._stated("IntangibleAssetsNetExcludingGoodwill", span)
    if total:
        return abs(total - value) > 0.005 * total
    stated = (*report.whole.items(), *((part[0], spans) for part, spans in report.parts.items()))
    return any("IndefiniteLived" in other and span in spans and spans[span].value for other, spans in stated)


def _not_long_term(report: Report, concept: str, span: Span, value: float) -> bool:
    """ "Long-term debt" that is a current liability, or is less than one of its members alone."""
    liabilities = report._stated("Liabilities", span)
    if liabilities and liabilities == report._stated("LiabilitiesCurrent", span):
        return True
    if any(name.endswith("Current") and span in of and of[span].value == value for name, of in report.whole.items()):
        return True
    members = (spans[span].value for part, spans in report.parts.items() if part[0] == concept and span in spans)
    return any(member > 1.5 * value for member in members)


def _net_of_interest_income(report: Report, concept: str, span: Span, value: float) -> bool:
    """ "Interest expense" that is far below the interest paid, and was not capitalised."""
    paid = max(report._stated(name, span) for name in ("InterestPaidNet", "InterestPaid"))
    capitalised = ("InterestCostsCapitalized", "InterestCostsCapitalizedAdjustment")
    return value > 0 and paid > 1.5 * (value + max(report._stated(name, span) for name in capitalised))


_DOUBTS: dict[str, Callable[[Report, str, Span, float], bool]] = {
    "FiniteLivedIntangibleAssetsNet": _part_of_intangibles,
    "LongTermDebt": _not_long_term,
    "LongTermDebtNoncurrent": _not_long_term,
    "LongTermDebtAndCapitalLeaseObligations": _not_long_term,
    "InterestExpense": _net_of_interest_income,
}


@dataclass
class Company:
    """One company's reports under its present name, the earliest first."""

    entity: str
    name: str
    ticker: str | None
    language: str
    reports: list[Report]


def months(span: Span) -> int:
    """Length of a span in months; 0 for an instant."""
    start, end = span
    return round((date.fromisoformat(end) - date.fromisoformat(start)).days / 30.44) if start else 0


def companies(store: FactStore) -> Iterator[Company]:
    """Every company of a store that has a name, in order of its code, one in memory at a time."""
    entities = [row[0] for row in store.conn.execute("SELECT DISTINCT entity FROM facts WHERE entity IS NOT NULL")]
    tickers = dict(
        store.conn.execute(
            "SELECT entity, min(value) FROM text_facts WHERE concept='dei:TradingSymbol' AND value<>'' GROUP BY 1"
        )
    )
    for entity in sorted(entities, key=lambda code: (len(code), code)):
        reports = _reports(store, entity)
        name = next((report.name for report in reversed(reports) if report.name), None)
        if name:
            chinese = is_chinese(name)
            shown = name if chinese else short_name(name)
            ticker = entity if chinese else tickers.get(entity)
            # A report of another name would be shown under one that the company had not taken yet.
            theirs = [report for report in reports if report.name is None or one_name(report.name, name)]
            yield Company(entity, shown, ticker, "zh" if chinese else "en", _in_yuan(theirs) if chinese else theirs)


_SALES = ("营业总收入", "revenue")
_LEAST, _STEEPEST = 3e7, 300  # yuan a year that a listed company sells for at least; years are not so far apart


def _in_yuan(reports: list[Report]) -> list[Report]:
    """Without the years that a Chinese table gives in thousands: sales are next to nothing, or to another year's."""
    most = max((f.value for r in reports for name in _SALES for f in r.whole.get(name, {}).values()), default=0)
    for report in reports:
        least = max(most / _STEEPEST, _LEAST if report.source == "mined" else 0)
        small = {end for name in _SALES for (_, end), f in report.whole.get(name, {}).items() if f.value < least}
        for spans in (*report.whole.values(), *report.parts.values()):
            for span in [span for span in spans if span[1] in small]:
                del spans[span]
    return reports


_FACTS = """SELECT f.entity, coalesce(g.name, f.name), f.concept, f.value, f.unit, f.start, f.end, f.dims,
    coalesce(f.form, g.form), f.accession, coalesce(f.filed, g.filed), f.source
    FROM facts f LEFT JOIN filings g USING (accession)
    WHERE f.entity=? ORDER BY f.concept, f.unit, f.dims, f.start, f.end, f.accession, f.filed, f.value"""


_UNITS = re.compile(r"(?:USD|CNY)(?:/shares)?|pure")


def _reports(store: FactStore, entity: str) -> list[Report]:
    found: dict[tuple[str | None, ...], Report] = {}
    clashing: set[tuple[int, str, str, Span]] = set()
    for code, name, concept, value, unit, start, end, dims, form, accession, filed, source in store.conn.execute(
        _FACTS, (entity,)
    ):
        if accession is None and source == "export":
            form = form or "export"
        key = (accession,) if accession else (None, form, filed)
        # A vendor's row holds the latest figures: without a date it is no report that printed them.
        shown = form if filed or source != "export" else None
        report = found.setdefault(key, Report(code, name, shown, accession, filed, source))
        report.filed = report.filed or filed
        report.name = report.name or name
        members = json.loads(dims)
        if not _UNITS.fullmatch(unit or "") or not isinstance(value, int | float):
            continue
        if len(members) > 1 and "vintage" not in members:
            continue
        local = concept.removeprefix("us-gaap:")
        figure = Figure(fact_name(entity, concept, unit, dims, start, end, form, accession, filed), value, unit)
        span = (start, end)
        shelf = (
            report.whole.setdefault(local, {}) if not members else report.parts.setdefault(_part(local, members), {})
        )
        before = shelf.get(span)
        if before and abs(before.value - value) > 1e-9 * abs(value):
            clashing.add((id(report), local, dims, span))
        shelf.setdefault(span, figure)
    for report in found.values():
        for local, dims, span in ((c[1], c[2], c[3]) for c in clashing if c[0] == id(report)):
            members = json.loads(dims)
            shelf = report.parts[_part(local, members)] if members else report.whole[local]
            shelf.pop(span, None)
    return sorted(found.values(), key=lambda r: (r.filed or r.end or "", r.accession or "", r.form or ""))


def _part(concept: str, members: dict[str, str]) -> tuple[str, str, str]:
    axis = "vintage" if "vintage" in members else next(iter(members))
    return concept, axis, "|".join(members.values())


def fact_name(
    entity: str,
    concept: str,
    unit: str | None,
    dims: str,
    start: str | None,
    end: str,
    form: str | None,
    accession: str | None,
    filed: str | None,
) -> str:
    """A fact's name: what it is and which filing states it; nothing for what the source does not say is a dash."""
    cells = (entity, concept, unit, dims.replace(" ", ""), start, end, (form or "").replace(" ", "_"), accession, filed)
    return " ".join(cell or "-" for cell in cells)


def span_of(name: str) -> Span:
    """The span that a fact's name states."""
    start, end = name.split(" ")[4:6]
    return (None if start == "-" else start), end
