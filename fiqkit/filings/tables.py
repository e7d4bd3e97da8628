"""Tables as displayed: which cells stand in one column, whatever their markup spans.

A filer's table has many more columns than it shows: the sign of a currency, a figure and its closing bracket each have
one, a heading spans several, and blank ones keep distance. What stands under one another is one column here; every row
comes out with as many cells as the table has columns, blank ones empty:

    <td>Net income</td><td></td><td>$</td><td>(30</td><td>)</td>      →  Net income |  | $(30)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

BAR = " | "
_BEFORE = re.compile(r"[A-Z]{0,3}[$€£¥￥]\s?\(?|\(|RMB|US\$\s?\(?")
_AFTER = re.compile(r"\)?\s?%?\s?\)?")
_SIGN = 6  # characters of the longest text that either admits
_FIGURE = re.compile(r"\d|[—–-]$")  # a dash is a figure too
_MARK = re.compile(r"\((?:\d{1,2}|[a-zA-Z])\)|[*†‡]{1,3}")


class Placed(NamedTuple):
    """A cell with text and where it stands: `start` to before `stop`, in the table's own columns or in characters."""

    start: int
    stop: int
    text: str


Row = list[Placed]


def aligned(rows: Iterable[Row]) -> list[list[str]]:
    """The rows of a table without blank ones, each with a text for every column."""
    joined = [row for row in map(_joined, rows) if row]
    columns = _columns(joined)
    hits = _hits(columns, joined)
    return [_spread(row, len(columns), hits) for row in joined]


def _joined(row: Row) -> Row:
    """A row with the signs before and after its figures put to them."""
    cells: Row = []
    waiting: Placed | None = None
    for cell in row:
        if not cell.text:
            continue
        if waiting is not None:
            cell = Placed(waiting.start, cell.stop, waiting.text + cell.text)
            waiting = None
        if len(cell.text) > _SIGN:
            cells.append(cell)
        elif _BEFORE.fullmatch(cell.text):
            waiting = cell
        elif cells and _AFTER.fullmatch(cell.text) and _FIGURE.search(cells[-1].text):
            last = cells.pop()
            cells.append(Placed(last.start, cell.stop, last.text + cell.text))
        else:
            cells.append(cell)
    return [*cells, waiting] if waiting else cells


def _columns(rows: Sequence[Row]) -> list[tuple[int, int]]:
    """The columns that the cells form, from left to right.

    Narrow cells come first: what overlaps one column belongs to it, what overlaps several spans them. A heading that
    stands beside its column, not over it, is joined to it afterwards.
    """
    columns: list[tuple[int, int]] = []
    for start, stop in sorted({cell[:2] for row in rows for cell in row}, key=lambda c: (c[1] - c[0], c[0])):
        hit = [column for column in columns if column[0] < stop and start < column[1]]
        if len(hit) < 2:
            for column in hit:
                columns.remove(column)
                start, stop = min(start, column[0]), max(stop, column[1])
            columns.append((start, stop))
    return _marked(_headed(sorted(columns), rows), rows)


def _marked(columns: list[tuple[int, int]], rows: Sequence[Row]) -> list[tuple[int, int]]:
    """Join a column of footnote marks, as "(1)" or "*", to the figures that they mark; alone they read like figures."""
    if not any(_MARK.fullmatch(cell.text) for row in rows for cell in row if len(cell.text) < 5):
        return columns
    hits = _hits(columns, rows)
    alone = [{hit[0]: cell.text for cell in row if len(hit := hits[cell[:2]]) == 1} for row in rows]
    kept = columns[:1]
    for n in range(1, len(columns)):
        marks = [texts for texts in alone if n in texts]
        if marks and all(_MARK.fullmatch(texts[n]) and _FIGURE.search(texts.get(n - 1, "")) for texts in marks):
            kept[-1] = (kept[-1][0], columns[n][1])
        else:
            kept.append(columns[n])
    return kept


def _hits(columns: Sequence[tuple[int, int]], rows: Sequence[Row]) -> dict[tuple[int, int], list[int]]:
    """Place of a cell → the numbers of the columns over which it stands."""
    places = {cell[:2] for row in rows for cell in row}
    return {
        place: [n for n, (first, last) in enumerate(columns) if first < place[1] and place[0] < last]
        for place in places
    }


def _headed(columns: list[tuple[int, int]], rows: Sequence[Row]) -> list[tuple[int, int]]:
    """Join a column that only headings fill to its neighbour that only the body fills."""
    body = next((n for n, row in enumerate(rows) if len(row) > 1 and row[0].start < columns[0][1]), len(rows))
    filled: dict[tuple[int, int], set[bool]] = {column: set() for column in columns}
    hits = _hits(columns, rows)
    for number, row in enumerate(rows):
        for cell in row:
            if len(hit := hits[cell[:2]]) == 1:
                filled[columns[hit[0]]].add(number >= body)
    kept = columns[:2]
    for column in columns[2:]:
        before = kept[-1]
        one, other = filled[before], filled[column]
        if len(kept) > 1 and column[0] - before[1] <= 1 and len(one) == len(other) == 1 and one != other:
            kept[-1] = (before[0], column[1])
            filled[kept[-1]] = {True, False}
        else:
            kept.append(column)
    return kept


def _spread(row: Row, width: int, hits: dict[tuple[int, int], list[int]]) -> list[str]:
    """A row's texts by column; what spans several stands over each, or in the first where that is the row's label."""
    texts = [""] * width
    for start, stop, text in row:
        hit = hits[start, stop]
        for n in hit[:1] if hit[0] == 0 else hit:
            texts[n] = f"{texts[n]} {text}" if texts[n] else text
    return texts


def written(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Rows as lines, a bar between cells."""
    return map(BAR.join, rows)
