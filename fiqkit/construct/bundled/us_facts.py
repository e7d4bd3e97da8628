"""US facts by filing and period, as the candidates hold them, with the captions they are printed under."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from fiqkit.construct.bundled.draft import MONEY, PER_SHARE, Fact, Filing
from fiqkit.datasets import read_jsonl


@dataclass(frozen=True, slots=True)
class Concept:
    """How a concept is printed, and which question it bears on: no passage holds two concepts of the topic asked."""

    caption: str
    topic: str
    unit: str = MONEY


CONCEPTS = {
    "Revenues": Concept("Total revenue", "revenue"),
    "RevenueFromContractWithCustomerExcludingAssessedTax": Concept("Total revenue", "revenue"),
    "SalesRevenueNet": Concept("Net sales", "revenue"),
    "CostOfRevenue": Concept("Cost of revenue", "cost"),
    "GrossProfit": Concept("Gross profit", "gross profit"),
    "CostsAndExpenses": Concept("Total costs and expenses", "costs"),
    "OperatingExpenses": Concept("Operating expenses", "expenses"),
    "SellingGeneralAndAdministrativeExpense": Concept("Selling, general and administrative expenses", "sga"),
    "GeneralAndAdministrativeExpense": Concept("General and administrative expenses", "ga"),
    "ResearchAndDevelopmentExpense": Concept("Research and development expenses", "r&d"),
    "OperatingIncomeLoss": Concept("Operating income", "operating income"),
    "NonoperatingIncomeExpense": Concept("Non-operating income, net", "other income"),
    "InterestExpense": Concept("Interest expense", "interest"),
    "InterestPaidNet": Concept("Interest paid in cash", "interest"),
    "IncomeTaxExpenseBenefit": Concept("Provision for income taxes", "tax"),
    "IncomeTaxesPaidNet": Concept("Income taxes paid in cash", "tax"),
    "NetIncomeLoss": Concept("Net income attributable to the company", "net income"),
    "ProfitLoss": Concept("Net income including noncontrolling interests", "net income"),
    "NetIncomeLossAvailableToCommonStockholdersBasic": Concept(
        "Net income available to common stockholders", "net income"
    ),
    "IncomeLossFromContinuingOperations": Concept("Net income from continuing operations", "net income"),
    "ComprehensiveIncomeNetOfTax": Concept("Comprehensive income", "comprehensive income"),
    "EarningsPerShareBasic": Concept("Basic earnings per share", "eps", PER_SHARE),
    "EarningsPerShareDiluted": Concept("Diluted earnings per share", "eps", PER_SHARE),
    "CashAndCashEquivalentsAtCarryingValue": Concept("Cash and cash equivalents", "cash"),
    "StockholdersEquity": Concept("Stockholders' equity of the company", "equity"),
    "Assets": Concept("Total assets", "assets"),
    "AllocatedShareBasedCompensationExpense": Concept("Stock-based compensation expense", "compensation"),
}

KINDS = {"FY": "year", "H1": "six months", "9M": "nine months", "Q": "three months"}

# The companies that questions are asked about, by CIK: one name and one symbol each, however the filings spell it.
COMPANIES = {
    "100885": ("UNP", "Union Pacific"),
    "104169": ("WMT", "Walmart"),
    "1090727": ("UPS", "United Parcel Service"),
    "1108524": ("CRM", "Salesforce"),
    "101829": ("RTX", "RTX"),
    "1321655": ("PLTR", "Palantir Technologies"),
    "40545": ("GE", "General Electric"),
    "12927": ("BA", "Boeing"),
    "1318605": ("TSLA", "Tesla"),
    "1326801": ("META", "Meta Platforms"),
    "1403161": ("V", "Visa"),
    "1507605": ("MARA", "Marathon Digital Holdings"),
    "1316631": ("LBTYA", "Liberty Global"),
    "1053112": ("CVC", "Cablevision Systems"),
    "1065088": ("EBAY", "eBay"),
    "14272": ("BMY", "Bristol-Myers Squibb"),
    "1652044": ("GOOGL", "Alphabet"),
    "1800": ("ABT", "Abbott Laboratories"),
    "200406": ("JNJ", "Johnson & Johnson"),
    "21344": ("KO", "Coca-Cola"),
    "21665": ("CL", "Colgate-Palmolive"),
    "2488": ("AMD", "Advanced Micro Devices"),
    "320193": ("AAPL", "Apple"),
    "354950": ("HD", "Home Depot"),
    "50863": ("INTC", "Intel"),
    "60667": ("LOW", "Lowe's"),
    "63908": ("MCD", "McDonald's"),
    "731766": ("UNH", "UnitedHealth Group"),
    "732712": ("VZ", "Verizon"),
    "764478": ("BBY", "Best Buy"),
    "796343": ("ADBE", "Adobe"),
    "80424": ("PG", "Procter & Gamble"),
    "833444": ("JCI", "Johnson Controls"),
    "858877": ("CSCO", "Cisco Systems"),
    "949870": ("SAM", "Boston Beer"),
    "97476": ("TXN", "Texas Instruments"),
}


@dataclass(frozen=True, slots=True)
class Key:
    """One filing's figures for one span of time; `kind` is one of `KINDS`."""

    cik: str
    file: str
    end: str
    kind: str


class UsFacts:
    """Every fact of the inline-XBRL candidates, by filing and period. Concepts that a filing contradicts are left out.

    Attributes:
        rows: one candidate of each filing, for its company name, form and accession.
    """

    def __init__(self, candidates: Path) -> None:
        self.rows: dict[str, dict[str, Any]] = {}
        self._facts: dict[Key, dict[str, float | None]] = defaultdict(dict)
        for row, kind, concept, value in _facts(candidates):
            self.rows.setdefault(row["file"], row)
            known = self._facts[Key(row["cik"], row["file"], row["end"], kind)]
            name = concept.split(":")[-1]
            known[name] = value if known.get(name, value) == value else None

    def keys(self, cik: str, kind: str) -> list[Key]:
        """A company's filings and periods of one kind, latest first; only the period that the filing is about."""
        keys = [
            key
            for key in self._facts
            if key.cik == cik and key.kind == kind and self.rows[key.file]["filing_period"] == key.end
        ]
        return sorted(keys, key=lambda key: (key.end, key.file), reverse=True)

    def at(self, key: Key) -> dict[str, float]:
        """Concept to value for one filing and period."""
        return {name: value for name, value in self._facts[key].items() if value is not None}

    def around(self, key: Key, asked: set[str], limit: int = 5) -> tuple[Fact, ...]:
        """Other facts of the same filing and period: one a topic, none of a topic that is asked about."""
        taken = set(asked)
        facts = []
        for name, value in sorted(self.at(key).items()):
            concept = CONCEPTS.get(name)
            if concept and concept.topic not in taken and value > 0:
                taken.add(concept.topic)
                facts.append(Fact(concept.caption, value, concept.unit))
        return tuple(facts[:limit])

    def ciks(self) -> list[str]:
        """Every company."""
        return sorted({key.cik for key in self._facts})

    def filing(self, key: Key) -> Filing:
        """The filing of a key, its title naming the span of time."""
        row = self.rows[key.file]
        ticker, company = COMPANIES.get(key.cik) or (f"CIK{key.cik}", display_name(row["company"]))
        return us_filing(key.cik, ticker, company, row, key.end, f"{KINDS[key.kind]} ended {spoken(key.end)}")


def us_filing(
    cik: str, ticker: str, company: str, row: Mapping[str, Any], end: str, span: str, form: str | None = None
) -> Filing:
    """A filing of a US company; its accession is its source, where the candidate has one."""
    form = form or row["form"]
    accession = row.get("new_accession") or row.get("accession")
    return Filing(
        code=cik,
        ticker=ticker,
        company=company,
        form=form,
        period=end,
        title=f"{company}, Form {form}, {span}",
        language="en",
        source=f"sec:{accession}" if accession else "sec",
        filed=row.get("filed"),
    )


def spoken(iso: str) -> str:
    """ "June 30, 2023" of "2023-06-30" or "20230630"."""
    day = date.fromisoformat(iso)
    return f"{day:%B} {day.day}, {day.year}"


def iso_date(day: str) -> str:
    """ISO date of "20091231" or "2009-12-31"."""
    return day if "-" in day else f"{day[:4]}-{day[4:6]}-{day[6:]}"


def days(first: str, last: str) -> int:
    """Days from one ISO date to another."""
    return (date.fromisoformat(last) - date.fromisoformat(first)).days


def display_name(name: str) -> str:
    """A company's name without the register's marks and capitals."""
    plain = re.sub(r"\s*/[A-Z]*/?$", "", name).strip()
    if plain.upper() != plain:
        return plain
    words = [_SMALL.get(w) or (w if len(w) < 4 or "&" in w else w.capitalize()) for w in plain.split()]
    return " ".join(words)


_SMALL = {"INC": "Inc", "INC.": "Inc.", "CO": "Co", "CO.": "Co.", "LTD": "Ltd", "AND": "and", "THE": "The", "OF": "of"}


def _facts(candidates: Path) -> Iterator[tuple[dict[str, Any], str, str, float]]:
    """Yield (candidate, kind, concept, value)."""
    for _, row in read_jsonl(candidates / "metric_definition_us_ixbrl.jsonl"):
        yield row, row["period_kind"], row["a"], row["a_value"]
        yield row, row["period_kind"], row["b"], row["b_value"]
    for _, row in read_jsonl(candidates / "entity_scope_us_ixbrl.jsonl"):
        yield row, row["period_kind"], row["concept"], row["consolidated"]
    for _, row in read_jsonl(candidates / "temporal_scope_us_ixbrl.jsonl"):
        yield row, "Q", row["concept"], row["three_months"]
        yield row, {"6M": "H1", "9M": "9M"}[row["ytd"]], row["concept"], row["year_to_date"]
