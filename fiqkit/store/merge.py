"""Stores of several machines into one."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fiqkit.datasets import dataset_hash
from fiqkit.errors import UserError
from fiqkit.store.comparable import check_parts
from fiqkit.store.store import Store, now

_NUMBERED = ("episodes", "turns", "verdicts")  # tables whose first column is the episode's number


def merge(sources: Sequence[Path], target: Path, name: str | None = None) -> list[str]:
    """Copy every run of the source stores into `target`, all or nothing; sources of any schema, and any number of them.

    Args:
        name: make one run of that name of all the copied ones, as if one machine had played them.

    Returns:
        The ids of the runs that `target` gained.

    Raises:
        UserError: a source that is no store, or the target itself; a run that is already in the target; with `name`,
            runs that could not be resumed as one, or two that played the same episode.
    """
    for source in sources:
        if source.exists() and target.exists() and source.samefile(target):
            raise UserError(f"{source}: is the store to merge into; name another with --store")
        Store(source).close()  # is it a store?
    store = Store(target, create=True)
    gained: list[str] = []
    try:
        with store.transaction():
            if name and any(run["run"] == name for run in store.runs()):
                raise UserError(f"{target}: has a run {name!r} already; give another name with --as")
            for source in sources:
                gained += _copy(store, source)
            if name:
                _unite(store, gained, name)
                gained = [name]
        store.fill_search()
    finally:
        store.close()
    return gained


def _copy(store: Store, path: Path) -> list[str]:
    """Copy a store's rows. It is read through a connection of its own: SQLite attaches ten files to one at most."""
    source = Store(path)
    try:
        runs = [run["run"] for run in source.runs()]
        here = {known for run in store.runs() for known in (run["run"], *run["manifest"].get("merged_from", ()))}
        for run in runs:
            if run in here:
                raise UserError(f"{path}: run {run} is already there; merge each store once")
        offset = store.conn.execute("SELECT coalesce(max(episode), 0) FROM episodes").fetchone()[0]
        for table in ("runs", "instances", "datasets"):
            _insert(store.conn, f"OR IGNORE INTO {table}", source.conn.execute(f"SELECT * FROM {table}"))
        for table in _NUMBERED:
            columns = ", ".join(row[1] for row in list(store.conn.execute(f"PRAGMA table_info({table})"))[1:])
            rows = source.conn.execute(f"SELECT episode + ?, {columns} FROM {table}", (offset,))
            _insert(store.conn, f"INTO {table}", rows)
        return runs
    finally:
        source.close()


def _insert(conn: sqlite3.Connection, into: str, rows: sqlite3.Cursor) -> None:
    marks = ",".join("?" * len(rows.description))
    conn.executemany(f"INSERT {into} VALUES ({marks})", rows)


def _unite(store: Store, runs: Sequence[str], name: str) -> None:
    """Make one run of several, the same one whatever order their stores were named in."""
    rows = sorted((row for row in store.runs() if row["run"] in runs), key=lambda row: (row["created"], row["run"]))
    check_parts({row["run"]: row["manifest"] for row in rows})
    instances: dict[str, Any] = {}
    for row in rows:
        for key, instance in store.instances(row["dataset"]).items():
            if instances.setdefault(key, instance) != instance:
                raise UserError(f"{', '.join(runs)}: two records stand under the id {key!r}; merge them without --as")
    ordered = [instances[key] for key in sorted(instances)]
    sets = {row["dataset"] for row in rows}
    dataset = sets.pop() if len(sets) == 1 else dataset_hash(ordered)
    store.put_instances(dataset, ordered)
    marks = ",".join("?" * len(runs))
    try:
        store.conn.execute(f"UPDATE episodes SET run=? WHERE run IN ({marks})", (name, *runs))
    except sqlite3.IntegrityError as error:
        raise UserError(f"{', '.join(runs)}: two of them played the same episode; merge them without --as") from error
    store.conn.execute(f"DELETE FROM runs WHERE run IN ({marks})", runs)
    status = "done" if all(row["status"] == "done" for row in rows) else "partial"
    values = (
        name,
        "merge",
        status,
        rows[0]["created"],
        now(),
        dataset,
        json.dumps(_manifest(rows), ensure_ascii=False),
    )
    store.conn.execute("INSERT INTO runs VALUES (?,?,?,?,?,?,?)", values)


def _manifest(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What the parts have in common, every agent of theirs, and their own manifests in full."""
    manifests = [row["manifest"] for row in rows]
    agents = {agent["name"]: agent for manifest in manifests for agent in manifest.get("agents", ())}
    return {
        **manifests[0],
        "agents": [agents[name] for name in sorted(agents)],
        "merged_from": [row["run"] for row in rows],
        "merged": manifests,
    }
