"""The bridge between the event loop that awaits a completion and the thread that makes it."""

from __future__ import annotations

import asyncio

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
