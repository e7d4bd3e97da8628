"""US drafts from the figures of 10-K and 10-Q reports: by entity, by period, by metric.

Which company serves which category is set here, the scarce categories having been served first; every number comes from
the candidates.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from fiqkit.construct.bundled.draft import Draft, Fact, Filing, Reading, apart
from fiqkit.construct.bundled.us_facts import CONCEPTS, KINDS, Key, UsFacts, days, spoken
from fiqkit.datasets import read_jsonl
from fiqkit.records import Interpretation

_WHOLE = "consolidated"

# CIK → (concept, the segment asked about, whether it may also be the default: it is where most of the company is, or
# bears its name; elsewhere nobody takes a part for the whole). META's and AMD's segment earns more than the whole.
_SEGMENTS = {
    "1326801": ("OperatingIncomeLoss", "Family Of Apps", True),
    "2488": ("OperatingIncomeLoss", "Datacenter", False),
    "12927": ("Revenues", "Commercial Airplanes", False),
    "731766": ("Revenues", "Unitedhealthcare", True),
    "80424": ("Revenues", "Beauty", False),
}
_SEGMENT_NAMES = {
    "Family Of Apps": "Family of Apps",
    "Datacenter": "Data Center",
    "Boeing Defense Space Security": "Defense, Space & Security",
    "Unitedhealthcare": "UnitedHealthcare",
    "Optumhealth": "Optum Health",
    "Optuminsight": "Optum Insight",
    "Optumrx": "Optum Rx",
    "Fabric Home Care": "Fabric & Home Care",
    "Baby Feminine Family Care": "Baby, Feminine & Family Care",
}
_MINORITY = ("104169", "101829", "1321655", "833444", "21665")
_SCOPES = (
    ("ProfitLoss", "consolidated, including noncontrolling interests", "the figure with outside owners' share in it"),
    (
        "NetIncomeLoss",
        "attributable to the shareholders of the parent company",
        "only what belongs to its own shareholders",
    ),
)

_BASIC = ("EarningsPerShareBasic", "the figure on the shares outstanding alone")
_DILUTED = (
    "EarningsPerShareDiluted",
    "the figure that also counts the shares which options and convertibles would add",
)
# CIK → the two concepts, each with what would fix it
_METRIC = {
    "1318605": (_BASIC, _DILUTED),
    "949870": (_BASIC, _DILUTED),
    "1507605": (_BASIC, _DILUTED),
    "200406": (
        ("IncomeLossFromContinuingOperations", "the figure without the businesses that it gave up"),
        ("NetIncomeLoss", "the figure in which the businesses that it gave up still count"),
    ),
    "40545": (
        ("NetIncomeLoss", "the figure before the holders of preferred stock are paid"),
        ("NetIncomeLossAvailableToCommonStockholdersBasic", "only what is left for common stock"),
    ),
}
# CIK → (metric, spans of time that it is asked for; the first two are the pair)
_TEMPORAL = {
    "1403161": ("revenue", ("Q", "YTD")),
    "97476": ("revenue", ("Q", "YTD")),
    "1090727": ("revenue", ("Q", "YTD")),
    "858877": ("revenue", ("Q", "YTD")),
    "100885": ("earnings per share", ("Q", "YTD")),
    "354950": ("net income", ("Q", "FY", "YTD")),
    "60667": ("net income", ("Q", "FY", "YTD")),
    "63908": ("net income", ("Q", "FY", "YTD")),
    "14272": ("earnings per share", ("Q", "FY", "YTD")),
    "1800": ("earnings per share", ("Q", "FY", "YTD")),
}


def entity_drafts(candidates: Path, facts: UsFacts) -> list[Draft]:
    """The whole company or a segment of it; with or without noncontrolling interests."""
    return [*_segments(candidates, facts), *(_minority(facts, cik) for cik in _MINORITY)]


def temporal_drafts(facts: UsFacts) -> list[Draft]:
    """A quarter, the year to date or the full year."""
    return [_temporal(facts, cik, metric, spans) for cik, (metric, spans) in _TEMPORAL.items()]


def metric_drafts(facts: UsFacts) -> list[Draft]:
    """Basic or diluted; continuing or all operations; before or after preferred stock."""
    return [_metric(facts, cik, *pair) for cik, pair in _METRIC.items()]


# --- entity ---------------------------------------------------------------------------------------------------------


def _segments(candidates: Path, facts: UsFacts) -> list[Draft]:
    """The whole company or one of its segments."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for _, row in read_jsonl(candidates / "entity_scope_us_ixbrl.jsonl"):
        concept, *_ = _SEGMENTS.get(row["cik"], ("",))
        if row["concept"].endswith(":" + concept) and row["period_kind"] == "FY" and row["end"] == row["filing_period"]:
            of_filing = found.setdefault((row["cik"], row["end"]), {"row": row, "segments": {}})
            if of_filing["row"]["file"] == row["file"]:
                of_filing["segments"][row["segment"]] = row["segment_value"]
    latest = {cik: of_filing for (cik, _), of_filing in sorted(found.items())}
    return [_segment(facts, cik, latest[cik]) for cik in _SEGMENTS]


def _segment(facts: UsFacts, cik: str, of_filing: dict[str, Any]) -> Draft:
    concept, asked, either_way = _SEGMENTS[cik]
    row = of_filing["row"]
    key = next(key for key in facts.keys(cik, "FY") if key.file == row["file"])
    metric = CONCEPTS[concept].topic
    period = f"fiscal year ended {row['end']}"
    whole = Reading(
        Interpretation("consolidated, all segments", period, metric, "US GAAP"),
        Fact(f"{metric.capitalize()}, all segments and corporate items together", row["consolidated"]),
        "the whole company",
    )
    parts = [
        Reading(
            Interpretation(f"{name} segment", period, metric, "US GAAP"),
            Fact(f"{metric.capitalize()}, {name} segment", value),
            f"only the {name} business",
        )
        for name, value in ((_SEGMENT_NAMES.get(s, s), v) for s, v in sorted(of_filing["segments"].items()))
    ]
    wanted = next(i for i, part in enumerate(parts, 1) if part.interpretation.entity == f"{_named(asked)} segment")
    around = facts.around(key, {metric}, limit=3)
    return Draft(facts.filing(key), metric, (whole, *parts), (0, wanted), None if either_way else wanted, around)


def _named(segment: str) -> str:
    return _SEGMENT_NAMES.get(segment, segment)


def _minority(facts: UsFacts, cik: str) -> Draft:
    key, values = _latest(facts, cik, [concept for concept, _, _ in _SCOPES])
    readings = tuple(
        Reading(
            Interpretation(entity, f"fiscal year ended {key.end}", "net income", "US GAAP"),
            Fact(CONCEPTS[concept].caption, value),
            constraint,
        )
        for (concept, entity, constraint), value in zip(_SCOPES, values, strict=True)
    )
    return Draft(facts.filing(key), "net income", readings, facts=facts.around(key, {"net income"}))


# --- period ---------------------------------------------------------------------------------------------------------


_PREFERRED = (
    "Revenues",
    "RevenueFromContractWithCustomerExcludingAssessedTax",
    "NetIncomeLoss",
    "EarningsPerShareDiluted",
)
_SPANS = {
    "Q": ("quarter, three months ended {end}", "three months ended {date}", "the {nth} quarter by itself"),
    "YTD": ("year to date, {span} ended {end}", "first {span} of the fiscal year, up to {date}", "the first {span}"),
    "FY": ("full fiscal year ended {end}", "fiscal year ended {date}", "all twelve months"),
}
_QUARTERS = {"H1": "second", "9M": "third"}


def _temporal(facts: UsFacts, cik: str, metric: str, spans: tuple[str, ...]) -> Draft:
    """The same figure over a quarter, the year to date and, where an annual report is at hand, the full year."""
    keys = _aligned(facts, cik, with_year="FY" in spans)
    topic = "eps" if metric == "earnings per share" else metric
    asked = next(name for name in _PREFERRED if CONCEPTS[name].topic == topic and name in facts.at(keys["Q"]))
    readings = []
    for span in spans:
        period, caption, constraint = (
            text.format(
                end=keys[span].end,
                date=spoken(keys[span].end),
                span=KINDS[keys[span].kind],
                nth=_QUARTERS[keys["YTD"].kind],
            )
            for text in _SPANS[span]
        )
        fact = Fact(f"{CONCEPTS[asked].caption}, {caption}", facts.at(keys[span])[asked], CONCEPTS[asked].unit)
        readings.append(Reading(Interpretation(_WHOLE, period, metric, "US GAAP"), fact, constraint))
    end = spoken(keys["Q"].end)
    around = [
        Fact(f"{fact.caption}, three months ended {end}", fact.amount, fact.unit)
        for fact in facts.around(keys["Q"], {topic}, limit=4)
    ]
    return Draft(_reports(facts, keys, spans), metric, tuple(readings), facts=tuple(around))


def _aligned(facts: UsFacts, cik: str, with_year: bool) -> dict[str, Key]:
    """A quarter, the year to date of the same report, and, if wanted, the fiscal year that holds both."""
    for quarter in facts.keys(cik, "Q"):
        longer = next((k for kind in _QUARTERS for k in facts.keys(cik, kind) if k.file == quarter.file), None)
        years = [k for k in facts.keys(cik, "FY") if quarter.end < k.end and days(quarter.end, k.end) < 300]
        if longer and (years or not with_year):
            return {"Q": quarter, "YTD": longer} | ({"FY": years[-1]} if with_year else {})
    raise LookupError(f"no quarter of {cik} with its year to date" + (" and its fiscal year" if with_year else ""))


def _reports(facts: UsFacts, keys: dict[str, Key], spans: tuple[str, ...]) -> Filing:
    """The filing that the passage names; with a full year in it, the annual report beside the quarterly one."""
    quarterly = facts.filing(keys["Q"])
    title = f"{quarterly.company}, Form {quarterly.form} for the period ended {spoken(keys['Q'].end)}"
    if "FY" not in spans:
        return replace(quarterly, title=title)
    annual = facts.filing(keys["FY"])
    return replace(annual, title=f"{title}, and Form {annual.form} for the fiscal year ended {spoken(keys['FY'].end)}")


# --- metric ---------------------------------------------------------------------------------------------------------


def _metric(facts: UsFacts, cik: str, *wanted: tuple[str, str]) -> Draft:
    names = [concept for concept, _ in wanted]
    key, values = _latest(facts, cik, names)
    topic = CONCEPTS[names[0]].topic
    metric = "earnings per share" if topic == "eps" else topic
    readings = tuple(
        Reading(
            Interpretation(_WHOLE, f"fiscal year ended {key.end}", CONCEPTS[concept].caption.lower(), "US GAAP"),
            Fact(CONCEPTS[concept].caption, value, CONCEPTS[concept].unit),
            constraint,
        )
        for (concept, constraint), value in zip(wanted, values, strict=True)
    )
    return Draft(facts.filing(key), metric, readings, facts=facts.around(key, {topic}))


def _latest(facts: UsFacts, cik: str, names: list[str]) -> tuple[Key, list[float]]:
    """The latest fiscal year in which two concepts are positive and apart, and their values."""
    for key in facts.keys(cik, "FY"):
        known = facts.at(key)
        values = [known.get(name, 0) for name in names]
        if min(values) > 0 and apart(*values):
            return key, values
    raise LookupError(f"no fiscal year of {cik} in which {' and '.join(names)} are apart")
