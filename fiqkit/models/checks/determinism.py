"""How often an engine gives two answers to one request: cold against warm cache, and alone against in company."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from fiqkit.models.engine import Completion, Engine, Request

COMPANY = 16  # requests in flight at once in the crowded passes


async def flip_rate(engine: Engine, requests: Sequence[Request]) -> dict[str, float | int | None]:
    """Complete every request four times: alone with a cold cache, alone again, and twice in company.

    The first pass is cold only if the engine has not seen these prompts before. Two completions are the same when their
    token ids are (their texts, where the engine gives no ids). Sampled requests must carry a seed to be comparable.

    Returns:
        requests: how many there are.
        cold_warm: share whose second completion differs from the first, both alone.
        alone_company: share whose completion among `COMPANY` in flight differs from the one alone (warm).
        company_company: share that differs between two such crowded passes.
        Rates are None without any request.

    Raises:
        EngineError: a request failed.
    """
    cold = [await engine.complete(request) for request in requests]
    warm = [await engine.complete(request) for request in requests]
    first = await _in_company(engine, requests)
    second = await _in_company(engine, list(reversed(requests)))
    return {
        "requests": len(requests),
        "cold_warm": _differing(cold, warm),
        "alone_company": _differing(warm, first),
        "company_company": _differing(first, second[::-1]),
    }


async def _in_company(engine: Engine, requests: Sequence[Request]) -> list[Completion]:
    gate = asyncio.Semaphore(COMPANY)

    async def one(request: Request) -> Completion:
        async with gate:
            return await engine.complete(request)

    return await asyncio.gather(*(one(request) for request in requests))


def _differing(left: Sequence[Completion], right: Sequence[Completion]) -> float | None:
    if not left:
        return None
    return sum(_identity(a) != _identity(b) for a, b in zip(left, right, strict=True)) / len(left)


def _identity(completion: Completion) -> object:
    return tuple(completion.output_ids) or (completion.reasoning, completion.text, completion.finish)
