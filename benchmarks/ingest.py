"""Facts a second and peak memory of the filing readers, beside arelle and edgartools on the same filings in one run.

    python benchmarks/ingest.py FOLDER [--files 16] [--python OTHER/bin/python]
    python benchmarks/ingest.py FOLDER --before CHECKOUT [--passes 3]
    python benchmarks/ingest.py FOLDER --bulk 1.0

FOLDER holds inline XBRL filings; with --bulk it holds companyfacts files, from which a bulk zip of so many gigabytes is
made and ingested. OTHER is an interpreter that has `arelle-release` and `edgartools`; without it they are left out.
CHECKOUT is an earlier state of this repository: it and this one read each file in turns, and the fewest seconds of a
file's passes count. Every reader runs in a process of its own, on files that are unpacked and in the page cache, its
imports not timed. CPU seconds are what counts: wall time depends on what else the machine does. The last line is JSON.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from pathlib import Path

_HEAD = """
import json, resource, sys, time
from pathlib import Path
paths = [Path(p) for p in sys.argv[1:]]
"""
_TAIL = """
began, cpu, facts = time.monotonic(), time.process_time(), 0
for path in paths:
    facts += read(path)
print(json.dumps({"facts": facts, "cpu": time.process_time() - cpu, "wall": time.monotonic() - began,
                  "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))
"""
_FIQKIT = """
from fiqkit.filings.documents import read_facts
from fiqkit.filings.fact import Reading
def read(path):
    reading = Reading()
    read_facts(path.read_bytes(), path, reading)
    return sum(fact.copies for fact in reading.facts) + len(reading.texts)
"""
_FIQKIT_ALL = """
from fiqkit.filings.documents import read_filing
from fiqkit.filings.fact import Reading
def read(path):
    reading = Reading()
    read_filing(path.read_bytes(), path, reading)
    return sum(fact.copies for fact in reading.facts) + len(reading.texts)
"""
_ARELLE = """
from arelle.RuntimeOptions import RuntimeOptions
from arelle.api.Session import Session
def read(path):
    options = RuntimeOptions(entrypointFile=str(path), internetConnectivity="offline", keepOpen=True,
                             logFormat="%(message)s", logLevel="CRITICAL")
    with Session() as session:
        session.run(options)
        return len(session.get_models()[0].facts)
"""
_EDGARTOOLS = """
from edgar.documents import HTMLParser, ParserConfig
def read(path):
    document = HTMLParser(ParserConfig(extract_xbrl=True)).parse(path.read_text(encoding="utf-8"))
    return len(document.xbrl_facts)
"""
_EDGARTOOLS_STEP = """
from edgar.documents import HTMLParser, ParserConfig
def read(path):
    return len(HTMLParser(ParserConfig(extract_xbrl=True))._extract_xbrl_pre_process(path.read_text(encoding="utf-8")))
"""
# Reads one file a line of standard input and answers with its seconds of CPU.
_IN_TURNS = """
import time
for line in sys.stdin:
    cpu = time.process_time()
    read(Path(line.rstrip()))
    print("seconds", time.process_time() - cpu, flush=True)
"""
_OWN = {"fiqkit, facts": _FIQKIT, "fiqkit, facts and passages": _FIQKIT_ALL}
_OTHERS = {
    "arelle": _ARELLE,
    "edgartools": _EDGARTOOLS,
    "edgartools, its private extraction step": _EDGARTOOLS_STEP,
}


def measure(python: str, reader: str, paths: list[Path]) -> dict[str, float]:
    """Run one reader over the files in a process of its own."""
    done = subprocess.run(
        [python, "-c", _HEAD + reader + _TAIL, *map(str, paths)], capture_output=True, text=True, check=False
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith('{"facts"')]
    if not lines:
        raise SystemExit(f"{python} failed: {done.stderr.strip().splitlines()[-1:]}")
    result: dict[str, float] = json.loads(lines[-1])
    return result


def unpacked(folder: Path, files: int, place: str) -> list[Path]:
    """The first so many inline filings of a folder, unpacked into `place`."""
    paths = []
    for path in sorted(folder.iterdir()):
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        if b"http://www.xbrl.org/2013/inlineXBRL" in data[:100_000] and len(paths) < files:
            paths.append(Path(place) / path.name.removesuffix(".gz"))
            paths[-1].write_bytes(data)
    return paths


def in_turns(folder: Path, files: int, before: Path, passes: int) -> dict[str, dict[str, float]]:
    """Seconds of CPU over the files, of an earlier checkout and of this one, each file read in turns."""
    results = {}
    with tempfile.TemporaryDirectory() as place:
        paths = unpacked(folder, files, place)
        for name, reader in _OWN.items():
            sides = [_reader(reader, where) for where in (before, Path(__file__).parents[1])]
            for side in sides:
                _seconds(side, paths[0])  # imports, compiled patterns
            was = now = 0.0
            for path in paths:
                taken = [[_seconds(side, path) for side in sides] for _ in range(passes)]
                was += min(row[0] for row in taken)
                now += min(row[1] for row in taken)
            for side in sides:
                side.communicate()
            results[name] = {"files": len(paths), "before": was, "now": now, "ratio": now / was}
    return results


def _reader(reader: str, checkout: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _HEAD + reader + _IN_TURNS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(checkout)},
    )


def _seconds(side: subprocess.Popen[str], path: Path) -> float:
    assert side.stdin and side.stdout
    print(path, file=side.stdin, flush=True)
    return float(side.stdout.readline().removeprefix("seconds"))


def compare(folder: Path, files: int, python: str | None) -> dict[str, dict[str, float]]:
    """Every reader on the same filings, unpacked beforehand."""
    with tempfile.TemporaryDirectory() as place:
        paths = unpacked(folder, files, place)
        results = {name: measure(sys.executable, reader, paths) for name, reader in _OWN.items()}
        if python:
            results |= {name: measure(python, reader, paths) for name, reader in _OTHERS.items()}
    return results


def bulk(folder: Path, gigabytes: float) -> dict[str, float]:
    """Make a companyfacts zip and ingest it, watching the memory of all its processes together."""
    with tempfile.TemporaryDirectory() as place:
        path, store = Path(place) / "companyfacts.zip", Path(place) / "facts.db"
        originals = [gzip.decompress(p.read_bytes()) for p in sorted(folder.iterdir())]
        with zipfile.ZipFile(path, "w") as archive:  # stored: the size is what is read
            cik = 0
            while path.stat().st_size < gigabytes * 1e9:
                cik += 1
                data = originals[cik % len(originals)]
                archive.writestr(f"CIK{cik:010d}.json", json.dumps(json.loads(data) | {"cik": cik}))
        code = "from fiqkit.cli import main; main()"
        began = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, "-c", code, "ingest", str(path), "--out", str(store), "--json"], stdout=subprocess.PIPE
        )
        peak = [0.0]
        watcher = threading.Thread(target=_watch, args=(process, peak))
        watcher.start()
        output, _ = process.communicate()
        watcher.join()
        facts = json.loads(output)["facts"]
        wall = time.monotonic() - began
    return {"zip_gb": gigabytes, "companies": cik, "facts": facts, "wall": wall, "peak_mb": peak[0]}


def _watch(process: subprocess.Popen[bytes], peak: list[float]) -> None:
    while process.poll() is None:
        peak[0] = max(peak[0], sum(_rss(pid) for pid in _tree(process.pid)))
        time.sleep(0.1)


def _tree(pid: int) -> list[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [pid, *(found for child in children for found in _tree(int(child)))]


def _rss(pid: int) -> float:
    """Resident megabytes; pages that processes share are counted in each."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    except OSError:
        return 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--files", type=int, default=16)
    parser.add_argument("--python")
    parser.add_argument("--before", type=Path, metavar="CHECKOUT")
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--bulk", type=float, metavar="GB")
    given = parser.parse_args()
    if given.bulk:
        print(json.dumps(bulk(given.folder, given.bulk)))
        return
    if given.before:
        turns = in_turns(given.folder, given.files, given.before, given.passes)
        for name, found in turns.items():
            print(f"{name:42} {found['before']:7.3f} s before {found['now']:7.3f} s now, ratio {found['ratio']:.3f}")
        print(json.dumps(turns))
        return
    results = compare(given.folder, given.files, given.python)
    for name, found in results.items():
        rate = found["facts"] / found["cpu"]
        print(f"{name:42} {found['facts']:7,.0f} facts {rate:9,.0f} facts/s of CPU {found['peak_mb']:6,.0f} MB")
    print(json.dumps(results))


if __name__ == "__main__":
    main()
