"""US drafts by category, and the filings that no question is asked of."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from fiqkit.construct.bundled.draft import Draft, Fact, Filing
from fiqkit.construct.bundled.us_facts import CONCEPTS, UsFacts, display_name, iso_date, spoken, us_filing
from fiqkit.construct.bundled.us_reports import entity_drafts, metric_drafts, temporal_drafts
from fiqkit.construct.bundled.us_tables import non_gaap_drafts, recognition_drafts, vintage_drafts
from fiqkit.datasets import read_jsonl


def drafts(candidates: Path) -> list[list[Draft]]:
    """Every draft, one list for each category that is balanced on its own."""
    facts = UsFacts(candidates)
    return [
        entity_drafts(candidates, facts),
        temporal_drafts(facts),
        [*metric_drafts(facts), *non_gaap_drafts(candidates)],
        recognition_drafts(candidates),
        vintage_drafts(candidates),
    ]


def distractors(candidates: Path, used: set[str], count: int, rng: random.Random) -> list[tuple[Filing, list[Fact]]]:
    """Other companies' facts, one filing and period a company."""
    facts = UsFacts(candidates)
    found: list[tuple[Filing, list[Fact]]] = []
    for cik in facts.ciks():
        keys = [key for kind in ("FY", "Q") for key in facts.keys(cik, kind)]
        around = facts.around(keys[0], set(), limit=6) if keys and cik not in used else ()
        if len(around) >= 3:
            found.append((facts.filing(keys[0]), list(around)))
    found += _older(candidates, {*used, *(filing.code for filing, _ in found)})
    rng.shuffle(found)
    return found[:count]


def _older(candidates: Path, used: set[str]) -> list[tuple[Filing, list[Fact]]]:
    """Filers of 2009 and 2010, from the data sets of that time."""
    latest: dict[str, dict[str, Any]] = {}
    for _, row in read_jsonl(candidates / "metric_definition_us_fsds.jsonl"):
        if row["cik"] not in used and min(row["a_value"], row["b_value"]) > 1e6:
            before = latest.setdefault(row["cik"], row)
            if (row["end"], row["qtrs"]) > (before["end"], before["qtrs"]):
                latest[row["cik"]] = row
    spans = {1: "three months", 2: "six months", 3: "nine months", 4: "year"}
    passages = []
    for cik, row in latest.items():
        span = f"{spans[row['qtrs']]} ended {spoken(row['end'])}"
        filing = us_filing(cik, f"CIK{cik}", display_name(row["company"]), row, iso_date(row["end"]), span)
        facts = [Fact(CONCEPTS[row[side]].caption, row[f"{side}_value"]) for side in ("a", "b")]
        passages.append((filing, facts))
    return passages
