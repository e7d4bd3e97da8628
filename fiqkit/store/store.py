"""The run store: one SQLite file that holds runs, their episodes with every turn, and the verdicts on them.

An episode, its turns and its first verdicts are written once, in one transaction; a later grader only adds verdicts.
The tables are plain, so that Datasette and `sqlite-utils` can browse them.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fiqkit import sqlite_file
from fiqkit.datasets import parse_instance, record_hash
from fiqkit.errors import UserError
from fiqkit.records import Ending, Episode, Instance, Verdict
from fiqkit.store.rows import (
    INSERT_EPISODE,
    INSERT_INSTANCE,
    INSERT_TURN,
    INSERT_VERDICT,
    episode_values,
    instance_values,
    read_episode,
    read_turn,
    turn_values,
    verdict_values,
)
from fiqkit.store.schema import RUN_STORE, see_as_today
from fiqkit.store.views import fill_search

DEFAULT_STORE = "fiqkit.db"

Key = tuple[str, str, str, str, int]  # model, mode, instance_id, item, sample: names an episode within a run

_FAILED = f"'{Ending.ENGINE_ERROR}', '{Ending.BUG}'"  # endings that say nothing of the agent


class Store:
    """An open run store. Many may write it and any number read it at once (WAL)."""

    def __init__(self, path: Path, *, write: bool = False, create: bool = False) -> None:
        """Open the store at `path`, to read it unless `write` or `create` is given.

        A reader changes no byte of any file and takes the store in the schema that it has. A writer migrates it, after
        a copy was put beside it. One process closes its readers of a file that was left by a killed writer before it
        writes it: SQLite shares the log's index within a process, read-only as the first one opened it.

        Raises:
            UserError: no store there and `create` is false, not a store, one of a later version, or not writable.
        """
        self.path = path
        if write or create:
            self.db = sqlite_file.open_to_write(path, RUN_STORE, create=create)
        else:
            self.db, version = sqlite_file.open_to_read(path, RUN_STORE)
            if version < RUN_STORE.version:
                see_as_today(self.db, version)
        self.conn: sqlite3.Connection = self.db.conn

    def close(self) -> None:
        """Close the file. Safe to call twice."""
        sqlite_file.close(self.db)

    def transaction(self) -> AbstractContextManager[None]:
        """Everything that is written within, or nothing of it."""
        return sqlite_file.transaction(self.db, f"{self.path}: the run store")

    # --- writing ----------------------------------------------------------------------------------------------------

    def begin_run(
        self, run: str, kind: str, dataset: str, instances: Iterable[Instance], manifest: Mapping[str, Any]
    ) -> None:
        """Record a new run and the instances it works on, in one transaction. The run starts as "running"."""
        with self.transaction():
            self.conn.execute(
                "INSERT INTO runs VALUES (?,?,?,?,?,?,?)",
                (run, kind, "running", now(), None, dataset, json.dumps(manifest, ensure_ascii=False)),
            )
            self.put_instances(dataset, instances)

    def add_instances(self, dataset: str, instances: Iterable[Instance]) -> None:
        """Keep a data set that no run works on yet; instances that are there stay as they are."""
        with self.transaction():
            self.put_instances(dataset, instances)

    def put_instances(self, dataset: str, instances: Iterable[Instance]) -> None:
        """As `add_instances`, within the caller's transaction."""
        items = [(record_hash(instance), instance) for instance in instances]
        self.conn.executemany(INSERT_INSTANCE, (instance_values(item, instance) for item, instance in items))
        self.conn.executemany(
            "INSERT OR IGNORE INTO datasets VALUES (?,?,?,?)",
            ((dataset, place, instance.instance_id, item) for place, (item, instance) in enumerate(items)),
        )

    def set_status(self, run: str, status: str) -> None:
        """Mark a run "running", "partial" or "done"."""
        finished = None if status == "running" else now()
        self.conn.execute("UPDATE runs SET status=?, finished=? WHERE run=?", (status, finished, run))

    def add_to_manifest(self, run: str, entries: Mapping[str, Any]) -> None:
        """Put entries into a run's manifest, replacing those of the same name."""
        with self.transaction():
            manifest = self.resolve(run)["manifest"] | dict(entries)
            text = json.dumps(manifest, ensure_ascii=False)
            self.conn.execute("UPDATE runs SET manifest=? WHERE run=?", (text, run))

    def write(self, run: str, finished: Sequence[tuple[Episode, Sequence[Verdict]]]) -> None:
        """Write episodes with their turns and first verdicts in one transaction: all of them or none.

        An episode that does not say on which record it was played gets that of the run's data set.
        """
        with self.transaction():
            if not all(episode.item for episode, _ in finished):
                items = self.items(run)
                finished = [(e if e.item else replace(e, item=items[e.instance_id]), given) for e, given in finished]
            # The numbers belong to this transaction: other runs may write the same file.
            first = self.conn.execute("SELECT coalesce(max(episode), 0) + 1 FROM episodes").fetchone()[0]
            numbered = list(enumerate(finished, first))
            # Rows are made one by one between SQLite's steps, which release the interpreter: the event loop never waits
            # for a whole batch of them.
            self.conn.executemany(INSERT_EPISODE, (episode_values(n, run, e) for n, (e, _) in numbered))
            self.conn.executemany(
                INSERT_TURN, (turn_values(n, i, turn) for n, (e, _) in numbered for i, turn in enumerate(e.turns))
            )
            self.conn.executemany(INSERT_VERDICT, (verdict_values(n, v) for n, (_, given) in numbered for v in given))

    def add_verdicts(self, verdicts: Iterable[tuple[int, Verdict]]) -> None:
        """Add verdicts on (episode number, verdict), replacing those that the same giver gave before."""
        with self.transaction():
            self.conn.executemany(INSERT_VERDICT, (verdict_values(number, verdict) for number, verdict in verdicts))

    def fill_search(self) -> None:
        """Put what was written since into the search index: at the end of a run, an import or a merge."""
        added = True
        while added:  # a part at a time: others may be waiting to write
            with self.transaction():
                added = fill_search(self.db)

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

    def done(self, run: str) -> set[Key]:
        """Keys of the episodes that need not be played again; those that failed are to be retried."""
        rows = self.conn.execute(
            f"SELECT model, mode, instance_id, item, sample FROM episodes WHERE run=? AND ending NOT IN ({_FAILED}) "
            "AND parent IS NULL",
            (run,),
        )
        return set(rows)

    def models(self, run: str) -> list[str]:
        """The models and reference policies that a run has episodes of."""
        rows = self.conn.execute("SELECT DISTINCT model FROM episodes WHERE run=? ORDER BY model", (run,))
        return [row[0] for row in rows]

    def count(self, run: str, ending: Ending | None = None) -> int:
        """How many episodes of a run there are, all or those of one ending."""
        count: int = self.conn.execute(
            "SELECT count(*) FROM episodes WHERE run=? AND ending=coalesce(?, ending)", (run, ending)
        ).fetchone()[0]
        return count

    def fault(self, run: str) -> str | None:
        """The last line of the first error that an episode of a run ended in."""
        row = self.conn.execute(
            f"SELECT error FROM episodes WHERE run=? AND ending IN ({_FAILED}) ORDER BY episode LIMIT 1", (run,)
        ).fetchone()
        return row[0].strip().splitlines()[-1] if row and row[0] else None

    def unscored(self, run: str, grader: str, judge: str) -> int:
        """How many verdicts of a run's grader and judge are `unscored`."""
        count: int = self.conn.execute(
            "SELECT count(*) FROM verdicts JOIN episodes USING (episode) WHERE run=? AND "
            "(kind='answer' AND given_by=? AND outcome='unscored' OR kind='question' AND given_by=? "
            "AND central='unscored')",
            (run, grader, judge),
        ).fetchone()[0]
        return count

    def drop_failed(self, run: str) -> int:
        """Remove the episodes that ended in an engine error or a bug, so that a resumed run tries them again."""
        failed = f"SELECT episode FROM episodes WHERE run=? AND ending IN ({_FAILED})"
        with self.transaction():
            for table in ("verdicts", "turns"):
                self.conn.execute(f"DELETE FROM {table} WHERE episode IN ({failed})", (run,))
            return self.conn.execute(f"DELETE FROM episodes WHERE episode IN ({failed})", (run,)).rowcount

    def items(self, run: str) -> dict[str, str]:
        """The item (hash of the record) behind each instance id of a run's data set."""
        rows = self.conn.execute("SELECT instance_id, item FROM datasets JOIN runs USING (dataset) WHERE run=?", (run,))
        return dict(rows)

    def instances(self, dataset: str) -> dict[str, Instance]:
        """The instances of a data set by id."""
        rows = self.conn.execute(
            "SELECT instance_id, record FROM datasets JOIN instances USING (instance_id, item) WHERE dataset=? "
            "ORDER BY place",
            (dataset,),
        )
        return {key: parse_instance(json.loads(record), f"{self.path}:{key}") for key, record in rows}

    def episodes(self, run: str, instance_id: str | None = None) -> Iterator[tuple[int, Episode]]:
        """Yield (episode number, episode with its turns) of a run, or of one instance in it, as finished; streamed."""
        turns = self.conn.cursor()
        wanted = "run=? AND instance_id=coalesce(?, instance_id)"
        for row in self.db.query(f"SELECT * FROM episodes WHERE {wanted} ORDER BY episode", (run, instance_id)):
            found = turns.execute("SELECT * FROM turns WHERE episode=? ORDER BY turn", (row["episode"],))
            yield row["episode"], read_episode(row, tuple(read_turn(values) for values in found))

    def episode(self, number: int) -> Episode:
        """One episode with its turns.

        Raises:
            UserError: no episode has this number.
        """
        row = next(iter(self.db.query("SELECT * FROM episodes WHERE episode=?", (number,))), None)
        if row is None:
            raise UserError(f"{self.path}: no episode {number}; `fiqkit episodes` lists them")
        found = self.conn.execute("SELECT * FROM turns WHERE episode=? ORDER BY turn", (number,))
        return read_episode(row, tuple(read_turn(values) for values in found))

    def instance(self, instance_id: str, item: str) -> Instance:
        """The instance behind an item."""
        row = self.conn.execute(
            "SELECT record FROM instances WHERE instance_id=? AND item=?", (instance_id, item)
        ).fetchone()
        return parse_instance(json.loads(row[0]), f"{self.path}:{instance_id}")

    def to_grade(self, run: str, grader: str | None = None) -> list[int]:
        """Numbers of the episodes with a committed answer; with a grader, of those that it has no verdict on.

        An `unscored` one is none: it is to be tried again.
        """
        rows = self.conn.execute(
            "SELECT episode FROM episodes e WHERE run=? AND ending=? AND NOT EXISTS (SELECT 1 FROM verdicts v "
            "WHERE v.episode=e.episode AND v.kind='answer' AND v.given_by=? AND v.outcome IS NOT 'unscored')",
            (run, Ending.ANSWERED, grader),
        )
        return [number for (number,) in rows]

    def to_judge(self, run: str, judge: str | None = None) -> list[int]:
        """Numbers of the episodes with a question that reached the user; with a judge, of those that have one which it
        has not judged, or only as `unscored`."""
        rows = self.conn.execute(
            "SELECT DISTINCT t.episode FROM turns t JOIN episodes e USING (episode) WHERE run=? "
            f"AND ending NOT IN ({_FAILED}) AND action='interact' AND refused IS NULL AND NOT EXISTS (SELECT 1 "
            "FROM verdicts v WHERE v.episode=t.episode AND v.kind='question' AND v.turn=t.turn AND v.given_by=? "
            "AND v.central<>'unscored')",
            (run, judge),
        )
        return [number for (number,) in rows]

    def verdicts(self, episode: int) -> list[dict[str, Any]]:
        """The verdicts on one episode, the questions' first."""
        return list(self.db.query("SELECT * FROM verdicts WHERE episode=? ORDER BY kind DESC, turn", (episode,)))


def now() -> str:
    """The time as stores write it: UTC, ISO, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")
