"""The completion cache: what is remembered, and everything that must make a difference."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fiqkit.errors import UserError
from fiqkit.models.cache import CachedEngine, completion_key
from fiqkit.models.engine import Completion, EngineError, Request, Sampling
from fiqkit.models.scripted import ScriptedEngine

IDENTITY = {"engine": "llama_cpp", "version": "1", "sha256": "aa", "template_sha256": "bb"}
REQUEST = Request(messages=[{"role": "user", "content": "Hi"}], sampling=Sampling(seed=1))

CHANGES = {
    "role": replace(REQUEST, messages=[{"role": "system", "content": "Hi"}]),
    "text": replace(REQUEST, messages=[{"role": "user", "content": "Hi "}]),
    "one more message": replace(REQUEST, messages=[*(REQUEST.messages or ()), {"role": "assistant", "content": ""}]),
    "ids in place of messages": replace(REQUEST, messages=None, prompt_ids=(1, 2)),
    "other ids": replace(REQUEST, messages=None, prompt_ids=(12,)),
    "seed": replace(REQUEST, sampling=Sampling(seed=2)),
    "temperature": replace(REQUEST, sampling=Sampling(seed=1, temperature=0.1)),
    "top_p": replace(REQUEST, sampling=Sampling(seed=1, top_p=0.9)),
    "max_tokens": replace(REQUEST, sampling=Sampling(seed=1, max_tokens=511)),
    "stop": replace(REQUEST, sampling=Sampling(seed=1, stop=("x",))),
    "schema": replace(REQUEST, schema={"type": "string"}),
    "other schema": replace(REQUEST, schema={"type": "string", "maxLength": 3}),
    "choices": replace(REQUEST, choices=("a", "b")),
    "order of choices": replace(REQUEST, choices=("b", "a")),
    "adapter": replace(REQUEST, adapter="one"),
    "other adapter": replace(REQUEST, adapter="two"),
    "thinking on": replace(REQUEST, thinking=True),
    "thinking off": replace(REQUEST, thinking=False),
    "logprobs": replace(REQUEST, logprobs=True),
}


def test_every_field_of_a_request_changes_the_key() -> None:
    keys = {name: completion_key(IDENTITY, request) for name, request in CHANGES.items()}
    assert len({completion_key(IDENTITY, REQUEST), *keys.values()}) == len(CHANGES) + 1
    covered = {
        name
        for name in Request.__dataclass_fields__
        if any(getattr(request, name) != getattr(REQUEST, name) for request in CHANGES.values())
    }
    assert covered == set(Request.__dataclass_fields__)


@pytest.mark.parametrize("part", IDENTITY)
def test_every_part_of_the_engine_changes_the_key(part: str) -> None:
    assert completion_key({**IDENTITY, part: "other"}, REQUEST) != completion_key(IDENTITY, REQUEST)


def test_an_adapter_counts_by_its_weights(tmp_path: Path) -> None:
    file = tmp_path / "adapter_model.safetensors"
    file.write_bytes(b"one")
    first = completion_key(IDENTITY, replace(REQUEST, adapter=str(tmp_path)))
    file.write_bytes(b"retrained")
    assert completion_key(IDENTITY, replace(REQUEST, adapter=str(tmp_path))) != first


def test_kept_across_runs_and_given_back_whole(tmp_path: Path) -> None:
    whole = Completion("好", "length", "hm", (1, 2), (3,), (-0.5,), 2, 1, 3.0, 1.0)

    class Once(ScriptedEngine):
        async def complete(self, request: Request) -> Completion:
            await super().complete(request)
            return whole

        def describe(self) -> Mapping[str, Any]:
            return {**IDENTITY, "threads": threads}

    async def ask() -> tuple[Completion, int, int]:
        engine = CachedEngine(Once(["x"]), tmp_path / "new" / "c.db")
        reply = await engine.complete(REQUEST)
        await engine.close()
        await engine.close()
        return reply, engine.hits, engine.misses

    threads = 1
    assert asyncio.run(ask()) == (whole, 0, 1)
    threads = 2  # changes the speed, not the reply
    assert asyncio.run(ask()) == (replace(whole, seconds=0.0, queued=0.0), 1, 0)


def test_failures_are_not_kept(tmp_path: Path) -> None:
    def reply(_: Request) -> str:
        if not failed:
            failed.append(True)
            raise EngineError("down")
        return "up"

    async def ask() -> None:
        engine = CachedEngine(ScriptedEngine(reply), tmp_path / "c.db")
        with pytest.raises(EngineError):
            await engine.complete(REQUEST)
        assert (await engine.complete(REQUEST)).text == "up"
        await engine.close()

    failed: list[bool] = []
    asyncio.run(ask())


def test_files_that_are_no_cache(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("not a database, but long enough to be looked at as one" * 100)
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as file:
        file.execute("CREATE TABLE things (x)")
    for path in (text, other, tmp_path):
        with pytest.raises(UserError, match=str(path)):
            CachedEngine(ScriptedEngine(["x"]), path)
