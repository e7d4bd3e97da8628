"""Annual reports of invented companies, as a fact store."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from fiqkit.filings.ingest import ingest

LINES = {  # in millions, times eleven and more
    "NetIncomeLoss": 100,
    "ProfitLoss": 110,
    "Revenues": 900,
    "CostOfRevenue": 500,
    "ResearchAndDevelopmentExpense": 50,
    "SellingGeneralAndAdministrativeExpense": 70,
    "IncomeTaxExpenseBenefit": 30,
    "IncomeTaxesPaidNet": 20,
    "InterestExpense": 12,
    "ShareBasedCompensation": 9,
    "PaymentsToAcquirePropertyPlantAndEquipment": 44,
    "PaymentsForRepurchaseOfCommonStock": 25,
    "PaymentsOfDividends": 31,
}


def annual_reports(folder: Path, names: Iterable[str]) -> Path:
    """The store of one annual report of 2023 from each company, at most nine of them."""
    rows = []
    for n, name in enumerate(names, 1):
        row = {"cik": str(n), "name": f"{name} CORP", "form": "10-K", "accession": f"000000000{n}-24-000001"}
        row |= {"filed": f"2024-0{n}-01", "u": "USD", "dec": "-6", "dims": {}}
        row |= {"start": "2023-01-01", "end": "2023-12-31"}
        rows += [row | {"c": f"us-gaap:{c}", "v": v * 10**6 * (n + 10)} for c, v in LINES.items()]
    (folder / "facts.jsonl").write_text("\n".join(map(json.dumps, rows)))
    ingest([folder / "facts.jsonl"], folder / "facts.db")
    return folder / "facts.db"
