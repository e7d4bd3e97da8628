"""The engine against servers that fail on purpose: nothing is lost, nothing is changed, every fault is counted."""

import asyncio
from collections import Counter

import pytest
from faulty_server import FAULTS, WRONG, FaultyServer

from fiqkit.models.engine import Completion, EngineError, Request, Sampling
from fiqkit.models.served.faults import Patience
from fiqkit.models.served.openai import OpenAIEngine

QUICK = Patience(attempts=16, asks=16, first=0.001, most=0.01, timeout=1.0)
SCHEMA = {
    "type": "object",
    "properties": {"verdict": {"type": "string", "enum": ["yes", "no", "i_dont_know"]}, "why": {"type": "string"}},
    "required": ["verdict", "why"],
    "additionalProperties": False,
}


def request(number: int) -> Request:
    """A third free text, a third a schema, a third a choice."""
    constraint: dict = [{}, {"schema": SCHEMA}, {"choices": ("yes", "no", "i_dont_know")}][number % 3]
    return Request(messages=[{"role": "user", "content": f"question {number}"}], sampling=Sampling(64), **constraint)


async def complete_all(engine: OpenAIEngine, count: int) -> list[Completion]:
    return await asyncio.gather(*(engine.complete(request(n)) for n in range(count)))


async def against(servers: list[FaultyServer], count: int, **settings: object) -> tuple[list[str], Counter[str]]:
    for server in servers:
        await server.__aenter__()
    engine = OpenAIEngine("echo", [s.url for s in servers], patience=QUICK, **settings)  # type: ignore[arg-type]
    try:
        completions = await complete_all(engine, count)
    finally:
        await engine.close()
        for server in servers:
            await server.__aexit__()
    return [completion.text for completion in completions], engine.faults


def test_faults_change_nothing_and_are_all_counted() -> None:
    clean, no_faults = asyncio.run(against([FaultyServer()], 200))
    server = FaultyServer(rate=0.2)
    faulty, faults = asyncio.run(against([server], 200))
    assert faulty == clean
    assert no_faults == {}
    assert faults == {FAULTS[kind]: count for kind, count in server.injected.items()}
    assert set(server.injected) == set(FAULTS)
    assert server.served == 200


@pytest.mark.parametrize("kind", FAULTS)
def test_each_fault_alone(kind: str) -> None:
    server = FaultyServer(rate=0.5, kinds=(kind,))
    texts, faults = asyncio.run(against([server], 8))
    assert texts == asyncio.run(against([FaultyServer()], 8))[0]
    assert faults == {FAULTS[kind]: server.injected[kind]} != {}


def test_two_servers_share_the_work_and_one_may_die() -> None:
    async def scenario() -> None:
        async with FaultyServer(seconds=0.002) as one, FaultyServer(seconds=0.002) as two:
            engine = OpenAIEngine("echo", [one.url, two.url], patience=QUICK, parallel=8)
            before = await complete_all(engine, 100)
            shares = one.served, two.served
            two.down = True
            during = await complete_all(engine, 100)
            assert two.served == shares[1]
            two.down = False
            await asyncio.sleep(2 * QUICK.most)
            after = await complete_all(engine, 100)
            assert [c.text for c in before] == [c.text for c in during] == [c.text for c in after]
            assert min(shares) >= 25, "both servers work"
            assert two.served > shares[1], "a server that comes back is used again"
            assert engine.faults["server_error"] <= 40, "a dead server is not asked for every request"
            await engine.close()

    asyncio.run(scenario())


def test_nothing_is_sent_before_retry_after_is_over() -> None:
    async def scenario() -> None:
        async with FaultyServer(rate=0.3, kinds=("429",), retry_after=0.05) as server:
            engine = OpenAIEngine("echo", [server.url], patience=QUICK, parallel=1)
            await complete_all(engine, 40)
            await engine.close()
            assert server.injected["429"] >= 5
            assert server.early == 0

    asyncio.run(scenario())


def test_a_server_that_ignores_constraints_ends_in_one_clear_error() -> None:
    async def scenario() -> None:
        async with FaultyServer(reply=lambda body: WRONG) as server:
            engine = OpenAIEngine("echo", [server.url], patience=Patience(asks=3, first=0.001))
            with pytest.raises(EngineError, match=r"not JSON: 'Sure.*gave up after 3 tries") as caught:
                await engine.complete(request(1))
            assert "\n" not in str(caught.value)
            with pytest.raises(EngineError, match="none of the choices"):
                await engine.complete(request(2))
            assert (await engine.complete(request(0))).text == WRONG
            assert engine.faults == {"invalid_output": 6}
            await engine.close()

    asyncio.run(scenario())


def test_cancelling_frees_the_slot() -> None:
    async def scenario() -> None:
        async with FaultyServer(rate=1.0, kinds=("hang",)) as server:
            engine = OpenAIEngine("echo", [server.url], patience=Patience(timeout=60), parallel=1)
            tasks = [asyncio.create_task(engine.complete(request(n))) for n in range(3)]
            while server.in_flight < 1:
                await asyncio.sleep(0.001)
            for task in tasks:
                task.cancel()
            outcomes = await asyncio.gather(*tasks, return_exceptions=True)
            assert all(isinstance(outcome, asyncio.CancelledError) for outcome in outcomes)
            server.rate = 0.0
            assert (await asyncio.wait_for(engine.complete(request(3)), 10)).text
            await engine.close()

    asyncio.run(scenario())
