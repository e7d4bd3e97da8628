"""Plays many episodes at once and hands each finished one, with its verdicts, to the store.

The engines are the bottleneck: episodes of all modes and models are in flight together, and nothing but the engines
ever waits. Finished episodes are written by a thread of their own, many in one transaction.
"""

from __future__ import annotations

import asyncio
import gc
import signal
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass

from fiqkit.agent.environment import Environment
from fiqkit.agent.modes import Mode
from fiqkit.agent.policy import Agent, play
from fiqkit.agent.world import World
from fiqkit.datasets import record_hash
from fiqkit.records import Episode, Instance, Verdict
from fiqkit.store.store import Key, Store

Judge = Callable[[Episode, Instance], Awaitable[Sequence[Verdict]]]
Finished = tuple[Episode, Sequence[Verdict]]

GATHER = 0.1  # seconds between two transactions, so that a fast run shares each among many episodes


@dataclass(frozen=True, slots=True)
class Job:
    """One episode to play."""

    agent: Agent
    mode: Mode
    instance: Instance


@dataclass(frozen=True, slots=True)
class Lane:
    """The jobs of one agent and how many of them may be in flight."""

    jobs: Sequence[Job]
    in_flight: int


class Interrupted(Exception):
    """Ctrl-C: what was finished is stored; the rest can be resumed."""


class Recorder:
    """Writes finished episodes from a thread: the first at once, those that follow closely together."""

    def __init__(self, store: Store, run: str, on_written: Callable[[int], None] = lambda count: None) -> None:
        self._store = store
        self._run = run
        self._on_written = on_written
        self._waiting: list[Finished] = []
        self._thread = ThreadPoolExecutor(1, "recorder")
        self._writing: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()

    def add(self, finished: Finished) -> None:
        """Queue one episode. Raises what an earlier write raised, so that a full disk stops the run."""
        self._waiting.append(finished)
        if self._writing is None or self._writing.done():
            self._check()
            self._writing = asyncio.create_task(self._write_all())

    async def close(self) -> None:
        """Write what is left and stop the thread."""
        self._closing.set()
        try:
            if self._writing is not None:
                await asyncio.wait([self._writing])
                self._check()
            await self._write_all()
        finally:
            self._thread.shutdown()

    def _check(self) -> None:
        if self._writing is not None:
            self._writing.result()

    async def _write_all(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting, []
            await asyncio.get_running_loop().run_in_executor(self._thread, self._write, batch)
            with suppress(TimeoutError):
                async with asyncio.timeout(GATHER):
                    await self._closing.wait()

    def _write(self, batch: list[Finished]) -> None:
        self._store.write(self._run, batch)
        self._on_written(len(batch))


async def play_all(
    lanes: Sequence[Lane],
    world: World,
    judge: Judge,
    recorder: Recorder,
    on_interrupt: Callable[[], None] = lambda: None,
) -> None:
    """Play every job of every lane and record it.

    The first Ctrl-C stops handing out jobs and drains those in flight; the second cancels them. Either way everything
    that was finished is in the store when `Interrupted` is raised. An error in one episode that is not the engine's is
    a bug: the others are cancelled, what is finished is stored, and it is raised.
    """
    stop = asyncio.Event()

    async def finish(episode: Episode, instance: Instance) -> None:
        recorder.add((episode, await judge(episode, instance)))

    async def worker(jobs: Iterable[Job]) -> None:
        finishing: asyncio.Task[None] | None = None
        try:
            for job in jobs:
                episode = await play(job.agent, Environment(job.instance, job.mode, world))
                if finishing:
                    await finishing
                # The next episode does not wait for this one's verdicts, only the one after it does.
                finishing = asyncio.create_task(finish(episode, job.instance))
                if stop.is_set():
                    break
            if finishing:
                await finishing
        finally:
            if finishing:
                finishing.cancel()

    # The workers of a lane share one iterator: whoever is free takes the next job.
    shared = [(iter(lane.jobs), min(lane.in_flight, len(lane.jobs))) for lane in lanes]
    workers = [asyncio.ensure_future(worker(jobs)) for jobs, count in shared for _ in range(count)]

    def interrupt() -> None:
        if stop.is_set():
            for task in workers:
                task.cancel()
        stop.set()
        on_interrupt()

    gc.freeze()  # models, index and instances stay: the collector need not go through them again and again
    loop = asyncio.get_running_loop()
    with suppress(NotImplementedError, RuntimeError, ValueError):  # no signals in a thread other than the main one
        loop.add_signal_handler(signal.SIGINT, interrupt)
    try:
        await asyncio.gather(*workers)
    except asyncio.CancelledError:
        if not stop.is_set():
            raise
    finally:
        for task in workers:
            task.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
        with suppress(NotImplementedError, RuntimeError, ValueError):
            loop.remove_signal_handler(signal.SIGINT)
        gc.unfreeze()
        await recorder.close()
    if stop.is_set():
        raise Interrupted


def jobs_left(
    agents: Sequence[Agent], modes: Sequence[Mode], instances: Sequence[Instance], done: set[Key]
) -> list[list[Job]]:
    """Each agent's jobs whose keys are not in `done`, one instance's modes side by side."""
    items = [(instance, record_hash(instance)) for instance in instances]
    return [
        [
            Job(agent, mode, instance)
            for instance, item in items
            for mode in modes
            if (agent.name, mode.name, instance.instance_id, item, 0) not in done
        ]
        for agent in agents
    ]
