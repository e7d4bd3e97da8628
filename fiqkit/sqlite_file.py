"""SQLite files of this kit: read without a trace, migrated before the first write, written in whole transactions.

A kind of file (the run store, the fact store) is a `Kind`: its name, a table that only it has, and its migrations. The
schema's version is the number of migrations that made it, and stands in `user_version`.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from sqlite_utils import Database, Migrations

from fiqkit.errors import UserError

_MAGIC = b"SQLite format 3\0"
_LOGGED = 2  # byte 18 of a file that keeps a write-ahead log
_SWITCHES = 600  # tries, a twentieth of a second apart
_LOOKS = 20  # tries to read, as far apart
# What SQLite says where a writer left, and took its log along, between the look at the files and the opening.
_GONE = ("SQLITE_CANTOPEN", "SQLITE_READONLY")
_PATIENCE = 60_000  # milliseconds that a writer waits for others that write the same file


_opened: dict[Path, Kind] = {}  # by this process


@dataclass(frozen=True, slots=True)
class Kind:
    """What a file must be.

    Attributes:
        what: for messages, such as "run store".
        table: one that files of this kind have and others do not.
        version: of the schema that the migrations end at.
        missing: what to do where there is no file; `{path}` is filled in.
        mend: what to do with a file that cannot be used.
    """

    what: str
    table: str
    version: int
    migrations: Migrations
    missing: str
    mend: str


def open_to_read(path: Path, kind: Kind) -> tuple[Database, int]:
    """The file at `path` and the version of its schema. No byte of any file changes; a read-only mount will do.

    Raises:
        UserError: no file there, not one of this kind, or one of a later version.
    """
    if not path.exists():
        raise UserError(f"{path}: no {kind.what} there; {kind.missing.format(path=path)}")
    _opened[path] = kind
    with _as_user_error(path, kind):
        db = _reader(path)
        version = _version(db, kind)
        if not 1 <= version <= kind.version:
            db.close()
            later = version > kind.version
            raise UserError(
                f"{path}: {f'a {kind.what} of a later fiqkit' if later else f'not a {kind.what}'}; {kind.mend}"
            )
        return db, version


def open_to_write(path: Path, kind: Kind, *, create: bool = False) -> Database:
    """The file at `path` with today's schema; an older one is migrated, after a copy of it was put beside it.

    Raises:
        UserError: no file there and `create` is false, not one of this kind, one of a later version, or not writable.
    """
    if not (create and _is_new(path, kind)):
        open_to_read(path, kind)[0].close()  # nothing is done to a file before it is known to be of this kind
    with _as_user_error(path, kind), ExitStack() as undo:
        if not path.exists():
            undo.callback(_remove, path)  # a file that could not be made is none
        db = Database(sqlite3.connect(path, check_same_thread=False, isolation_level=None))
        undo.callback(close, db)
        db.conn.execute(f"PRAGMA busy_timeout={_PATIENCE}")
        _write_ahead(db)
        _migrate(db, path, kind)
        undo.pop_all()
        return db


def _remove(path: Path) -> None:
    for end in ("", "-wal", "-shm", "-journal"):
        path.with_name(path.name + end).unlink(missing_ok=True)


def close(db: Database) -> None:
    """Close a file. The last writer to leave leaves a single file, which needs nothing beside it to be read."""
    with suppress(sqlite3.Error):  # closed already, only read, or still written by others
        db.conn.execute("PRAGMA busy_timeout=0")
        db.conn.execute("PRAGMA journal_mode=DELETE")
    db.conn.close()


def damage() -> str | None:
    """Which file that this process has opened is damaged, and how; None where all are sound.

    It reads the files whole, and so is asked where something went wrong that no sound file brings about.
    """
    for path, kind in _opened.items():
        if path.exists() and (why := _damage(path)):
            return f"{path}: a damaged {kind.what} ({why}); {kind.mend}"
    return None


@contextmanager
def transaction(db: Database, what: str) -> Iterator[None]:
    """BEGIN IMMEDIATE … COMMIT, or ROLLBACK when the block raises. `what` begins the message of an error.

    Raises:
        UserError: the disk is full, or the file cannot be written; what it held is whole.
    """
    try:
        db.conn.execute("BEGIN IMMEDIATE")
        try:
            yield
            db.conn.execute("COMMIT")
        except BaseException:
            if db.conn.in_transaction:
                db.conn.execute("ROLLBACK")
            raise
    except sqlite3.OperationalError as error:
        raise UserError(
            f"{what} cannot be written ({error}); what it held is whole, give the command again once mended"
        ) from error


def execute_all(db: Database, script: str) -> None:
    """Every statement of a script, each ending a line, in the transaction that is open (`executescript` ends it)."""
    for statement in filter(str.strip, script.split(";\n")):
        db.conn.execute(statement)


# --- reading --------------------------------------------------------------------------------------------------------


def _reader(path: Path) -> Database:
    """A connection that leaves no trace, whatever state the last writer left the file in."""
    looks = itertools.count(1)
    while True:
        try:
            db = _as_it_stands(path)
            db.table_names()  # the first statement is what opens the file
            return db
        except (sqlite3.OperationalError, FileNotFoundError) as error:
            gone = isinstance(error, FileNotFoundError) or error.sqlite_errorname.startswith(_GONE)
            if not gone or next(looks) == _LOOKS:
                raise
            time.sleep(0.05)


def _as_it_stands(path: Path) -> Database:
    with path.open("rb") as file:
        head = file.read(20)
    if not head.startswith(_MAGIC):
        raise sqlite3.DatabaseError("it is no SQLite file")
    log, index, journal = (path.with_name(path.name + end) for end in ("-wal", "-shm", "-journal"))
    if _filled(journal) or (_filled(log) and not index.exists()):
        return _copied(path, log, journal)  # a killed writer's, and what would have to be mended is not ours to touch
    if log.exists() and index.exists():
        how = "mode=ro&readonly_shm=1"
    else:
        how = "immutable=1" if head[18] == _LOGGED else "mode=ro"
    return _connect(f"file:{quote(str(path.resolve()))}?{how}")


def _connect(uri: str) -> Database:
    conn = sqlite3.connect(uri, uri=True, check_same_thread=False, isolation_level=None)
    conn.execute("PRAGMA temp_store=MEMORY")
    return Database(conn)


def _copied(*files: Path) -> Database:
    """A copy that is gone from the disk once its connection is closed."""
    with tempfile.TemporaryDirectory() as folder:
        for file in filter(Path.exists, files):
            shutil.copy(file, folder)
        db = _connect(f"file:{quote(str(Path(folder) / files[0].name))}")
        db.table_names()  # reads, and so opens, all of them
        return db


def _filled(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0


def _version(db: Database, kind: Kind) -> int:
    """The version of the schema; 0 for another kind of file."""
    version: int = db.conn.execute("PRAGMA user_version").fetchone()[0]
    return version if kind.table in db.table_names() else 0


def _damage(path: Path) -> str | None:
    """What SQLite says against a file's structure, or the first cell that is no text, or begins as JSON and is none."""
    try:
        with closing(_reader(path).conn) as conn:
            said = " ".join(str(conn.execute("PRAGMA integrity_check(1)").fetchone()[0]).split())
            if said != "ok":
                return said[:200]
            tables = conn.execute("SELECT name FROM sqlite_master WHERE sql LIKE 'CREATE TABLE%'").fetchall()
            conn.text_factory = _is_whole  # asked of every text, not of blobs
            for (table,) in tables:
                rows = conn.execute(f'SELECT * FROM "{table}"')
                for row in rows:
                    for column, cell in zip(rows.description, row, strict=True):
                        if cell is False:
                            return f"a cell of {table}.{column[0]} is not what was written"
    except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
        return " ".join(str(error).split())[:200]
    return None


def _is_whole(raw: bytes) -> bool:
    try:
        text = raw.decode()
        if text[:1] in ("{", "["):
            json.loads(text)
    except ValueError:
        return False
    return True


# --- writing --------------------------------------------------------------------------------------------------------


def _is_new(path: Path, kind: Kind) -> bool:
    """Whether there is nothing at `path` yet, or a file without a table that another process is just making."""
    if not _filled(path):
        return True
    with _as_user_error(path, kind):
        db = _reader(path)
        tables = db.table_names()
        db.close()
        return not tables


def _write_ahead(db: Database) -> None:
    """Switch to the write-ahead log. The switch needs the file alone for a moment and does not wait by itself."""
    for left in range(_SWITCHES, -1, -1):
        try:
            db.conn.execute("PRAGMA journal_mode=WAL")
            db.conn.execute("PRAGMA synchronous=NORMAL")
            return
        except sqlite3.OperationalError as error:
            if not left or error.sqlite_errorname != "SQLITE_BUSY":
                raise
            time.sleep(0.05)


def _migrate(db: Database, path: Path, kind: Kind) -> None:
    if _version(db, kind) == kind.version:
        return
    with transaction(db, f"{path}: the {kind.what}"):
        version = _version(db, kind)  # another process may have migrated it meanwhile
        if version < kind.version:
            if version:
                _keep_copy(path, version)
            kind.migrations.apply(db)
            db.conn.execute(f"PRAGMA user_version={kind.version}")


def _keep_copy(path: Path, version: int) -> None:
    """FILE.schema1 beside FILE, whole before it has that name; one that is there is another copy, and stays."""
    copy = path.with_name(f"{path.name}.schema{version}")
    scratch = path.with_name(f"{copy.name}.{os.getpid()}.part")
    try:
        # A connection of its own: one that holds the file for writing cannot be copied from.
        with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(scratch)) as target:
            source.backup(target)
            target.execute("PRAGMA journal_mode=DELETE")
        names = (copy.with_name(f"{copy.name}.{n}") if n else copy for n in itertools.count())
        scratch.rename(next(name for name in names if not name.exists()))
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise


@contextmanager
def _as_user_error(path: Path, kind: Kind) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError, UnicodeDecodeError) as error:  # the last: a damaged file
        why = " ".join(str(error).split())[:200]  # it may quote what is damaged
        raise UserError(f"{path}: cannot be used as a {kind.what} ({why}); {kind.mend}") from error
