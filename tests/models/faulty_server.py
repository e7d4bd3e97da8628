"""An OpenAI-compatible server that misbehaves on purpose, at a seeded rate, and counts each time that it does.

What it replies depends on the request alone, and whether it misbehaves on the request and on how often it has seen it:
two runs meet the same faults whatever the order of their requests.

    python tests/models/faulty_server.py --port 8009 --rate 0.2      # by hand: fiqkit run --agent http://127.0.0.1:8009/v1
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import random
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from aiohttp import web

# What the server does → the name under which the engine counts it.
FAULTS = {
    "429": "rate_limited",
    "500": "server_error",
    "reset": "reset",
    "hang": "timeout",
    "half_json": "bad_json",
    "wrong_schema": "invalid_output",
    "empty": "empty",
    "10mb": "too_large",
}
WRONG = "Sure! Here is what you asked for."


def echo(body: Mapping[str, Any]) -> str:
    """A reply that is a function of the request: a digest, or what the constraint allows, picked by the digest."""
    digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
    form = body.get("response_format", {}).get("json_schema", {}).get("schema")
    if form is None:
        return f"reply {digest[:12]}"
    return json.dumps({name: _pick(part, digest) for name, part in form["properties"].items()})


def _pick(part: Mapping[str, Any], digest: str) -> Any:
    options = part.get("enum")
    return options[int(digest, 16) % len(options)] if options else digest[:8]


class FaultyServer:
    """`async with FaultyServer(rate=0.1) as server:` serves at `server.url` until the block is left.

    Args:
        rate: share of completions that go wrong, spread evenly over `kinds`.
        reply: text of a good completion, from the request's body.
        seconds: time for one good completion; with `slots`, only so many are worked on at once, the others queue.
        retry_after: the header that goes with a 429, in seconds.

    Attributes:
        injected: how often each kind of fault was committed.
        early: requests that came while a Retry-After was running.
        served: good completions; `most`: the most requests that were in flight at once.
    """

    def __init__(
        self,
        *,
        rate: float = 0.0,
        kinds: tuple[str, ...] = tuple(FAULTS),
        seed: int = 0,
        model: str | tuple[str, ...] = "echo",
        owned_by: str = "nobody",
        reply: Callable[[Mapping[str, Any]], str] = echo,
        seconds: float = 0.0,
        slots: int = 1_000_000,
        retry_after: float = 0.02,
        port: int = 0,
    ) -> None:
        self.rate, self.kinds, self.seed, self.owned_by = rate, kinds, seed, owned_by
        self.models = (model,) if isinstance(model, str) else model
        self.reply, self.seconds, self.retry_after = reply, seconds, retry_after
        self.injected: Counter[str] = Counter()
        self.bodies: list[dict[str, Any]] = []
        self.early = self.served = self.in_flight = self.most = 0
        self.down = False
        self.url = ""
        self._port = port
        self._slots = asyncio.Semaphore(slots)
        self._seen: Counter[bytes] = Counter()
        self._closed_until = 0.0

    async def __aenter__(self) -> FaultyServer:
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_get("/v1/models", self._models)
        app.router.add_post("/v1/chat/completions", self._complete)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self._port)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def _models(self, _: web.Request) -> web.Response:
        return web.json_response({"data": [{"id": name, "owned_by": self.owned_by} for name in self.models]})

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        self.in_flight += 1
        self.most = max(self.most, self.in_flight)
        try:
            if self.down:
                return web.Response(status=503, text="down")
            body = json.loads(raw)
            self.bodies.append(body)
            self.early += asyncio.get_running_loop().time() < self._closed_until
            if fault := self._fault(raw, body):
                self.injected[fault] += 1
                return await self._misbehave(fault, request, body)
            async with self._slots:
                if self.seconds:
                    await asyncio.sleep(self.seconds)
            self.served += 1
            return web.json_response(self._completion(self.reply(body)))
        finally:
            self.in_flight -= 1

    def _fault(self, raw: bytes, body: Mapping[str, Any]) -> str | None:
        self._seen[raw] += 1
        draw = random.Random(f"{self.seed} {self._seen[raw]} {hashlib.sha256(raw).hexdigest()}")
        if draw.random() >= self.rate:
            return None
        kinds = [kind for kind in self.kinds if kind != "wrong_schema" or "response_format" in body]
        return draw.choice(kinds) if kinds else None

    async def _misbehave(self, fault: str, request: web.Request, body: Mapping[str, Any]) -> web.StreamResponse:
        good = json.dumps(self._completion(self.reply(body)))
        if fault == "429":
            self._closed_until = asyncio.get_running_loop().time() + self.retry_after
            return web.Response(status=429, headers={"Retry-After": str(self.retry_after)}, text="slow down")
        if fault == "reset":
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        if fault == "hang":
            await asyncio.sleep(3600)
        replies = {
            "500": web.Response(status=500, text="<html>oops</html>"),
            "half_json": web.Response(text=good[: len(good) // 2], content_type="application/json"),
            "wrong_schema": web.json_response(self._completion(WRONG)),
            "empty": web.Response(text=""),
            "10mb": web.Response(body=good.encode() + b" " * 10 * 1024 * 1024, content_type="application/json"),
        }
        return replies[fault]

    def _completion(self, text: str) -> dict[str, Any]:
        words = max(1, len(text.split()))
        return {
            "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 10, "completion_tokens": words, "total_tokens": 10 + words},
        }


async def _serve(arguments: argparse.Namespace) -> None:
    async with FaultyServer(
        rate=arguments.rate, seed=arguments.seed, seconds=arguments.seconds, port=arguments.port
    ) as server:
        print(server.url, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=8009)
    parser.add_argument("--rate", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=0.0)
    asyncio.run(_serve(parser.parse_args()))
