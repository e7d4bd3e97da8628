"""Many pieces of work at once, each result written as it comes. Ctrl-C stops them, and what is finished is kept.

Engines are the bottleneck of a run and of grading with a model: everything is in flight together, and nothing but the
engines ever waits. Results are written by a thread of their own, many in one transaction.
"""

from __future__ import annotations

import asyncio
import gc
import signal
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic, TypeVar

Job = TypeVar("Job")
Begun = TypeVar("Begun")
Done = TypeVar("Done")

GATHER = 0.1  # seconds between two transactions, so that fast work shares each among many results


class Interrupted(Exception):
    """Ctrl-C: what was finished is stored; the rest can be taken up again."""


@dataclass(frozen=True, slots=True)
class Lane(Generic[Job]):
    """Jobs that share one engine, and how many of them may be in flight."""

    jobs: Iterable[Job]
    in_flight: int


class Recorder(Generic[Done]):
    """Writes results from a thread: the first at once, those that follow closely together.

    Args:
        write: stores some results in one transaction.
        on_written: told how many, from the writing thread.
    """

    def __init__(self, write: Callable[[list[Done]], None], on_written: Callable[[int], None] = lambda count: None):
        self._store = write
        self._on_written = on_written
        self._waiting: list[Done] = []
        self._thread = ThreadPoolExecutor(1, "recorder")
        self._writing: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()

    def add(self, done: Done) -> None:
        """Queue one result. Raises what an earlier write raised, so that a full disk stops the work."""
        self._waiting.append(done)
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

    def _write(self, batch: list[Done]) -> None:
        self._store(batch)
        self._on_written(len(batch))


async def work_all(
    lanes: Sequence[Lane[Job]],
    begin: Callable[[Job], Awaitable[Begun]],
    finish: Callable[[Job, Begun], Awaitable[Done]],
    recorder: Recorder[Done],
    on_interrupt: Callable[[], None] = lambda: None,
) -> None:
    """Do every job of every lane and record what comes of it.

    A worker begins its next job while it finishes the last one: an episode is played while the one before is graded.
    The first Ctrl-C stops handing out jobs and drains those in flight; the second cancels them. Either way everything
    that was finished is in the store when `Interrupted` is raised. An exception of a job stops all: the others are
    cancelled, what is finished is stored, and it is raised.
    """
    stop = asyncio.Event()

    async def complete(job: Job, begun: Begun) -> None:
        recorder.add(await finish(job, begun))

    async def worker(jobs: Iterable[Job]) -> None:
        finishing: asyncio.Task[None] | None = None
        try:
            for job in jobs:
                begun = await begin(job)
                if finishing:
                    await finishing
                finishing = asyncio.create_task(complete(job, begun))
                if stop.is_set():
                    break
            if finishing:
                await finishing
        finally:
            if finishing:
                finishing.cancel()

    # The workers of a lane share one iterator: whoever is free takes the next job.
    shared = [(iter(lane.jobs), lane.in_flight) for lane in lanes]
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
