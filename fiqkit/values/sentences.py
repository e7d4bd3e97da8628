"""Where the sentences of a text end: abbreviations, list numbers and decimal points end none."""

from __future__ import annotations

import re

_CANDIDATE = re.compile(r"[。！？!?；;\n]+|\.(?=[\"'”’)\]*_]*(?:\s|$))")
_ABBREVIATION = re.compile(
    r"(?:(?<![A-Za-z])(?:inc|co|corp|cos|bros|ltd|plc|llc|intl|vs|no|nos|approx|ca|est|incl|excl|resp|etc|fig|sec|p|pp|st|mr|mrs|ms|dr|"
    r"jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|cf|al)"
    r"|(?<![A-Za-z0-9])(?<!\d )[A-Za-z](?:\.[A-Za-z])*"
    r"|(?:^|\n)[ \t>*_-]{0,6}\d{1,2})$",
    re.IGNORECASE,
)
_LONGEST_ABBREVIATION = 12


def sentence_ends(text: str) -> list[int]:
    """The offsets behind the end of each sentence of a text, in order; its own end only where a mark stands there."""
    return [match.end() for match in _CANDIDATE.finditer(text) if not _is_abbreviation(match, text)]


def _is_abbreviation(match: re.Match[str], text: str) -> bool:
    if match.group() != ".":
        return False
    low = max(0, match.start() - _LONGEST_ABBREVIATION)
    before = text[low : match.start()]
    return bool(_ABBREVIATION.search(before if low == 0 else "\x00" + before)) and bool(text[match.end() :].strip())
