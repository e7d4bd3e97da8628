"""The window on simulated servers: it finds the knee, keeps away from refusals, and notices a busy neighbour."""

import random

import pytest

from fiqkit.models.served.faults import Patience, parse_retry_after
from fiqkit.models.served.pace import Pace
from fiqkit.models.served.window import Window


def serve(window: Window, replies: int, latency, tokens=lambda: 10) -> list[int]:
    """Feed replies of a server that is always as full as the window allows; the limits that it went through."""
    limits = []
    for _ in range(replies):
        count = tokens()
        window.replied(latency(window.limit) * count, count, window.limit)
        limits.append(window.limit)
    return limits


@pytest.mark.parametrize("slots", [4, 8, 24, 50, 100])
def test_settles_near_the_slots_of_a_server_that_queues(slots: int) -> None:
    rng = random.Random(slots)
    window = Window(256)
    limits = serve(
        window,
        8000,
        lambda limit: 0.01 * max(1.0, limit / slots) * rng.uniform(0.9, 1.1),
        lambda: rng.randint(5, 50),
    )
    settled = sum(limits[4000:]) / 4000
    assert 0.9 * slots <= settled <= max(2.5 * slots, 20)


@pytest.mark.parametrize("seed", range(6))
def test_a_noisy_machine_does_not_make_it_small(seed: int) -> None:
    rng = random.Random(seed)
    window = Window(64)
    noise = 1.0
    limits = []
    for _ in range(300):  # rounds that take up to four times as long as the last, for reasons outside
        noise = rng.uniform(1.0, 4.0)
        limits += serve(window, 16, lambda limit, noise=noise: 0.02 * noise)
    assert sum(limits[800:]) / len(limits[800:]) > 32


def test_uses_all_of_a_batching_server_whose_latency_rises_slowly() -> None:
    window = Window(128)
    # 31, 98 and 212 tokens/s at 1, 4 and 16 requests: a request slows down as the batch grows, and it still pays.
    assert max(serve(window, 2000, lambda limit: (limit / 31) / limit**0.69)) == 128


def test_does_not_grow_while_it_is_not_full() -> None:
    window = Window(256)
    for _ in range(1000):
        window.replied(0.1, 10, in_flight=3)
    assert window.limit == 16


def test_falls_once_a_round_when_refused_and_recovers() -> None:
    window = Window(64, start=64)
    for _ in range(40):
        window.overloaded()
    assert window.limit == 44
    serve(window, 2000, lambda limit: 0.01)
    assert window.limit == 64


def test_never_below_one() -> None:
    window = Window(1)
    for _ in range(50):
        window.overloaded()
        serve(window, 8, lambda limit: 1.0)
    assert window.limit == 1


def test_falls_when_somebody_else_takes_the_server() -> None:
    window = Window(32)
    serve(window, 2000, lambda limit: 0.01)
    assert window.limit == 32
    assert min(serve(window, 400, lambda limit: 0.03)) < 32


def test_pace_spreads_requests_and_tokens() -> None:
    now = 0.0
    pace = Pace(requests_per_minute=60, tokens_per_minute=6000, burst=1.0, clock=lambda: now)
    assert [round(pace.book(10), 6) for _ in range(4)] == [0, 0, 1, 2]
    now = 10.0
    assert pace.book(1000) == 0
    assert round(pace.book(10), 6) == 9  # 1000 tokens take ten seconds, one of them was saved up
    pace.settle(booked=1000, used=100)
    assert round(pace.book(10), 6) == 1  # now the requests are what limits


def test_pace_without_limits_never_waits() -> None:
    pace = Pace(clock=lambda: 0.0)
    assert {pace.book(10**9) for _ in range(100)} == {0.0}


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("3", 3.0),
        ("0.5", 0.5),
        ("-1", 0.0),
        ("Thu, 01 Jan 1970 00:01:00 GMT", 50.0),
        ("Thu, 01 Jan 1970 00:00:01 GMT", 0.0),
        ("soon", None),
        ("nan", None),
        ("inf", float("inf")),
        (None, None),
        ("", None),
    ],
)
def test_retry_after(header: str | None, seconds: float | None) -> None:
    assert parse_retry_after(header, now=10.0) == seconds


def test_waits_double_up_to_the_most_and_are_seeded() -> None:
    patience = Patience(first=0.5, most=30.0)
    waits = [patience.wait(attempt, random.Random(1)) for attempt in range(10)]
    assert waits == [patience.wait(attempt, random.Random(1)) for attempt in range(10)]
    for attempt, wait in enumerate(waits):
        whole = min(30.0, 0.5 * 2**attempt)
        assert whole / 2 <= wait <= whole
