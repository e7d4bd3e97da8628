"""Entity scope: whose figure is meant.

- minority: what the group earned or owns, and the share of it that belongs to the parent's shareholders. Both stand
  under the same name in statements; press releases lead with the parent's share.
- segment, region, subsidiary: the company's total and its parts, where a reader may know the part by the company's
  name. Eliminations, corporate items and "all other" are nobody's reading; a part below a tenth of the total neither.
- segment rate: growth of revenue and operating margin of the company and of its parts, as analysts quote both.
- share class: earnings per share of one class of stock or another, where their rights differ (Visa's A, B and C).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from fiqkit.construct.holdings import Company, Figure, Report, Span
from fiqkit.construct.miners.chinese import OWNER, equity, profits
from fiqkit.construct.miners.setting import (
    FASTEST,
    PARENT,
    WHOLE,
    Setting,
    bridged,
    derived,
    leading,
    orbit,
    reading,
    same_stretch,
    settings,
    total_revenue,
)
from fiqkit.construct.names import part_name
from fiqkit.construct.orbits import Alternative, Orbit
from fiqkit.construct.topics import lines
from fiqkit.filings.labels import label

_NAME = "entity_scope"
# topic → (concept of the parent's share, of the group, of the minority's share, what is said of it)
_MINORITY = {
    "profit": (
        "NetIncomeLoss",
        "ProfitLoss",
        (
            "NetIncomeLossAttributableToNoncontrollingInterest",
            "MinorityInterestInNetIncomeLossOfConsolidatedEntities",
        ),
        "Net income",
    ),
    "equity": (
        "StockholdersEquity",
        "StockholdersEquityIncludingPortionAttributableToNoncontrollingInterest",
        ("MinorityInterest",),
        "Total equity",
    ),
    "comprehensive income": (
        "ComprehensiveIncomeNetOfTax",
        "ComprehensiveIncomeNetOfTaxIncludingPortionAttributableToNoncontrollingInterest",
        ("ComprehensiveIncomeNetOfTaxAttributableToNoncontrollingInterest",),
        "Comprehensive income",
    ),
}
_PREFERRED = ("PreferredStockDividends", "DividendsPreferredStock", "PreferredStockDividendsAndOtherAdjustments")
_AXES = {
    "us-gaap:StatementBusinessSegmentsAxis": "segment",
    "BusinessSegments": "segment",
    "SegmentReportingInformationBySegment": "segment",
    "Segment": "segment",
    "srt:StatementGeographicalAxis": "region",
    "coreg": "subsidiary",
}
_NOBODYS = re.compile(
    r"corporat|other|^non|eliminat|intersegment|operating ?segments?$|reportable|unallocat|nonsegment|consolidat|total|"
    r"parent|guarantor|issuer|adjust|reconcil|discontinu|subsidiar|member|continu|single|inter-?company|group$|"
    r"entity|limited|combined|company$|^domestic|^international|^foreign|^rest of|^all\b|^geographical|excluding|"
    r"vendor|\d",
    re.IGNORECASE,
)
# A member's identifier has lost its commas and ampersands: four words without an "and" are a list, not a name.
_SAYABLE = re.compile(r"\S+(?: \S+){0,2}|(?=.* and ).{1,40}")
_TOPICS = (
    "revenue",
    "profit",
    "operating income",
    "assets",
    "cost of sales",
    "capital expenditure",
    "depreciation",
    "property",
    "income taxes",
    "interest",
    "goodwill",
    "long-term debt",
    "operating cash flow",
    "cash",
    "receivables",
    "inventories",
)
_PARTS = 3  # parts that an orbit has at most, beside the total
_SMALLEST = 0.1


def mine(company: Company) -> Iterator[Orbit]:
    """Orbits over whose figure is meant."""
    for setting in settings(company):
        if company.language == "zh":
            found = [*profits(setting, OWNER, _NAME, "minority"), equity(setting, _NAME)]
        else:
            found = [_minority(setting, topic) for topic in _MINORITY]
        found += [_parts(setting, topic) for topic in _TOPICS]
        found += [_part_growth(setting), _part_margin(setting), _classes(setting)]
        yield from (o for o in found if o)


def _minority(setting: Setting, topic: str) -> Orbit | None:
    """None where a stated minority's share is not what separates the two, or preferred dividends are."""
    parent, group, minority, name = _MINORITY[topic]
    mine, whole = setting.figure(parent), setting.figure(group)
    if not mine or not whole or mine.value * whole.value <= 0:
        return None
    if bridged(setting, mine, whole, minority) is False or bridged(setting, mine, whole, _PREFERRED):
        return None
    return orbit(
        f"{_NAME}/minority",
        topic,
        setting,
        (
            reading(
                setting,
                f"{name} attributable to the parent company",
                mine.quantity(),
                topic,
                "the amount attributable to the parent company's shareholders",
                entity=PARENT["en"],
            ),
            reading(
                setting,
                f"{name} including noncontrolling interests",
                whole.quantity(),
                topic,
                "the amount including noncontrolling interests",
                entity="consolidated, including noncontrolling interests",
            ),
        ),
    )


def _parts(setting: Setting, topic: str) -> Orbit | None:
    """A total and its largest parts along one axis."""
    total = leading(setting, topic)
    if not total or total[1].value < 0:
        return None
    concept, figure = total
    span = setting.span_of(concept)
    assert span is not None
    for axis, kind in _AXES.items():
        parts = _largest(setting.report, concept, axis, span, figure.value)
        if parts:
            return orbit(
                f"{_NAME}/{kind}",
                topic,
                setting,
                (_whole(setting, topic, concept, figure), *(_part(setting, topic, concept, kind, *p) for p in parts)),
            )
    return None


def _part_growth(setting: Setting) -> Orbit | None:
    """Growth of revenue on the year before, of the company and of its parts."""
    total = total_revenue(setting)
    span = setting.flow
    before = same_stretch(setting.report.whole.get(total[0], {}), span) if total and span else None
    if not total or not span or not before or min(total[1].value, before[1].value) <= 0:
        return None
    for axis, kind in _AXES.items():
        rates = [_rate(setting, "Revenue growth", "revenue growth rate", "growth", None, total[1], before[1])]
        for name, figure, spans in _parts_of(setting.report, total[0], axis, span, total[1].value):
            earlier = same_stretch(spans, span)
            if earlier and earlier[1].value > 0:
                part = (kind, name)
                rates.append(
                    _rate(setting, "Revenue growth", "revenue growth rate", "growth", part, figure, earlier[1])
                )
        if len(rates) > 1:
            return orbit(f"{_NAME}/{kind} rate", "revenue growth rate", setting, rates)
    return None


def _part_margin(setting: Setting) -> Orbit | None:
    """Operating income over revenue, of the company and of its parts."""
    revenue, profit, span = total_revenue(setting), setting.figure(_OPERATING), setting.flow
    if not revenue or not profit or not span or not 0 < profit.value < revenue[1].value:
        return None
    # An insurer's gains on investments are in its own margin and in none of its segments'.
    if any(concept.startswith(_GAINS) for concept in setting.report.whole):
        return None
    for axis, kind in _AXES.items():
        rates = [_rate(setting, "Operating margin", "profit margin", "ratio", None, profit, revenue[1])]
        for name, figure, _ in _parts_of(setting.report, revenue[0], axis, span, revenue[1].value):
            earned = _part_figure(setting.report, _OPERATING, axis, name, span)
            if earned and 0 < earned.value < figure.value:
                rates.append(_rate(setting, "Operating margin", "profit margin", "ratio", (kind, name), earned, figure))
        if len(rates) > 1:
            return orbit(f"{_NAME}/{kind} rate", "profit margin", setting, rates)
    return None


_OPERATING = "OperatingIncomeLoss"
_GAINS = ("RealizedInvestmentGains", "GainLossOnInvestments")


def _rate(
    setting: Setting,
    measure: str,
    topic: str,
    operation: str,
    part: tuple[str, str] | None,
    above: Figure,
    below: Figure,
) -> Alternative | None:
    """A rate of the company, or of one of its parts; None for one that nobody would quote."""
    quantity = derived(operation, above, below)
    if abs(quantity.value) > FASTEST:
        return None
    if part is None:
        whole = f"{measure}, consolidated (computed)"
        return reading(setting, whole, quantity, topic, "the rate of the whole company, consolidated")
    kind, name = part
    entity, said = _names(kind, name)
    return reading(setting, f"{measure}, {name} {kind} (computed)", quantity, topic, said, entity=entity)


_CLASS = re.compile(r"(?:Common|Capital)(?:Stock)?Class([A-Z])(\d?)(?:Member)?$")


def _classes(setting: Setting) -> Orbit | None:
    """Earnings per share by class of stock, the first class leading; classes that earn alike drop out."""
    for concept, caption in (("EarningsPerShareDiluted", "Diluted"), ("EarningsPerShareBasic", "Basic")):
        found: dict[str, Figure] = {}
        for (of, axis, member), spans in setting.report.parts.items():
            named = _CLASS.search(member)
            figure = spans.get(setting.flow) if setting.flow else None
            if of == concept and axis in _CLASS_AXES and named and figure and figure.value > 0:
                found.setdefault(f"Class {named[1]}" + (f"-{named[2]}" if named[2] else ""), figure)
        made = orbit(
            f"{_NAME}/share class",
            "eps",
            setting,
            [
                reading(
                    setting,
                    f"{caption} earnings per share, {name} common stock",
                    figure.quantity(),
                    "eps",
                    f"the figure for {name} common stock",
                    entity=f"holders of {name} common stock",
                )
                for name, figure in sorted(found.items())
            ],
        )
        if made:
            return made
    return None


_CLASS_AXES = ("us-gaap:StatementClassOfStockAxis", "ClassOfStock")


def _largest(report: Report, concept: str, axis: str, span: Span, total: float) -> list[tuple[str, Figure]]:
    return [(name, figure) for name, figure, _ in _parts_of(report, concept, axis, span, total)]


def _parts_of(
    report: Report, concept: str, axis: str, span: Span, total: float
) -> list[tuple[str, Figure, dict[Span, Figure]]]:
    """The largest parts of a total along an axis: name, figure of the span, figures of every span."""
    found = []
    if _AXES[axis] == "segment" and _hold_one_another(report, concept, axis, span, total):
        return []
    for (of, along, member), spans in report.parts.items():
        figure = spans.get(span)
        if of != concept or along != axis or not figure:
            continue
        name = member_name(member)
        if name and _SMALLEST * total <= figure.value <= 1.5 * total:
            found.append((name, figure, spans))
    return sorted(found, key=lambda part: (-part[1].value, part[0]))[:_PARTS]


def _hold_one_another(report: Report, concept: str, axis: str, span: Span, total: float) -> bool:
    """Whether segments add up to more than the total, less what is eliminated between them or borne by none: then one
    of them is a sum of others, which nobody calls a segment."""
    together = 0.0
    for (of, along, member), spans in report.parts.items():
        if of != concept or span not in spans:
            continue
        value = spans[span].value
        if _ELIMINATED.search(member):
            together -= abs(value)
        elif along == axis and (value < 0 or member_name(member)):
            together += value
    return together > 1.02 * total


_ELIMINATED = re.compile(r"eliminat|intersegment", re.IGNORECASE)


def _part_figure(report: Report, concept: str, axis: str, name: str, span: Span) -> Figure | None:
    """A concept of one part, by the part's name."""
    for (of, along, member), spans in report.parts.items():
        if of == concept and along == axis and span in spans and member_name(member) == name:
            return spans[span]
    return None


_PLACES = {"US": "United States", "CN": "China", "JP": "Japan", "GB": "United Kingdom", "DE": "Germany", "CA": "Canada"}


def member_name(member: str) -> str | None:
    """What people call a part: "Collins Aerospace"; None where the part is nobody's reading or has no plain name."""
    prefix, _, local = member.rpartition(":")
    if prefix == "country":
        return _PLACES.get(local)
    name = re.sub(
        r"^Segment (?=\w)|\s+(?:(?:Reporting )?(?:Segment|Reportable Segment|Business Segment)|Co|Inc|Corp|Co LLC)$",
        "",
        label(member),
    )
    name = re.sub(r"^Segment(?=[A-Z])", "", name).replace("Non Us", "Non-U.S.")
    name = re.sub(r"(?<=\w{3}[bcdegikpsxy])and(?= [A-Z])", " and", name)  # "Energyand Transportation"
    if known := part_name(name):
        return known
    if _NOBODYS.search(name) or not _SAYABLE.fullmatch(name) or len(name) < 3 or re.search(r"[a-z]{16}", name):
        return None
    return re.sub(r"\b[Aa]nd\b", "and", name)


def _whole(setting: Setting, topic: str, concept: str, figure: Figure) -> Alternative:
    return reading(
        setting,
        f"{lines()[concept].caption}, consolidated",
        figure.quantity(),
        topic,
        "the consolidated figure for the whole company",
        entity=WHOLE["en"],
    )


def _names(kind: str, name: str) -> tuple[str, str]:
    """What an interpretation and a user call a part."""
    entity = {"segment": f"{name} segment", "region": f"{name} region only", "subsidiary": f"{name} subsidiary"}
    said = {
        "segment": f"the figure of the {name} segment alone",
        "region": f"the figure for the {name} region alone",
        "subsidiary": f"the figure of the subsidiary {name} alone",
    }
    return entity[kind], said[kind]


def _part(setting: Setting, topic: str, concept: str, kind: str, name: str, figure: Figure) -> Alternative:
    entity, said = _names(kind, name)
    return reading(setting, f"{lines()[concept].caption}, {name} {kind}", figure.quantity(), topic, said, entity=entity)
