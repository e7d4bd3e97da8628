"""Held against facts that were read from the same filings by another reader."""

from __future__ import annotations

import gzip
import json
import os
import sqlite3
import subprocess
import sys
import time
import zipfile
from collections import defaultdict
from math import isclose
from pathlib import Path
from typing import Any

import pytest

from fiqkit.filings.fact import Fact, Reading, dims_json
from fiqkit.filings.kinds import parts
from fiqkit.filings.read import read_part

pytestmark = pytest.mark.conformance
SAMPLE = ("AAPL_10-K", "AXP_10-Q", "NVDA_10-Q", "CSCO_10-Q")  # the last with the newest transformation registry


def published(path: Path, accessions: set[str]) -> dict[str, list[dict[str, Any]]]:
    """The published facts of some filings, by accession."""
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            accession = line.partition('"accession": ')[2][1:21]
            if accession in accessions:
                found[accession].append(json.loads(line))
    return found


def read(path: Path) -> Reading:
    (part,) = parts(path)
    outcome = read_part(part)
    assert outcome.reading is not None, outcome.error
    return outcome.reading


def missing(expected: list[dict[str, Any]], facts: list[Fact]) -> list[dict[str, Any]]:
    """Published facts without one of equal value, unit, period and dimensions."""
    have = defaultdict(list)
    for fact in facts:
        have[fact.concept, fact.unit, fact.start, fact.end, fact.dims].append(fact.value)
    return [
        row
        for row in expected
        if not any(
            isclose(value, row["v"], rel_tol=1e-9)
            for value in have[row["c"], row["u"], row["start"], row["end"], dims_json(row["dims"])]
        )
    ]


def hold(data: Path, names: tuple[str, ...] | None) -> tuple[int, list[dict[str, Any]], int]:
    """(facts published, those not found, facts read beyond them) over the filings that the published facts cover."""
    files = {
        path.name.split("_")[-1].removesuffix(".html.gz"): path
        for path in sorted((data / "sec/filings").iterdir())
        if names is None or path.name.startswith(names)
    }
    expected = published(data / "sec/ixbrl_facts.jsonl.gz", set(files))
    lost, beyond = [], 0
    for accession, rows in expected.items():
        facts = read(files[accession]).facts
        lost += missing(rows, facts)
        beyond += len(facts) - len(rows)
    return sum(map(len, expected.values())), lost, beyond


def test_a_sample_of_filings(shared_data: Path) -> None:
    count, lost, _ = hold(shared_data, SAMPLE)
    assert count > 4000
    assert lost == []


@pytest.mark.slow
def test_every_filing(shared_data: Path) -> None:
    """All are found. What is read beyond them are numbers that filers spell in words ("two lawsuits", "no shares")."""
    count, lost, beyond = hold(shared_data, None)
    assert count == 126739
    assert len(lost) <= 0.005 * count, lost[:5]
    assert 0 <= beyond < 0.01 * count


def resident(pid: int) -> int:
    """Resident bytes of a process and its children; pages that they share are counted in each."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE") + sum(resident(int(child)) for child in children)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
def test_a_bulk_zip_stays_within_500_mb(shared_data: Path, tmp_path: Path) -> None:
    """Fifteen companies of real size; `benchmarks/ingest.py --bulk 1.0` does the same with a gigabyte."""
    originals = [gzip.decompress(path.read_bytes()) for path in sorted((shared_data / "sec/companyfacts").iterdir())]
    with zipfile.ZipFile(tmp_path / "companyfacts.zip", "w") as archive:
        for cik in range(1, 16):
            content = json.loads(originals[cik % len(originals)]) | {"cik": cik}
            archive.writestr(f"CIK{cik:010d}.json", json.dumps(content))
    arguments = ["ingest", str(tmp_path / "companyfacts.zip"), "--out", str(tmp_path / "facts.db"), "--jobs", "2"]
    process = subprocess.Popen([sys.executable, "-c", "from fiqkit.cli import main; main()", *arguments])
    peak = 0
    while process.poll() is None:
        peak = max(peak, resident(process.pid))
        time.sleep(0.05)
    assert process.returncode == 0
    assert 0 < peak < 500e6
    with sqlite3.connect(tmp_path / "facts.db") as conn:
        assert conn.execute("SELECT count(*), count(DISTINCT entity) FROM facts").fetchone() == (242211, 15)
