"""Tokens per second of the llama.cpp engine with 1, 4, 8 and 16 requests in flight, beside llama.cpp's own server and
`llama_cpp.Llama`, which serves one sequence at a time, on the same requests.

    python benchmarks/llama_batching.py --native .venv-servers/bin/python     # a Python that has xllamacpp
    python benchmarks/llama_batching.py --widths 8 --prompts shared --requests 8 --prompt 400 --reply 24

Requests share a prompt and differ in its last words, as the turns of many episodes do, or share nothing. All are given
the same number of threads and may reuse prefixes; they take turns, each pass with a cache that is empty. Rates are of
output tokens, the prompts' computation included: by the wall clock, and by the second of CPU time, which other work on
the machine stretches least. A ratio is the median of the passes', least and most of them beside it; `in_library` is the
share of this kit's CPU time that passes inside llama.cpp's own decoding, in which it can be no faster than the server.
The last line is JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import subprocess
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import aiohttp
import llama_cpp

from fiqkit.models import open_engine
from fiqkit.models.cards.cards import find_card
from fiqkit.models.cards.weights import locate
from fiqkit.models.engine import Request, Sampling
from fiqkit.models.local.llama_cpp import LlamaCppEngine
from fiqkit.models.vllm.child import free_port

WORDS = "The company reported revenue of 1,234 million and net income of 56 million for the fiscal year. "
OTHERS = (
    "assets",
    "cash",
    "debt",
    "equity",
    "gross",
    "interest",
    "margin",
    "orders",
    "profit",
    "quarter",
    "rates",
    "sales",
)
NATIVE = """
import sys, time, xllamacpp
path, port, parallel, context, threads = sys.argv[1], *map(int, sys.argv[2:])
p = xllamacpp.CommonParams()
p.model.path, p.port, p.n_parallel, p.n_ctx = path, port, parallel, parallel * context
p.cpuparams.n_threads = p.cpuparams_batch.n_threads = threads
p.n_threads_http = parallel + 2
server = xllamacpp.Server(p)
print("ready", flush=True)
sys.stdin.read()
"""
Row = dict[str, float]
Ids = Sequence[Sequence[int]]


def prompts(engine: LlamaCppEngine, kind: str, count: int, length: int) -> Ids:
    """Token ids of the prompts: one text and other last words, or other words throughout."""
    draw = random.Random(0)

    def text() -> str:
        return WORDS * (length // 15) if kind == "shared" else " ".join(draw.choices(OTHERS, k=length))

    return [
        engine._model.tokenize(text())[:length] + engine._model.tokenize(f" Question {i}: what is")
        for i in range(count)
    ]


def rates(tokens: int, wall: float, cpu: float) -> Row:
    return {"tokens": tokens, "per_second": tokens / wall, "per_cpu_second": tokens / cpu}


@contextmanager
def decoding() -> Iterator[list[float]]:
    """Seconds of CPU time of the calls of llama.cpp's decoding; with one thread, all that it computes."""
    spent: list[float] = []
    plain = llama_cpp.llama_decode

    def timed(*given: object) -> int:
        begun = time.thread_time()
        status = plain(*given)
        spent.append(time.thread_time() - begun)
        return int(status)

    llama_cpp.llama_decode = timed
    try:
        yield spent
    finally:
        llama_cpp.llama_decode = plain


async def in_flight(width: int, ids_of_all: Ids, ask: Callable[[Sequence[int]], Awaitable[int]]) -> int:
    """Output tokens of all requests, at most `width` at once."""
    gate = asyncio.Semaphore(width)

    async def one(ids: Sequence[int]) -> int:
        async with gate:
            return await ask(ids)

    return sum(await asyncio.gather(*map(one, ids_of_all)))


def ours(width: int, ids_of_all: Ids, options: argparse.Namespace) -> Row:
    more = {} if options.streams == options.one_pool else {"streams": options.streams}
    engine = open_engine(options.model, parallel=width, threads=options.threads, context=context(options), **more)

    async def ask(ids: Sequence[int]) -> int:
        reply = await engine.complete(Request(prompt_ids=ids, sampling=Sampling(max_tokens=options.reply)))
        return reply.output_tokens

    with decoding() as library:
        wall, cpu = time.perf_counter(), time.process_time()
        tokens = asyncio.run(in_flight(width, ids_of_all, ask))
        spent = time.process_time() - cpu
        row = rates(tokens, time.perf_counter() - wall, spent)
    asyncio.run(engine.close())
    return {**row, **({"in_library": sum(library) / spent} if options.threads == 1 else {})}


def native(width: int, ids_of_all: Ids, options: argparse.Namespace) -> Row:
    port, path = free_port(), locate(find_card(options.model))
    settings = [port, width, context(options), options.threads]
    server = subprocess.Popen(
        [options.native, "-c", NATIVE, str(path), *map(str, settings)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert server.stdout is not None
    while server.stdout.readline() not in (b"ready\n", b""):
        pass

    async def work() -> int:
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None)) as session:

            async def ask(ids: Sequence[int]) -> int:
                body = {"prompt": list(ids), "n_predict": options.reply, "temperature": 0, "cache_prompt": True}
                async with session.post(f"http://127.0.0.1:{port}/completion", json=body) as response:
                    said = await response.json()
                    return int(said["tokens_predicted"])

            return await in_flight(width, ids_of_all, ask)

    try:
        wall, cpu = time.perf_counter(), _cpu_of(server.pid)
        tokens = asyncio.run(work())
        return rates(tokens, time.perf_counter() - wall, _cpu_of(server.pid) - cpu)
    finally:
        server.kill()
        server.wait()


def _cpu_of(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def alone(ids_of_all: Ids, options: argparse.Namespace) -> Row:
    path = str(locate(find_card(options.model)))
    threads = {"n_threads": options.threads, "n_threads_batch": options.threads}
    model = llama_cpp.Llama(path, n_ctx=context(options), verbose=False, **threads)
    wall, cpu = time.perf_counter(), time.process_time()
    replies = (model.create_completion(list(ids), max_tokens=options.reply, temperature=0.0) for ids in ids_of_all)
    tokens = sum(reply["usage"]["completion_tokens"] for reply in replies)
    row = rates(tokens, time.perf_counter() - wall, time.process_time() - cpu)
    model.close()
    return row


def context(options: argparse.Namespace) -> int:
    """Tokens of one request at most."""
    return int(options.prompt + options.reply + 32)


def compared(kind: str, ids_of_all: Ids, options: argparse.Namespace) -> dict[str, dict[str, Row]]:
    """Row of each width and contestant, and the ratios of the first to the others."""
    found: dict[str, dict[str, Row]] = {}
    for width in map(int, options.widths.split(",")):
        passes: dict[str, list[Row]] = {"fiqkit": [], **({"native": []} if options.native else {})}
        for _ in range(options.passes):
            passes["fiqkit"].append(ours(width, ids_of_all, options))
            if options.native:
                passes["native"].append(native(width, ids_of_all, options))
        rows = {name: {key: median(row[key] for row in runs) for key in runs[0]} for name, runs in passes.items()}
        if options.native:
            pairs = list(zip(passes["fiqkit"], passes["native"], strict=True))
            of_passes = {key: [a[key] / b[key] for a, b in pairs] for key in ("per_second", "per_cpu_second")}
            for name, chosen in (("ratio", median), ("least", min), ("most", max)):
                rows[name] = {key: chosen(ratios) for key, ratios in of_passes.items()}
        found[str(width)] = {name: {key: round(value, 3) for key, value in row.items()} for name, row in rows.items()}
        for name, row in found[str(width)].items():
            clock, cpu = row["per_second"], row["per_cpu_second"]
            print(f"{kind:>8} {width:3} {name:>7} {clock:8.2f} by the clock, {cpu:8.2f} by CPU", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="smollm2-135m", help="a card of the llama_cpp engine, or a path")
    parser.add_argument("--native", default="", help="a Python that has xllamacpp, llama.cpp's own server")
    parser.add_argument(
        "--streams", action="store_true", help="a part of the cache to each request, whatever the default"
    )
    parser.add_argument("--one-pool", action="store_true", help="one cache for all requests, whatever the default")
    parser.add_argument("--alone", action="store_true", help="Llama() too, one request after the other")
    parser.add_argument("--prompts", default="shared,unshared")
    parser.add_argument("--widths", default="1,4,8,16", help="requests in flight")
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--requests", type=int, default=16)
    parser.add_argument("--prompt", type=int, default=1400, help="tokens of each prompt")
    parser.add_argument("--reply", type=int, default=48, help="tokens of each reply at most")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    engine = open_engine(options.model, parallel=1, context=64)
    assert isinstance(engine, LlamaCppEngine)
    kinds = options.prompts.split(",")
    ids = {kind: prompts(engine, kind, options.requests, options.prompt) for kind in kinds}
    asyncio.run(engine.close())
    rows: dict[str, object] = {kind: compared(kind, ids[kind], options) for kind in kinds}
    if options.alone:
        rows["Llama"] = {kind: alone(ids[kind], options) for kind in kinds}
    keys = ("requests", "prompt", "reply", "threads", "passes", "streams")
    print(json.dumps({**rows, **{key: getattr(options, key) for key in keys}}))


if __name__ == "__main__":
    main()
