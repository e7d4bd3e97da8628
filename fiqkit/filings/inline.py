"""Inline XBRL: facts out of an HTML document as filed.

Source: Inline XBRL 1.1 (and 1.0): scale, sign, formats, nil, nested facts, exclusions, continuations, fractions. Tuples
are refused: no filing with the SEC may hold them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any

from lxml import etree

from fiqkit.filings.fact import Number, Reading, exact, scaled
from fiqkit.filings.text import block_text
from fiqkit.filings.transform import UnknownFormat, transform
from fiqkit.filings.transform.numerals import plain
from fiqkit.filings.xbrl import (
    CONTEXT,
    NIL,
    UNIT,
    Document,
    Names,
    RawNumber,
    RawText,
    decimals_of,
    read_context,
    read_unit,
    reference,
)

NAMESPACES = ("http://www.xbrl.org/2013/inlineXBRL", "http://www.xbrl.org/2008/inlineXBRL")


_STRING = etree.XPath("string()", smart_strings=False)
_INCLUDED = etree.XPath(".//text()[not(ancestor::*[local-name()='exclude'])]", smart_strings=False)


def read_inline(roots: Sequence[Any], reading: Reading) -> Document:
    """Raw facts of a filing's inline documents; contexts and continuations may stand in any of them."""
    document = Document(names=Names(roots))
    texts: list[Any] = []
    continued: dict[str | None, Any] = {}
    readers: dict[str, Callable[[Any], object]] = {
        CONTEXT: lambda element: read_context(element, document, reading),
        UNIT: lambda element: read_unit(element, document),
    }
    for namespace in NAMESPACES:
        readers |= {
            f"{{{namespace}}}nonFraction": lambda element: _number(element, document, reading),
            f"{{{namespace}}}fraction": lambda element: _fraction(element, document, reading),
            f"{{{namespace}}}nonNumeric": texts.append,
            f"{{{namespace}}}continuation": lambda element: continued.update({reference(element.get("id")): element}),
            f"{{{namespace}}}tuple": lambda element: reading.left_out.update(["tuple: not supported"]),
        }
    for root in roots:
        for element in root.iter(*readers):
            readers[element.tag](element)
    # Ids differ within a document; what stands in several may share them.
    nested: dict[str, str] | None = {} if len(roots) == 1 else None
    for element in texts:
        _text(element, continued, nested, document, reading)
    return document


def document_sets(roots: Sequence[Any]) -> list[list[Any]]:
    """The roots of a submission's inline documents, those together that share their contexts.

    A set begins with a document whose contexts or units mean something else than those of the same name before, as
    those of a filing-fee exhibit do; a document without any belongs to the first.
    """
    sets: list[tuple[dict[Any, Any], list[Any]]] = []
    for root in roots if len(roots) > 1 else ():
        document = Document(names=Names([root]))
        for element in root.iter(CONTEXT):
            read_context(element, document, Reading())
        for element in root.iter(UNIT):
            read_unit(element, document)
        own = {("context", k): v for k, v in document.contexts.items()} | {
            ("unit", k): v for k, v in document.units.items()
        }
        for known, members in sets:
            if all(known.get(key, value) == value for key, value in own.items()):
                known.update(own)
                members.append(root)
                break
        else:
            sets.append((own, [root]))
    return [members for _, members in sets] or [[root] for root in roots]


def _elements(root: Any, name: str) -> Iterator[Any]:
    return root.iter(*(f"{{{namespace}}}{name}" for namespace in NAMESPACES))


def _refused(element: Any, reading: Reading) -> bool:
    """Whether a fact is nil, belongs to a tuple or to another target document; counted."""
    if element.get(NIL) in ("true", "1"):
        reason = "nil"
    elif element.get("tupleRef"):
        reason = "member of a tuple: not supported"
    elif element.get("target"):
        reason = "meant for another target document"
    else:
        return False
    reading.left_out[reason] += 1
    return True


def _number(element: Any, document: Document, reading: Reading) -> None:
    if _refused(element, reading):
        return
    try:
        value = _value(element)
    except (ValueError, OverflowError) as error:
        reading.left_out[f"number refused: {error}"] += 1
        return
    get = element.get
    decimals = get("decimals") or decimals_of(value, get("precision"))
    name = document.names.of(get("name", ""), element)
    context, unit = get("contextRef", "").strip(), get("unitRef", "").strip()
    document.numbers.append(RawNumber(context, name, value, unit, decimals))


def _value(element: Any) -> Number:
    text = ((element.text or "") if len(element) == 0 else _displayed(element)).strip()
    get = element.get
    return _figure(text, get("format"), get("scale"), get("sign") == "-")


@lru_cache(16384)  # a filing states most of its figures more than once
def _figure(text: str, form: str | None, scale: str | None, negative: bool) -> Number:
    numeral = transform(form.rpartition(":")[2], text) if form else plain(text)  # without a format nothing groups
    return scaled(numeral, int(scale or 0), negative)


def _displayed(element: Any) -> str:
    """Text of an element and of what it contains, what `exclude` marks left out."""
    if next(_elements(element, "exclude"), None) is None:
        return _STRING(element)
    return "".join(_INCLUDED(element))


def _fraction(element: Any, document: Document, reading: Reading) -> None:
    if _refused(element, reading):
        return
    try:
        top, bottom = (next(_elements(element, part)) for part in ("numerator", "denominator"))
        value = exact(_decimal(top) / _decimal(bottom))
    except (StopIteration, ValueError, ArithmeticError) as error:
        reading.left_out[f"fraction refused: {error}"] += 1
        return
    get = element.get
    name = document.names.of(get("name", ""), element)
    document.numbers.append(RawNumber(reference(get("contextRef")), name, value, reference(get("unitRef")), "INF"))


def _decimal(element: Any) -> Decimal:
    return Decimal(str(_value(element)))


def _block(piece: Any, nested: dict[str, str] | None) -> str:
    """The text of a piece of a fact, which is known already where it stands inside one that was read."""
    known = nested.get(piece.get("id", "")) if nested else None
    return block_text(piece, nested) if known is None else known


def _text(
    element: Any,
    continued: dict[str | None, Any],
    nested: dict[str, str] | None,
    document: Document,
    reading: Reading,
) -> None:
    if _refused(element, reading):
        return
    pieces = [element]
    seen = set()
    following = reference(element.get("continuedAt"))
    while following and following in continued and following not in seen:
        seen.add(following)
        pieces.append(continued[following])
        following = reference(continued[following].get("continuedAt"))
    if element.get("escape") in ("true", "1"):
        value = "\n".join(filter(None, (_block(piece, nested) for piece in pieces)))
    else:
        value = " ".join("".join(map(_displayed, pieces)).split())
    form = element.get("format")
    try:
        value = transform(form.rpartition(":")[2], value) if form else value
    except (UnknownFormat, ValueError) as error:
        reading.remarks[f"text kept as displayed: {error}"] += 1
    name = document.names.of(element.get("name", ""), element)
    document.texts.append(RawText(reference(element.get("contextRef")), name, value))
