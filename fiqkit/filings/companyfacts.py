"""SEC companyfacts: every number that a company has filed, one JSON object a company.

The file's `fy`, `fp` and `frame` describe the filing that repeats a fact, not the fact, and are not read: periods come
from `start` and `end`. Source: data.sec.gov/api/xbrl/companyfacts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from typing import Any, BinaryIO

import ijson

from fiqkit.errors import UserError
from fiqkit.filings.fact import Fact, Filing, Reading

_BEGINNING = 1 << 16  # bytes within which a file names its company


def read_companyfacts(stream: BinaryIO, where: str, reading: Reading) -> None:
    """Take one company's facts into `reading`, one taxonomy in memory at a time.

    Raises:
        UserError: damaged or cut JSON, or not a companyfacts object.
    """
    try:
        head = stream.read(_BEGINNING)
        entity, name = _company(head, where)
        for taxonomy, concepts in ijson.kvitems(_Rejoined(head, stream), "facts", use_float=True):
            for concept, content in _objects(concepts):
                _concept(f"{taxonomy}:{concept}", content, entity, name, reading)
        reading.filings += _filings(reading.facts)
    except (ijson.JSONError, EOFError, OSError, ValueError) as error:
        raise UserError(f"{where}:1: damaged JSON ({_first_line(error)}); download the file again") from error


class _Rejoined:
    """A stream of which the beginning was read already."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head = head
        self._rest = rest

    def read(self, size: int = -1) -> bytes:
        head, self._head = self._head, b""
        if size == 0:
            self._head = head
        return head or self._rest.read(size)


def _company(head: bytes, where: str) -> tuple[str, str | None]:
    """CIK and name, which stand before the facts."""
    found: dict[str, Any] = {}
    try:
        for prefix, event, value in ijson.parse(head):
            if prefix in ("cik", "entityName") and event in ("number", "string"):
                found[prefix] = value
            if prefix == "facts":
                break
    except ijson.IncompleteJSONError:
        pass  # the beginning is cut by design; a file that is cut shows when its facts are read
    cik = str(found.get("cik", "")).lstrip("0")
    if not cik.isdecimal():
        raise UserError(f"{where}:1: no `cik` before the facts; is this a file of the SEC's companyfacts?")
    return cik, found.get("entityName") or None


def _concept(concept: str, content: Mapping[str, Any], entity: str, name: str | None, reading: Reading) -> None:
    if isinstance(label := content.get("label"), str):
        reading.labels[concept] = label
    for unit, rows in _objects(content.get("units")):
        facts: dict[Fact, None] = {}
        for row in rows if isinstance(rows, list) else [rows]:
            try:
                facts[_fact(row, concept, unit, entity, name)] = None
            except (KeyError, TypeError, ValueError, AttributeError):
                reading.left_out["fact without a value, a period or a filing"] += 1
        reading.facts += facts


def _objects(value: Any) -> Iterator[tuple[str, Any]]:
    return iter(value.items() if isinstance(value, dict) else ())


def _fact(row: Mapping[str, Any], concept: str, unit: str, entity: str, name: str | None) -> Fact:
    value, start = row["val"], row.get("start")
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(value)
    for day in (row["end"], row["filed"], start):
        if day is not None:
            date.fromisoformat(day)
    value = value if abs(value) < 2**63 else float(value)
    filed, form, accession = row["filed"], row["form"], row["accn"]
    tail = (form, accession, filed, "companyfacts")
    return Fact(entity, name, concept, value, unit, None, start, row["end"], "{}", *tail)


def _filings(facts: Iterable[Fact]) -> Iterator[Filing]:
    """The filings that the facts come from; which of their periods each reports on is not stated."""
    known = {fact.accession: fact for fact in facts if fact.accession}
    for accession, fact in known.items():
        yield Filing(accession, fact.entity, fact.name, fact.form, None, fact.filed)


def _first_line(error: Exception) -> str:
    return " ".join(str(error).splitlines()[:1]).strip()[:120] or type(error).__name__
