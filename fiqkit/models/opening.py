"""Opening a model off the event loop, so that the loop, and Ctrl-C with it, goes on while weights load."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_local = threading.local()


def abandoned() -> bool:
    """Whether nobody waits any more for what this thread is opening. Loaders ask it where they can stop."""
    event: threading.Event | None = getattr(_local, "abandoned", None)
    return event is not None and event.is_set()


async def off_loop(work: Callable[[], T], dispose: Callable[[T], object] = lambda made: None) -> T:
    """What `work` returns or raises, computed on a thread that ends with the process.

    When the awaiting task is cancelled it goes on at once; what the thread makes all the same goes to `dispose`.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()
    left = threading.Event()

    def deliver(made: T | None, error: BaseException | None) -> None:
        if future.cancelled():
            return
        if error is None:
            future.set_result(made)  # type: ignore[arg-type]
        else:
            future.set_exception(error)

    def run() -> None:
        _local.abandoned = left
        made, error = None, None
        try:
            made = work()
        except BaseException as raised:
            error = raised
        if not left.is_set() and not loop.is_closed():
            loop.call_soon_threadsafe(deliver, made, error)
        elif error is None:
            dispose(made)  # type: ignore[arg-type]

    threading.Thread(target=run, name="opening", daemon=True).start()
    try:
        return await future
    except asyncio.CancelledError:
        left.set()
        if future.done() and not future.cancelled() and not future.exception():
            dispose(future.result())
        raise
