"""A run in one file that proves itself: a store with that run alone, its passages, and a hash of every table.

A capsule is a run store, so every command that reads one reads it. Its table `capsule` holds one row a fact about it
and one a table: `("rows episodes", "120 9f3c…")`, the number of rows and the hash over them in the order of their own
text, so that it does not depend on how SQLite laid them out.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fiqkit.datasets import parse_instance, passage_row, record_hash
from fiqkit.errors import UserError
from fiqkit.records import Passage
from fiqkit.store.store import Store

_TABLES = """
CREATE TABLE passages (passage_id TEXT PRIMARY KEY, record TEXT NOT NULL);
CREATE TABLE capsule (name TEXT PRIMARY KEY, value TEXT NOT NULL);
"""
_HASHED = ("runs", "instances", "datasets", "episodes", "turns", "verdicts", "passages")
_OF_EPISODES = ("turns", "verdicts")


def write_capsule(
    source: Path, run: str, out: Path, passages: Iterable[Passage], made_with: Mapping[str, str]
) -> dict[str, str]:
    """Write the capsule of a run; whole, or not at all.

    Args:
        passages: those that its instances name; others are left out.
        made_with: versions and hashes of the code, kept as they are.

    Returns:
        What the table `capsule` says, `hash` last: the hash over all others, by which the capsule can be cited.

    Raises:
        UserError: no such run, or `out` is there already.
    """
    if out.exists():
        raise UserError(f"{out}: is there already; name another file with --out")
    store = Store(source)
    scratch = out.with_name(f"{out.name}.part")
    scratch.unlink(missing_ok=True)
    try:
        found = store.resolve(run)
        target = Store(scratch, create=True)
        try:
            with target.transaction():
                _copy(store.conn, target.conn, found)
                for statement in filter(str.strip, _TABLES.split(";\n")):
                    target.conn.execute(statement)
                wanted = {i.passage_id or i.instance_id for i in store.instances(found["dataset"]).values()}
                rows = [(p.passage_id, _text(passage_row(p))) for p in passages if p.passage_id in wanted]
                target.conn.executemany("INSERT INTO passages VALUES (?,?)", rows)
                told = {"run": found["run"], **made_with, **_hashes(target.conn)}
                told["hash"] = _hash([_text(told)])
                target.conn.executemany("INSERT INTO capsule VALUES (?,?)", told.items())
            target.fill_search()
        finally:
            target.close()
        scratch.rename(out)
        return told
    finally:
        scratch.unlink(missing_ok=True)
        store.close()


def read_capsule(path: Path) -> dict[str, str]:
    """What a capsule says of itself.

    Raises:
        UserError: no store there, or one that is no capsule.
    """
    with _reading(path) as store:
        return _told(store, path)


def verify_capsule(path: Path) -> list[str]:
    """What does not hold in a capsule: a table that was changed, or an instance whose item is not its record's hash.

    Raises:
        UserError: no store there, or one that is no capsule.
    """
    with _reading(path) as store:
        told = _told(store, path)
        faults = []
        for name, value in _hashes(store.conn).items():
            if told.get(name) != value:
                faults.append(f"table {name.removeprefix('rows ')}: {told.get(name)} was written, {value} is there")
        whole = _hash([_text({name: value for name, value in told.items() if name != "hash"})])
        if told.get("hash") != whole:
            faults.append(f"the capsule's own hash: {told.get('hash')} was written, {whole} is there")
        for instance_id, item, record in store.conn.execute("SELECT instance_id, item, record FROM instances"):
            if record_hash(parse_instance(json.loads(record), f"{path}:{instance_id}")) != item:
                faults.append(f"instance {instance_id}: its record is not the one that its item names")
        return faults


@contextmanager
def _reading(path: Path) -> Iterator[Store]:
    store = Store(path)
    try:
        yield store
    except (sqlite3.Error, ValueError, TypeError, KeyError) as error:  # whatever a damaged file may hold
        raise UserError(f"{path}: a damaged capsule ({' '.join(str(error).split())}); ask for it again") from error
    finally:
        store.close()


def is_store(path: Path) -> bool:
    """Whether a file is an SQLite file, rather than one of instances.

    Raises:
        UserError: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            return file.read(16) == b"SQLite format 3\0"
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); check the path") from error


def _copy(source: sqlite3.Connection, target: sqlite3.Connection, run: Mapping[str, Any]) -> None:
    """One run's rows, its episodes numbered anew in the order of what they are."""
    _insert(target, "runs", source.execute("SELECT * FROM runs WHERE run=?", (run["run"],)))
    key = (run["dataset"],)
    _insert(target, "datasets", source.execute("SELECT * FROM datasets WHERE dataset=? ORDER BY place", key))
    named = "(SELECT instance_id, item FROM datasets WHERE dataset=?)"
    _insert(target, "instances", source.execute(f"SELECT * FROM instances WHERE (instance_id, item) IN {named}", key))
    order = "model, mode, retrieval, instance_id, item, sample, parent, fork_turn, episode"
    numbers = source.execute(f"SELECT episode FROM episodes WHERE run=? ORDER BY {order}", (run["run"],)).fetchall()
    for new, (old,) in enumerate(numbers, 1):
        for table in ("episodes", *_OF_EPISODES):
            rows = source.execute(f"SELECT * FROM {table} WHERE episode=?", (old,))
            _insert(target, table, ((new, *row[1:]) for row in rows))


def _insert(conn: sqlite3.Connection, table: str, rows: Iterable[tuple[Any, ...]]) -> None:
    for row in rows:
        conn.execute(f"INSERT INTO {table} VALUES ({','.join('?' * len(row))})", row)


def _hashes(conn: sqlite3.Connection) -> dict[str, str]:
    found = {}
    for table in _HASHED:
        rows = sorted(_text(row) for row in conn.execute(f"SELECT * FROM {table}"))
        found[f"rows {table}"] = f"{len(rows)} {_hash(rows)}"
    return found


def _told(store: Store, path: Path) -> dict[str, str]:
    if "capsule" not in store.db.table_names():
        raise UserError(f"{path}: a run store, but no capsule; make one with: fiqkit capsule RUN --store {path}")
    return dict(store.conn.execute("SELECT name, value FROM capsule ORDER BY rowid"))


def _hash(lines: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for line in lines:
        digest.update(line.encode("utf-8", "surrogatepass") + b"\n")
    return digest.hexdigest()


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
