"""Stores of several machines into one."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from fiqkit.datasets import dataset_hash
from fiqkit.errors import UserError
from fiqkit.store.store import Store, now, transaction

_NUMBERED = ("episodes", "turns", "verdicts")  # tables whose first column is the episode's number


def merge(sources: Sequence[Path], target: Path, name: str | None = None) -> list[str]:
    """Copy every run of the source stores into `target`, all or nothing.

    Args:
        name: make one run of that name of all the copied ones, as if one machine had played them.

    Returns:
        The ids of the runs that `target` gained.

    Raises:
        UserError: a source that is no store; a run that is already in the target; with `name`, runs whose settings
            differ, or two that played the same episode.
    """
    store = Store(target, create=True)
    for source in sources:
        Store(source).close()  # is it a store of this version?
        if source.resolve() == target.resolve():
            raise UserError(f"{source}: is the store to merge into; name another with --store")
    gained: list[str] = []
    for number, source in enumerate(sources):
        store.conn.execute(f"ATTACH DATABASE ? AS source{number}", (str(source),))
    try:
        with transaction(store.conn):
            for number, source in enumerate(sources):
                gained += _copy(store.conn, f"source{number}", source)
            if name:
                _unite(store, gained, name)
                gained = [name]
    finally:
        for number in range(len(sources)):
            store.conn.execute(f"DETACH DATABASE source{number}")
        store.close()
    return gained


def _copy(conn: sqlite3.Connection, source: str, path: Path) -> list[str]:
    runs = [run for (run,) in conn.execute(f"SELECT run FROM {source}.runs ORDER BY rowid")]
    here = {run for (run,) in conn.execute("SELECT run FROM main.runs")}
    for run in runs:
        if run in here:
            raise UserError(f"{path}: run {run} is already there; merge each store once")
    offset = conn.execute("SELECT coalesce(max(episode), 0) FROM main.episodes").fetchone()[0]
    conn.execute(f"INSERT INTO main.runs SELECT * FROM {source}.runs")
    conn.execute(f"INSERT OR IGNORE INTO main.instances SELECT * FROM {source}.instances")
    for table in _NUMBERED:
        columns = [row[1] for row in conn.execute(f"PRAGMA {source}.table_info({table})")]
        rest = ", ".join(columns[1:])
        conn.execute(f"INSERT INTO main.{table} SELECT episode + ?, {rest} FROM {source}.{table}", (offset,))
    return runs


def _unite(store: Store, runs: Sequence[str], name: str) -> None:
    rows = [row for row in store.runs() if row["run"] in runs]
    settings = [
        {k: v for k, v in row["manifest"].get("settings", {}).items() if k not in ("dataset", "instances", "agent")}
        for row in rows
    ]
    for row, found in zip(rows, settings, strict=True):
        if found != settings[0]:
            key = next(k for k in {**settings[0], **found} if settings[0].get(k) != found.get(k))
            raise UserError(f"runs {rows[0]['run']} and {row['run']} differ in {key!r}; they are not parts of one run")
    instances = {key: i for row in rows for key, i in store.instances(row["dataset"]).items()}
    dataset = dataset_hash(instances.values())
    store.put_instances(dataset, instances.values())
    marks = ",".join("?" * len(runs))
    try:
        store.conn.execute(f"UPDATE episodes SET run=? WHERE run IN ({marks})", (name, *runs))
    except sqlite3.IntegrityError as error:
        raise UserError(f"{', '.join(runs)}: two of them played the same episode; merge them without --as") from error
    status = "done" if all(row["status"] == "done" for row in rows) else "partial"
    store.conn.execute(f"DELETE FROM runs WHERE run IN ({marks})", runs)
    manifest = json.dumps({**rows[0]["manifest"], "merged": [row["manifest"] for row in rows]}, ensure_ascii=False)
    values = (name, "merge", status, min(row["created"] for row in rows), now(), dataset, manifest)
    store.conn.execute("INSERT INTO runs VALUES (?,?,?,?,?,?,?)", values)
