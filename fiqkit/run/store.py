"""The run store: one SQLite file that holds runs, their episodes with every turn, and the verdicts on them.

An episode, its turns and its first verdicts are written once, in one transaction; a later grader only adds verdicts.
The tables are plain, so that Datasette and `sqlite-utils` can browse them.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlite_utils import Database

from fiqkit.errors import UserError
from fiqkit.records import Ending, Episode, Grade, Instance, Judgement, Outcome, Turn, instance_row, parse_instance

DEFAULT_STORE = "fiqkit.db"
_VERSION = 1  # of the tables below; a store of another version is refused

_SCHEMA = """
CREATE TABLE runs (
    run TEXT PRIMARY KEY,
    kind TEXT NOT NULL,          -- run, import or merge
    status TEXT NOT NULL,        -- running, partial or done
    created TEXT NOT NULL,
    finished TEXT,
    dataset TEXT NOT NULL,       -- hash of the instances, key into instances
    manifest TEXT NOT NULL       -- JSON: all that is needed to repeat the run
);
CREATE TABLE instances (
    dataset TEXT NOT NULL,
    instance_id TEXT NOT NULL,
    language TEXT NOT NULL,
    primary_category TEXT NOT NULL,
    categories TEXT NOT NULL,    -- JSON list
    h0 REAL NOT NULL,
    cluster TEXT NOT NULL,       -- company key
    question TEXT NOT NULL,
    record TEXT NOT NULL,        -- the whole instance, JSON
    PRIMARY KEY (dataset, instance_id)
);
CREATE TABLE episodes (
    episode INTEGER PRIMARY KEY,
    run TEXT NOT NULL REFERENCES runs(run),
    model TEXT NOT NULL,
    mode TEXT NOT NULL,
    instance_id TEXT NOT NULL,
    ending TEXT NOT NULL,
    answer TEXT,
    confidence REAL,
    n_turns INTEGER NOT NULL,
    n_asks INTEGER NOT NULL,
    n_searches INTEGER NOT NULL,
    n_refused INTEGER NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    seconds REAL NOT NULL,
    flags TEXT NOT NULL,         -- JSON list
    error TEXT,
    opening TEXT NOT NULL,       -- JSON list of the messages before the first turn
    extra TEXT NOT NULL,         -- JSON object
    UNIQUE (run, model, mode, instance_id)
);
CREATE TABLE turns (
    episode INTEGER NOT NULL REFERENCES episodes(episode),
    turn INTEGER NOT NULL,
    action TEXT NOT NULL,
    content TEXT NOT NULL,       -- JSON object
    text TEXT NOT NULL,
    reasoning TEXT NOT NULL,
    observation TEXT NOT NULL,
    refused TEXT,
    prompt_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    seconds REAL NOT NULL,
    PRIMARY KEY (episode, turn)
);
CREATE TABLE verdicts (
    episode INTEGER NOT NULL REFERENCES episodes(episode),
    kind TEXT NOT NULL,          -- answer (a grader's) or question (a judge's)
    turn INTEGER NOT NULL,       -- the question's turn; -1 for the final answer
    given_by TEXT NOT NULL,      -- name of the grader or judge
    outcome TEXT,                -- answer: one of Outcome; null where a recorded grader kept only booleans
    is_intended INTEGER,         -- answer: 0, 1 or null when unscored
    is_default INTEGER,
    value TEXT,
    also INTEGER,
    touched TEXT,                -- question: JSON list of categories
    central TEXT,                -- question: a category, generic, none or unscored
    flags TEXT NOT NULL,
    why TEXT NOT NULL,
    PRIMARY KEY (episode, kind, turn, given_by)
);
CREATE INDEX episodes_by_run ON episodes(run, model, mode);
CREATE INDEX verdicts_by_giver ON verdicts(given_by, kind);
"""

_EPISODE = "INSERT INTO episodes VALUES (" + ",".join("?" * 19) + ")"
_TURN = "INSERT INTO turns VALUES (" + ",".join("?" * 11) + ")"
_VERDICT = "INSERT OR REPLACE INTO verdicts VALUES (" + ",".join("?" * 13) + ")"


@dataclass(frozen=True, slots=True)
class AnswerVerdict:
    """A verdict on a final answer as the store keeps it; None = unknown to the one who gave it."""

    given_by: str
    outcome: str | None
    is_intended: bool | None
    is_default: bool | None
    value: str | None = None
    also: bool = False
    flags: tuple[str, ...] = ()
    why: str = ""

    @classmethod
    def of(cls, given_by: str, grade: Grade) -> AnswerVerdict:
        """From a grader's verdict."""
        scored = grade.outcome != Outcome.UNSCORED
        return cls(
            given_by,
            str(grade.outcome),
            grade.outcome == Outcome.INTENDED if scored else None,
            grade.outcome == Outcome.DEFAULT if scored else None,
            grade.value,
            grade.also,
            grade.flags,
            grade.why,
        )


@dataclass(frozen=True, slots=True)
class QuestionVerdict:
    """A verdict on the clarifying question of one turn."""

    given_by: str
    turn: int
    judgement: Judgement


Verdict = AnswerVerdict | QuestionVerdict


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
            self.conn.executescript(f"BEGIN;{_SCHEMA}PRAGMA user_version={_VERSION};COMMIT;")
        elif version != _VERSION:
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
        episodes: list[tuple[Any, ...]] = []
        turns: list[tuple[Any, ...]] = []
        verdicts: list[tuple[Any, ...]] = []
        number = self._last_episode
        for episode, given in finished:
            number += 1
            episodes.append(_episode_values(number, run, episode))
            turns.extend(_turn_values(number, index, turn) for index, turn in enumerate(episode.turns))
            verdicts.extend(_verdict_values(number, verdict) for verdict in given)
        with transaction(self.conn):
            self.conn.executemany(_EPISODE, episodes)
            self.conn.executemany(_TURN, turns)
            self.conn.executemany(_VERDICT, verdicts)
        self._last_episode = number

    def add_verdicts(self, verdicts: Iterable[tuple[int, Verdict]]) -> None:
        """Add verdicts on (episode number, verdict), replacing those that the same giver gave before."""
        with transaction(self.conn):
            self.conn.executemany(_VERDICT, (_verdict_values(number, verdict) for number, verdict in verdicts))

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
            yield row["episode"], _episode(row, tuple(_turn(values) for values in found))

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


def _episode_values(number: int, run: str, e: Episode) -> tuple[Any, ...]:
    return (
        number,
        run,
        e.model,
        e.mode,
        e.instance_id,
        str(e.ending),
        e.answer,
        e.confidence,
        e.extra.get("n_turns", len(e.turns)),
        e.extra.get("n_asks", e.count("interact")),
        e.extra.get("n_searches", e.count("search")),
        sum(t.refused is not None for t in e.turns),
        sum(t.prompt_tokens for t in e.turns),
        sum(t.output_tokens for t in e.turns),
        e.seconds,
        json.dumps(e.flags),
        e.error,
        json.dumps([dict(m) for m in e.opening], ensure_ascii=False),
        json.dumps(dict(e.extra), ensure_ascii=False),
    )


def _turn_values(number: int, index: int, t: Turn) -> tuple[Any, ...]:
    return (
        number,
        index,
        t.action,
        json.dumps(dict(t.content), ensure_ascii=False),
        t.text,
        t.reasoning,
        t.observation,
        t.refused,
        t.prompt_tokens,
        t.output_tokens,
        t.seconds,
    )


def _verdict_values(number: int, verdict: Verdict) -> tuple[Any, ...]:
    if isinstance(verdict, QuestionVerdict):
        j = verdict.judgement
        return (
            *(number, "question", verdict.turn, verdict.given_by),
            *(None, None, None, None, None),
            *(json.dumps(j.touched), j.central, "[]", j.why),
        )
    return (
        *(number, "answer", -1, verdict.given_by),
        *(verdict.outcome, verdict.is_intended, verdict.is_default, verdict.value, verdict.also),
        *(None, None, json.dumps(verdict.flags), verdict.why),
    )


def _turn(values: Sequence[Any]) -> Turn:
    action, content, *rest = values[2:]
    return Turn(action, json.loads(content), *rest)


def _episode(row: Mapping[str, Any], turns: tuple[Turn, ...]) -> Episode:
    return Episode(
        instance_id=row["instance_id"],
        model=row["model"],
        mode=row["mode"],
        ending=Ending(row["ending"]),
        answer=row["answer"],
        confidence=row["confidence"],
        turns=turns,
        opening=tuple(json.loads(row["opening"])),
        flags=tuple(json.loads(row["flags"])),
        error=row["error"],
        seconds=row["seconds"],
        extra=json.loads(row["extra"]),
    )
