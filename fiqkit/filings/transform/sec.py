"""The SEC's own formats: durations, words, ballot boxes, and names that stand for a code on the cover page."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta
from fractions import Fraction
from functools import partial

from fiqkit.filings.transform.names import COUNTRIES, EDGAR, EXCHANGES, FILER_CATEGORIES, STATES
from fiqkit.filings.transform.numerals import dot_decimal
from fiqkit.filings.transform.words import duration, iso_duration, numeral

_CHECKED = frozenset("☑☒⊠✓✔✗✘þýxX■")
_OPEN = frozenset("☐□o¨❑❏◻")


def _duration(text: str, unit: str) -> str:
    """A count as a duration; weeks become days, and what lies before keeps its sign."""
    count = text.strip().replace("\u2212", "-")
    sign = "-" if count.startswith("-") else ""
    return sign + iso_duration(Fraction(dot_decimal(count.removeprefix("-"))), unit)


def _ballot_box(text: str) -> str:
    mark = text.replace("\u00a0", " ").strip().lower()
    if mark in ("yes", "true") or mark in _CHECKED:
        return "true"
    if mark in ("no", "false", "") or mark in _OPEN:
        return "false"
    raise ValueError(f"{text[:40]!r} is not a ballot box")


def _code(text: str, *tables: dict[str, str]) -> str:
    """The code of a name. One that no table lists stays as it is displayed: nothing is lost, nothing invented."""
    name = re.sub(r"[\s\u00a0]+", " ", text).strip()
    key = re.sub(r"[^\w ]", "", name.lower().removeprefix("the ")).strip()
    return next((table[key] for table in tables if key in table), name)


_QUARTERS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "1": 1, "2": 2, "3": 3, "4": 4}


def _quarter_end(text: str) -> str:
    """The last day of a calendar quarter: "first quarter of 2024", "Q1 2024"."""
    found = re.search(r"\b(first|second|third|fourth|[1-4])(?:st|nd|rd|th)?\b|q([1-4])", text.lower())
    year = re.search(r"\b(\d{4})\b", text)
    if not found or not year or not 1 <= int(year[1]) < 9999:
        raise ValueError(f"{text[:40]!r} is not a quarter")
    month = 3 * _QUARTERS[found[1] or found[2]]
    return str(date(int(year[1]) + month // 12, month % 12 + 1, 1) - timedelta(days=1))


SEC: dict[str, Callable[[str], str]] = {
    **{f"dur{name}": partial(_duration, unit=name[0].upper()) for name in ("year", "month", "week", "day", "hour")},
    "durwordsen": duration,
    "numwordsen": numeral,
    "numinf": lambda text: "INF",
    "numneginf": lambda text: "-INF",
    "numnan": lambda text: "NaN",
    "datequarterend": _quarter_end,
    "boolballotbox": _ballot_box,
    "exchnameen": lambda text: _code(text, EXCHANGES),
    "stateprovnameen": lambda text: _code(text, STATES),
    "countrynameen": lambda text: _code(text, COUNTRIES),
    "edgarprovcountryen": lambda text: _code(text, EDGAR, STATES),
    "entityfilercategoryen": lambda text: _code(text, FILER_CATEGORIES),
}
