"""A server that is gone is said to be gone at once, by its address, and is waited for for minutes, not for hours."""

from __future__ import annotations

import asyncio
import logging

import pytest

from fiqkit.models.engine import Completion, EngineError
from fiqkit.models.served.faults import Patience
from fiqkit.models.served.pace import Pace
from fiqkit.models.served.pool import Pool

NOWHERE = "http://127.0.0.1:9/v1"  # the discard port: nothing listens


def read(body: object, seconds: float, queued: float) -> Completion:
    return Completion(str(body))


def test_it_is_said_once_with_its_address_and_nobody_waits_in_line(caplog: pytest.LogCaptureFixture) -> None:
    async def ask_all() -> list[BaseException | Completion]:
        # With one try every half second and 8 tries each, 60 requests would be in line for four minutes.
        patience = Patience(attempts=8, first=0.01, most=0.5, give_up=1.0)
        pool = Pool([NOWHERE], {}, parallel=8, patience=patience, pace=Pace())
        asked = (pool.complete("/chat/completions", b"{}", read) for _ in range(60))
        try:
            return await asyncio.gather(*asked, return_exceptions=True)
        finally:
            await pool.close()

    with caplog.at_level(logging.WARNING, logger="fiqkit"):
        found = asyncio.run(ask_all())
    assert all(isinstance(error, EngineError) and NOWHERE in str(error) for error in found)
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 1
    assert said[0].startswith(f"{NOWHERE}/chat/completions: cannot connect")
    assert said[0].endswith("set aside, tried again for up to 1 s")
