"""A filing's text as passages: by section, tables apart, boilerplate markup gone.

These passages are for a user's own index; what the kit bundles is rendered from facts instead (`render`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from lxml import etree

from fiqkit.filings.identity import passage_id
from fiqkit.filings.xbrl import Origin
from fiqkit.records import Passage

WORDS = 250  # of running text in a passage; a table is never cut

_TEXT_NODES = etree.XPath(".//text()", smart_strings=False)
_BLOCKS = frozenset(
    "p div tr li h1 h2 h3 h4 h5 h6 br hr table ul ol section blockquote center title body".split()  # noqa: SIM905
)
_CELLS = frozenset(("td", "th", "tr", "table"))
_SKIPPED = frozenset("header style script title head".split())  # noqa: SIM905
_ITEM = re.compile(r"(part\s+[iv]+\b[\s,.–—-]*)?item\s*\d{1,2}\s*[a-c]?\s*[.:–—-]?(\s|$)", re.IGNORECASE)
_SPACE = re.compile(r"[\s\u00a0\u200b]+")
_LONELY = re.compile(r"(?<=[($€£¥])\s*\|\s*|\s*\|\s*(?=[)%])")
_DIGIT = re.compile(r"\d")


def block_text(element: Any) -> str:
    """Text of an element and all it holds on one line, words of neighbouring cells kept apart."""
    return " ".join(" ".join(_TEXT_NODES(element)).split())


@dataclass(slots=True)
class Block:
    """A paragraph or a table (one line a row, cells between bars), with the section that it stands in."""

    text: str
    section: str
    table: bool = False


@dataclass(slots=True)
class _Table:
    rows: list[str] = field(default_factory=list)
    cells: list[str] = field(default_factory=list)
    cell: list[str] = field(default_factory=list)


def blocks(root: Any) -> Iterator[Block]:
    """The paragraphs and tables of a document in reading order; hidden parts are left out."""
    section = ""
    for text, table in _lines(root):
        if not table and len(text) <= 150 and _ITEM.match(text):
            section = text
        else:
            yield Block(text, section, table)


def _lines(root: Any) -> Iterator[tuple[str, bool]]:
    """(text, is it a table) of every block. A table inside another is taken row by row into the outer one."""
    words: list[str] = []
    table: _Table | None = None
    depth = 0
    walk = etree.iterwalk(root, events=("start", "end"))
    for event, element in walk:
        tag = _local(element.tag)
        if event == "start":
            if tag in _SKIPPED or _hidden(element):
                walk.skip_subtree()
                continue
            if tag in _BLOCKS and (line := _flush(words)):
                if table is None:
                    yield line, False
                else:
                    table.cell.append(line)
            if tag == "table":
                depth += 1
                table = table or _Table()
            if tag and element.text:
                words.append(element.text)
            continue
        if table is not None and tag in _CELLS:
            _close(tag, table, _flush(words))
            depth -= tag == "table"
            if depth == 0:
                yield from _emit(table)
                table = None
        elif tag in _BLOCKS and (line := _flush(words)):
            if table is None:
                yield line, False
            else:
                table.cell.append(line)
        if element.tail:
            words.append(element.tail)
    if line := _flush(words):
        yield line, False


@lru_cache(1024)
def _local(tag: Any) -> str:
    """Local name of a tag in lower case; empty for a comment."""
    return tag.rpartition("}")[2].lower() if isinstance(tag, str) else ""


def _hidden(element: Any) -> bool:
    style = element.get("style")
    return style is not None and "none" in style and "display:none" in style.replace(" ", "")


def _flush(words: list[str]) -> str:
    if not words:
        return ""
    text = _SPACE.sub(" ", "".join(words)).strip()
    words.clear()
    return text


def _close(tag: str, table: _Table, line: str) -> None:
    """End a cell, and with a row's end the row."""
    if line:
        table.cell.append(line)
    if tag in ("td", "th"):
        if table.cell:
            table.cells.append(" ".join(table.cell))
            table.cell.clear()
        return
    table.cells += table.cell
    table.cell.clear()
    if table.cells:
        table.rows.append(_LONELY.sub("", " | ".join(table.cells)))
        table.cells.clear()


def _emit(table: _Table) -> Iterator[tuple[str, bool]]:
    """A table with figures as one block; one that only arranges text as paragraphs."""
    figures = sum(bool(_DIGIT.search(row)) and "|" in row for row in table.rows)
    if figures >= 2:
        yield "\n".join(table.rows), True
    else:
        yield from ((row.replace(" | ", " "), False) for row in table.rows)


def text_passages(
    roots: Iterable[Any],
    origin: Origin,
    stem: str,
    source: str,
    *,
    period: str | None = None,
    ticker: str | None = None,
) -> Iterator[Passage]:
    """Passages of a filing: a section's paragraphs up to `WORDS` words, and each table under the line before it.

    Args:
        stem: the file's name without its endings.
        source: hash of the file's bytes, by which files of one name are kept apart.
    """
    place = stem if origin.accession is None or origin.accession in stem else f"{origin.accession}:{stem}"
    texts = (text for root in roots for text in pack(blocks(root)))
    for number, text in enumerate(texts, 1):
        yield Passage(
            passage_id=passage_id(f"{place}:{number:04d}", source, text),
            text=text,
            company=origin.name,
            ticker=ticker,
            form=origin.form,
            filed=origin.filed,
            period=period,
            source=stem,
        )


def pack(found: Iterable[Block]) -> Iterator[str]:
    """Join neighbouring paragraphs of one section up to `WORDS` words; a table keeps the line before it as caption."""
    lines: list[str] = []
    section, count = "", 0
    for block in found:
        words = len(block.text.split())
        if lines and (block.section != section or block.table or count + words > WORDS):
            caption = lines[-1] if block.table and len(lines[-1]) <= 300 else ""
            yield _headed(section, lines)
            lines, count = [], 0
            if caption and block.section == section:
                lines = [caption]
        section = block.section
        lines.append(block.text)
        count += words
        if block.table:
            yield _headed(section, lines)
            lines, count = [], 0
    if lines:
        yield _headed(section, lines)


def _headed(section: str, lines: list[str]) -> str:
    return "\n".join([section, *lines] if section else lines)
