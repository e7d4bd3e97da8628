"""A file is read whatever its writers do meanwhile: they come and go, and the last to leave takes the log along."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

from fiqkit.filings.store import FactStore

_COMES_AND_GOES = """
import sqlite3, sys
while True:
    db = sqlite3.connect(sys.argv[1], isolation_level=None)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("CREATE TABLE IF NOT EXISTS more (x)")
    db.execute("INSERT INTO more VALUES (1)")
    db.close()
"""


def test_a_file_is_read_while_its_last_writer_leaves(tmp_path: Path) -> None:
    path = tmp_path / "facts.db"
    FactStore(path, create=True).close()
    writer = subprocess.Popen([sys.executable, "-c", _COMES_AND_GOES, str(path)])
    try:
        for _ in range(400):
            FactStore(path).close()
        assert writer.poll() is None
    finally:
        writer.kill()
        writer.wait()
    with sqlite3.connect(path) as conn:
        assert conn.execute("PRAGMA integrity_check").fetchone() == ("ok",)
