"""A rate limit that a provider sets: so many requests and tokens a minute."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Pace:
    """Spreads calls so that neither limit is passed in any minute, bursts of `burst` seconds' worth aside.

    Each limit is one moving point in time: the moment up to which its budget is spoken for. Zero means no limit.
    """

    def __init__(
        self,
        requests_per_minute: float = 0,
        tokens_per_minute: float = 0,
        *,
        burst: float = 1.0,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._rates = (requests_per_minute / 60, tokens_per_minute / 60)
        self._burst = burst
        self._spoken = [float("-inf"), float("-inf")]
        self._clock = clock

    @property
    def counts_tokens(self) -> bool:
        """Whether tokens are limited, so that an estimate is worth making."""
        return self._rates[1] > 0

    def book(self, tokens: int) -> float:
        """Book one request of so many tokens; the seconds to wait before it may be sent."""
        if not any(self._rates):
            return 0.0
        now = self._now()
        wait = 0.0
        for kind, (rate, amount) in enumerate(zip(self._rates, (1, tokens), strict=True)):
            if rate:
                start = max(self._spoken[kind], now - self._burst)
                wait = max(wait, start - now)
                self._spoken[kind] = start + amount / rate
        return wait

    def settle(self, booked: int, used: int) -> None:
        """Give back, or take, the tokens by which the estimate was wrong."""
        if self._rates[1]:
            self._spoken[1] += (used - booked) / self._rates[1]

    def _now(self) -> float:
        return self._clock() if self._clock else asyncio.get_running_loop().time()
