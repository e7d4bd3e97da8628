"""Temporal scope: which stretch of time is meant.

- quarter or year to date: a quarterly report prints both side by side; the quarter is what its headline gives. The last
  full fiscal year stands beside them where its annual report is at hand. No figure is from a report of a later date.
- trailing twelve months: the fiscal year, plus the year to date, less the same stretch a year before; computed from
  figures that reports state, and said to be. Where they end with December, they are the calendar year, and stand
  beside the fiscal year that ended within it.
- balance: at the end of the quarter or at the end of the last fiscal year, the two columns of every quarterly balance
  sheet.
- growth (of revenue, of profit), margin: the same rates over the quarter and over the year to date.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import date

from fiqkit.construct.holdings import Company, Figure, Report, Span, months
from fiqkit.construct.miners.setting import (
    FASTEST,
    Setting,
    derived,
    leading,
    orbit,
    reading,
    same_stretch,
    settings,
    total_revenue,
)
from fiqkit.construct.orbits import Alternative, Orbit, Quantity
from fiqkit.construct.topics import MONEY, PERCENT, lines, topics

_NAME = "temporal_scope"
# months → what a caption, an interpretation and a user call the stretch
_SAID = {
    3: ("quarter", "quarter only, three months ended {end}", "the quarter alone"),
    6: ("six months to date", "year to date, six months ended {end}", "the six months to date"),
    9: ("nine months to date", "year to date, nine months ended {end}", "the nine months to date"),
    12: ("last full fiscal year", "last full fiscal year, ended {end}", "the last full fiscal year"),
}
_TRAILING = ("trailing twelve months, computed", "trailing twelve months to {end}", "the trailing twelve months")
_CALENDAR = ("calendar year, computed", "calendar year, the twelve months to {end}", "the calendar year")


def mine(company: Company) -> Iterator[Orbit]:
    """Orbits over the period that is meant; of companies whose reports are quarterly."""
    if company.language != "en":
        return
    for setting in settings(company, lambda report: (report.form or "").startswith("10-Q")):
        spans = setting.report.spans(setting.end)
        longer = next((spans[length] for length in (9, 6) if length in spans), None)
        quarter = spans.get(3)
        for topic in topics().values():
            if topic.words["en"] and topic.kind != PERCENT:
                made = _flow(setting, topic.name, quarter, longer or quarter) if quarter else None
                made = made or (_balance(setting, topic.name) if topic.kind == MONEY else None)
                if made:
                    yield made
        if quarter and longer:
            yield from (
                o
                for o in (
                    _growth(setting, quarter, longer, "revenue", "Revenue growth"),
                    _growth(setting, quarter, longer, "profit", "Net profit growth"),
                    _margin(setting, quarter, longer),
                )
                if o
            )


def _flow(setting: Setting, topic: str, quarter: Span, longer: Span) -> Orbit | None:
    """A flow over the stretches that reports state or give; `longer` is the quarter itself in a first quarter."""
    found = leading(replace(setting, flow=quarter, instant=None), topic)
    if not found:
        return None
    concept, figure = found
    alternatives = [_stretch(setting, topic, concept, quarter, figure)]
    to_date = setting.report.figure(concept, longer)
    if longer != quarter and to_date:
        alternatives.append(_stretch(setting, topic, concept, longer, to_date))
    subtype = "quarter or to date"
    year = _last_year(setting, concept, longer)
    if year:
        alternatives.append(_stretch(setting, topic, concept, *year))
        quantity = _trailing(setting, concept, longer, *year) if topics()[topic].kind == MONEY else None
        calendar = longer[1][5:] >= "12-25"
        if quantity and (calendar or longer != quarter):
            alternatives.append(_twelve_months(setting, topic, concept, longer[1], quantity, calendar))
            subtype = "fiscal or calendar year" if calendar else subtype
    if len(alternatives) < 2 or any(a.value <= 0 for a in alternatives):
        return None
    return orbit(f"{_NAME}/{subtype}", topic, setting, alternatives)


def _stretch(setting: Setting, topic: str, concept: str, span: Span, figure: Figure) -> Alternative:
    said, period, constraint = _SAID[months(span)]
    return reading(
        setting,
        f"{lines()[concept].caption} ({said})",
        figure.quantity(),
        topic,
        constraint,
        period=period.format(end=span[1]),
    )


def _last_year(setting: Setting, concept: str, longer: Span) -> tuple[Span, Figure] | None:
    """The fiscal year before the year to date, from the annual report about it, filed no later than this report."""
    for report in setting.company.reports:
        if _is_later(report, setting.report):
            continue
        for span in report.whole.get(concept, {}):
            figure = report.figure(concept, span)
            if figure and months(span) == 12 and report.end == span[1] and _next_to(span[1], longer[0] or ""):
                return span, figure
    return None


def _is_later(report: Report, other: Report) -> bool:
    """Whether it came after another; by the years of their numbers where a source gives no date of filing."""
    if report.filed and other.filed:
        return report.filed > other.filed
    year, others = _year_filed(report), _year_filed(other)
    return year is not None and others is not None and year > others


def _year_filed(report: Report) -> int | None:
    """2010 of a report numbered 0001193125-10-042974; EDGAR begins in 1993."""
    if report.filed:
        return int(report.filed[:4])
    year = re.fullmatch(r"\d{10}-(\d\d)-\d{6}", report.accession or "")
    return (2000 if int(year[1]) < 93 else 1900) + int(year[1]) if year else None


def _trailing(setting: Setting, concept: str, longer: Span, span: Span, year: Figure) -> Quantity | None:
    """The twelve months to the end of the year to date, computed from the last fiscal year, `span`.

    None where the report has taken operations out of the stretches that the annual report still has in its year.
    """
    if lines()[concept].topic not in _ALL_OPERATIONS and _has_discontinued(setting.report):
        return None
    to_date = setting.report.figure(concept, longer)
    before = same_stretch(setting.report.whole.get(concept, {}), longer)
    # The last fiscal year begins with the stretch of a year before.
    if to_date is None or before is None or before[0][0] != span[0]:
        return None
    return derived("trailing", year, to_date, before[1])


# Lines that operations which are given up stay in.
_ALL_OPERATIONS = (
    *("profit", "comprehensive income", "dividends", "buybacks", "capital expenditure"),
    *("operating cash flow", "financing cash flow", "investing cash flow"),
)


def _has_discontinued(report: Report) -> bool:
    """Whether it states anything but nought of discontinued operations, over this year's stretches or the last's."""
    return any(
        "Discontinued" in concept and span[0] is not None and figure.value != 0
        for concept, spans in report.whole.items()
        for span, figure in spans.items()
    )


def _twelve_months(
    setting: Setting, topic: str, concept: str, end: str, quantity: Quantity, calendar: bool
) -> Alternative:
    said, period, constraint = _CALENDAR if calendar else _TRAILING
    caption = f"{lines()[concept].caption} ({said})"
    return reading(setting, caption, quantity, topic, constraint, period=period.format(end=end))


def _next_to(end: str, start: str) -> bool:
    return 0 <= (date.fromisoformat(start) - date.fromisoformat(end)).days <= 1


def _balance(setting: Setting, topic: str) -> Orbit | None:
    """A balance at the quarter's end and at the end of the fiscal year before."""
    if setting.instant is None or setting.flow is None:
        return None
    found = leading(replace(setting, flow=None), topic)
    year_end = _last_year_end(setting)
    before = setting.report.figure(found[0], (None, year_end)) if found and year_end else None
    if not found or not before or before.value <= 0 or found[1].value <= 0:
        return None
    concept, now = found
    quantities = ((setting.end, now, "close of the quarter"), (str(year_end), before, "last fiscal year-end"))
    return orbit(
        f"{_NAME}/balance date",
        topic,
        setting,
        [
            reading(
                setting,
                f"{lines()[concept].caption} ({_dated(setting.day(end), place)})",
                figure.quantity(),
                topic,
                f"the balance at the {said}",
                period=f"balance at the {said}, {end}",
            )
            for place, (end, figure, said) in enumerate(quantities)
        ],
    )


def _dated(day: str, place: int) -> str:
    return f"{day}, fiscal year-end" if place else f"quarter close, {day}"


def _last_year_end(setting: Setting) -> str | None:
    """The date of the other column of a quarterly balance sheet: the best attested instant of the year before."""
    count: dict[str, int] = {}
    for spans in setting.report.whole.values():
        for start, end in spans:
            if start is None and end < setting.end:
                count[end] = count.get(end, 0) + 1
    best = max(count, key=lambda end: (count[end], end), default=None)
    if best is None or not 2 <= months((best, setting.end)) <= 11 or count[best] < 5:
        return None
    return best


def _growth(setting: Setting, quarter: Span, longer: Span, topic: str, caption: str) -> Orbit | None:
    """Growth of revenue, or of net profit, on the year before, over the quarter and over the year to date."""
    at = replace(setting, flow=quarter, instant=None)
    concept = "NetIncomeLoss" if topic == "profit" else (total_revenue(at) or ("", None))[0]
    rate = f"{topic} growth rate"
    alternatives = []
    for span in (quarter, longer):
        figure = setting.report.figure(concept, span)
        before = same_stretch(setting.report.whole.get(concept, {}), span)
        if figure and before and min(figure.value, before[1].value) > 0:
            alternatives.append(_rate(setting, caption, rate, span, figure, before[1], "growth"))
    if len(alternatives) < 2 or any(abs(a.value) > FASTEST for a in alternatives):
        return None
    return orbit(f"{_NAME}/growth", rate, setting, alternatives)


def _margin(setting: Setting, quarter: Span, longer: Span) -> Orbit | None:
    """Net margin over the quarter and over the year to date."""
    alternatives = []
    for span in (quarter, longer):
        at = replace(setting, flow=span, instant=None)
        revenue, profit = total_revenue(at), at.figure("NetIncomeLoss")
        if revenue and profit and revenue[1].value > 0 and 0 < profit.value < revenue[1].value:
            alternatives.append(_rate(setting, "Net margin", "profit margin", span, profit, revenue[1], "ratio"))
    return orbit(f"{_NAME}/margin", "profit margin", setting, alternatives) if len(alternatives) == 2 else None


def _rate(
    setting: Setting, caption: str, topic: str, span: Span, above: Figure, below: Figure, operation: str
) -> Alternative:
    said, period, constraint = _SAID[months(span)]
    quantity = derived(operation, above, below)
    assert quantity.kind == PERCENT
    end = span[1]
    return reading(setting, f"{caption} ({said}, computed)", quantity, topic, constraint, period=period.format(end=end))
