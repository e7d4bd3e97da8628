"""The contract of engines in this process: every request is answered or failed, and nothing touches a freed model."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
import torch
from test_transformers_engine import tiny_model, tiny_tokenizer

from fiqkit.models import open_engine
from fiqkit.models.engine import Completion, EngineError, Request, Sampling
from fiqkit.models.local import threads as threads_module
from fiqkit.models.local.hf_batch import Job as HfJob
from fiqkit.models.local.hf_batch import Vocabulary, generate
from fiqkit.models.local.threads import Threads
from fiqkit.models.local.transformers import TransformersEngine
from fiqkit.models.local.worker import Pending
from fiqkit.models.opening import abandoned, off_loop

FIQKIT = [sys.executable, "-m", "fiqkit"]


def run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(work)


def llama(**settings: Any) -> Any:
    return open_engine("smollm2-135m", **{"threads": 1, "context": 256, "parallel": 4, **settings})


def live_module(**settings: Any) -> TransformersEngine:
    return TransformersEngine.wrap(tiny_model(), tiny_tokenizer(), **{"parallel": 4, **settings})


ENGINES = pytest.mark.parametrize("opened", [llama, live_module], ids=["llama.cpp", "transformers"])


def ask(words: str, tokens: int = 4, **fields: Any) -> Request:
    return Request(messages=[{"role": "user", "content": words}], sampling=Sampling(max_tokens=tokens, **fields))


# --- faults ---


@ENGINES
def test_after_a_fault_of_the_thread_every_request_fails_with_a_line(opened: Callable[..., Any]) -> None:
    async def faulty() -> list[str]:
        engine = opened()
        assert (await engine.complete(ask("Hi"))).output_tokens
        batch = engine._worker._batch

        def broken() -> None:
            raise RuntimeError("the decode step broke")

        batch.step = broken
        outcomes = await asyncio.gather(*(engine.complete(ask(f"Q{n}")) for n in range(10)), return_exceptions=True)
        engine._worker._thread.join()
        outcomes += await asyncio.gather(
            *(engine.complete(ask(f"late {n}")) for n in range(10)), return_exceptions=True
        )
        await engine.close()
        await engine.close()
        assert all(type(outcome) is EngineError for outcome in outcomes)
        return [str(outcome) for outcome in outcomes]

    said = run(faulty())
    assert len(said) == 20
    assert all("the decode step broke" in line or "closed" in line for line in said)
    assert "the decode step broke" in said[0]


@ENGINES
def test_requests_that_race_with_the_end_are_all_settled(opened: Callable[..., Any]) -> None:
    async def race(seed: int) -> None:
        engine = opened()
        draw = random.Random(seed)
        tasks = [asyncio.create_task(engine.complete(ask(f"Tell {n}.", 60))) for n in range(12)]
        await asyncio.sleep(draw.random() * 0.2)
        closing = asyncio.create_task(engine.close())
        tasks += [asyncio.create_task(engine.complete(ask(f"More {n}."))) for n in range(12)]
        outcomes = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 60)
        await closing
        assert all(isinstance(outcome, Completion) or type(outcome) is EngineError for outcome in outcomes)
        assert "the engine is closed" in {str(outcome) for outcome in outcomes}

    for seed in range(3):
        run(race(seed))


@ENGINES
@pytest.mark.slow
def test_sixty_four_requests_cancelled_at_random(opened: Callable[..., Any]) -> None:
    async def crowd() -> None:
        engine = opened()
        draw = random.Random(5)

        async def one(number: int) -> str:
            task = asyncio.create_task(engine.complete(ask(f"Number {number}", 12)))
            if draw.random() < 0.6:
                await asyncio.sleep(draw.random() * 0.5)
                task.cancel()
            try:
                return (await task).finish
            except asyncio.CancelledError:
                return "cancelled"

        ends = await asyncio.wait_for(asyncio.gather(*(one(number) for number in range(64))), 240)
        assert set(ends) <= {"stop", "length", "cancelled"} and ends.count("cancelled") > 5
        assert (await engine.complete(ask("Still there?"))).output_tokens
        await engine.close()

    run(crowd())


def test_a_run_whose_model_fails_ends_with_code_2_and_no_signal(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "from fiqkit.models.local.llama_native import Context\n"
        "def decode(self, rows): raise RuntimeError('the GPU fell off the bus')\n"
        "Context.decode = decode\n"
    )
    done = subprocess.run(
        [
            *FIQKIT,
            "run",
            "--agent",
            "smollm2-135m",
            "--limit",
            "1",
            "--modes",
            "answer",
            "--store",
            str(tmp_path / "r.db"),
        ],
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 2, done.stderr
    assert "the GPU fell off the bus" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


# --- interrupting ---


def test_close_ends_a_long_native_step() -> None:
    """A step over 2,000 tokens takes many seconds here; closing must not wait for its end."""

    async def close() -> tuple[float, str]:
        engine = llama(context=4096, pool=4096, batch=2048, parallel=1)
        long = asyncio.create_task(engine.complete(Request(prompt_ids=[100] * 2040, sampling=Sampling(max_tokens=4))))
        await asyncio.sleep(0.5)
        started = time.monotonic()
        await engine.close()
        outcome = (await asyncio.gather(long, return_exceptions=True))[0]
        return time.monotonic() - started, str(outcome)

    started = time.monotonic()
    waited, said = run(close())
    assert said == "the engine is closed"
    assert waited < max(1.0, (time.monotonic() - started) / 2)


def test_close_ends_a_batch_of_transformers_between_two_layers() -> None:
    async def close() -> None:
        engine = live_module(parallel=1)
        entered, go = threading.Event(), threading.Event()
        layers = engine._worker._batch._model.model.layers

        def wait(*_: Any) -> None:
            entered.set()
            go.wait(60)

        hook = layers[0].register_forward_hook(wait)
        second: list[int] = []
        layers[1].register_forward_hook(lambda *_: second.append(1))
        task = asyncio.create_task(engine.complete(ask("Go on.", 50)))
        await asyncio.to_thread(entered.wait, 60)
        closing = asyncio.create_task(engine.close())
        await asyncio.sleep(0.1)
        go.set()
        await closing
        hook.remove()
        with pytest.raises(EngineError, match="the engine is closed"):
            await task
        assert second == []

    run(close())


def interrupted(arguments: list[str], ready: Callable[[str], bool], signals: int) -> tuple[int, float, str]:
    """Run fiqkit, send Ctrl-C so often once its output is `ready`; exit code, seconds since the last one, output."""
    process = subprocess.Popen(
        [*FIQKIT, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background job ignores it
    )
    assert process.stdout is not None
    seen = ""
    try:
        while not ready(seen):
            line = process.stdout.readline()
            assert line, f"ended before it was ready: {seen}"
            seen += line
        for _ in range(signals):
            time.sleep(0.7)
            process.send_signal(signal.SIGINT)
        sent = time.monotonic()
        rest = process.communicate(timeout=60)[0]
        return process.returncode, time.monotonic() - sent, seen + rest
    finally:
        process.kill()


@pytest.mark.parametrize("agent", ["smollm2-135m", "smollm2-135m-hf"])
def test_ctrl_c_ends_a_run_while_its_model_loads(tmp_path: Path, agent: str) -> None:
    slow = tmp_path / "sitecustomize.py"
    slow.write_text(
        "import fiqkit.models.opening as opening, time\n"
        "off_loop = opening.off_loop\n"
        "def slower(work, *rest):\n"
        "    def begin():\n"
        "        print('loading', flush=True)\n"
        "        time.sleep(30)\n"
        "        return work()\n"
        "    return off_loop(begin, *rest)\n"
        "opening.off_loop = slower\n"
    )
    os.environ["PYTHONPATH"] = f"{tmp_path}:{(before := os.environ.get('PYTHONPATH', ''))}"
    try:
        arguments = ["run", "--agent", agent, "--modes", "answer", "--store", str(tmp_path / "r.db")]
        code, waited, said = interrupted(arguments, lambda seen: "loading" in seen, 1)
    finally:
        os.environ["PYTHONPATH"] = before
    assert code == 130, said
    assert waited < 10  # of thirty seconds of loading
    assert "Traceback" not in said


def test_a_second_ctrl_c_ends_a_run_in_the_middle_of_a_native_step(tmp_path: Path) -> None:
    store = tmp_path / "r.db"
    arguments = ["run", "--modes", "search", "--limit", "8", "--store", str(store)]
    code, waited, said = interrupted(arguments, lambda seen: "episodes to play" in seen, 2)
    assert code == 130, said
    assert waited < 60  # the eight searches take minutes
    assert "--resume" in said and "Traceback" not in said


def test_opening_gives_what_was_made_and_disposes_of_what_nobody_waits_for() -> None:
    async def scenario() -> None:
        assert await off_loop(lambda: 7) == 7
        with pytest.raises(KeyError):
            await off_loop(lambda: {}["x"])
        gone, seen, started, go = threading.Event(), [], threading.Event(), threading.Event()

        def work() -> str:
            started.set()
            go.wait(10)
            seen.append(abandoned())
            return "model"

        def dispose(made: str) -> None:
            seen.append(made)
            gone.set()

        task = asyncio.create_task(off_loop(work, dispose))
        await asyncio.to_thread(started.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go.set()
        assert await asyncio.to_thread(gone.wait, 10)
        assert seen == [True, "model"]

    run(scenario())


# --- threads ---


def test_threads_follow_what_others_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    clock = {"now": 100.0, "own": 0.0, "busy": 0.0}
    monkeypatch.setattr(threads_module, "physical_cores", lambda: 8)
    monkeypatch.setattr(threads_module, "_threads_per_core", lambda: 1)
    monkeypatch.setattr(threads_module, "_busy", lambda: 7.2)
    monkeypatch.setattr(time, "monotonic", lambda: clock["now"])
    monkeypatch.setattr(time, "process_time", lambda: clock["own"])
    # Ticks of one imaginary processor: idle stays, so that every tick that passes is work.
    monkeypatch.setattr(threads_module, "_times", lambda: {0: (0, 0)})
    monkeypatch.setattr(threads_module, "_busy_between", lambda before, after: clock["busy"])
    follows, stays = Threads(), Threads(fixed=True)
    assert (follows.now(), stays.now(), Threads(3).now()) == (1, 1, 3)
    clock |= {"now": 101.0, "busy": 0.0}
    assert follows.now() == 1, "not looked at yet"
    # The machine is idle but for this process, which keeps one processor busy.
    clock |= {"now": 110.0, "own": 10.0, "busy": 1.0}
    assert (follows.now(), stays.now()) == (8, 1)
    clock |= {"now": 120.0, "own": 30.0, "busy": 6.0}  # two of them are this process's own
    assert follows.now() == 4


# --- the text of a reply ---


def test_decoding_a_reply_is_linear_in_its_length() -> None:
    """Tokens handed to the tokenizer, over a reply of 200 and one of 100."""
    decoded: list[int] = []
    tokenizer = tiny_tokenizer()

    def decode(ids: Any) -> str:
        decoded.append(len(ids))
        return str(tokenizer.decode(ids))

    async def count(length: int) -> int:
        decoded.clear()
        job = HfJob((5, 6, 7), Sampling(max_tokens=length), Pending())
        generate(tiny_model(), [job], Vocabulary(decode, frozenset(), 0))
        assert job.text == tokenizer.decode(job.output) and len(job.output) == length
        return sum(decoded)

    torch.manual_seed(0)
    assert run(count(200)) <= 2.5 * run(count(100))
