"""What inline and plain XBRL documents share: contexts, units, and the step from raw facts to rows.

Source: XBRL 2.1, XBRL Dimensions 1.0.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple

from lxml import etree

from fiqkit.errors import UserError
from fiqkit.filings.damage import reason
from fiqkit.filings.fact import Fact, Filing, Number, Reading, TextFact, dims_json, finest, iso_date, iso_date_or_none

XBRLI = "{http://www.xbrl.org/2003/instance}"
CONTEXT, UNIT = f"{XBRLI}context", f"{XBRLI}unit"
_IDENTIFIER, _PERIOD = f"{XBRLI}identifier", f"{XBRLI}period"
_SEGMENT, _SCENARIO = f"{XBRLI}segment", f"{XBRLI}scenario"
XBRLDI = "{http://xbrl.org/2006/xbrldi}"
NIL = "{http://www.w3.org/2001/XMLSchema-instance}nil"
_FOREVER = "forever"
_DECLARED = re.compile(rb"\s*<\?xml[^>]*encoding=[\"'](?!utf-?8)", re.IGNORECASE)


class Context(NamedTuple):
    """Whom and when a fact is about."""

    entity: str
    start: str | None
    end: str
    dims: str


class RawNumber(NamedTuple):
    """A number as its element states it, scale and sign applied."""

    context: str
    concept: str
    value: Number
    unit: str
    decimals: str | None


class RawText(NamedTuple):
    """A fact that is not a number."""

    context: str
    concept: str
    value: str


@dataclass(frozen=True, slots=True)
class Origin:
    """What the file around a document says of the filing; None where it says nothing."""

    accession: str | None = None
    filed: str | None = None
    form: str | None = None
    entity: str | None = None
    name: str | None = None
    period: str | None = None
    ticker: str | None = None
    where: str = ""


@dataclass(slots=True)
class Document:
    """The XBRL content of one filing, gathered from all of its documents; `refused` are ids of contexts without one."""

    contexts: dict[str, Context] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)
    units: dict[str, str] = field(default_factory=dict)
    numbers: list[RawNumber] = field(default_factory=list)
    texts: list[RawText] = field(default_factory=list)


def parse_xml(data: bytes, where: str) -> Any:
    """Root element of an XML document; nothing outside it is fetched and no entity expanded.

    Raises:
        UserError: not well-formed; names the line.
    """
    try:
        return etree.fromstring(data, _parser())
    except (etree.XMLSyntaxError, ValueError) as error:
        # Tools that save a filing anew write UTF-8 under whatever encoding its first line still declares.
        if _DECLARED.match(data) and _is_utf8(data):
            with suppress(etree.XMLSyntaxError):
                return etree.fromstring(data, _parser(encoding="utf-8"))
        line = getattr(error, "lineno", None) or 1
        raise UserError(f"{where}:{line}: damaged XML ({reason(error)}); fetch the file again") from error


def _parser(encoding: str | None = None) -> Any:
    return etree.XMLParser(huge_tree=True, resolve_entities=False, no_network=True, load_dtd=False, encoding=encoding)


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def read_context(element: Any, document: Document, reading: Reading) -> None:
    """Take a context into the document, or count it as refused."""
    try:
        document.contexts[element.get("id", "")] = _context(element)
    except ValueError as error:
        document.refused.add(element.get("id", ""))
        reading.left_out[f"context refused: {error}"] += 1


def read_unit(element: Any, document: Document) -> None:
    """Take a unit into the document."""
    document.units[element.get("id", "")] = _unit(element)


def _context(element: Any) -> Context:
    identifier = period = None
    dims: dict[str, str] = {}
    for child in element.iter(_IDENTIFIER, _PERIOD, _SEGMENT, _SCENARIO):
        if child.tag == _IDENTIFIER:
            identifier = child
        elif child.tag == _PERIOD:
            period = child
        else:
            dims.update(_dims(child))
    if identifier is None or not (identifier.text or "").strip():
        raise ValueError("names no entity")
    start, end = _period(period)
    return Context(_entity(identifier), start, end, dims_json(dims))


def _entity(identifier: Any) -> str:
    text: str = identifier.text.strip()
    return (text.lstrip("0") or "0") if "cik" in identifier.get("scheme", "").lower() else text


def _period(period: Any) -> tuple[str | None, str]:
    if period is None:
        raise ValueError("has no period")
    dates = {child.tag.rpartition("}")[2]: (child.text or "").strip()[:10] for child in period.iterchildren("*")}
    if _FOREVER in dates:
        raise ValueError("lasts forever")
    if "instant" in dates:
        return None, iso_date(dates["instant"])
    return iso_date(dates.get("startDate", "")), iso_date(dates.get("endDate", ""))


def _dims(parent: Any) -> dict[str, str]:
    """Axis → member; a typed member as `typed:VALUE`; content that is no dimension under its own name."""
    dims = {}
    for child in parent.iterchildren("*"):
        text = " ".join(("".join(child.itertext()) if len(child) else child.text or "").split())
        if child.tag == f"{XBRLDI}explicitMember":
            dims[child.get("dimension", "").strip()] = text
        elif child.tag == f"{XBRLDI}typedMember":
            dims[child.get("dimension", "").strip()] = f"typed:{text}"
        else:
            dims[name_of(child)] = text
    return dims


def name_of(element: Any) -> str:
    """Qualified name of an element with the document's own prefix."""
    local = etree.QName(element).localname
    return f"{element.prefix}:{local}" if element.prefix else local


def _unit(element: Any) -> str:
    divide = element.find(f"{XBRLI}divide")
    if divide is None:
        return _measures(element)
    sides = (divide.find(f"{XBRLI}unit{side}") for side in ("Numerator", "Denominator"))
    return "/".join(_measures(side) if side is not None else "" for side in sides)


def _measures(parent: Any) -> str:
    return "*".join((m.text or "").strip().rpartition(":")[2] for m in parent.iterchildren(f"{XBRLI}measure"))


def decimals_of(value: Number, digits: str | None) -> str | None:
    """The `precision` attribute (significant digits) as decimals; None where it says nothing."""
    if digits == "INF":
        return digits
    if digits is None or not digits.isdecimal() or value == 0:
        return None
    return str(int(digits[:4]) - Decimal(str(value)).adjusted() - 1)


def to_rows(document: Document, origin: Origin, source: str, reading: Reading) -> None:
    """Resolve a document's raw facts into rows of `reading`, with the form and the name that its cover states."""
    cover = cover_of(document)
    form = cover.get("DocumentType") or origin.form
    name = cover.get("EntityRegistrantName") or origin.name
    tail = (form, origin.accession, origin.filed, source)
    rows = []
    for number in document.numbers:
        context = document.contexts.get(number.context)
        unit = document.units.get(number.unit)
        if context is None or unit is None:
            missing = "context" if context is None else "unit"
            reading.left_out[f"fact without its {missing} in the document"] += 1
            continue
        entity, start, end, dims = context
        rows.append(Fact(entity, name, number.concept, number.value, unit, number.decimals, start, end, dims, *tail))
    kept, contradictions = finest(rows)
    reading.facts += kept
    if contradictions:
        reading.remarks["duplicates that contradict each other, all kept"] += contradictions
    reading.texts += _text_rows(document, name, tail, reading)
    if origin.accession:
        filer = next((row.entity for row in kept), origin.entity)
        period = iso_date_or_none(cover.get("DocumentPeriodEndDate")) or origin.period
        reading.filings.append(Filing(origin.accession, filer, name, form, period, origin.filed))


def _text_rows(document: Document, name: str | None, tail: tuple[Any, ...], reading: Reading) -> Iterable[TextFact]:
    rows: dict[TextFact, None] = {}
    for text in document.texts:
        context = document.contexts.get(text.context)
        if context is None:
            reading.left_out["fact without its context in the document"] += 1
            continue
        entity, start, end, dims = context
        rows[TextFact(entity, name, text.concept, text.value, start, end, dims, *tail)] = None
    return rows


def cover_of(document: Document) -> Mapping[str, str]:
    """The cover page's entries about the filer as a whole, by local name."""
    cover: dict[str, str] = {}
    for text in document.texts:
        if text.concept.startswith("dei:") and text.context in document.contexts:
            whole = document.contexts[text.context].dims == "{}"
            local = text.concept.removeprefix("dei:")
            if whole or local not in cover:
                cover[local] = text.value.strip()
    return cover
