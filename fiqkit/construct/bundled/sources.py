"""The files that the bundled set is made from, and what of them needs another shape before `ingest` reads it."""

from __future__ import annotations

import json
from pathlib import Path

from fiqkit.datasets import write_jsonl
from fiqkit.errors import UserError
from fiqkit.filings.ingest import ingest

# Relative to the folder of the data: what holds facts, whoever mined them.
FILES = (
    "sec/ixbrl_facts.jsonl.gz",
    "sec/companyfacts",
    "sec/fsds",
    "facts/ashare.csv",
    "candidates/entity_metric_cn_finglm_2019_2021.jsonl",
    "candidates/entity_scope_us_fsds.jsonl",
    "candidates/filing_vintage_cn_adjusted_annual_reports.jsonl",
    "candidates/filing_vintage_cn_express_vs_final_2018H1.jsonl",
    "candidates/filing_vintage_us_fsds.jsonl",
    "candidates/metric_definition_cn_eastmoney_2018H1.jsonl",
    "candidates/metric_definition_us_fsds.jsonl",
)
_TICKERS = "sec/filings_index.json"


def read_sources(data: Path, out: Path) -> None:
    """Read every source under `data` into the fact store at `out`.

    Raises:
        UserError: a source is missing or damaged; names the first.
    """
    missing = [name for name in (*FILES, _TICKERS) if not (data / name).exists()]
    if missing:
        raise UserError(f"{data / missing[0]}: no such file; name the folder that holds {FILES[0]}")
    tickers = out.with_name("tickers.jsonl")
    rows = json.loads((data / _TICKERS).read_text(encoding="utf-8"))
    named = ({name: row[name] for name in ("cik", "ticker", "period_end")} for row in rows if row["ticker"])
    write_jsonl(tickers, named)
    summary = ingest([*(data / name for name in FILES), tickers], out, jobs=2)
    if summary.faults:
        raise UserError(summary.faults[0])
