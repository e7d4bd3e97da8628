"""Every connection that the kit's commands make, as the kernel sees it: strace over each, children and threads too.

    python benchmarks/connections.py                                       # run, index build, ingest, report, probe
    python benchmarks/connections.py --vllm .venv-vllm/bin/python          # and vLLM's server, started as a child

Counts calls of connect, sendto, sendmsg and sendmmsg to an Internet address that is not of this machine. A Python hook
sees what Python does; this sees llama.cpp, torch, FAISS and vLLM as well. Needs strace. The last line is JSON.
"""

from __future__ import annotations

import argparse
import ipaddress
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

CALLS = "connect,sendto,sendmsg,sendmmsg"
ADDRESS = re.compile(r'inet_addr\("([^"]+)"\)|inet_pton\(AF_INET6, "([^"]+)"')
FIQKIT = [sys.executable, "-m", "fiqkit"]
MODEL = "smollm2-135m"
# One table of one filing, as the SEC's companyfacts give it.
FACTS = {
    "cik": 12345,
    "entityName": "Quillmark",
    "facts": {
        "us-gaap": {
            "Revenues": {
                "label": "Revenues",
                "units": {
                    "USD": [
                        {
                            "start": f"{year}-01-01",
                            "end": f"{year}-12-31",
                            "val": year * 1000,
                            "accn": f"0000012345-{year - 1999}-000001",
                            "fy": year,
                            "fp": "FY",
                            "form": "10-K",
                            "filed": f"{year + 1}-02-01",
                        }
                        for year in (2021, 2022)
                    ]
                },
            }
        }
    },
}
VLLM = """
from fiqkit import offline
offline.enforce()
import asyncio, sys
from fiqkit.models.cards.cards import find_card
from fiqkit.models.engine import Request, Sampling
from fiqkit.models.vllm.child import open_engine
async def work():
    engine = open_engine(find_card(sys.argv[1]), context=512, wait=3600, arguments=["--enforce-eager"])
    await engine.ready()
    request = Request(messages=[{"role": "user", "content": "Hi"}], sampling=Sampling(max_tokens=4))
    print((await engine.complete(request)).output_tokens, "tokens")
    await engine.close()
asyncio.run(work())
"""


def commands(folder: Path, model: str) -> dict[str, list[str]]:
    """What is watched, in an order in which each finds what it needs."""
    from fiqkit import bench_data

    (folder / "companyfacts.json").write_text(json.dumps(FACTS), "utf-8")
    with bench_data.PASSAGES.open(encoding="utf-8") as lines:
        (folder / "passages.jsonl").write_text("".join(itertools.islice(lines, 40)), "utf-8")
    store = ["--store", str(folder / "run.db")]
    found = {
        "ingest": ["ingest", str(folder / "companyfacts.json"), "--out", str(folder / "facts.db")],
        "index build": ["index", "build", "--passages", str(folder / "passages.jsonl"), "--out", str(folder / "index")],
        "run": ["run", "--agent", model, "--modes", "search,interact", "--limit", "1", "--max-tokens", "48", *store],
        "report": ["report", "--html", str(folder / "page.html"), *store],
        "probe": ["probe", "--model", model, "--out", str(folder / "probe"), "--limit", "24", "--json"],
    }
    return {name: [*FIQKIT, *arguments] for name, arguments in found.items()}


def away(line: str) -> str | None:
    """The address of a traced call, where it is not of this machine.

    >>> away('17 connect(3, {sa_family=AF_INET, sin_port=htons(443), sin_addr=inet_addr("192.0.2.7")}, 16) = -1')
    '192.0.2.7'
    """
    found = ADDRESS.search(line)
    if found is None:
        return None
    address = ipaddress.ip_address(found[1] or found[2])
    mapped = getattr(address, "ipv4_mapped", None) or address
    return None if mapped.is_loopback or mapped.is_unspecified else str(mapped)


def watched(command: list[str], folder: Path) -> dict[str, object]:
    """Run a command under strace."""
    trace = folder / "trace"
    began = time.monotonic()
    strace = ["strace", "-f", "--seccomp-bpf", "-qq", "-e", f"trace={CALLS}", "-e", "signal=none", "-o", str(trace)]
    done = subprocess.run([*strace, *command], cwd=folder, capture_output=True, text=True, env=dict(os.environ))
    if done.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr[-2000:]}")
    with trace.open(encoding="utf-8", errors="replace") as lines:
        calls, left = 0, Counter[str]()
        for line in lines:
            calls += any(f"{name}(" in line for name in CALLS.split(","))
            if address := away(line):
                left[address] += 1
    seconds = round(time.monotonic() - began, 1)
    return {"calls": calls, "away": sum(left.values()), "addresses": dict(left), "seconds": seconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default=MODEL)
    parser.add_argument("--only", help="commands, comma-separated (default: all)")
    parser.add_argument(
        "--vllm", type=Path, help="a Python that has vLLM: its server, started as a child, is watched too"
    )
    options = parser.parse_args()
    if shutil.which("strace") is None:
        raise SystemExit("strace is not installed: apt-get install strace")
    rows = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        chosen = commands(folder, options.model)
        if options.vllm:
            chosen["vllm child"] = [str(options.vllm.absolute()), "-c", VLLM, options.model]
        for what, command in chosen.items():
            if options.only and what not in options.only.split(","):
                continue
            rows[what] = watched(command, folder)
            print(f"{what:>12} {rows[what]['calls']:6} calls {rows[what]['away']:4} off this machine", flush=True)
    print(json.dumps({"away": sum(int(str(row["away"])) for row in rows.values()), "commands": rows}))


if __name__ == "__main__":
    main()
