"""Filings in plain text, as they were until about 2000: lines, with tables marked by <TABLE>, <CAPTION>, <S> and <C>.

<TABLE>
<CAPTION>
                              1998        1997
<S>                           <C>         <C>
Cash ....................  $  1,234    $    987
</TABLE>
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from fiqkit.filings.tables import Placed, Row, aligned
from fiqkit.filings.text import Block, as_blocks, is_heading, sectioned

_MARKUP = re.compile(r"<(html|body|p|div|br|td|tr|font|a)\b[^>]*>", re.IGNORECASE)
_TAG = re.compile(r"</?(TABLE|CAPTION|S|C|FN|F\d+|PAGE|R)>", re.IGNORECASE)
_TABLE = re.compile(r"<TABLE>(.*?)(?:</TABLE>|\Z)", re.IGNORECASE | re.DOTALL)
_STUB = re.compile(r"^[ \t]*<S>.*$", re.IGNORECASE | re.MULTILINE)
_RULE = re.compile(r"[-=_*\s.]+")
_COLUMNS = re.compile(
    r"\S {3,}\$?\s*\(?\d[\d,.]*\)?(?:\s|$)|\.{4,}\s*\$?\s*\(?\d"
)  # a figure after a gap or leader dots
_LEADER = re.compile(r"\.(?: ?\.){2,}")
_SIGN = re.compile(r"([$€£¥]) (?=[\d(])")
_CELL = re.compile(r"\S+(?: \S+)*")


def is_plain(text: str) -> bool:
    """Whether a document has no markup beyond that of tables and pages."""
    return _MARKUP.search(text) is None


def plain_blocks(text: str) -> Iterator[Block]:
    """The paragraphs and tables of a document in plain text."""
    return sectioned(_lines(text))


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    end = 0
    for table in _TABLE.finditer(text):
        yield from _paragraphs(text[end : table.start()])
        parts = _STUB.split(table[1], maxsplit=1)  # <S> begins the line under the title and the headings
        caption, body = parts if len(parts) == 2 else ("", table[1])
        rows = [row for row in map(_row, caption.splitlines()) if row]
        yield from ((row[0].text, False) for row in rows if len(row) == 1)
        yield from as_blocks(aligned([*(row for row in rows if len(row) > 1), *map(_row, body.splitlines())]))
        end = table.end()
    yield from _paragraphs(text[end:])


def _paragraphs(text: str) -> Iterator[tuple[str, bool]]:
    """Lines joined up to a blank one, a heading, a centred line and a rule apart; lines in columns are a table."""
    for group in re.split(r"\n[ \t]*\n", _TAG.sub("", text)):
        lines = [line.expandtabs() for line in group.splitlines() if line.strip()]
        if sum(bool(_COLUMNS.search(line)) for line in lines) >= 2:
            yield from as_blocks(aligned(map(_row, lines)))
        else:
            yield from ((words, False) for words in _joined(lines))


def _joined(lines: list[str]) -> Iterator[str]:
    words: list[str] = []
    for line in lines:
        stripped = " ".join(line.split())
        alone = is_heading(stripped) or line.startswith(" " * 15)
        if words and (alone or _RULE.fullmatch(line)):
            yield " ".join(words)
            words = []
        if not _RULE.fullmatch(line):
            words.append(stripped)
            if alone:
                yield stripped
                words = []
    if words:
        yield " ".join(words)


def _row(line: str) -> Row:
    """The cells of a line: what two spaces part, placed by their characters."""
    for pattern in (_TAG, _LEADER):
        line = pattern.sub(lambda found: " " * len(found[0]), line.expandtabs())
    if _RULE.fullmatch(line):
        return []
    return [Placed(found.start(), found.end(), _SIGN.sub(r"\1", found[0])) for found in _CELL.finditer(line)]
