"""The headings of the cells of an answer's tables."""

from __future__ import annotations

import re

_RULE = re.compile(r"[\s|:+=—–-]*-[\s|:+=—–-]*")


class Tables:
    """The tables of a text, one row a line with "|" or tabs between cells; the first row of each holds the headings.

    Of "| Item | 2023 |\\n|---|---|\\n| Revenue | $134.90B |" the headings of the amount are "Revenue" and "2023".
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._headings: dict[int, list[str]] = {}  # of the row that begins there
        heading: list[str] | None = None
        start = 0
        for line in text.split("\n"):
            cells = _cells(line)
            if len(cells) < 2:
                heading = None
            elif heading is None:
                heading = cells
            elif not _RULE.fullmatch(line):
                self._headings[start] = heading
            start += len(line) + 1

    def headings(self, place: int) -> tuple[str, str]:
        """The headings of the row and of the column of the cell at `place`; empty outside a table's body."""
        start = self._text.rfind("\n", 0, place) + 1
        columns = self._headings.get(start)
        if columns is None:
            return "", ""
        end = self._text.find("\n", place)
        cells = _cells(self._text[start : end if end >= 0 else None])
        at = len(_cells(self._text[start:place] + "x")) - 1
        return cells[0] if at else "", columns[at] if at < len(columns) else ""


def _cells(line: str) -> list[str]:
    inside = line.strip().removeprefix("|").removesuffix("|")
    if "|" in line:
        return [cell.strip() for cell in inside.split("|")]
    return [cell.strip() for cell in line.split("\t")] if "\t" in line.strip() else []
