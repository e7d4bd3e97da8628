"""A store's views as files for other programs: CSV, JSON lines and Parquet.

The columns are the view's (`fiqkit.store.views`). One row of `results` as JSON:

    {"episode": 7, "run": "20261201-011830-0ae7", "model": "qwen3-4b", "mode": "interact", "retrieval": "index",
     "instance_id": "bench-031", "sample": 0, "language": "en", "category": "entity_scope", "ending": "answered",
     "grader": "rules", "outcome": "intended", "is_right": true, "is_default": false, "asks": 1, "searches": 1,
     "turns": 3, "confidence": 80.0, "seconds": 4.2, "answer": "$46.75 billion", "question": "What was …"}

JSON lines and Parquet hold every text as it is. In CSV, a text that a spreadsheet would run as a formula (it begins
with =, +, -, @, a tab or a return, and is no plain number) has an apostrophe before it; yes and no are 1 and 0.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from fiqkit.errors import UserError, need
from fiqkit.store.store import Store
from fiqkit.store.views import VIEWS
from fiqkit.whole_file import written_whole

_YES_NO = ("is_right", "is_default", "is_first", "named", "touch", "central")
_WHOLE = ("episode", "sample", "turn", "turns", "asks", "searches")
_REAL = ("confidence", "seconds")
_BATCH = 10_000  # rows that Parquet holds at once

Rows = Iterator[Mapping[str, Any]]


def export(store: Store, runs: Sequence[str], table: str, out: Path) -> int:
    """Write the rows of a view that belong to some runs; the file's ending says how. Returns how many.

    Raises:
        UserError: no such run, an unknown ending, the store's own file, or a file that cannot be written.
    """
    if out.suffix not in WRITERS:
        raise UserError(f"{out}: does not say how to write; end it with {', '.join(WRITERS)}")
    if out.suffix == ".parquet":
        need("writing Parquet", "parquet", "pyarrow")
    columns = [row[0] for row in store.conn.execute(f"SELECT * FROM {table} LIMIT 0").description]
    kinds = {name: _kind(name) for name in columns}
    count = 0

    def rows() -> Rows:
        nonlocal count
        for name in runs:
            order = "episode, turn" if "turn" in kinds else "episode"
            for row in store.db.query(f"SELECT * FROM {table} WHERE run = ? ORDER BY {order}", (name,)):
                count += 1
                yield {key: None if value is None else kinds[key](value) for key, value in row.items()}

    with written_whole(out, [store.path]) as scratch:
        WRITERS[out.suffix](rows(), kinds, scratch)
    return count


def _kind(column: str) -> type:
    return bool if column in _YES_NO else int if column in _WHOLE else float if column in _REAL else str


# --- formats --------------------------------------------------------------------------------------------------------


def _write_csv(rows: Rows, kinds: Mapping[str, type], path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as out:
        table = csv.writer(out)
        table.writerow(kinds)
        table.writerows([cell(value) for value in row.values()] for row in rows)


def cell(value: Any) -> Any:
    """A value as it stands in a CSV file: what a spreadsheet would run is text, yes and no are 1 and 0."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")) and not _is_number(value):
        return f"'{value}"
    return value


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[+-]\d+(\.\d+)?", text, re.ASCII) is not None


def _write_jsonl(rows: Rows, kinds: Mapping[str, type], path: Path) -> None:
    with path.open("w", encoding="utf-8") as out:
        out.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _write_parquet(rows: Rows, kinds: Mapping[str, type], path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    types = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string()}
    schema = pa.schema([(name, types[kind]) for name, kind in kinds.items()])
    with parquet.ParquetWriter(path, schema, compression="zstd") as out:
        while some := list(islice(rows, _BATCH)):
            out.write_table(pa.Table.from_pylist(some, schema))


WRITERS: dict[str, Callable[[Rows, Mapping[str, type], Path], None]] = {
    ".csv": _write_csv,
    ".jsonl": _write_jsonl,
    ".parquet": _write_parquet,
}
TABLES = tuple(VIEWS)
