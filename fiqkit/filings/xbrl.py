"""What inline and plain XBRL documents share: contexts, units, and the step from raw facts to rows.

Source: XBRL 2.1, XBRL Dimensions 1.0.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from functools import lru_cache
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


# Namespace of a taxonomy → the prefix that all filers' facts share, whatever a document calls it.
_TAXONOMIES = (
    re.compile(r"https?://(?:xbrl\.)?(?:fasb\.org|us|sec\.gov)/([a-z][\w-]*?)(?:/\d{4}.*)?"),
    re.compile(r"https?://xbrl\.(?:ifrs|iasb)\.org/.*/(ifrs[\w-]*|ias[\w-]*)"),
)
_ALSO = {"us-gaap-sup": "us-gaap-supplement"}  # filers' prefix for it


@lru_cache(4096)
def taxonomy_of(namespace: str) -> str | None:
    """The usual prefix of a standard taxonomy: `http://fasb.org/us-gaap/2024` is us-gaap; None for a filer's own."""
    found = next(filter(None, (pattern.fullmatch(namespace) for pattern in _TAXONOMIES)), None)
    return _ALSO.get(found[1], found[1]) if found else None


class Names:
    """Qualified names as facts carry them: the namespace decides, a filer's own keep the document's prefix."""

    def __init__(self, roots: Sequence[Any] = ()) -> None:
        """Take the prefixes that the documents' first elements declare; others are looked up where they stand."""
        declared: dict[str | None, set[str]] = {}
        for root in roots:
            for prefix, namespace in root.nsmap.items():
                declared.setdefault(prefix, set()).add(namespace)
        self._known: dict[str, str] = {}
        self._prefixes = {p: self._usual(p, *found) for p, found in declared.items() if len(found) == 1}

    @staticmethod
    def _usual(prefix: str | None, namespace: str) -> str:
        usual = taxonomy_of(namespace)
        return usual or (f"own-{prefix}" if prefix in ("us-gaap", "dei", "srt", "ifrs-full") else prefix or "")

    def of(self, name: str, element: Any) -> str:
        """A name in an attribute or in text, as `us-gaap:Revenues`, with the prefix that its namespace has."""
        if (known := self._known.get(name)) is not None:
            return known
        prefix, colon, local = name.strip().rpartition(":")
        if not colon:
            return local
        usual = self._prefixes.get(prefix)
        if usual is None:  # declared further down, and perhaps otherwise elsewhere: not to be remembered
            namespace = element.nsmap.get(prefix)
            return f"{self._usual(prefix, namespace) if namespace else prefix}:{local}"
        return self._known.setdefault(name, f"{usual}:{local}")

    def of_element(self, element: Any) -> str:
        """The name of an element."""
        namespace, _, local = element.tag.rpartition("}")
        usual = self._usual(element.prefix, namespace[1:]) if namespace else element.prefix
        return f"{usual}:{local}" if usual else local


def reference(text: str | None) -> str:
    """An id or a reference to one: white space around it is none of it (xs:IDREF)."""
    return text.strip() if text else ""


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
    names: Names = field(default_factory=Names)


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
        document.contexts[reference(element.get("id"))] = _context(element, document.names)
    except ValueError as error:
        document.refused.add(reference(element.get("id")))
        reading.left_out[f"context refused: {error}"] += 1


def read_unit(element: Any, document: Document) -> None:
    """Take a unit into the document."""
    document.units[reference(element.get("id"))] = _unit(element)


def _context(element: Any, names: Names) -> Context:
    identifier = period = None
    dims: dict[str, str] = {}
    for child in element.iter(_IDENTIFIER, _PERIOD, _SEGMENT, _SCENARIO):
        if child.tag == _IDENTIFIER:
            identifier = child
        elif child.tag == _PERIOD:
            period = child
        else:
            dims.update(_dims(child, names))
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
    dates = {child.tag.rpartition("}")[2]: (child.text or "").strip() for child in period.iterchildren("*")}
    if _FOREVER in dates:
        raise ValueError("lasts forever")
    if "instant" in dates:
        return None, _last_day(dates["instant"])
    return iso_date(dates.get("startDate", "")[:10]), _last_day(dates.get("endDate", ""))


def _last_day(text: str) -> str:
    """The day that an end or an instant closes; midnight at its beginning closes the day before (XBRL 2.1, 4.7.2)."""
    day, _, time = text.partition("T")
    if re.match(r"00:00(:00(\.0*)?)?(?![\d.:])", time):
        return (date.fromisoformat(iso_date(day)) - timedelta(days=1)).isoformat()
    return iso_date(day[:10])


def _dims(parent: Any, names: Names) -> dict[str, str]:
    """Axis → member; a typed member as `typed:VALUE`; content that is no dimension under its own name."""
    dims = {}
    for child in parent.iterchildren("*"):
        text = " ".join(("".join(child.itertext()) if len(child) else child.text or "").split())
        if child.tag == f"{XBRLDI}explicitMember":
            dims[names.of(child.get("dimension", ""), child)] = names.of(text, child)
        elif child.tag == f"{XBRLDI}typedMember":
            dims[names.of(child.get("dimension", ""), child)] = f"typed:{text}"
        else:
            dims[names.of_element(child)] = text
    return dims


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
