"""Several servers of one model as one pool: balanced by load, failing ones set aside, every request tried until it is
done or hopeless."""

from __future__ import annotations

import asyncio
import logging
import random
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

from fiqkit.models.engine import Completion, ContextOverflow, EngineError
from fiqkit.models.served.faults import Fault, Patience, Rejected
from fiqkit.models.served.http import below, exchange, open_session
from fiqkit.models.served.pace import Pace
from fiqkit.models.served.window import Window

_log = logging.getLogger(__name__)

# (a reply's JSON, seconds since the request was made, seconds of these in line) → completion; Fault where it is none
Read = Callable[[Any, float, float], Completion]


class Endpoint:
    """One server: its base URL (ending in /v1), its window, and whether it is set aside."""

    def __init__(self, url: str, window: Window, patience: Patience) -> None:
        self.url = url
        self.window = window
        self.in_flight = 0
        self.free_at = float("-inf")  # event-loop time before which nothing is sent here
        self._patience = patience
        self.gone_since = float("inf")  # event-loop time, while it is suspect
        self._failures = 0
        self._asides = 0

    @property
    def limit(self) -> int:
        """Requests that may be in flight: the window's, or one that tries out a server which was set aside."""
        return 1 if self.suspect else self.window.limit

    @property
    def suspect(self) -> bool:
        """So many failures in a row that the server may be gone."""
        return self._failures >= self._patience.strikes

    @property
    def load(self) -> float:
        """Share of the limit that is in use."""
        return self.in_flight / self.limit

    def failed(self, fault: Fault, now: float) -> None:
        """Take note of a fault: shrink the window, stay away for as long as asked, set the server aside."""
        if fault.overload:
            self.window.overloaded()
        if fault.retry_after is not None:
            self.free_at = max(self.free_at, now + min(fault.retry_after, self._patience.longest_pause))
        if fault.down:
            self._failures += 1
            if self._failures == self._patience.strikes:
                self.gone_since = now
                _log.warning("%s; set aside, tried again for up to %s", fault, _spoken(self._patience.give_up))
            if self.suspect and now >= self.free_at:
                self.free_at = now + min(self._patience.most, self._patience.first * 2**self._asides)
                self._asides += 1

    def succeeded(self, seconds: float, tokens: int) -> None:
        """Take note of a completion."""
        if self.suspect:
            _log.warning("%s: answers again", self.url)
        self._failures = self._asides = 0
        self.window.replied(seconds, tokens, self.in_flight)


def _spoken(seconds: float) -> str:
    return f"{seconds / 60:.0f} minutes" if seconds >= 120 else f"{seconds:.0f} s"


@dataclass(slots=True)
class _Waiter:
    slot: asyncio.Future[Endpoint]
    key: int
    avoid: Endpoint | None


class Pool:
    """Sends requests to the least loaded of several servers, and each again until it is completed.

    Servers of equal load share requests by `key`, so that a dialogue stays with the server that has its prefix cached.
    A fault is counted in `faults` under its kind, whether or not a later try made it good.

    Args:
        urls: base URLs, each ending in /v1 or the like.
        headers: sent with every request.
        parallel: the most requests in flight at one server.
        seed: of the jitter between tries.
    """

    def __init__(
        self,
        urls: Sequence[str],
        headers: Mapping[str, str],
        *,
        parallel: int,
        patience: Patience,
        pace: Pace,
        seed: int = 0,
    ) -> None:
        self.endpoints = [Endpoint(url.rstrip("/"), Window(parallel), patience) for url in urls]
        self.faults: Counter[str] = Counter()
        self._headers = headers
        self._patience = patience
        self._pace = pace
        self._rng = random.Random(seed)
        self._waiters: deque[_Waiter] = deque()
        self._session: Any = None
        self._timer: asyncio.TimerHandle | None = None

    @property
    def limit(self) -> int:
        """Requests that all servers together would take now."""
        return sum(endpoint.limit for endpoint in self.endpoints)

    async def get(self, url: str, payload: bytes | None = None, timeout: float = 30.0) -> Any:
        """One exchange outside the windows, for questions about the server itself. A server that is busy or still
        loading its model is asked again.

        Raises:
            Fault: it failed.
        """
        for attempt in range(self._patience.attempts):
            try:
                return await exchange(self._open(), url, payload, timeout)
            except Fault as fault:
                self.faults[fault.kind] += 1
                if fault.kind not in ("rate_limited", "server_error") or attempt + 1 == self._patience.attempts:
                    raise
                await asyncio.sleep(fault.retry_after or self._patience.wait(attempt, self._rng))
        raise AssertionError("a pool makes at least one attempt")

    async def complete(self, path: str, payload: bytes, read: Read, *, prefix: str = "", tokens: int = 0) -> Completion:
        """POST `payload` to `path` of some server until `read` makes a completion of the reply.

        Args:
            path: below the base URL, for example "/chat/completions".
            prefix: text with which prompts of the same dialogue begin.
            tokens: an estimate for the rate limit.

        Raises:
            ContextOverflow, EngineError: a fault that no other try can mend, or one too many.
        """
        clock = asyncio.get_running_loop().time
        start = clock()
        key = crc32(prefix.encode())
        asks = 0
        first: float | None = None
        avoid: Endpoint | None = None
        for attempt in range(self._patience.attempts):
            if wait := self._pace.book(tokens):
                await asyncio.sleep(wait)
            endpoint = await self._acquire(key, avoid)
            sent = clock()
            first = sent if first is None else first
            try:
                body = await exchange(self._open(), below(endpoint.url, path), payload, self._patience.timeout)
                now = clock()
                completion = read(body, now - start, sent - start)
                endpoint.succeeded(now - sent, completion.output_tokens)
                self._pace.settle(tokens, completion.prompt_tokens + completion.output_tokens)
                return completion
            except Fault as error:
                fault = error
                self.faults[fault.kind] += 1
                endpoint.failed(fault, clock())
            finally:
                endpoint.in_flight -= 1
                self._dispatch()
            asks += fault.of_reply
            if fault.final or asks >= self._patience.asks or clock() - first > self._patience.give_up:
                break
            if self._all_gone(clock()):
                self._turn_away(fault)
                break
            avoid = endpoint
            _log.info("%s; tried again", fault, extra={"tried_again": True})
            if not self._another(endpoint):
                if (fault.retry_after or 0) > self._patience.longest_pause:
                    raise EngineError(
                        f"{fault}; it asks to stay away for {fault.retry_after:,.0f} s, and at most "
                        f"{self._patience.longest_pause:g} s are waited"
                    )
                await asyncio.sleep(self._patience.wait(attempt, self._rng))
        if fault.kind == "overflow":
            raise ContextOverflow(str(fault))
        tries = "" if attempt == 0 else f" (gave up after {attempt + 1} tries)"
        raise (Rejected if fault.final else EngineError)(f"{fault}{tries}")

    async def close(self) -> None:
        """Close the connections. Safe to call twice."""
        if self._timer:
            self._timer.cancel()
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _open(self) -> Any:
        if self._session is None:
            self._session = open_session(self._headers)
        return self._session

    # --- who is next, and where -------------------------------------------------------------------------------------

    async def _acquire(self, key: int, avoid: Endpoint | None) -> Endpoint:
        """Wait in line for a slot; the endpoint's `in_flight` counts it already."""
        loop = asyncio.get_running_loop()
        if not self._waiters and (free := self._pick(key, avoid, loop.time())):
            free.in_flight += 1
            return free
        waiter = _Waiter(loop.create_future(), key, avoid)
        self._waiters.append(waiter)
        self._dispatch()
        try:
            return await waiter.slot
        except asyncio.CancelledError:
            if waiter.slot.done() and not waiter.slot.cancelled() and not waiter.slot.exception():
                waiter.slot.result().in_flight -= 1
                self._dispatch()
            raise

    def _dispatch(self) -> None:
        """Hand free slots to those who wait longest."""
        if not self._waiters:
            return
        now = asyncio.get_running_loop().time()
        while self._waiters:
            waiter = self._waiters[0]
            if waiter.slot.cancelled():
                self._waiters.popleft()
                continue
            endpoint = self._pick(waiter.key, waiter.avoid, now)
            if endpoint is None:
                self._wake_later(now)
                return
            self._waiters.popleft()
            endpoint.in_flight += 1
            waiter.slot.set_result(endpoint)

    def _pick(self, key: int, avoid: Endpoint | None, now: float) -> Endpoint | None:
        free = [e for e in self.endpoints if e.in_flight < e.limit and now >= e.free_at]
        return min(free, key=lambda e: _rank(e, key, avoid)) if len(free) > 1 else next(iter(free), None)

    def _all_gone(self, now: float) -> bool:
        """Whether every server has failed for longer than it is waited for."""
        return all(e.suspect and now - e.gone_since > self._patience.give_up for e in self.endpoints)

    def _turn_away(self, fault: Fault) -> None:
        """Fail those in line: with one try at a time they would wait for hours."""
        while self._waiters:
            slot = self._waiters.popleft().slot
            if not slot.done():
                slot.set_exception(EngineError(f"{fault} (no server has answered for a while)"))

    def _another(self, failed: Endpoint) -> bool:
        """Whether a server other than the one that failed can take the request at once."""
        now = asyncio.get_running_loop().time()
        return any(e is not failed and not e.suspect and now >= e.free_at for e in self.endpoints)

    def _wake_later(self, now: float) -> None:
        """Look again when the first server that is set aside comes back."""
        later = [e.free_at for e in self.endpoints if e.free_at > now]
        if self._timer:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_at(min(later), self._dispatch) if later else None


def _rank(endpoint: Endpoint, key: int, avoid: Endpoint | None) -> tuple[bool, bool, int, int]:
    """Healthy before suspect, another than the one that just failed, then by quarters of load, then by the key."""
    home = crc32(endpoint.url.encode(), key)
    return endpoint.suspect, endpoint is avoid, int(4 * endpoint.load), home
