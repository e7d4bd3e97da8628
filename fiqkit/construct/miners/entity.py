"""Entity scope: whose figure is meant.

- minority: what the group earned or owns, and the share of it that belongs to the parent's shareholders. Both stand
  under the same name in statements; press releases lead with the parent's share.
- segment, region, subsidiary: the company's total and its parts, where a reader may know the part by the company's
  name. Eliminations, corporate items and "all other" are nobody's reading; a part below a tenth of the total neither.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from fiqkit.construct.holdings import Company, Figure, Report, Span
from fiqkit.construct.miners.setting import (
    PARENT,
    WHOLE,
    Setting,
    derived,
    leading,
    orbit,
    reading,
    settings,
    year_before,
)
from fiqkit.construct.orbits import Alternative, Orbit
from fiqkit.construct.topics import lines
from fiqkit.filings.labels import label

_NAME = "entity_scope"
# topic → (concept of the parent's share, of the group, what is said of it)
_MINORITY = {
    "profit": ("NetIncomeLoss", "ProfitLoss", "Net income"),
    "equity": (
        "StockholdersEquity",
        "StockholdersEquityIncludingPortionAttributableToNoncontrollingInterest",
        "Total equity",
    ),
    "comprehensive income": (
        "ComprehensiveIncomeNetOfTax",
        "ComprehensiveIncomeNetOfTaxIncludingPortionAttributableToNoncontrollingInterest",
        "Comprehensive income",
    ),
}
_AXES = {
    "us-gaap:StatementBusinessSegmentsAxis": "segment",
    "BusinessSegments": "segment",
    "OperatingActivitiesSegment": "segment",
    "SegmentReportingInformationBySegment": "segment",
    "Segment": "segment",
    "srt:StatementGeographicalAxis": "region",
    "coreg": "subsidiary",
}
_NOBODYS = re.compile(
    r"corporat|other|^non|eliminat|intersegment|operating ?segments?$|reportable|unallocat|nonsegment|consolidat|total|"
    r"parent|guarantor|issuer|adjust|reconcil|discontinu|subsidiar|member|continu|single|inter-?company|group$|"
    r"entity|limited|combined|company$|^domestic|\d",
    re.IGNORECASE,
)
_TOPICS = (
    "revenue",
    "profit",
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
_FASTEST = 300  # percent; growth from next to nothing is no rate that anybody would quote


def mine(company: Company) -> Iterator[Orbit]:
    """Orbits over whose figure is meant."""
    for setting in settings(company):
        chinese = company.language == "zh"
        found = [_chinese(setting), _chinese_growth(setting)] if chinese else [_minority(setting, t) for t in _MINORITY]
        found += [_parts(setting, topic) for topic in _TOPICS]
        yield from (o for o in found if o)


def _minority(setting: Setting, topic: str) -> Orbit | None:
    parent, group, name = _MINORITY[topic]
    mine, whole = setting.figure(parent), setting.figure(group)
    if not mine or not whole or mine.value * whole.value <= 0:
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


_ZH = (
    (
        ("归母净利润", "net_profit_parent"),
        "净利润（归属于母公司股东）",
        PARENT["zh"],
        "归属于母公司股东的净利润，不含少数股东损益",
    ),
    (
        ("净利润", "net_profit_incl_minority"),
        "净利润（含少数股东损益）",
        "合并口径，含少数股东损益",
        "含少数股东损益的净利润",
    ),
)


def _chinese(setting: Setting) -> Orbit | None:
    """净利润 with or without the minority's share; tables call the parent's share 净利润 too: both must be there."""
    alternatives = []
    for names, caption, entity, constraint in _ZH:
        figure = next((f for name in names if (f := setting.figure(name))), None)
        if not figure or figure.value <= 0:
            return None
        alternatives.append(reading(setting, caption, figure.quantity(), "profit", constraint, entity=entity))
    return orbit(f"{_NAME}/minority", "profit", setting, alternatives)


def _chinese_growth(setting: Setting) -> Orbit | None:
    """The growth of either, on the year before."""
    alternatives = []
    for names, caption, entity, constraint in _ZH:
        now = next((f for name in names if (f := setting.figure(name))), None)
        before = next((f for name in names if (f := setting.report.figure(name, year_before(setting.flow)))), None)
        if not now or not before or min(now.value, before.value) <= 0:
            return None
        quantity = derived("growth", now, before)
        if abs(quantity.value) > _FASTEST:
            return None
        caption = f"{caption}增长率（较上年，计算值）"
        alternatives.append(reading(setting, caption, quantity, "profit growth rate", constraint, entity=entity))
    return orbit(f"{_NAME}/growth", "profit growth rate", setting, alternatives)


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


def _largest(report: Report, concept: str, axis: str, span: Span, total: float) -> list[tuple[str, Figure]]:
    found = []
    for (of, along, member), spans in report.parts.items():
        figure = spans.get(span)
        if of != concept or along != axis or not figure:
            continue
        name = member_name(member)
        if name and _SMALLEST * total <= figure.value <= 1.5 * total:
            found.append((name, figure))
    return sorted(found, key=lambda pair: (-pair[1].value, pair[0]))[:_PARTS]


_PLACES = {"US": "United States", "CN": "China", "JP": "Japan", "GB": "United Kingdom", "DE": "Germany", "CA": "Canada"}


def member_name(member: str) -> str | None:
    """What people call a part: "Collins Aerospace"; None where the part is nobody's reading or has no plain name."""
    prefix, _, local = member.rpartition(":")
    if prefix == "country":
        return _PLACES.get(local)
    name = re.sub(
        r"^Segment (?=\w)|\s+(?:Reporting )?(?:Segment|Reportable Segment|Business Segment)$", "", label(member)
    )
    name = re.sub(r"^Segment(?=[A-Z])", "", name).replace("Non Us", "Non-U.S.")
    if _NOBODYS.search(name) or not 1 <= len(name.split()) <= 4 or len(name) < 3 or re.search(r"[a-z]{16}", name):
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


def _part(setting: Setting, topic: str, concept: str, kind: str, name: str, figure: Figure) -> Alternative:
    entity = {"segment": f"{name} segment", "region": f"{name} region only", "subsidiary": f"{name} subsidiary"}[kind]
    said = {
        "segment": f"the figure of the {name} segment alone",
        "region": f"the figure for the {name} region alone",
        "subsidiary": f"the figure of the subsidiary {name} alone",
    }[kind]
    return reading(setting, f"{lines()[concept].caption}, {name} {kind}", figure.quantity(), topic, said, entity=entity)
