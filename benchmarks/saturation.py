"""Is the engine the bottleneck? Tokens per second through the scheduler, and straight into the same engine.

    python benchmarks/saturation.py                                  # llama.cpp, the embedded model
    python benchmarks/saturation.py --model DIR --engine vllm        # in an environment that has vLLM

Episodes are played by the scheduler, with search, simulator, grading and the store; their requests are then replayed,
each episode's in order, with as many episodes in flight and nothing between them. The engine is opened anew for each
pass, so that both begin with a cold cache, and passes take turns. The last line is JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from overhead import episodes

from fiqkit.agent.modes import mode
from fiqkit.agent.policy import EngineAgent
from fiqkit.agent.world import Budget, World
from fiqkit.bench_data import INDEX
from fiqkit.index import Index
from fiqkit.index.service import Searcher
from fiqkit.models import open_engine
from fiqkit.models.engine import Completion, Engine, Request, Sampling
from fiqkit.roles import open_grader, open_judge, open_simulator
from fiqkit.roles.assess import Assessor
from fiqkit.run.jobs import jobs_left
from fiqkit.run.scheduler import play_all
from fiqkit.run.work import Lane, Recorder
from fiqkit.store.store import Store


class Counting:
    """An engine that keeps each request under its dialogue's question and counts output tokens."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.name, self.context, self.can = engine.name, engine.context, engine.can
        self.dialogues: dict[str, list[Request]] = defaultdict(list)
        self.tokens = 0

    async def complete(self, request: Request) -> Completion:
        """As the engine does."""
        messages = request.messages or ()
        self.dialogues["".join(m["content"] for m in messages[:2])].append(request)
        completion = await self.engine.complete(request)
        self.tokens += completion.output_tokens
        return completion

    def describe(self) -> Mapping[str, Any]:
        """As the engine does."""
        return self.engine.describe()


async def scheduled(engine: Counting, count: int, width: int, folder: Path) -> float:
    """Output tokens per second of whole episodes."""
    store = Store(folder / f"{time.time_ns()}.db", create=True)
    instances = episodes(count)
    store.begin_run("bench", "run", "bench", instances, {})
    agent = EngineAgent("m", engine, Sampling(max_tokens=96))  # type: ignore[arg-type]
    lanes = [Lane(jobs, width) for jobs in jobs_left([agent], [mode("interact")], instances, set())]
    searcher = Searcher(Index.open(INDEX, lexical=True), 2)
    world = World(open_simulator("rules"), searcher, budget=Budget(4, 2), result_tokens=350)
    start = time.perf_counter()
    await play_all(
        lanes, world, Assessor(open_grader("rules"), open_judge("rules")), Recorder(partial(store.write, "bench"))
    )
    seconds = time.perf_counter() - start
    searcher.close()
    store.close()
    return engine.tokens / seconds


async def straight(engine: Counting, dialogues: list[list[Request]], width: int) -> float:
    """Output tokens per second of the same requests."""
    waiting = iter(dialogues)

    async def worker() -> None:
        for requests in waiting:
            for request in requests:
                await engine.complete(request)

    start = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(width)))
    return engine.tokens / (time.perf_counter() - start)


async def measure(args: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Both ways, in turns."""
    rates: dict[str, list[float]] = {"scheduled": [], "straight": []}
    for _ in range(args.passes):
        opened = Counting(open_engine(args.model, engine=args.engine, **args.setting))
        width = args.width or opened.can.parallel
        rates["scheduled"].append(await scheduled(opened, args.episodes, width, folder))
        dialogues = list(opened.dialogues.values())
        await opened.engine.close()
        again = Counting(open_engine(args.model, engine=args.engine, **args.setting))
        rates["straight"].append(await straight(again, dialogues, width))
        await again.engine.close()
        print(f"scheduled {rates['scheduled'][-1]:.0f} tok/s, straight {rates['straight'][-1]:.0f} tok/s", flush=True)
    ratios = [a / b for a, b in zip(rates["scheduled"], rates["straight"], strict=True)]
    return {
        "model": args.model,
        "width": width,
        "scheduled_tok_s": round(median(rates["scheduled"]), 1),
        "straight_tok_s": round(median(rates["straight"]), 1),
        "ratio": round(median(ratios), 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--engine")
    parser.add_argument("--episodes", type=int, default=16)
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--width", type=int)
    parser.add_argument("--setting", type=json.loads, default={}, help="of the engine: '{\"streams\": false}'")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(asyncio.run(measure(args, Path(folder)))))


if __name__ == "__main__":
    main()
