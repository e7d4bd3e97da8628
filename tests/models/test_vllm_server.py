"""vLLM's server as a managed child on CPU: it serves, two of them make a pool, and nothing outlives a killed parent.

make test-vllm
"""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tiny_vllm import ARGUMENTS, CARD, CONTEXT, SENTENCES, SERVER_ARGUMENTS, ask, tokens_per_second

from fiqkit.errors import UserError
from fiqkit.models import open_engine
from fiqkit.models.cards.cards import Card
from fiqkit.models.checks.determinism import flip_rate
from fiqkit.models.checks.startup import startup_probe
from fiqkit.models.engine import ContextOverflow, Request, Sampling
from fiqkit.models.served.openai import OpenAIEngine
from fiqkit.models.vllm.child import open_engine as open_server

pytest.importorskip("vllm")
pytestmark = [pytest.mark.vllm, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as opened:
        yield opened


@pytest.fixture(scope="module")
def served(runner: asyncio.Runner, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenAIEngine]:
    log = tmp_path_factory.mktemp("served") / "log"
    opened = open_server(CARD, parallel=16, arguments=SERVER_ARGUMENTS, log=str(log))
    yield opened
    runner.run(opened.close())
    assert "Started server process" in log.read_text()


def test_child_serves(served: OpenAIEngine, runner: asyncio.Runner) -> None:
    request = ask("What is the capital of France?", logprobs=True)
    completion = runner.run(served.complete(request))
    assert "Paris" in completion.text
    assert served.context == CONTEXT
    assert len(completion.output_ids) == len(completion.logprobs) == completion.output_tokens
    assert len(completion.prompt_ids) == completion.prompt_tokens
    described = served.describe()
    assert described["dialect"] == "vllm"
    assert described["first_ids"] == list(completion.prompt_ids[:8])
    print("\nchild:", described)


def test_child_keeps_constraints(served: OpenAIEngine, runner: asyncio.Runner) -> None:
    found = runner.run(startup_probe(served))
    print("\nstart-up probe, child:", found)
    assert {found["thinking=default"][kind] for kind in ("plain", "schema", "choices")} == {"ok"}
    assert served.faults == {}


def test_child_overflow_and_prompt_ids(served: OpenAIEngine, runner: asyncio.Runner) -> None:
    with pytest.raises(ContextOverflow):
        runner.run(served.complete(ask("word " * 1100)))
    first = runner.run(served.complete(ask("Name a colour.", logprobs=True)))
    again = Request(prompt_ids=first.prompt_ids, sampling=Sampling(max_tokens=24))
    second = runner.run(served.complete(again))
    assert (second.text, second.prompt_ids) == (first.text, first.prompt_ids)


def test_child_throughput(served: OpenAIEngine, runner: asyncio.Runner) -> None:
    print("\nflip rates, child, f32:", runner.run(flip_rate(served, SENTENCES)))
    for width in (1, 16):
        print(f"child, {width:2} in flight: {runner.run(tokens_per_second(served, SENTENCES, width)):.0f} tok/s")


def test_two_children_as_one_pool_and_one_is_killed(
    served: OpenAIEngine, runner: asyncio.Runner, tmp_path: Path
) -> None:
    other = open_server(CARD, parallel=16, arguments=SERVER_ARGUMENTS, log=str(tmp_path / "log"))
    urls = [served.describe()["place"]["urls"][0], other.describe()["place"]["urls"][0]]
    pool = open_engine(Card("pool", "openai", ",".join(urls), CARD.name, context=CONTEXT), parallel=8, attempts=6)

    async def all_of_them() -> list[str]:
        return [c.text for c in await asyncio.gather(*(pool.complete(request) for request in SENTENCES))]

    try:
        assert all(runner.run(all_of_them()))
        logs = [Path(served.describe()["place"]["log"]), tmp_path / "log"]
        counts = [log.read_text().count("POST /v1/chat/completions") for log in logs]
        print("\nrequests at each of two servers:", counts)
        assert min(counts) >= 2
        runner.run(other.close())
        assert all(runner.run(all_of_them())), "the other server takes over"
        print("faults met when one of two servers was stopped:", dict(pool.faults))
        assert set(pool.faults) <= {"unreachable", "reset"}
    finally:
        runner.run(pool.close())
        runner.run(other.close())


def test_unknown_model_on_the_server(served: OpenAIEngine, runner: asyncio.Runner) -> None:
    wrong = open_engine(Card("w", "openai", served.describe()["place"]["urls"][0], "gpt-0"))
    with pytest.raises(UserError, match="does not serve 'gpt-0'; it serves smollm2-135m"):
        runner.run(wrong.complete(ask("x")))
    runner.run(wrong.close())


# --- killed parents -------------------------------------------------------------------------------------------------

OPENER = """
import asyncio, os, sys
from dataclasses import replace
from fiqkit.models import open_engine
from fiqkit.models.cards.cards import find_card
if __name__ == "__main__":
    card = replace(find_card("smollm2-135m"), context=512)
    engine = open_engine(card, engine=sys.argv[1], parallel=2, arguments=eval(sys.argv[2]))
    print("up", flush=True)
    asyncio.run(asyncio.sleep(600))
"""


@pytest.mark.parametrize(
    ("engine_name", "arguments"),
    [("vllm", ARGUMENTS), ("vllm-server", SERVER_ARGUMENTS)],
)
def test_nothing_outlives_a_parent_that_is_killed(engine_name: str, arguments: object, tmp_path: Path) -> None:
    script = tmp_path / "opener.py"
    script.write_text(OPENER)
    mark = f"FIQKIT_TEST_MARK={os.getpid()}-{engine_name}"
    name, value = mark.split("=")
    parent = subprocess.Popen(
        [sys.executable, str(script), engine_name, repr(arguments)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, name: value, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert parent.stdout is not None
    assert any(line == "up\n" for line in parent.stdout)
    assert len(marked(mark)) > 1
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 60
    while marked(mark) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert marked(mark) == []


def marked(mark: str) -> list[str]:
    """Processes whose environment holds the mark, zombies left out."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit() and mark.encode() in (entry / "environ").read_bytes():
                found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()[:200])
    return found
