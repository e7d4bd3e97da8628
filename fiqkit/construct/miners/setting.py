"""What all miners share: the period that a report is about, the lines around a question, and the shape of an orbit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from fiqkit.construct.holdings import Company, Figure, Report, Span, months, span_of
from fiqkit.construct.orbits import OPERATIONS, Alternative, Orbit, Proof, Quantity, Row, Source, apart
from fiqkit.construct.topics import PERCENT, concepts, lines, topics
from fiqkit.records import Interpretation

WHOLE = {"en": "consolidated, the whole company", "zh": "合并口径"}
PARENT = {"en": "attributable to the shareholders of the parent company", "zh": "归属于母公司股东"}
_CLOSED, _CENT = 0.05, 0.0101  # of a difference, and of one per share, for rounding
FASTEST = 300.0  # percent; growth from next to nothing is no rate that anybody would quote
# Families of topics whose figures may be negative; an expense of less than nothing is one whose sign was turned.
_EITHER_SIGN = {
    *("profit", "eps", "profit growth", "revenue growth", "growth", "equity", "retained earnings"),
    *(
        "comprehensive income",
        "income taxes",
        "other income",
        "pre-tax profit",
        "operating profit",
        "minority interest",
    ),
    *("operating cash flow", "financing cash flow", "investing cash flow"),
}
_LENGTHS = {3: "three months", 6: "six months", 9: "nine months", 12: "fiscal year"}
DISCONTINUED = (
    "IncomeLossFromDiscontinuedOperationsNetOfTax",
    "IncomeLossFromDiscontinuedOperationsNetOfTaxAttributableToReportingEntity",
)
_ROUNDED = ("fsds", "mined")  # sources with dates of the SEC's data sets
_ISO = re.compile(r"\d{4}-\d\d-\d\d")
_FLOWS = (12, 3, 6, 9)  # the span that a report is first of all about, in this order of preference


@dataclass(frozen=True)
class Setting:
    """One report and the one period that its passage states.

    Attributes:
        flow, instant: the spans of its flows and of its balances; either may be missing.
    """

    company: Company
    report: Report
    end: str
    flow: Span | None
    instant: Span | None

    @property
    def language(self) -> str:
        """Of the passage and the question."""
        return self.company.language

    def figure(self, concept: str) -> Figure | None:
        """A figure of the whole company over the setting's period, or at its end."""
        return self.report.figure(concept, self.flow) or self.report.figure(concept, self.instant)

    def span_of(self, concept: str) -> Span | None:
        """The span at which it has this concept."""
        return next((s for s in (self.flow, self.instant) if self.report.figure(concept, s)), None)

    def period(self, span: Span | None = None) -> str:
        """A span as interpretations and heads write it; the setting's own without an argument."""
        return period_words(span or self.flow or self.instant or (None, self.end), self.language)

    def day(self, iso: str) -> str:
        """A date as passages say it: the SEC's data sets round to a month's end, so of theirs the month alone."""
        rounded = self.report.source in _ROUNDED and self.language == "en"
        return spoken(iso[:7] if rounded else iso)

    def shown(self, period: str) -> str:
        """A period as the head of a passage says it: "three months ended June 30, 2009"."""
        if self.language == "zh":
            return period
        return _ISO.sub(lambda found: self.day(found[0]), period)

    def source(self, period: str | None = None) -> Source:
        """Where the passage comes from."""
        company, report = self.company, self.report
        return Source(
            company.entity,
            company.name,
            company.ticker,
            company.language,
            report.form,
            report.accession,
            report.filed,
            self.end,
            self.shown(period or self.period()),
            report.source,
        )


def settings(company: Company, forms: Callable[[Report], bool] = lambda report: True) -> Iterable[Setting]:
    """The settings of a company: of a filing its latest period, of a table every year; a quarter before the sum."""
    for report in company.reports:
        if not forms(report):
            continue
        for end in report.ends if report.accession is None and company.language == "zh" else report.ends[:1]:
            spans = report.spans(end)
            flow = next((spans[length] for length in _FLOWS if length in spans), None)
            yield Setting(company, report, end, flow, spans.get(0))


def period_words(span: Span, language: str) -> str:
    """ "fiscal year ended 2023-12-31", "2018-01-01至2018-06-30"."""
    length = months(span)
    if language == "zh":
        year = span[1][:4]
        if length == 12 and span[1].endswith("12-31"):
            return f"{year}年度"
        if length == 6 and span[1].endswith("06-30"):
            return f"{year}年上半年"
        return f"{span[0]}至{span[1]}" if span[0] else f"{span[1]}"
    if not length:
        return f"as of {span[1]}"
    return f"{_LENGTHS.get(length, f'{length} months')} ended {span[1]}"


def spoken(iso: str) -> str:
    """ "June 30, 2023" of "2023-06-30", "June 2023" of "2023-06"."""
    if len(iso) == 7:
        return f"{date.fromisoformat(iso + '-01'):%B %Y}"
    day = date.fromisoformat(iso)
    return f"{day:%B} {day.day}, {day.year}"


def leading(setting: Setting, topic: str) -> tuple[str, Figure] | None:
    """The first concept of a topic that the setting has, and its figure."""
    for concept in concepts(topic):
        figure = setting.figure(concept)
        if figure and printable(figure, topic):
            unclear = _repeats(setting, concept, figure) or not _continues(setting, concept, figure)
            return None if unclear else (concept, figure)
    return None


def _continues(setting: Setting, concept: str, figure: Figure) -> bool:
    """False of income from continuing operations that is apart from net income by something else."""
    if concept != "IncomeLossFromContinuingOperations":
        return True
    net = setting.figure("NetIncomeLoss")
    return net is not None and bool(bridged(setting, net, figure, DISCONTINUED))


def _repeats(setting: Setting, concept: str, figure: Figure) -> bool:
    """Whether it is 营业收入 to the fen what 营业总收入 is, as for all but lenders and insurers."""
    total = setting.figure("营业总收入") if concept == "营业收入" else None
    return total is not None and total.value == figure.value


def printable(figure: Figure, topic: str) -> bool:
    """Whether a line can show it: not nought, of the topic's kind, and no expense or balance with its sign turned."""
    return (
        figure.value != 0
        and figure.quantity().kind == topics()[topic].kind
        and (figure.value > 0 or topics()[topic].family in _EITHER_SIGN)
    )


def total_revenue(setting: Setting) -> tuple[str, Figure] | None:
    """The revenue that a rate is of, and its concept.

    A bank's total is net of its interest expense; what it files as revenue from contracts with customers is a part.
    """
    for concept in ("Revenues", "RevenuesNetOfInterestExpense"):
        figure = setting.figure(concept)
        if figure:
            return concept, figure
    return leading(setting, "revenue")


def around(setting: Setting, topic: str) -> tuple[Row, ...]:
    """Other lines of the same report and period: one a topic, none of the family that is asked for."""
    asked = topics()[topic].family
    rows = []
    for name, other in topics().items():
        found = leading(setting, name) if other.family != asked else None
        if found:
            rows.append(Row(lines()[found[0]].caption, found[1].quantity(), name))
    return tuple(rows)


def beside(setting: Setting, topic: str) -> tuple[Row, ...]:
    """Other lines of the same period, from whichever reports of the company state it; a hand-read table has few."""
    rows: dict[str, Row] = {}
    for report in (setting.report, *setting.company.reports):
        for row in around(replace(setting, report=report), topic):
            rows.setdefault(row.topic, row)
    return tuple(rows.values())


_RATIOS = {  # caption, operation, what is divided, by what
    "zh": (
        ("实际所得税率（所得税费用÷利润总额，计算值）", "ratio", ("所得税费用",), ("利润总额",)),
        ("税前利润率（利润总额÷营业总收入，计算值）", "ratio", ("利润总额",), ("总营收", "营业总收入")),
        ("营业总收入同比增长率（计算值）", "growth", ("营业总收入", "revenue"), ()),
    ),
    "en": (),
}
_COMPARATIVES = ("营业总收入", "revenue", "少数股东损益", "minority_interest_profit")  # as statements print them


def comparatives(setting: Setting, topic: str) -> Iterator[Row]:
    """The year before beside some lines of a Chinese table, which prints few; none of the family that is asked for."""
    earlier = year_before(setting.flow)
    for concept in _COMPARATIVES if setting.language == "zh" and earlier else ():
        line, figure = lines()[concept], setting.report.figure(concept, earlier)
        if figure and setting.figure(concept) and topics()[line.topic].family != topics()[topic].family:
            yield Row(f"{line.caption}（{setting.period(earlier)}）", figure.quantity(), line.topic)


def ratios(setting: Setting, topic: str) -> Iterator[Row]:
    """Lines that are computed from others, and say so; where a source prints few."""
    for caption, operation, above, below in _RATIOS[setting.language]:
        top = next((f for name in above if (f := setting.figure(name))), None)
        if operation == "growth":
            bottom = next((f for name in above if (f := setting.report.figure(name, year_before(setting.flow)))), None)
        else:
            bottom = next((f for name in below if (f := setting.figure(name))), None)
        family = "revenue growth" if operation == "growth" else "ratio"
        if top and bottom and bottom.value > 0 and family != topics()[topic].family:
            quantity = derived(operation, top, bottom)
            if operation != "growth" or abs(quantity.value) <= FASTEST:
                yield Row(caption, quantity, family)


def year_before(span: Span | None) -> Span | None:
    """The same span a year earlier, to the day; None where that is no date or there is none."""
    if span is None or span[0] is None:
        return None
    try:
        start, end = (date.fromisoformat(day) for day in span if day)
        return start.replace(year=start.year - 1).isoformat(), end.replace(year=end.year - 1).isoformat()
    except ValueError:
        return None


def same_stretch(spans: Mapping[Span, Figure], span: Span) -> tuple[Span, Figure] | None:
    """The comparative of a span: as long, and a year earlier, whatever the weekday on which either ends."""
    for other, figure in spans.items():
        gap = (int(span[1][:4]) * 12 + int(span[1][5:7])) - (int(other[1][:4]) * 12 + int(other[1][5:7]))
        if months(other) == months(span) and other != span and gap == 12:
            return other, figure
    return None


def bridged(setting: Setting, one: Figure, other: Figure, bridges: Sequence[str]) -> bool | None:
    """Whether what separates two figures is a figure that the report states under one of these concepts.

    Allowances and accumulated depreciation are filed with either sign. None where it states none of them.
    """
    stated = [abs(figure.value) for name in bridges if (figure := setting.figure(name))]
    gap = abs(one.value - other.value)
    return any(abs(value - gap) <= max(_CLOSED * gap, _CENT) for value in stated) if stated else None


def derived(operation: str, *figures: Figure) -> Quantity:
    """A quantity computed from figures by one of `OPERATIONS`."""
    value = OPERATIONS[operation]([figure.value for figure in figures])
    kind = PERCENT if operation.endswith(("ratio", "growth")) else figures[0].quantity().kind
    return Quantity(value, kind, Proof(operation, tuple(f.name for f in figures)), figures[0].quantity().currency)


def reading(
    setting: Setting,
    caption: str,
    quantity: Quantity,
    topic: str,
    constraint: str,
    **fields: str | None,
) -> Alternative:
    """An alternative; fields that are not given are the whole company, the period of its first fact, and the topic."""
    stated: dict[str, str | None] = {
        "entity": WHOLE[setting.language],
        "period": period_words(span_of(quantity.proof.facts[0]), setting.language),
        "metric": topics()[topic].words[setting.language][0],
    }
    return Alternative(Interpretation(**(stated | fields)), Row(caption, quantity, topic), constraint)


def orbit(
    miner: str,
    topic: str,
    setting: Setting,
    alternatives: Sequence[Alternative | None],
    *,
    most: int = 4,
    other: Sequence[Row] | None = None,
    period: str | None = None,
) -> Orbit | None:
    """An orbit of those alternatives that are there and apart from every one before them; None when one is left alone.

    The headline, which comes first, must be there.
    """
    kept: list[Alternative] = []
    for place, alternative in enumerate(alternatives):
        if alternative is None or alternative.value == 0 or alternative.row.quantity.kind != topics()[topic].kind:
            if place == 0:
                return None
            continue
        if all(apart(alternative.value, a.value, a.row.quantity.kind) for a in kept) and len(kept) < most:
            kept.append(alternative)
        elif place and len(alternatives) == 2:
            return None
    if len(kept) < 2:
        return None
    rows = (
        other
        if other is not None
        else (*around(setting, topic), *comparatives(setting, topic), *ratios(setting, topic))
    )
    return Orbit(miner, topic, setting.source(period), tuple(kept), tuple(rows))
