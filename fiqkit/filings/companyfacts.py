"""SEC companyfacts: every number that a company has filed, one JSON object a company.

The file's `fy`, `fp` and `frame` describe the filing that repeats a fact, not the fact, and are not read: periods come
from `start` and `end`. Source: data.sec.gov/api/xbrl/companyfacts.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Mapping
from math import isfinite
from typing import Any

import ijson

from fiqkit.errors import UserError
from fiqkit.filings.damage import Guarded, reason
from fiqkit.filings.exports import NotOurs
from fiqkit.filings.fact import Fact, Filing, Reading, iso_date

# Field of another of the SEC's files → what that file is.
_OTHERS = {
    "filings": "the SEC's list of a company's submissions",
    "ccp": "the SEC's frames, one concept of all companies",
    "pts": "the SEC's frames, one concept of all companies",
    "tag": "the SEC's companyconcept, one concept of a company",
}
_BEGINNING = 1 << 16  # bytes within which a file names its company


def read_companyfacts(stream: Any, where: str, reading: Reading) -> None:
    """Take one company's facts from a binary stream into `reading`, one taxonomy in memory at a time.

    Raises:
        NotOurs: another of the SEC's files about companies.
        UserError: damaged or cut JSON, or not a companyfacts object.
    """
    guarded = io.BufferedReader(Guarded(stream, where), _BEGINNING)
    head = guarded.peek(_BEGINNING)
    if head.startswith(b"\xef\xbb\xbf"):  # as some shells write UTF-8
        guarded.read(3)
        head = head[3:]
    begun = guarded.tell()
    entity, name = _company(head, where)
    try:
        _facts(guarded, ijson, entity, name, where, reading)
    except ijson.JSONError as error:
        if "integer overflow" not in str(error):
            raise UserError(f"{where}:1: damaged JSON ({reason(error)}); download the file again") from error
        for taken in (reading.facts, reading.labels, reading.left_out):
            taken.clear()
        guarded.seek(begun)  # a number beyond 64 bits, which the fast parser does not take
        _facts(guarded, ijson.get_backend("python"), entity, name, where, reading)
    reading.filings += _filings(reading.facts)


def _facts(
    stream: io.BufferedReader[Guarded], parser: Any, entity: str, name: str | None, where: str, reading: Reading
) -> None:
    """The facts of one company.

    Raises:
        UserError: damaged or cut JSON.
        ijson.JSONError: a number that this parser does not take.
    """
    taxonomies = parser.kvitems(stream, "facts", use_float=True)
    while True:
        try:
            taxonomy, concepts = next(taxonomies)
        except StopIteration:
            return
        except (ijson.JSONError, ValueError) as error:
            if "integer overflow" in str(error):
                raise
            raise UserError(f"{where}:1: damaged JSON ({reason(error)}); download the file again") from error
        for concept, content in _objects(concepts):
            _concept(f"{taxonomy}:{concept}", content, entity, name, reading)


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
    for field, what in _OTHERS.items():
        if re.search(rb'"%s"\s*:' % field.encode(), head) and b'"facts"' not in head[:2000]:
            raise NotOurs(f"{where}:1: {what}, not companyfacts; fetch api/xbrl/companyfacts/CIK….json")
    if not cik.isdecimal():
        raise UserError(f"{where}:1: no `cik` before the facts; is this a file of the SEC's companyfacts?")
    return cik, found.get("entityName") or None


def _concept(concept: str, content: Any, entity: str, name: str | None, reading: Reading) -> None:
    if not isinstance(content, dict):
        reading.left_out["concept without units"] += 1
        return
    if isinstance(label := content.get("label"), str):
        reading.labels[concept] = label
    for unit, rows in _objects(content.get("units")):
        facts: dict[Fact, None] = {}
        for row in rows if isinstance(rows, list) else [rows]:
            try:
                facts[_fact(row, concept, unit, entity, name)] = None
            except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
                reading.left_out["fact without a value, a period or a filing"] += 1
        reading.facts += facts


def _objects(value: Any) -> Iterator[tuple[str, Any]]:
    return iter(value.items() if isinstance(value, dict) else ())


def _fact(row: Mapping[str, Any], concept: str, unit: str, entity: str, name: str | None) -> Fact:
    value, start = row["val"], row.get("start")
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise TypeError(value)
    form, accession = row["form"], row["accn"]
    if not isinstance(form, str) or not isinstance(accession, str):
        raise TypeError(form, accession)
    value = value if abs(value) < 2**63 else float(value)
    span = (iso_date(start) if start else None, iso_date(row["end"]))
    if span[0] and span[0] > span[1]:
        raise ValueError("a period that ends before it begins")
    return Fact(
        entity, name, concept, value, unit, None, *span, "{}", form, accession, iso_date(row["filed"]), "companyfacts"
    )


def _filings(facts: Iterable[Fact]) -> Iterator[Filing]:
    """The filings that the facts come from; which of their periods each reports on is not stated."""
    known = {fact.accession: fact for fact in facts if fact.accession}
    for accession, fact in known.items():
        yield Filing(accession, fact.entity, fact.name, fact.form, None, fact.filed)
