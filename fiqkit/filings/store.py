"""The fact store: one SQLite file with the facts, the texts, the passages, and the journal of the files they came from.

A part of a file is written in one transaction together with its line in the journal, so a store that a killed process
leaves behind is whole and says what it holds.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any

from sqlite_utils import Database, Migrations

from fiqkit import sqlite_file
from fiqkit.filings.fact import Reading
from fiqkit.filings.kinds import Part
from fiqkit.records import Passage

_SCHEMA = """
CREATE TABLE files (
    file INTEGER PRIMARY KEY,
    path TEXT NOT NULL,
    part TEXT NOT NULL,          -- which share of the file; empty for the whole
    kind TEXT NOT NULL,
    size INTEGER NOT NULL,
    modified INTEGER NOT NULL,   -- mtime in nanoseconds
    sha256 TEXT NOT NULL,
    facts INTEGER NOT NULL,
    text_facts INTEGER NOT NULL,
    passages INTEGER NOT NULL,
    left_out TEXT NOT NULL,      -- JSON: reason to number of facts not taken
    remarks TEXT NOT NULL,       -- JSON: what to know of facts that were taken
    UNIQUE (path, part)
);
CREATE TABLE facts (
    entity TEXT,                 -- CIK without leading zeros, or six-digit stock code
    name TEXT,
    concept TEXT NOT NULL,
    value NUMERIC NOT NULL,
    unit TEXT,
    decimals TEXT,               -- power of ten the value is exact to; INF when exact
    start TEXT,                  -- null for an instant
    end TEXT NOT NULL,
    dims TEXT NOT NULL,          -- JSON object, axis to member, sorted keys
    form TEXT,
    accession TEXT,
    filed TEXT,
    source TEXT NOT NULL,        -- inline, instance, companyfacts, fsds or export
    copies INTEGER NOT NULL,     -- how often the filing states it, at whatever precision
    file INTEGER NOT NULL REFERENCES files(file)
);
CREATE TABLE text_facts (
    entity TEXT,
    name TEXT,
    concept TEXT NOT NULL,
    value TEXT NOT NULL,
    start TEXT,
    end TEXT NOT NULL,
    dims TEXT NOT NULL,
    form TEXT,
    accession TEXT,
    filed TEXT,
    source TEXT NOT NULL,
    file INTEGER NOT NULL REFERENCES files(file)
);
CREATE TABLE passages (
    passage_id TEXT NOT NULL,
    text TEXT NOT NULL,
    company TEXT,
    ticker TEXT,
    form TEXT,
    filed TEXT,
    period TEXT,
    language TEXT NOT NULL,
    source TEXT,
    candidates TEXT,             -- JSON list of question and value, for question sets; never indexed or shown
    file INTEGER NOT NULL REFERENCES files(file)
);
CREATE TABLE filings (
    accession TEXT PRIMARY KEY,
    entity TEXT,
    name TEXT,
    form TEXT,
    period TEXT,
    filed TEXT
);
CREATE TABLE labels (concept TEXT PRIMARY KEY, label TEXT NOT NULL);
CREATE TABLE fiscal_periods (
    entity TEXT NOT NULL,
    kind TEXT NOT NULL,          -- year, transition or quarter
    start TEXT NOT NULL,
    end TEXT NOT NULL,
    facts INTEGER NOT NULL       -- how many facts attest it
);
"""

_VIEW = """
-- Per fact, every version in the order of what is known of its filing: the filing date, else the period it reports on
-- or the year in its accession number, whichever is later. Versions whose order is not known share a number; one of
-- which nothing is known has none. A filing that two sources hold counts once, at its finest; values of one filing that
-- contradict each other are all there, with a remark.
CREATE VIEW versions AS
WITH stated AS (  -- each value of a filing once, at its finest
    SELECT f.entity, f.concept, f.unit, f.dims, f.start, f.end, f.name, f.value, f.decimals, f.form, f.accession,
        coalesce(f.filed, g.filed) AS filed, f.source, f.rowid AS place,
        coalesce(f.accession, f.file || ' ' || coalesce(f.filed, '')) AS filing,
        coalesce(f.filed, g.filed, max(coalesce(g.period, ''), coalesce(
            iif(substr(f.accession, 12, 2) > '50', '19', '20') || substr(f.accession, 12, 2), ''))) AS known,
        coalesce(f.form, g.form, '') LIKE '%/A' AS amends,
        max(CASE f.decimals WHEN 'INF' THEN 99 ELSE cast(coalesce(f.decimals, -99) AS INTEGER) END) AS fineness
    FROM facts f LEFT JOIN filings g USING (accession)
    GROUP BY f.entity, f.concept, f.unit, f.dims, f.start, f.end, filing, f.value
), beside AS (
    SELECT *, first_value(value) OVER finest AS best, first_value(step) OVER finest AS best_step
    FROM (SELECT *, iif(abs(fineness) < 99, cast('1e' || -fineness AS REAL), 0) AS step FROM stated)
    WINDOW finest AS (PARTITION BY entity, concept, unit, dims, start, end, filing ORDER BY fineness DESC, place)
), apart AS (  -- without those that are but a rounding of the finest
    SELECT *, max(value <> best) OVER (PARTITION BY entity, concept, unit, dims, start, end, filing) AS contradicted
    FROM beside
    WHERE value = best OR abs(value - best) > 0.5000001 * (step + best_step)
)
SELECT entity, concept, unit, dims, start, end, name, value, decimals, form, accession, filed, source,
    CASE WHEN known > '' OR max(known) OVER same = ''
        THEN dense_rank() OVER (same ORDER BY known = '', known, amends) END AS version,
    dense_rank() OVER (same ORDER BY known, amends) + dense_rank() OVER (same ORDER BY known DESC, amends DESC) - 1
        AS versions,
    CASE WHEN contradicted THEN 'the filing states another value too' END AS remark
FROM apart
WINDOW same AS (PARTITION BY entity, concept, unit, dims, start, end);
"""

# Built after the first load, when a whole index is cheaper than an entry a row.
_INDEXES = """
CREATE INDEX IF NOT EXISTS facts_by_entity ON facts(entity, concept, unit, dims, start, end);
CREATE INDEX IF NOT EXISTS facts_by_accession ON facts(accession);
CREATE INDEX IF NOT EXISTS facts_by_file ON facts(file);
CREATE INDEX IF NOT EXISTS text_facts_by_entity ON text_facts(entity, concept);
CREATE INDEX IF NOT EXISTS text_facts_by_file ON text_facts(file);
CREATE INDEX IF NOT EXISTS passages_by_id ON passages(passage_id);
CREATE INDEX IF NOT EXISTS passages_by_file ON passages(file);
CREATE INDEX IF NOT EXISTS fiscal_periods_by_entity ON fiscal_periods(entity, kind, end);
"""

migrations = Migrations("fiqkit facts")


@migrations(name="1")
def _create(db: Database) -> None:
    if "facts" not in db.table_names():  # a store of version 1 was made before migrations were written down
        sqlite_file.execute_all(db, _SCHEMA)


@migrations(name="2")
def _order_versions(db: Database) -> None:
    sqlite_file.execute_all(db, f"DROP VIEW IF EXISTS versions;\n{_VIEW}")


FACT_STORE = sqlite_file.Kind(
    what="fact store",
    table="facts",
    version=2,
    migrations=migrations,
    missing="make one with `fiqkit ingest PATH… --out {path}`",
    mend="name another file",
)

_FACT = "INSERT INTO facts VALUES (" + ",".join("?" * 15) + ")"
_TEXT = "INSERT INTO text_facts VALUES (" + ",".join("?" * 12) + ")"
_PASSAGE = "INSERT INTO passages VALUES (" + ",".join("?" * 11) + ")"
_FILE = "INSERT INTO files VALUES (" + ",".join("?" * 12) + ")"
_FILING = """INSERT INTO filings VALUES (?,?,?,?,?,?) ON CONFLICT (accession) DO UPDATE SET
    entity = coalesce(entity, excluded.entity), name = coalesce(name, excluded.name),
    form = coalesce(form, excluded.form), period = coalesce(period, excluded.period),
    filed = coalesce(filed, excluded.filed)"""
_LABEL = "INSERT OR IGNORE INTO labels VALUES (?,?)"


class FactStore:
    """An open fact store. One writer at a time; any number of readers beside it (WAL)."""

    def __init__(self, path: Path, *, write: bool = False, create: bool = False) -> None:
        """Open the store at `path`, to read it unless `write` or `create` is given.

        A reader changes no byte of any file; a writer migrates an older store, after a copy was put beside it.

        Raises:
            UserError: no store there and `create` is false, not a fact store, one of a later version, or not writable.
        """
        self.path = path
        if write or create:
            self.db = sqlite_file.open_to_write(path, FACT_STORE, create=create)
            self.db.conn.execute("PRAGMA cache_size=-65536")
        else:
            self.db, version = sqlite_file.open_to_read(path, FACT_STORE)
            if version < 2:
                sqlite_file.execute_all(self.db, _VIEW.replace("CREATE VIEW", "CREATE TEMP VIEW"))
        self.conn: sqlite3.Connection = self.db.conn

    def close(self) -> None:
        """Close the file. Safe to call twice."""
        sqlite_file.close(self.db)

    def transaction(self) -> AbstractContextManager[None]:
        """Everything that is written within, or nothing of it; a full disk becomes a `UserError`."""
        return sqlite_file.transaction(self.db, str(self.path))

    # --- the journal ------------------------------------------------------------------------------------------------

    def known(self, path: str) -> list[dict[str, Any]]:
        """The journal's lines of a file, one a part."""
        return list(self.db.query("SELECT part, size, modified, sha256 FROM files WHERE path=?", (path,)))

    def same_content(self, sha256: str, path: str) -> str | None:
        """Another file that was read with the same bytes."""
        row = self.conn.execute("SELECT path FROM files WHERE sha256=? AND path<>? LIMIT 1", (sha256, path)).fetchone()
        return row[0] if row else None

    def touch(self, path: str, modified: int) -> None:
        """Note a new modification time of a file whose bytes are the same."""
        with self.transaction():
            self.conn.execute("UPDATE files SET modified=? WHERE path=?", (modified, path))

    def forget(self, path: str) -> None:
        """Drop all that came from a file."""
        if self.known(path):
            with self.transaction():
                self._forget_older(path, "")

    def _forget_older(self, path: str, sha256: str) -> None:
        """Drop all that came from other bytes of a file, inside the transaction that is open."""
        older = "SELECT file FROM files WHERE path=? AND sha256<>?"
        if self.conn.execute(f"{older} LIMIT 1", (path, sha256)).fetchone():
            for table in ("facts", "text_facts", "passages", "files"):
                self.conn.execute(f"DELETE FROM {table} WHERE file IN ({older})", (path, sha256))

    def add(self, part: Part, reading: Reading, *, size: int, modified: int, sha256: str) -> None:
        """Write a part and its journal line in one transaction; rows from older bytes of the file go."""
        with self.transaction():
            self._forget_older(part.path, sha256)
            file = self.conn.execute("SELECT coalesce(max(file), 0) + 1 FROM files").fetchone()[0]
            counts = (len(reading.facts), len(reading.texts), len(reading.passages))
            notes = (json.dumps(n, ensure_ascii=False) for n in (reading.left_out, reading.remarks))
            self.conn.execute(_FILE, (file, part.path, part.part, part.kind, size, modified, sha256, *counts, *notes))
            self.conn.executemany(_FACT, ((*fact, file) for fact in reading.facts))
            self.conn.executemany(_TEXT, ((*text, file) for text in reading.texts))
            self.conn.executemany(_PASSAGE, _passages(reading, file))
            self.conn.executemany(_FILING, reading.filings)
            self.conn.executemany(_LABEL, reading.labels.items())

    def passages(self) -> Iterator[Passage]:
        """The filings' own text, in the order in which it was read; streamed."""
        columns = ",".join(field.name for field in fields(Passage))
        for row in self.conn.execute(f"SELECT {columns} FROM passages ORDER BY rowid"):
            yield Passage(*row)

    def finish(self, periods: Iterable[tuple[Any, ...]]) -> None:
        """Build the indexes and replace the fiscal calendar."""
        with self.transaction():
            for statement in filter(str.strip, _INDEXES.split(";")):
                self.conn.execute(statement)
            self.conn.execute("DELETE FROM fiscal_periods")
            self.conn.executemany("INSERT INTO fiscal_periods VALUES (?,?,?,?,?)", periods)


def _passages(reading: Reading, file: int) -> Iterator[tuple[Any, ...]]:
    for passage in reading.passages:
        candidates = reading.candidates.get(passage.passage_id)
        yield *astuple(passage), json.dumps(candidates, ensure_ascii=False) if candidates else None, file
