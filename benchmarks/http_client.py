"""Which HTTP client should carry the requests? The same requests through each, against one server in its own process.

    python benchmarks/http_client.py                 # instant replies: the client is the bottleneck
    python benchmarks/http_client.py --delay 0.02    # a server that takes 20 ms: the ideal is in flight ÷ delay

Every request is a 2 kB chat completion and every reply 400 bytes. `engine` is the kit's own `openai` engine over its
client, so its distance from the bare client is what the window, the retries and the checks cost. The passes take
turns, and each client's best pass counts, because whatever else the machine does only ever slows one down. The last
line is JSON: requests per second by client.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import time
from collections.abc import Awaitable, Callable
from typing import Any

from fiqkit.models.engine import Request, Sampling
from fiqkit.models.served.openai import OpenAIEngine

TEXT = "word " * 400
REPLY = json.dumps(
    {
        "id": "x" * 180,
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "yes"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 400, "completion_tokens": 1, "total_tokens": 401},
    }
).encode()
MODELS = json.dumps({"data": [{"id": "m", "owned_by": "bench"}]}).encode()


class Protocol(asyncio.Protocol):
    """The least that is an HTTP server: it reads Content-Length and answers after `delay` seconds."""

    delay = 0.0

    def __init__(self) -> None:
        self.buffer = b""
        self.transport: Any = None

    def connection_made(self, transport: Any) -> None:
        """Keep the transport."""
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer each whole request in the buffer."""
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            head = self.buffer[:end].lower()
            mark = head.find(b"content-length:")
            size = int(head[mark + 15 :].split(b"\r\n", 1)[0]) if mark >= 0 else 0
            if len(self.buffer) < end + 4 + size:
                return
            body = self.body(head, self.buffer[end + 4 : end + 4 + size])
            self.buffer = self.buffer[end + 4 + size :]
            loop = asyncio.get_running_loop()
            loop.call_later(self.delay, self.answer, body) if self.delay else self.answer(body)

    def body(self, head: bytes, request: bytes) -> bytes:
        """What to answer: the list of models, or a completion."""
        return MODELS if head.startswith(b"get") else REPLY

    def answer(self, body: bytes) -> None:
        """Send one reply."""
        if not self.transport.is_closing():
            head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            self.transport.write(head.encode() + body)


def serve(delay: float, ports: Any) -> None:
    """Serve until the process is ended; the port goes into the queue."""

    async def main() -> None:
        Protocol.delay = delay
        server = await asyncio.get_running_loop().create_server(Protocol, "127.0.0.1", 0)
        ports.put(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(main())


def payload(number: int) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": f"{number} {TEXT}"}], "max_tokens": 8}


async def replay(count: int, width: int, send: Callable[[int], Awaitable[None]]) -> float:
    """Requests per second with `width` in flight."""
    numbers = iter(range(count))

    async def worker() -> None:
        for number in numbers:
            await send(number)

    start = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(width)))
    return count / (time.perf_counter() - start)


async def with_aiohttp(url: str, count: int, width: int) -> float:
    import aiohttp

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def send(number: int) -> None:
            async with session.post(f"{url}/chat/completions", data=json.dumps(payload(number)).encode()) as reply:
                json.loads(await reply.read())["choices"][0]

        return await replay(count, width, send)


async def with_httpx(url: str, count: int, width: int) -> float:
    import httpx

    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx.AsyncClient(limits=limits, timeout=600, trust_env=False) as client:

        async def send(number: int) -> None:
            reply = await client.post(f"{url}/chat/completions", content=json.dumps(payload(number)).encode())
            json.loads(reply.content)["choices"][0]

        return await replay(count, width, send)


async def with_engine(url: str, count: int, width: int) -> float:
    engine = OpenAIEngine("bench", [url], parallel=width)
    request = Request(messages=payload(0)["messages"], sampling=Sampling(max_tokens=8))
    await asyncio.gather(*(engine.complete(request) for _ in range(8 * width)))  # the window opens

    async def send(number: int) -> None:
        await engine.complete(Request(messages=payload(number)["messages"], sampling=Sampling(max_tokens=8)))

    try:
        return await replay(count, width, send)
    finally:
        await engine.close()


CLIENTS = {"httpx": with_httpx, "aiohttp": with_aiohttp, "engine": with_engine}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--in-flight", type=int, default=64)
    parser.add_argument("--delay", type=float, default=0.0, help="seconds that the server takes for a reply")
    parser.add_argument("--passes", type=int, default=3)
    arguments = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    ports = context.Queue()
    server = context.Process(target=serve, args=(arguments.delay, ports), daemon=True)
    server.start()
    url = f"http://127.0.0.1:{ports.get(timeout=60)}/v1"
    best = dict.fromkeys(CLIENTS, 0.0)
    for number in range(arguments.passes):
        for name, run in CLIENTS.items():
            rate = asyncio.run(run(url, arguments.requests, arguments.in_flight))
            best[name] = max(best[name], rate)
            print(f"pass {number + 1}  {name:8} {rate:8.0f} requests/s")
    server.terminate()
    ideal = arguments.in_flight / arguments.delay if arguments.delay else None
    print(json.dumps({**{name: round(rate) for name, rate in best.items()}, "ideal": ideal}))


if __name__ == "__main__":
    main()
