"""A filing as a file: inline XBRL, an XBRL instance, plain HTML or text, or a full submission that wraps several."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from lxml import etree

from fiqkit.errors import UserError
from fiqkit.filings import text as text_of
from fiqkit.filings.fact import Reading, iso_date_or_none
from fiqkit.filings.inline import NAMESPACES, document_sets, read_inline
from fiqkit.filings.instance import is_instance, read_instance
from fiqkit.filings.kinds import content
from fiqkit.filings.plain import is_plain, plain_blocks
from fiqkit.filings.submission import Paper, origin, papers
from fiqkit.filings.text import Block
from fiqkit.filings.xbrl import Document, Origin, cover_of, parse_xml, to_rows

_INLINE = tuple(namespace.encode() for namespace in NAMESPACES)
_MARKUP = re.compile(rb"<(!doctype\s+html|html|body|div|table|p|document)\b", re.IGNORECASE)
_CHARSET = re.compile(rb"charset\s*=|<\?xml[^>]*encoding", re.IGNORECASE)
_SAVED = b"<!-- saved from url="


class _Text(NamedTuple):
    """A document whose text is to become passages: its root, or its plain text."""

    root: Any = None
    plain: str = ""

    def blocks(self) -> Iterator[Block]:
        return plain_blocks(self.plain) if self.root is None else text_of.blocks(self.root)


def read_filing(data: bytes, path: Path, reading: Reading) -> None:
    """Take the facts and the text of a filing's file into `reading`.

    Raises:
        UserError: the file is damaged, or neither XBRL nor HTML.
    """
    texts, about = read_facts(data, path, reading)
    try:
        reading.passages += text_of.text_passages(
            (text.blocks() for text in texts), about, _stem(path), sha256(data).hexdigest()
        )
    except RecursionError as error:
        raise UserError(f"{path}:1: elements nested too deeply to be a filing's; fetch the file again") from error


def read_facts(data: bytes, path: Path, reading: Reading) -> tuple[list[_Text], Origin]:
    """Take the facts of a filing's file into `reading`; returns its texts and what the file says of itself.

    Raises:
        UserError: the file is damaged, or neither XBRL nor HTML.
    """
    data = _as_utf8(data)
    about = origin(data, path)
    instances: list[bytes] = []
    inline: list[Any] = []
    texts: list[_Text] = []
    for paper in papers(data):
        kind = _kind(paper)
        if kind == "instance":
            instances.append(paper.body)
        elif kind == "inline":
            inline.append(_xhtml(paper.body, str(path)))
            texts.append(_Text(inline[-1]))
        elif kind == "html":
            texts.append(_Text(_html(paper.body, str(path))))
        elif kind == "plain":
            texts.append(_Text(plain=paper.body.decode("latin-1")))
    if not texts and not instances:
        raise UserError(f"{path}:1: neither XBRL nor HTML; give the filing's .htm or .xml as the SEC serves it")
    # A full submission also holds the instance that the SEC extracts from inline documents: one of the two is enough.
    found = [(read_inline(roots, reading), "inline") for roots in document_sets(inline)] or [
        (read_instance(parse_xml(body, str(path)), reading), "instance") for body in instances
    ]
    covers: dict[str, str] = {}
    for document, source in found:
        if source == "inline":
            _complete(document, path, reading)
        to_rows(document, about, source, reading)
        covers = dict(cover_of(document)) | covers
    return texts, _said_by(covers, about)


def _said_by(cover: Mapping[str, str], about: Origin) -> Origin:
    """What the file says of itself, the cover page first."""
    return replace(
        about,
        name=cover.get("EntityRegistrantName") or about.name,
        form=cover.get("DocumentType") or about.form,
        period=iso_date_or_none(cover.get("DocumentPeriodEndDate")) or about.period,
        ticker=cover.get("TradingSymbol"),
    )


def _complete(document: Document, path: Path, reading: Reading) -> None:
    """Give a document that is one of a set the contexts and units that stand in another file of its folder."""
    named = {number.context for number in document.numbers} | {text.context for text in document.texts}
    missing = named - document.contexts.keys() - document.refused
    if not missing:
        return
    holders = [other for other in _beside(path) if missing <= other.contexts.keys()]
    if len(holders) == 1:
        document.contexts = {**holders[0].contexts, **document.contexts}
        document.units = {**holders[0].units, **document.units}
        document.texts += (text for text in holders[0].texts if text.concept.partition(":")[0] == "dei")
        reading.remarks["contexts taken from another file of the filing"] += 1
    elif not document.contexts and document.numbers:
        raise UserError(
            f"{path}:1: one document of several, and the contexts of its facts are not in it; "
            "give the full submission (the filing's .txt), or a folder with all of its documents"
        )


def _beside(path: Path) -> Iterator[Document]:
    """The other inline documents in a file's folder."""
    for other in sorted(path.parent.glob("*.*htm*")) if path.exists() else ():
        if other != path and any(namespace in content(other)[:200_000] for namespace in _INLINE):
            with suppress(UserError):  # that one's own fault is told when it is read
                yield read_inline([_xhtml(content(other), str(other))], Reading())


def _kind(paper: Paper) -> str:
    head = paper.body[:200_000]
    if is_instance(paper.body):
        return "instance"
    if any(namespace in head for namespace in _INLINE):
        return "inline"
    if not paper.is_text:
        return "other"
    if paper.type and is_plain(paper.body.decode("latin-1")):
        return "plain"
    return "html" if _MARKUP.search(head) else "other"


def _stem(path: Path) -> str:
    return re.sub(r"(\.(html?|xml|txt|nc|gz))+$", "", path.name, flags=re.IGNORECASE)


def _as_utf8(data: bytes) -> bytes:
    """A file in UTF-16 as UTF-8, its declaration changed with it."""
    if data[:2] not in (b"\xff\xfe", b"\xfe\xff"):
        return data
    text = data.decode("utf-16", "replace")
    return re.sub(r"(<\?xml[^>]*encoding=[\"'])utf-16[^\"']*", r"\1utf-8", text, count=1, flags=re.IGNORECASE).encode()


_ENTITY = re.compile(rb"&([A-Za-z][A-Za-z0-9]*);")
_XML_OWN = frozenset((b"amp", b"lt", b"gt", b"quot", b"apos"))


def _xhtml(body: bytes, where: str) -> Any:
    """Root of an inline XBRL document.

    Raises:
        UserError: not well-formed; names the line.
    """
    try:
        return parse_xml(_named_entities(body), where)
    except UserError as error:
        if _SAVED in body[:2000]:
            line = str(error).removeprefix(where).split(":")[1]
            raise UserError(
                f"{where}:{line}: saved by a browser, which rewrites the markup; fetch the file as the SEC serves it"
            ) from error
        raise


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
    root = etree.HTML(body, etree.HTMLParser(huge_tree=True, no_network=True, encoding=_encoding(body)))
    if root is None:
        raise UserError(f"{where}:1: holds no HTML element; fetch the file again")
    return root


def _encoding(body: bytes) -> str | None:
    """The encoding of HTML that declares none: UTF-8 where it is that, else Windows-1252, as browsers take it."""
    if _CHARSET.search(body[:4096]):
        return None
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"
