"""The thread that owns a model in this process, and what every such engine promises of its requests.

A request that was submitted is answered or failed, always: after a fault, and after `stop`, whatever waits and whatever
comes later is failed with one clear line. The model is freed once, on the thread that used it, after its last request.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from typing import Generic, Protocol, TypeVar

from fiqkit.models.engine import Completion, EngineError


class Pending:
    """One completion that is awaited. Made on the event loop; `settle` may be called from any thread."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._future: asyncio.Future[Completion] = self._loop.create_future()
        self.cancelled = False  # nobody waits any more: the thread lets go of the work when it next looks

    async def wait(self) -> Completion:
        """The completion.

        Raises:
            EngineError: what `settle` was given in its place.
        """
        try:
            return await self._future
        except asyncio.CancelledError:
            self.cancelled = True
            raise

    def settle(self, outcome: Completion | EngineError) -> None:
        """Deliver the outcome; without effect when nobody waits any more."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._deliver, outcome)

    def _deliver(self, outcome: Completion | EngineError) -> None:
        if self._future.done():
            return
        if isinstance(outcome, EngineError):
            self._future.set_exception(outcome)
        else:
            self._future.set_result(outcome)


class Job(Protocol):
    """One request on its way."""

    @property
    def pending(self) -> Pending:
        """Who waits for it."""
        ...

    def release(self) -> None:
        """Free what it holds beside the model. Safe to call twice."""
        ...


J = TypeVar("J", bound=Job)


class Batch(Protocol[J]):
    """The work of one model. All but `interrupt` is called on the worker's thread alone."""

    @property
    def idle(self) -> bool:
        """Whether there is nothing to do until a job arrives."""
        ...

    def take(self, job: J) -> None:
        """A job has arrived."""
        ...

    def step(self) -> None:
        """Do a bounded piece of work; release and settle the jobs that it finishes or drops."""
        ...

    def interrupt(self) -> None:
        """Let the step under way raise `Interrupted` as soon as it can. From any thread; nothing is computed after."""
        ...

    def give_up(self) -> list[J]:
        """The jobs that are not finished."""
        ...

    def free(self) -> None:
        """Let go of the model."""
        ...


class Interrupted(Exception):
    """A step that ended early because the worker is being stopped."""


class Worker(Generic[J]):
    """Runs a `Batch` on a thread of its own. `submit` and `stop` may be called from any thread."""

    def __init__(self, library: str, batch: Batch[J]) -> None:
        self._library, self._batch = library, batch
        self._inbox: queue.SimpleQueue[J | None] = queue.SimpleQueue()
        self._door = threading.Lock()  # a job is let in, or the door is closed: never both
        self._end = ""  # why no job is taken any more
        self._thread = threading.Thread(target=self._run, name=library, daemon=True)
        self._thread.start()

    def submit(self, job: J) -> None:
        """Queue a job.

        Raises:
            EngineError: the worker was stopped, or has failed; says how.
        """
        with self._door:
            if not self._end:
                self._inbox.put(job)
                return
        job.release()
        raise EngineError(self._end)

    def stop(self) -> None:
        """Fail what is under way, free the model, end the thread. Safe to call twice."""
        self._close("the engine is closed")
        self._batch.interrupt()
        self._inbox.put(None)
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _close(self, why: str) -> None:
        with self._door:
            self._end = self._end or why

    # All that follows runs on the worker's thread.

    def _run(self) -> None:
        try:
            while self._receive():
                self._batch.step()
        except Interrupted:
            pass  # `stop` has closed the door
        except BaseException as fault:  # of the library or a bug: every caller gets it, none waits for ever
            self._close(f"the {self._library} worker failed: {fault!r}")
        error = EngineError(self._end)
        left = self._batch.give_up()
        while not self._inbox.empty():
            if (job := self._inbox.get()) is not None:
                left.append(job)
        for job in left:
            job.release()
            job.pending.settle(error)
        self._batch.free()

    def _receive(self) -> bool:
        """Take in what has arrived; wait for something where there is nothing to do. False: stop."""
        while True:
            try:
                job = self._inbox.get(block=self._batch.idle)
            except queue.Empty:
                return True
            if job is None:
                return False
            self._batch.take(job)
