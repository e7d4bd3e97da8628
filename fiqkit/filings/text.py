"""A filing's text as passages: by section, tables apart with their title and unit, boilerplate markup gone.

These passages are for a user's own index; what the kit bundles is rendered from facts instead (`render`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from typing import Any

from lxml import etree

from fiqkit.filings.identity import passage_id
from fiqkit.filings.tables import Placed, Row, aligned, written
from fiqkit.filings.xbrl import Origin
from fiqkit.records import Passage

WORDS = 250  # of running text in a passage, its heading included; a table is never cut
_TITLE_WORDS = 20  # of a line that can be part of a table's title
_TITLE_LINES = 5

_BLOCKS = frozenset(
    "p div tr li h1 h2 h3 h4 h5 h6 br hr table ul ol section blockquote center title body header footer main article "  # noqa: SIM905
    "aside nav figure figcaption address dl dt dd pre form fieldset details summary caption td th".split()
)
_SKIPPED = frozenset("ix:header ix:exclude style script title head".split())  # noqa: SIM905
_ROWS, _CELLS = frozenset(("tr", "caption")), frozenset(("td", "th"))
_CELL_TAGS = ("td", "th", "{http://www.w3.org/1999/xhtml}td", "{http://www.w3.org/1999/xhtml}th")
_IX = re.compile(r"\{http://www\.xbrl\.org/20\d\d/inlineXBRL\}")
_ITEM = re.compile(r"(part\s+[iv]+\b[\s,.–—-]*)?item\s*\d{1,2}\s*[a-c]?\s*[.:–—-]?(\s|$)", re.IGNORECASE)
_FURNITURE = re.compile(
    r"(?:F-|S-|page\s+)?\d{1,4}|table of contents|index to .{0,40}|[^|]{0,40}\|[^|]{0,40}(?:\|[^|]{0,20})?",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+")
_DIGIT = re.compile(r"\d")


@lru_cache(1024)
def _local(tag: Any) -> str:
    """Local name of a tag in lower case, `ix:` before one of inline XBRL; empty for a comment."""
    if not isinstance(tag, str):
        return ""
    local = tag.rpartition("}")[2].lower()
    return f"ix:{local}" if _IX.match(tag) else local


_BEGIN, _NAMED, _END = "\ufdd0", "\ufdd1", "\ufdd2"  # around a nested fact's text; no filing holds these characters


@lru_cache(1)
def _displayed() -> Any:
    """Text of an element in one call of libxml2: blocks and cells apart, the parts of a word joined, exclusions out.

    The text of each fact inside stands between marks, with the fact's id.
    """
    block = "|".join(f"h:{name}|{name}" for name in sorted(_BLOCKS))
    return etree.XSLT(
        etree.XML(
            '<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform" '
            'xmlns:h="http://www.w3.org/1999/xhtml" xmlns:a="http://www.xbrl.org/2013/inlineXBRL" '
            'xmlns:b="http://www.xbrl.org/2008/inlineXBRL"><xsl:output method="text"/>'
            '<xsl:template match="a:exclude|b:exclude|h:style|h:script|style|script"/>'
            f'<xsl:template match="{block}"><xsl:text> </xsl:text><xsl:apply-templates/><xsl:text> </xsl:text>'
            "</xsl:template><xsl:template "
            'match="a:nonNumeric[@escape]|a:continuation|b:nonNumeric[@escape]|b:continuation">'
            f'<xsl:text>{_BEGIN}</xsl:text><xsl:value-of select="@id"/><xsl:text>{_NAMED}</xsl:text>'
            f"<xsl:apply-templates/><xsl:text>{_END}</xsl:text></xsl:template></xsl:stylesheet>"
        )
    )


def block_text(element: Any, nested: dict[str, str] | None = None) -> str:
    """Text of an element and all it holds on one line, as displayed: words of neighbouring cells kept apart.

    Args:
        nested: takes the text of each fact inside by its id, so that it need not be asked for again.
    """
    text = str(_displayed()(element))
    if _BEGIN not in text:
        return " ".join(text.split())
    open_facts: list[tuple[str, list[str]]] = [("", [])]
    for piece in re.split(f"(?=[{_BEGIN}{_END}])", text):
        mark, rest = (piece[0], piece[1:]) if piece[:1] in (_BEGIN, _END) else ("", piece)
        if mark == _BEGIN:
            key, _, rest = rest.partition(_NAMED)
            open_facts.append((key, []))
        elif mark:
            key, pieces = open_facts.pop()
            whole = " ".join("".join(pieces).split())
            if nested is not None and key:
                nested[key] = whole
            open_facts[-1][1].append("".join(pieces))
        open_facts[-1][1].append(rest)
    return " ".join("".join(open_facts[0][1]).split())


@dataclass(slots=True)
class Block:
    """A paragraph or a table (one line a row, cells between bars), with the section that it stands in."""

    text: str
    section: str
    table: bool = False


def blocks(root: Any) -> Iterator[Block]:
    """The paragraphs and tables of a document in reading order; hidden parts are left out."""
    return sectioned(_lines(root))


def sectioned(lines: Iterable[tuple[str, bool]]) -> Iterator[Block]:
    """(text, is it a table) with the section that each stands in: the last "Item 7. …" before it."""
    section = ""
    for text, table in lines:
        if not table and is_heading(text):
            section = text
        else:
            yield Block(text, section, table)


def is_heading(line: str) -> bool:
    """Whether a line begins a section: "Item 7. …"."""
    return len(line) <= 150 and _ITEM.match(line) is not None


def _lines(root: Any) -> Iterator[tuple[str, bool]]:
    """(text, is it a table) of every block."""
    words: list[str] = []
    walk = etree.iterwalk(root, events=("start", "end"))
    for event, element in walk:
        tag = _local(element.tag)
        if event == "start":
            if tag in _SKIPPED or _hidden(element):
                walk.skip_subtree()
                continue
            if words and tag in _BLOCKS and (line := _flush(words)):
                yield line, False
            if tag == "table":
                walk.skip_subtree()
                yield from _table(element)
            elif tag and (text := element.text):
                words.append(text)
            continue
        if words and tag in _BLOCKS and (line := _flush(words)):
            yield line, False
        if text := element.tail:
            words.append(text)
    if line := _flush(words):
        yield line, False


def _hidden(element: Any) -> bool:
    style = element.get("style")
    return style is not None and "none" in style and "display:none" in style.replace(" ", "")


def _flush(words: list[str]) -> str:
    text = _tidy("".join(words))
    words.clear()
    return text


def _tidy(text: str) -> str:
    """Text with single spaces; a space without width is one too."""
    return " ".join((text.replace("\u200b", " ") if "\u200b" in text else text).split())


# --- tables ---------------------------------------------------------------------------------------------------------


def _table(table: Any) -> Iterator[tuple[str, bool]]:
    """A table, and after it those in its cells that are not rows of it."""
    apart: list[Any] = []
    yield from as_blocks(aligned(_rows(table, 0, apart)))
    for inner in apart:
        yield from _table(inner)


def as_blocks(rows: list[list[str]]) -> Iterator[tuple[str, bool]]:
    """A table with figures as one block; one that only arranges text as paragraphs."""
    figures = sum(sum(map(bool, row)) > 1 and any(map(_DIGIT.search, row)) for row in rows)
    if figures >= 2:
        yield "\n".join(written(rows)), True
    else:
        yield from ((" ".join(filter(None, row)), False) for row in rows)


def _rows(table: Any, offset: int, apart: list[Any]) -> Iterator[Row]:
    """The rows of a table from a column on. A table alone in its row gives its own; others go to `apart`."""
    reaching: dict[int, int] = {}  # column → rows below that a cell still reaches into
    for element in _inside(table, _ROWS):
        row: Row = []
        inner: list[tuple[int, Any]] = []
        column = offset
        below: dict[int, int] = {}
        for cell in _cells(element):
            while column in reaching:
                column += 1
            get = cell.get
            width = _span(span) if (span := get("colspan")) else 1
            if (span := get("rowspan")) and (deep := _span(span)) > 1:
                below |= dict.fromkeys(range(column, column + width), deep)
            if len(cell):
                found: list[Any] = []
                text = _tidy("".join(_gather(cell, [], found)))
                inner += ((column, one) for one in found)
            else:
                text = _tidy(cell.text) if cell.text else ""
            if text:
                row.append(Placed(column, column + width, text))
            column += width
        if reaching or below:
            reaching = {n: left - 1 for n, left in (reaching | below).items() if left > 1}
        yield row
        if row or len(inner) > 1:
            apart += (one for _, one in inner)
        else:
            for start, one in inner:
                yield from _rows(one, start, apart)


def _cells(row: Any) -> list[Any]:
    """The cells of a row; a caption is a row with itself for a cell."""
    if _local(row.tag) == "caption":
        return [row]
    cells = list(row.iterchildren(*_CELL_TAGS))
    if len(cells) != len(row):
        return list(_inside(row, _CELLS))
    return [cell for cell in cells if not ("none" in cell.get("style", "") and _hidden(cell))]


def _inside(element: Any, tags: frozenset[str]) -> Iterator[Any]:
    """The rows of a table or the cells of a row, through whatever wraps them, but not those of a table inside."""
    for child in element:
        tag = _local(child.tag)
        if _hidden(child):
            continue
        if tag in tags:
            yield child
        elif tag and tag not in _CELLS and tag != "table" and tag not in _SKIPPED:
            yield from _inside(child, tags)


def _gather(element: Any, words: list[str], tables: list[Any]) -> list[str]:
    """The pieces of a cell's text in order; tables in it are put aside."""
    if text := element.text:
        words.append(text)
    for child in element:
        tag = _local(child.tag)
        if tag == "table":
            tables.append(child)
        elif tag and tag not in _SKIPPED and not ("none" in child.get("style", "") and _hidden(child)):
            edge = tag in _BLOCKS
            if edge:
                words.append(" ")
            if len(child):
                _gather(child, words, tables)
            elif text := child.text:
                words.append(text)
            if edge:
                words.append(" ")
        if tail := child.tail:
            words.append(tail)
    return words


@lru_cache(1024)
def _span(text: str) -> int:
    """How many columns or rows a cell takes; a browser takes what is no number for one."""
    return max(1, min(1000, int(text))) if text.isdecimal() and len(text) < 6 else 1


# --- passages -------------------------------------------------------------------------------------------------------


def text_passages(documents: Iterable[Iterable[Block]], origin: Origin, stem: str, source: str) -> Iterator[Passage]:
    """Passages of a filing: a section's paragraphs up to `WORDS` words, and each table under its title and unit.

    Args:
        documents: the blocks of each of the filing's documents.
        stem: the file's name without its endings.
        source: hash of the file's bytes, by which files of one name are kept apart.
    """
    place = stem if origin.accession is None or origin.accession in stem else f"{origin.accession}:{stem}"
    texts = (text for found in documents for text in pack(found))
    for number, text in enumerate(texts, 1):
        yield Passage(
            passage_id=passage_id(f"{place}:{number:04d}", source, text),
            text=text,
            company=origin.name,
            ticker=origin.ticker,
            form=origin.form,
            filed=origin.filed,
            period=origin.period,
            source=stem,
        )


def pack(found: Iterable[Block]) -> Iterator[str]:
    """Join neighbouring paragraphs of one section up to `WORDS` words; a table stands under its title and unit.

    Short lines right before a table ("CONSOLIDATED BALANCE SHEETS", "(in thousands)") go with it; a sentence that leads
    to it is repeated over it.
    """
    lines: list[str] = []
    section, count = "", 0
    for block in _cut(found):
        words = len(block.text.split())
        if lines and (block.section != section or block.table or count + words > WORDS):
            title = _title(lines) if block.table and block.section == section else []
            if rest := [line for line in lines if line not in title]:
                yield _headed(section, rest)
            if block.table and not title and block.section == section:
                title = [line for line in rest if not _FURNITURE.fullmatch(line) and len(line) <= 300][-1:]
            lines, count = title, 0
        section = block.section
        count = count or len(section.split())
        lines.append(block.text)
        count += words
        if block.table:
            yield _headed(section, lines)
            lines, count = [], 0
    if lines:
        yield _headed(section, lines)


def _title(lines: list[str]) -> list[str]:
    """The last lines that are no sentences, without page numbers and running heads."""
    last = takewhile(
        lambda line: len(line.split()) <= _TITLE_WORDS and not line.endswith((".", "。", ";")), lines[::-1]
    )
    return [line for line in list(last)[:_TITLE_LINES][::-1] if not _FURNITURE.fullmatch(line)]


def _cut(found: Iterable[Block]) -> Iterator[Block]:
    """Blocks of which no paragraph is too long for a passage; cuts fall after a sentence where they can."""
    for block in found:
        if block.table:
            yield block
        else:
            limit = max(WORDS // 2, WORDS - len(block.section.split()))
            yield from (Block(text, block.section) for text in _pieces(block.text, limit))


def _pieces(text: str, limit: int) -> Iterator[str]:
    if len(text.split()) <= limit:
        yield text
        return
    piece: list[str] = []
    for sentence in _SENTENCE.split(text):
        words = sentence.split()
        if piece and len(piece) + len(words) > limit:
            yield " ".join(piece)
            piece = []
        piece += words
        while len(piece) > limit:
            yield " ".join(piece[:limit])
            piece = piece[limit:]
    if piece:
        yield " ".join(piece)


def _headed(section: str, lines: list[str]) -> str:
    return "\n".join([section, *lines] if section else lines)
