"""US drafts from tables that print two versions of a figure side by side.

GAAP beside non-GAAP, the new revenue standard beside the old, first reported beside restated.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fiqkit.construct.bundled.draft import MONEY, PER_SHARE, PERCENT, Draft, Fact, Filing, Reading
from fiqkit.construct.bundled.us_facts import COMPANIES, CONCEPTS, iso_date, spoken, us_filing
from fiqkit.datasets import read_jsonl
from fiqkit.records import Interpretation

_WHOLE = "consolidated"

_NON_GAAP = {
    "1108524": ("SALESFORCE_2024Q2_EARNINGS", "Net income (USD m)", "Q2 FY24"),
    "1065088": ("EBAY_2023Q2_EARNINGS", "Net income from continuing ops (USD m)", "Q2 2023"),
    "50863": ("INTEL_2022Q4_EARNINGS", "Operating income (USD m)", "Q4 2021"),
}
_RECOGNITION = {
    "732712": ("Verizon", "Wireless equipment revenues", "revenue from wireless equipment"),
    "796343": ("Adobe", "Net income", "net income"),
    "21344": ("Coca-Cola", "Cost of goods sold", "cost of goods sold"),
    "764478": ("Best Buy", "Deferred revenue", "deferred revenue"),
}
# (CIK, concept, start or quarters, end)
_VINTAGE = (
    ("320193", "NetIncomeLoss", "2008-09-28", "2009-09-26"),
    ("1652044", "OperatingIncomeLoss", "2018-01-01", "2018-12-31"),
    ("1316631", "Revenues", 4, "20091231"),
    ("1053112", "OperatingIncomeLoss", 4, "20091231"),
)


def non_gaap_drafts(candidates: Path) -> list[Draft]:
    """A figure by the accounting standard and as management adjusts it, from earnings releases."""
    rows = [row for _, row in read_jsonl(candidates / "metric_definition_us_nongaap_hand.jsonl")]
    return [_non_gaap_draft(cik, *which, rows) for cik, which in _NON_GAAP.items()]


def _non_gaap_draft(cik: str, doc: str, asked: str, period: str, rows: Iterable[dict[str, Any]]) -> Draft:
    ticker, company = COMPANIES[cik]
    filing = Filing(
        cik,
        ticker,
        company,
        "earnings release",
        None,
        f"{company}, earnings release for {period}",
        "en",
        f"release:{doc}",
    )
    mine = [row for row in rows if row["doc"] == doc and row["period"].split(" (")[0] == period]
    row = next(row for row in mine if row["metric"] == asked)
    metric = "operating income" if asked.startswith("Operating") else "net income"
    caption = asked.split(" (")[0].replace("ops", "operations")
    measures = (
        ("gaap", "GAAP", "the figure by the accounting standard, nothing stripped out"),
        ("non_gaap", "Non-GAAP", "the figure as management adjusts it"),
    )
    readings = tuple(
        Reading(
            Interpretation(_WHOLE, period, f"{label} {metric}", None),
            Fact(f"{label} {caption[0].lower()}{caption[1:]}", row[column] * 1e6),
            constraint,
        )
        for column, label, constraint in measures
    )
    others = [other for other in mine if other is not row and not other["metric"].startswith("Gross margin %")]
    facts = tuple(_adjusted(other, column, label) for other in others for column, label, _ in measures)
    return Draft(filing, metric, readings, facts=facts)


def _adjusted(row: dict[str, Any], column: str, label: str) -> Fact:
    name = row["metric"]
    if name.endswith("%"):
        return Fact(f"{label} {name[:-2].lower()}", row[column], PERCENT)
    if "EPS" in name:
        return Fact(
            f"{label} {name.replace('EPS', 'earnings per share').replace('ops', 'operations').lower()}",
            row[column],
            PER_SHARE,
        )
    return Fact(f"{label} {name.split(' (')[0].lower()}", row[column] * 1e6, MONEY)


# --- recognition ----------------------------------------------------------------------------------------------------

_POLICIES = (
    (
        "as_reported_ASC606",
        "as reported under ASC 606",
        "recognized under the new revenue standard, ASC 606",
        "the figure under the new revenue standard",
    ),
    (
        "without_adoption_prior_GAAP",
        "under the former standard",
        "recognized under the former revenue standard, ASC 605",
        "the figure that the former revenue standard would give",
    ),
)


def recognition_drafts(candidates: Path) -> list[Draft]:
    """A figure under ASC 606 and under the standard before it, from the year of adoption."""
    tables: dict[str, list[dict[str, Any]]] = {}
    for _, row in read_jsonl(candidates / "recognition_policy_us_asc606_adoption_tables.jsonl"):
        tables.setdefault(row["company"], []).append(row)
    return [_recognition_draft(cik, tables[name], asked, metric) for cik, (name, asked, metric) in _RECOGNITION.items()]


def _recognition_draft(cik: str, table: list[dict[str, Any]], asked: str, metric: str) -> Draft:
    ticker, company = COMPANIES[cik]
    row = next(row for row in table if row["metric"] == asked)
    end = row["period"].split()[-1]
    source = f"sec:{row['doc']}"
    title = f"{company}, Form 10-K, year ended {spoken(end)}, effect of the new revenue standard"
    filing = Filing(cik, ticker, company, "10-K", end, title, "en", source)
    scale = 1e6 if row["unit"] == "USD m" else 1e3
    readings = tuple(
        Reading(
            Interpretation(_WHOLE, f"fiscal year ended {end}", metric, basis),
            Fact(f"{asked} {label}", row[column] * scale),
            constraint,
        )
        for column, label, basis, constraint in _POLICIES
    )
    others = [other for other in table if other is not row and "EPS" not in other["metric"]][-2:]
    facts = tuple(
        Fact(f"{other['metric']} {label}", other[column] * scale)
        for other in others
        for column, label, _, _ in _POLICIES
    )
    return Draft(filing, metric, readings, facts=facts)


# --- vintage --------------------------------------------------------------------------------------------------------

_SUSPECT = ("flips_back", "split_suspect", "sign_flip_only", "scale_suspect", "rounding_suspect")


def vintage_drafts(candidates: Path) -> list[Draft]:
    """A figure as first reported and as a later filing presents it, split-adjusted and mis-tagged ones left out."""
    rows = [
        row
        for name in ("filing_vintage_us_companyfacts", "filing_vintage_us_fsds")
        for _, row in read_jsonl(candidates / f"{name}.jsonl")
        if not any(row.get(flag) for flag in _SUSPECT) and row.get("n_distinct", 2) == 2
    ]
    return [_vintage_draft(rows, *which) for which in _VINTAGE]


def _vintage_draft(rows: list[dict[str, Any]], cik: str, concept: str, span: str | int, end: str) -> Draft:
    mine = [r for r in rows if r["cik"] == cik and r["end"] == end and span in (r.get("start"), r.get("qtrs"))]
    row = next(r for r in mine if r["concept"].split(":")[-1] == concept)
    same = [
        r for r in mine if (r["orig_accession"], r["new_accession"]) == (row["orig_accession"], row["new_accession"])
    ]
    first, later = spoken(row["orig_filed"]), spoken(row["new_filed"])
    versions = (
        (
            "as_originally_reported",
            f"as first reported on {first}",
            "as first reported",
            "the number that was published first",
        ),
        (
            "restated",
            f"as presented again on {later}",
            "as restated later",
            "the number that was put in its place later",
        ),
    )
    ticker, company = COMPANIES[cik]
    iso = iso_date(end)
    filed = iso_date(row["new_filed"])
    filing = us_filing(
        cik, ticker, company, row | {"filed": filed}, iso, f"year ended {spoken(end)}", form=row["new_form"]
    )
    metric = CONCEPTS[concept].topic
    readings = tuple(
        Reading(
            Interpretation(_WHOLE, f"fiscal year ended {iso}", metric, "US GAAP", vintage),
            Fact(f"{CONCEPTS[concept].caption} {label}", row[column]),
            constraint,
        )
        for column, label, vintage, constraint in versions
    )
    facts: list[Fact] = []
    taken = {metric}
    for other in same:
        known = CONCEPTS.get(other["concept"].split(":")[-1])
        positive = min(other["as_originally_reported"], other["restated"]) > 0
        if known and positive and known.topic not in taken and known.topic != "eps" and len(facts) < 4:
            taken.add(known.topic)
            facts += [Fact(f"{known.caption} {label}", other[column]) for column, label, _, _ in versions]
    return Draft(filing, metric, readings, facts=tuple(facts))
