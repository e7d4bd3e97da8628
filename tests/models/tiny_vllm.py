"""What the tests of vLLM share: the tiny model, small requests, and a stopwatch."""

import asyncio
import os
import time
from dataclasses import replace
from typing import Any

from fiqkit.models.cards.cards import find_card
from fiqkit.models.engine import Engine, Request, Sampling

CONTEXT = 1024
CARD = replace(find_card("smollm2-135m"), context=CONTEXT)
ARGUMENTS = {"enforce_eager": True}  # compiling takes minutes on a CPU and gains nothing here
SERVER_ARGUMENTS = ("--enforce-eager", "--max-num-seqs", "16")
os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")  # GiB
os.environ.setdefault("VLLM_CPU_OMP_THREADS_BIND", "nobind")


def ask(text: str, tokens: int = 24, **more: Any) -> Request:
    return Request(messages=[{"role": "user", "content": text}], sampling=Sampling(max_tokens=tokens), **more)


SENTENCES = [ask(f"Write one sentence about the number {number}.", 16) for number in range(16)]


async def tokens_per_second(engine: Engine, requests: list[Request], width: int) -> float:
    gate = asyncio.Semaphore(width)

    async def one(request: Request) -> int:
        async with gate:
            return (await engine.complete(request)).output_tokens

    start = time.perf_counter()
    tokens = sum(await asyncio.gather(*(one(request) for request in requests)))
    return tokens / (time.perf_counter() - start)
