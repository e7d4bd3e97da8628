"""What does the harness add to the model's time? Three-turn episodes, everything stored and graded.

    python benchmarks/overhead.py --python OTHER/bin/python     # OTHER has inspect-ai, as .venv-inspect has

Two comparisons in one run:

- an instant engine: episodes per second beside inspect_ai's on its mock model with its logs on, in passes that take
  turns, equally many of each. Here an episode is a search in the bundled index, a question to the rules simulator and
  an answer, graded and judged by rules and written to SQLite; reading the instances, opening index and store, counting
  episodes into the table are on the clock. There it is three generations and a match scorer; imports and the making of
  its samples are off the clock. Without --python this side is left out.
- a server that takes 20 ms, 64 requests in flight: requests per second through `fiqkit` beside a bare replay of the
  very same requests by the same HTTP client, and a loop that sends them one after the other.

The last line is JSON: `ratio_inspect`, `ratio_ideal`, `ratio_sequential` and what they are made of.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from http_client import Protocol, replay

from fiqkit.agent.modes import mode
from fiqkit.agent.policy import EngineAgent
from fiqkit.agent.world import World
from fiqkit.bench_data import INDEX, INSTANCES
from fiqkit.datasets import dataset_hash, instance_row, read_instances, write_jsonl
from fiqkit.index import Index
from fiqkit.index.service import Searcher
from fiqkit.metrics.table import main_rows
from fiqkit.models.engine import Completion, Engine
from fiqkit.models.scripted import ScriptedEngine
from fiqkit.models.served.openai import OpenAIEngine
from fiqkit.records import Instance
from fiqkit.roles import open_grader, open_judge, open_simulator
from fiqkit.roles.assess import Assessor
from fiqkit.run.jobs import jobs_left
from fiqkit.run.scheduler import play_all
from fiqkit.run.work import Lane, Recorder
from fiqkit.store.load import load_scored
from fiqkit.store.store import Store

REPLIES = (
    '{"action": "search", "query": "net income"}',
    '{"action": "interact", "question": "Do you mean the consolidated company-wide figure?"}',
    '{"action": "answer", "response": "$46.75 billion", "confidence": 80}',
)
PASSAGE = "Invented Pottery, Form 10-K, year ended December 31, 2023. Net income: $46,751 million. " * 4
PASSES = 5
MODELS = {"data": [{"id": "m", "owned_by": "bench"}]}


def turn_of(messages: Sequence[Any]) -> int:
    """How many replies the dialogue has already."""
    return sum(message["role"] == "assistant" for message in messages)


def episodes(count: int) -> list[Instance]:
    """As many instances as wanted, the bundled ones over and over under new ids."""
    bundled = read_instances(INSTANCES)
    return [replace(bundled[i % len(bundled)], instance_id=f"b{i}") for i in range(count)]


async def through_fiqkit(engine: Engine, instances: list[Instance], width: int, store: Path) -> float:
    """Seconds for one episode an instance, through the scheduler into a store."""

    async def found(query: str, language: str) -> list[str]:
        return [PASSAGE]

    opened = Store(store, create=True)
    opened.begin_run("bench", "run", "bench", instances, {})
    agent = EngineAgent("m", engine)
    lanes = [Lane(jobs, width) for jobs in jobs_left([agent], [mode("interact")], instances, set())]
    assessor = Assessor(open_grader("rules"), open_judge("rules"))
    start = time.perf_counter()
    await play_all(lanes, World(open_simulator("rules"), found), assessor, Recorder(partial(opened.write, "bench")))
    seconds = time.perf_counter() - start
    assert opened.count("bench") == len(instances)
    opened.close()
    return seconds


def replied(request: Any) -> str:
    """The reply of this turn; the search is for the question itself, as an agent's would be."""
    messages = request.messages or ()
    turn = turn_of(messages)
    if turn:
        return REPLIES[turn]
    return json.dumps({"action": "search", "query": messages[-1]["content"][-160:]})


async def whole_run(instances: Path, width: int, store: Path) -> None:
    """What `fiqkit run` does from the file of instances to the table: everything but the model."""
    loaded = read_instances(instances)
    searcher = Searcher(Index.open(INDEX))
    opened = Store(store, create=True)
    try:
        opened.begin_run("bench", "run", dataset_hash(loaded), loaded, {})
        agent = EngineAgent("m", ScriptedEngine(replied))
        lanes = [Lane(jobs, width) for jobs in jobs_left([agent], [mode("interact")], loaded, set())]
        assessor = Assessor(open_grader("rules"), open_judge("rules"))
        recorder = Recorder(partial(opened.write, "bench"))
        await play_all(lanes, World(open_simulator("rules"), searcher), assessor, recorder)
        (row,) = main_rows(load_scored(opened, ["bench"]))
        assert row["n"] == len(loaded)
    finally:
        searcher.close()
        opened.close()


def instant(count: int, folder: Path) -> float:
    """Episodes per second on an engine that answers at once: instances read, index and store opened, searched, graded,
    judged, stored, read back and counted into the table, all on the clock."""
    folder.mkdir(parents=True, exist_ok=True)
    write_jsonl(folder / "instances.jsonl", map(instance_row, episodes(count)))
    start = time.perf_counter()
    asyncio.run(whole_run(folder / "instances.jsonl", 64, folder / "instant.db"))
    return count / (time.perf_counter() - start)


def inspect(count: int, folder: Path, python: str) -> float:
    """Episodes per second of inspect_ai in an interpreter of its own: three generations of its mock model, logs on."""
    folder.mkdir(parents=True, exist_ok=True)
    samples = [[i.instance_id, i.question, i.answer] for i in episodes(count)]
    given = {"samples": samples, "replies": REPLIES, "observation": PASSAGE}
    (folder / "samples.json").write_text(json.dumps(given), encoding="utf-8")
    script = Path(__file__).with_name("overhead_inspect.py")
    call = [python, str(script), str(folder / "samples.json"), str(folder / "logs")]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{python} failed: {done.stderr.strip().splitlines()[-1:]}")
    seconds: float = json.loads(done.stdout.splitlines()[-1])["seconds"]
    return count / seconds


class Slow(Protocol):
    """Answers each chat with the reply of its turn, after 20 ms."""

    delay = 0.02

    def body(self, head: bytes, request: bytes) -> bytes:
        """The list of models, or a completion."""
        if head.startswith(b"get"):
            return json.dumps(MODELS).encode()
        text = REPLIES[request.count(b'"assistant"')]
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 700, "completion_tokens": 30, "total_tokens": 730}
        return json.dumps({"id": "x", "choices": [choice], "usage": usage}).encode()


def serve(ports: Any) -> None:
    """Serve until the process is ended; the port goes into the queue."""

    async def main() -> None:
        server = await asyncio.get_running_loop().create_server(Slow, "127.0.0.1", 0)
        ports.put(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(main())


async def over_http(url: str, count: int, width: int, folder: Path) -> dict[str, float]:
    """Requests per second: through fiqkit, replayed bare, and one after the other. Medians of passes in turns."""
    import aiohttp

    sent: list[bytes] = []
    engine = OpenAIEngine("m", [url], "m", parallel=width)
    complete = engine._pool.complete

    async def recorded(path: str, payload: bytes, read: Any, **more: Any) -> Completion:
        sent.append(payload)
        return await complete(path, payload, read, **more)

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def send(number: int) -> None:
            async with session.post(f"{url}/chat/completions", data=sent[number]) as reply:
                json.loads(await reply.read())["choices"][0]

        engine._pool.complete = recorded  # type: ignore[method-assign]
        await through_fiqkit(engine, episodes(count), width, folder / "recorded.db")  # the window opens, too
        engine._pool.complete = complete  # type: ignore[method-assign]
        assert len(sent) == 3 * count
        await replay(len(sent), width, send)
        through, bare = [], []
        for number in range(PASSES):
            seconds = await through_fiqkit(engine, episodes(count), width, folder / f"{number}.db")
            through.append(3 * count / seconds)
            bare.append(await replay(len(sent), width, send))
            print(f"20 ms server: fiqkit {through[-1]:.0f}, bare {bare[-1]:.0f} requests/s", flush=True)
        one = await replay(min(150, len(sent)), 1, send)
    await engine.close()
    return {"fiqkit": median(through), "bare": median(bare), "sequential": one}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=1000)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument(
        "--python", help="an interpreter that has inspect-ai, which pins much: an environment of its own"
    )
    args = parser.parse_args()
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sides: dict[str, Callable[[int, Path], float]] = {"fiqkit": instant}
        if args.python:
            sides["inspect"] = partial(inspect, python=args.python)
        for label, side in sides.items():
            side(20, folder / f"warm-{label}")  # imports, compiled patterns
        passes: dict[str, list[float]] = {label: [] for label in sides}
        for number in range(PASSES):  # in turns, so that what else the machine does falls on both
            for label, side in sides.items():
                passes[label].append(side(args.episodes, folder / f"{label}-{number}"))
                print(f"{label}: {passes[label][-1]:.0f} episodes/s", flush=True)
        figures |= {f"{label}_episodes_s": median(rates) for label, rates in passes.items()}
        if args.python:
            figures["ratio_inspect"] = median(a / b for a, b in zip(passes["fiqkit"], passes["inspect"], strict=True))
        ports: Any = multiprocessing.Queue()
        server = multiprocessing.Process(target=serve, args=(ports,), daemon=True)
        server.start()
        try:
            url = f"http://127.0.0.1:{ports.get()}/v1"
            rates = asyncio.run(over_http(url, args.episodes, args.width, folder))
        finally:
            server.terminate()
    for label, rate in rates.items():
        print(f"20 ms server, {label}: {rate:.0f} requests/s")
    figures |= {f"{label}_requests_s": rate for label, rate in rates.items()}
    figures["ratio_ideal"] = rates["fiqkit"] / rates["bare"]
    figures["ratio_sequential"] = rates["fiqkit"] / rates["sequential"]
    print(json.dumps({name: round(value, 3) for name, value in figures.items()}))


if __name__ == "__main__":
    main()
