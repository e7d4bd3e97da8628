"""XBRL instance documents: each fact an element of its own. Tuples are refused: the SEC accepts none."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import Any

from lxml import etree

from fiqkit.filings.fact import Number, Reading, exact
from fiqkit.filings.text import block_text
from fiqkit.filings.xbrl import (
    CONTEXT,
    NIL,
    UNIT,
    XBRLI,
    Document,
    Names,
    RawNumber,
    RawText,
    decimals_of,
    read_context,
    read_unit,
    reference,
)

_ROOT = re.compile(rb"<(?:[\w.-]+:)?xbrl[\s>]")
_TUPLE = "{http://www.xbrl.org/2003/linkbase}"  # footnotes and references: no facts, no tuples


def is_instance(body: bytes) -> bool:
    """Whether a document's first element is that of an XBRL instance."""
    return _ROOT.search(body[:20_000]) is not None


def read_instance(root: Any, reading: Reading) -> Document:
    """Raw facts of an instance document."""
    document = Document(names=Names([root]))
    for element in root.iterchildren("*"):
        if element.tag == CONTEXT:
            read_context(element, document, reading)
        elif element.tag == UNIT:
            read_unit(element, document)
        elif element.get("contextRef"):
            _fact(element, document, reading)
        elif not element.tag.startswith((XBRLI, _TUPLE)) and len(element):
            reading.left_out["tuple: not supported"] += 1
    return document


def _fact(element: Any, document: Document, reading: Reading) -> None:
    if element.get(NIL) in ("true", "1"):
        reading.left_out["nil"] += 1
        return
    context, concept = reference(element.get("contextRef")), document.names.of_element(element)
    text, unit = (element.text or "").strip(), element.get("unitRef")
    if unit is None:
        document.texts.append(RawText(context, concept, _plain(element, text)))
        return
    try:
        value = _value(element, text)
    except (ValueError, ArithmeticError) as error:
        reading.left_out[f"number refused: {error}"] += 1
        return
    decimals = element.get("decimals") or decimals_of(value, element.get("precision"))
    document.numbers.append(RawNumber(context, concept, value, reference(unit), decimals))


def _value(element: Any, text: str) -> Number:
    """The number, or the quotient of a fraction item.

    Raises:
        ValueError: not a number.
        ArithmeticError: a fraction over zero.
    """
    top, bottom = element.find(f"{XBRLI}numerator"), element.find(f"{XBRLI}denominator")
    if top is not None and bottom is not None:
        return exact(_decimal(top.text or "") / _decimal(bottom.text or ""))
    return exact(_decimal(text))


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text.strip())
    except InvalidOperation as error:
        raise ValueError(f"{text[:40]!r} is not a numeral") from error


def _plain(element: Any, text: str) -> str:
    """A note's HTML as plain text; any other text as it stands."""
    if len(element):
        return block_text(element)
    if "<" not in text:
        return " ".join(text.split())
    root = etree.HTML(text, etree.HTMLParser(huge_tree=True, no_network=True))
    return block_text(root) if root is not None else ""
