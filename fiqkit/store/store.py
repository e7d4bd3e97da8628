"""The run store: one SQLite file that holds runs, their episodes with every turn, and the verdicts on them.

An episode, its turns and its first verdicts are written once, in one transaction; a later grader only adds verdicts.
The tables are plain, so that Datasette and `sqlite-utils` can browse them.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlite_utils import Database

from fiqkit.datasets import instance_row, parse_instance
from fiqkit.errors import UserError
from fiqkit.records import Ending, Episode, Instance, Verdict
from fiqkit.store.schema import (
    INSERT_EPISODE,
    INSERT_TURN,
    INSERT_VERDICT,
    SCHEMA,
    VERSION,
    episode_values,
    read_episode,
    read_turn,
    turn_values,
    verdict_values,
)

DEFAULT_STORE = "fiqkit.db"


class Store:
    """An open run store. One writer at a time; any number of readers beside it (WAL)."""

    def __init__(self, path: Path, *, create: bool = False) -> None:
        """Open the store at `path`.

        Raises:
            UserError: no store there and `create` is false, not a store of this version, or not writable.
        """
        self.path = path
        if not create and not path.exists():
            raise UserError(f"{path}: no run store there; start a run first, or name the file with --store")
        try:
            self.db = Database(sqlite3.connect(path, check_same_thread=False, isolation_level=None))
            self.conn: sqlite3.Connection = self.db.conn
            self.conn.execute("PRAGMA journal_mode=WAL")
            self.conn.execute("PRAGMA synchronous=NORMAL")
            self.conn.execute("PRAGMA busy_timeout=10000")
            self._check_version(create)
        except sqlite3.Error as error:
            raise UserError(
                f"{path}: cannot be used as a run store ({error}); name another file with --store"
            ) from error
        row = self.conn.execute("SELECT coalesce(max(episode), 0) FROM episodes").fetchone()
        self._last_episode: int = row[0]

    def _check_version(self, create: bool) -> None:
        version = self.conn.execute("PRAGMA user_version").fetchone()[0]
        empty = not self.db.table_names()
        if version == 0 and empty and create:
            self.conn.executescript(f"BEGIN;{SCHEMA}PRAGMA user_version={VERSION};COMMIT;")
        elif version != VERSION:
            raise UserError(f"{self.path}: not a run store of this version of fiqkit; name another file with --store")

    def close(self) -> None:
        """Close the file. Safe to call twice."""
        self.conn.close()

    # --- writing ----------------------------------------------------------------------------------------------------

    def begin_run(
        self, run: str, kind: str, dataset: str, instances: Iterable[Instance], manifest: Mapping[str, Any]
    ) -> None:
        """Record a new run and the instances it works on, in one transaction. The run starts as "running"."""
        with transaction(self.conn):
            self.conn.execute(
                "INSERT INTO runs VALUES (?,?,?,?,?,?,?)",
                (run, kind, "running", now(), None, dataset, json.dumps(manifest, ensure_ascii=False)),
            )
            self.put_instances(dataset, instances)

    def add_instances(self, dataset: str, instances: Iterable[Instance]) -> None:
        """Keep a data set that no run works on yet; instances that are there stay as they are."""
        with transaction(self.conn):
            self.put_instances(dataset, instances)

    def put_instances(self, dataset: str, instances: Iterable[Instance]) -> None:
        """As `add_instances`, within the caller's transaction."""
        self.conn.executemany(
            "INSERT OR IGNORE INTO instances VALUES (?,?,?,?,?,?,?,?,?)",
            (
                (
                    dataset,
                    i.instance_id,
                    i.language,
                    i.primary,
                    json.dumps(i.categories),
                    i.h0,
                    i.cluster,
                    i.question,
                    json.dumps(instance_row(i), ensure_ascii=False),
                )
                for i in instances
            ),
        )

    def set_status(self, run: str, status: str) -> None:
        """Mark a run "running", "partial" or "done"."""
        finished = None if status == "running" else now()
        self.conn.execute("UPDATE runs SET status=?, finished=? WHERE run=?", (status, finished, run))

    def add_to_manifest(self, run: str, entries: Mapping[str, Any]) -> None:
        """Put entries into a run's manifest, replacing those of the same name."""
        with transaction(self.conn):
            manifest = self.resolve(run)["manifest"] | dict(entries)
            text = json.dumps(manifest, ensure_ascii=False)
            self.conn.execute("UPDATE runs SET manifest=? WHERE run=?", (text, run))

    def write(self, run: str, finished: Sequence[tuple[Episode, Sequence[Verdict]]]) -> None:
        """Write episodes with their turns and first verdicts in one transaction: all of them or none."""
        numbered = list(enumerate(finished, self._last_episode + 1))
        # Rows are made one by one between SQLite's steps, which release the interpreter: the event loop never waits
        # for a whole batch of them.
        with transaction(self.conn):
            self.conn.executemany(INSERT_EPISODE, (episode_values(n, run, e) for n, (e, _) in numbered))
            self.conn.executemany(
                INSERT_TURN, (turn_values(n, i, turn) for n, (e, _) in numbered for i, turn in enumerate(e.turns))
            )
            self.conn.executemany(INSERT_VERDICT, (verdict_values(n, v) for n, (_, given) in numbered for v in given))
        self._last_episode += len(numbered)

    def add_verdicts(self, verdicts: Iterable[tuple[int, Verdict]]) -> None:
        """Add verdicts on (episode number, verdict), replacing those that the same giver gave before."""
        with transaction(self.conn):
            self.conn.executemany(INSERT_VERDICT, (verdict_values(number, verdict) for number, verdict in verdicts))

    # --- reading ----------------------------------------------------------------------------------------------------

    def runs(self) -> list[dict[str, Any]]:
        """Every run, oldest first, with its manifest as an object and its number of episodes."""
        rows = self.db.query(
            "SELECT r.*, (SELECT count(*) FROM episodes e WHERE e.run = r.run) AS episodes FROM runs r "
            "ORDER BY created, rowid"
        )
        return [{**row, "manifest": json.loads(row["manifest"])} for row in rows]

    def resolve(self, name: str) -> dict[str, Any]:
        """The run with this id, or "last".

        Raises:
            UserError: no such run; names those there are.
        """
        runs = self.runs()
        for run in reversed(runs):
            if name in ("last", run["run"]):
                return run
        known = ", ".join(run["run"] for run in runs[-5:]) or "none yet"
        raise UserError(f"{self.path}: no run {name!r}; the latest are: {known}")

    def done(self, run: str) -> set[tuple[str, str, str]]:
        """(model, mode, instance_id) of every episode that need not be run again; engine errors are to be retried."""
        rows = self.conn.execute(
            "SELECT model, mode, instance_id FROM episodes WHERE run=? AND ending<>?", (run, Ending.ENGINE_ERROR)
        )
        return set(rows)

    def models(self, run: str) -> list[str]:
        """The models and reference policies that a run has episodes of."""
        rows = self.conn.execute("SELECT DISTINCT model FROM episodes WHERE run=? ORDER BY model", (run,))
        return [row[0] for row in rows]

    def count(self, run: str) -> int:
        """How many episodes of a run there are."""
        count: int = self.conn.execute("SELECT count(*) FROM episodes WHERE run=?", (run,)).fetchone()[0]
        return count

    def drop_engine_errors(self, run: str) -> int:
        """Remove the episodes that ended in an engine error, so that a resumed run tries them again."""
        failed = "SELECT episode FROM episodes WHERE run=? AND ending=?"
        key = (run, Ending.ENGINE_ERROR)
        with transaction(self.conn):
            self.conn.execute(f"DELETE FROM verdicts WHERE episode IN ({failed})", key)
            self.conn.execute(f"DELETE FROM turns WHERE episode IN ({failed})", key)
            return self.conn.execute("DELETE FROM episodes WHERE run=? AND ending=?", key).rowcount

    def instances(self, dataset: str) -> dict[str, Instance]:
        """The instances of a data set by id."""
        rows = self.conn.execute("SELECT instance_id, record FROM instances WHERE dataset=?", (dataset,))
        return {key: parse_instance(json.loads(record), f"{self.path}:{key}") for key, record in rows}

    def episodes(self, run: str, instance_id: str | None = None) -> Iterator[tuple[int, Episode]]:
        """Yield (episode number, episode with its turns) of a run, or of one instance in it, as finished; streamed."""
        turns = self.conn.cursor()
        wanted = "run=? AND instance_id=coalesce(?, instance_id)"
        for row in self.db.query(f"SELECT * FROM episodes WHERE {wanted} ORDER BY episode", (run, instance_id)):
            found = turns.execute("SELECT * FROM turns WHERE episode=? ORDER BY turn", (row["episode"],))
            yield row["episode"], read_episode(row, tuple(read_turn(values) for values in found))

    def verdicts(self, episode: int) -> list[dict[str, Any]]:
        """The verdicts on one episode, the questions' first."""
        return list(self.db.query("SELECT * FROM verdicts WHERE episode=? ORDER BY kind DESC, turn", (episode,)))


def now() -> str:
    """The time as stores write it: UTC, ISO, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class transaction:
    """BEGIN IMMEDIATE … COMMIT, ROLLBACK when the block raises; a full disk becomes a `UserError`."""

    def __init__(self, conn: sqlite3.Connection) -> None:
        self.conn = conn

    def __enter__(self) -> None:
        self.conn.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: type | None, error: BaseException | None, trace: object) -> None:
        try:
            self.conn.execute("ROLLBACK" if error else "COMMIT")
        except sqlite3.Error as failed:
            if error is None:
                error = failed
        if isinstance(error, sqlite3.OperationalError):
            raise UserError(
                f"the run store cannot be written ({error}); what it held is whole, resume once mended"
            ) from error
