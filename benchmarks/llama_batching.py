"""Tokens per second of the llama.cpp engine with 1, 4 and 8 requests in flight, beside `llama_cpp.Llama`, which serves
one sequence at a time, on the same requests.

    python benchmarks/llama_batching.py --requests 16 --prompt 1400 --reply 48

All requests share a prompt and differ in its last words, as the turns of many episodes do. Both ways are given the same
number of threads and may reuse the prefix. Rates are of output tokens, the prompt's computation included: by the wall
clock, and by the second of CPU time, which other work on the machine does not stretch. The last line is JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Callable

from fiqkit.models import open_engine
from fiqkit.models.cards.cards import find_card
from fiqkit.models.cards.weights import locate
from fiqkit.models.engine import Request, Sampling
from fiqkit.models.local.llama_cpp import LlamaCppEngine

WORDS = "The company reported revenue of 1,234 million and net income of 56 million for the fiscal year. "


def prompts(engine: LlamaCppEngine, count: int, length: int) -> list[list[int]]:
    shared = engine._model.tokenize(WORDS * (length // 15))[:length]
    return [shared + engine._model.tokenize(f" Question {i}: what is") for i in range(count)]


def measured(work: Callable[[], int]) -> dict[str, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    tokens = work()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return {"tokens": tokens, "per_second": round(tokens / wall, 1), "per_cpu_second": round(tokens / cpu, 1)}


def batched(parallel: int, options: argparse.Namespace) -> dict[str, float]:
    async def work() -> int:
        requests = [Request(prompt_ids=ids, sampling=Sampling(max_tokens=options.reply)) for ids in ids_of_all]
        return sum(reply.output_tokens for reply in await asyncio.gather(*map(engine.complete, requests)))

    engine = open_engine(
        options.model, parallel=parallel, threads=options.threads, context=options.prompt + options.reply + 32
    )
    assert isinstance(engine, LlamaCppEngine)
    ids_of_all = prompts(engine, options.requests, options.prompt)
    result = measured(lambda: asyncio.run(work()))
    asyncio.run(engine.close())
    return result


def sequential(ids_of_all: list[list[int]], options: argparse.Namespace) -> dict[str, float]:
    from llama_cpp import Llama

    path = str(locate(find_card(options.model)))
    model = Llama(
        path,
        n_ctx=options.prompt + options.reply + 32,
        n_threads=options.threads,
        n_threads_batch=options.threads,
        verbose=False,
    )

    def work() -> int:
        replies = (model.create_completion(ids, max_tokens=options.reply, temperature=0.0) for ids in ids_of_all)
        return sum(reply["usage"]["completion_tokens"] for reply in replies)

    result = measured(work)
    model.close()
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="smollm2-135m", help="a card of the llama_cpp engine, or a path")
    parser.add_argument("--requests", type=int, default=16)
    parser.add_argument("--prompt", type=int, default=1400, help="tokens of the shared prompt")
    parser.add_argument("--reply", type=int, default=48, help="tokens of each reply at most")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    engine = open_engine(options.model, parallel=1, context=options.prompt + 64)
    assert isinstance(engine, LlamaCppEngine)
    ids_of_all = prompts(engine, options.requests, options.prompt)
    asyncio.run(engine.close())
    rows = {"Llama": sequential(ids_of_all, options)}
    for parallel in (1, 4, 8):
        rows[str(parallel)] = batched(parallel, options)
    for name, row in rows.items():
        print(f"{name:>6} {row['per_second']:8.1f} tok/s {row['per_cpu_second']:8.1f} tok per CPU second")
    print(json.dumps({"in_flight": rows, "threads": options.threads}))


if __name__ == "__main__":
    main()
