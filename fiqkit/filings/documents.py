"""A filing as a file: inline XBRL, an XBRL instance, plain HTML, or a full submission that wraps several of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from lxml import etree

from fiqkit.errors import UserError
from fiqkit.filings import text as text_of
from fiqkit.filings.fact import Reading, iso_date_or_none
from fiqkit.filings.inline import NAMESPACES, read_inline
from fiqkit.filings.instance import is_instance, read_instance
from fiqkit.filings.xbrl import Origin, parse_xml, to_rows

_INLINE = tuple(namespace.encode() for namespace in NAMESPACES)
_DOCUMENT = re.compile(rb"<DOCUMENT>(.*?)(?:</DOCUMENT>|\Z)", re.DOTALL | re.IGNORECASE)
_BODY = re.compile(rb"<TEXT>(.*?)(?:</TEXT>|\Z)", re.DOTALL | re.IGNORECASE)
_WRAP = re.compile(rb"\s*<(XBRL|XML)>(.*)</\1>\s*\Z", re.DOTALL | re.IGNORECASE)
_TYPE = re.compile(rb"<TYPE>\s*([^\s<]+)", re.IGNORECASE)
_ACCESSION = re.compile(r"(?<!\d)(\d{10})-?(\d{2})-?(\d{6})(?!\d)")
_MARKUP = re.compile(rb"<(!doctype\s+html|html|body|div|table|p|document)\b", re.IGNORECASE)


def read_filing(data: bytes, path: Path, reading: Reading) -> None:
    """Take the facts and the text of a filing's file into `reading`.

    Raises:
        UserError: the file is damaged, or neither XBRL nor HTML.
    """
    roots, origin = read_facts(data, path, reading)
    _passages(roots, origin, path, sha256(data).hexdigest(), reading)


def read_facts(data: bytes, path: Path, reading: Reading) -> tuple[list[Any], Origin]:
    """Take the facts of a filing's file into `reading`; returns its documents' roots and what the file says of itself.

    Raises:
        UserError: the file is damaged, or neither XBRL nor HTML.
    """
    origin = _origin(data, path)
    documents: dict[str, list[bytes]] = {"instance": [], "inline": [], "html": []}
    for body in _documents(data):
        documents.get(_kind(body), []).append(body)
    if not any(documents.values()):
        raise UserError(f"{path}:1: neither XBRL nor HTML; give the filing's .htm or .xml as the SEC serves it")
    if documents["inline"]:
        # A full submission also holds the instance that the SEC extracts from these: one of the two is enough.
        roots = [parse_xml(_named_entities(body), str(path)) for body in documents["inline"]]
        to_rows(read_inline(roots, reading), origin, "inline", reading)
        return roots, origin
    for body in documents["instance"]:
        to_rows(read_instance(parse_xml(body, str(path)), reading), origin, "instance", reading)
    return [_html(body, str(path)) for body in documents["html"]], origin


def _kind(body: bytes) -> str:
    head = body[:200_000]
    if is_instance(body):
        return "instance"
    if any(namespace in head for namespace in _INLINE):
        return "inline"
    return "html" if _MARKUP.search(head) else "other"


def _passages(roots: list[Any], origin: Origin, path: Path, source: str, reading: Reading) -> None:
    """The documents' text, headed by what the cover page says of company, form and period."""
    cover: dict[str, str] = {}
    for fact in reading.texts:
        if fact.concept.startswith("dei:"):
            cover.setdefault(fact.concept.removeprefix("dei:"), fact.value)
    origin = replace(
        origin, name=cover.get("EntityRegistrantName") or origin.name, form=cover.get("DocumentType") or origin.form
    )
    reading.passages += text_of.text_passages(
        roots,
        origin,
        _stem(path),
        source,
        period=iso_date_or_none(cover.get("DocumentPeriodEndDate")),
        ticker=cover.get("TradingSymbol"),
    )


def _stem(path: Path) -> str:
    return re.sub(r"(\.(html?|xml|txt|gz))+$", "", path.name, flags=re.IGNORECASE)


def _documents(data: bytes) -> Iterator[bytes]:
    """The documents inside an SGML submission; the file itself when it is none."""
    wrapped = [found[1] for found in _DOCUMENT.finditer(data)] if b"<DOCUMENT>" in data[:100_000].upper() else []
    for document in wrapped or [data]:
        body = _BODY.search(document) if wrapped else None
        content = body[1] if body else document
        inner = _WRAP.match(content)
        yield (inner[2] if inner else content).strip()


def _origin(data: bytes, path: Path) -> Origin:
    """Accession, filing date, form and filer: from the submission's header, else what the path's own names say."""
    head = data[:20_000].decode("latin-1") if b"<" in data[:20_000] else ""
    filed = re.search(r"FILED AS OF DATE:\s*(\d{4})(\d\d)(\d\d)", head)
    form = re.search(r"CONFORMED SUBMISSION TYPE:\s*(\S+)", head)
    entity = re.search(r"CENTRAL INDEX KEY:\s*0*(\d+)", head)
    name = re.search(r"COMPANY CONFORMED NAME:\s*(.+)", head)
    kind = _TYPE.search(data[:2000])
    number = re.search(r"ACCESSION NUMBER:\s*(\S+)", head)
    places = [number[1]] if number else [path.name, path.parent.name]
    accession = next((found for place in places if (found := _ACCESSION.search(place))), None)
    return Origin(
        accession="-".join(accession.groups()) if accession else None,
        filed="-".join(filed.groups()) if filed else None,
        form=form[1] if form else kind[1].decode("latin-1") if kind else None,
        entity=entity[1] if entity else None,
        name=name[1].strip() if name else None,
        where=str(path),
    )


_ENTITY = re.compile(rb"&([A-Za-z][A-Za-z0-9]*);")
_XML_OWN = frozenset((b"amp", b"lt", b"gt", b"quot", b"apos"))


def _named_entities(body: bytes) -> bytes:
    """HTML's named characters as numbers: XML knows only five names, and filers write `&nbsp;` all the same."""
    from html.entities import name2codepoint

    def number(found: re.Match[bytes]) -> bytes:
        name = found[1].decode()
        return found[0] if found[1] in _XML_OWN or name not in name2codepoint else b"&#%d;" % name2codepoint[name]

    return _ENTITY.sub(number, body)


def _html(body: bytes, where: str) -> Any:
    """Root of an HTML document that is not XML.

    Raises:
        UserError: no element in it.
    """
    root = etree.HTML(body, etree.HTMLParser(huge_tree=True, no_network=True))
    if root is None:
        raise UserError(f"{where}:1: holds no HTML element; fetch the file again")
    return root
