"""Completions remembered across runs, under everything that could have changed them.

The key holds the engine, its version and the weights' hash, the template's hash, messages or token ids, sampling with
its seed, constraint, adapter (by its weights), thinking mode and whether log probabilities were asked for. Failures are
not remembered. Settings that only change speed (parallel, threads, batch) are no part of it.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from fiqkit.errors import UserError
from fiqkit.models.cards.weights import fingerprint
from fiqkit.models.engine import Capabilities, Completion, Engine, Request

_VERSION = 1  # of the table and the key
_SPEED_ONLY = ("parallel", "threads", "batch", "pool", "deterministic", "max_num_seqs", "gpu_memory_utilization")
_LISTS = ("prompt_ids", "output_ids", "logprobs", "flags")


class CachedEngine:
    """An engine that asks another one only for what is not in its file.

    Attributes:
        behind: the engine that is asked. Measurements (the start-up probe, the flip rate) go to it, never to the file.
        hits, misses: requests answered from the file, and by the engine behind.

    Raises:
        UserError: the file is not a completion cache, or one of another version.
    """

    def __init__(self, engine: Engine, path: Path) -> None:
        self.name = engine.name
        self.behind = engine
        self.hits = self.misses = 0
        self._path = path
        self._identity: Mapping[str, Any] | None = None  # known once the engine is ready
        self._file = open_cache(path)

    @property
    def context(self) -> int:
        """The engine's."""
        return self.behind.context

    @property
    def can(self) -> Capabilities:
        """What the engine can do."""
        return self.behind.can

    @can.setter
    def can(self, found: Capabilities) -> None:
        self.behind.can = found

    async def ready(self) -> Sequence[str]:
        """Make the engine ready, and take its identity for the keys only then."""
        lines = await self.behind.ready()
        self._identity = {key: value for key, value in self.behind.describe().items() if key not in _SPEED_ONLY}
        return lines

    async def complete(self, request: Request) -> Completion:
        """The remembered completion, its time set to 0; otherwise the engine's, remembered."""
        if self._identity is None:
            await self.ready()
        key = completion_key(self._identity or {}, request)
        row = self._file.execute("SELECT completion FROM completions WHERE key = ?", [key]).fetchone()
        if row:
            self.hits += 1
            return replace(_read(row[0]), seconds=0.0, queued=0.0)
        completion = await self.behind.complete(request)
        self.misses += 1
        record = json.dumps(asdict(completion), ensure_ascii=False)
        with self._file:
            self._file.execute("INSERT OR REPLACE INTO completions VALUES (?, ?, ?)", [key, self.name, record])
        return completion

    def forget(self, requests: Iterable[Request]) -> None:
        """Drop completions that proved useless, so that asking again asks the engine."""
        keys = [(completion_key(self._identity or {}, request),) for request in requests]
        with self._file:
            self._file.executemany("DELETE FROM completions WHERE key = ?", keys)

    async def close(self) -> None:
        """Close the file and the engine. Safe to call twice."""
        self._file.close()
        await self.behind.close()

    def describe(self) -> Mapping[str, Any]:
        """What the engine says, and that a cache stood before it."""
        return {**self.behind.describe(), "cache": str(self._path)}


def uncached(engine: Engine) -> Engine:
    """The engine itself, where a cache stands before it."""
    return engine.behind if isinstance(engine, CachedEngine) else engine


def completion_key(identity: Mapping[str, Any], request: Request) -> str:
    """sha256 over the engine's identity and the whole request."""
    fields = {name: getattr(request, name) for name in Request.__dataclass_fields__}
    fields["sampling"] = asdict(request.sampling)
    fields["messages"] = None if request.messages is None else [dict(message) for message in request.messages]
    fields["prompt_ids"] = None if request.prompt_ids is None else list(request.prompt_ids)
    if request.adapter is not None and Path(request.adapter).exists():
        fields["adapter"] = fingerprint(Path(request.adapter))
    text = json.dumps([_VERSION, identity, fields], sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def _read(record: str) -> Completion:
    fields = json.loads(record)
    return Completion(**{**fields, **{name: tuple(fields.get(name, ())) for name in _LISTS}})


def open_cache(path: Path) -> sqlite3.Connection:
    """The file of completions at `path`; made where there is none.

    Raises:
        UserError: something else is there, or nothing can be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = sqlite3.connect(path)
        version = file.execute("PRAGMA user_version").fetchone()[0]
        tables = file.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if tables == 0:
            # In this mode a commit waits for no disk; what a power cut loses is computed again.
            file.execute("PRAGMA journal_mode = WAL")
            file.execute(
                "CREATE TABLE completions (key TEXT PRIMARY KEY, model TEXT NOT NULL, completion TEXT NOT NULL)"
            )
            file.execute(f"PRAGMA user_version = {_VERSION}")
            version = _VERSION
        file.execute("PRAGMA synchronous = NORMAL")
        if version != _VERSION:
            raise UserError(f"{path}: not a completion cache of version {_VERSION}; give another path or remove it")
        file.execute("SELECT key FROM completions LIMIT 1")
    except (sqlite3.Error, OSError) as error:
        raise UserError(f"{path}: cannot be used as a completion cache: {error}") from None
    return file
