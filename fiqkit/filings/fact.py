"""What a reader gives: facts, text facts, passages and labels, and what it left out and why.

Facts are named tuples, not dataclasses: a data set has millions, and each goes to SQLite as the row that it is.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import NamedTuple, Protocol

from fiqkit.records import Passage

Number = int | float


class Fact(NamedTuple):
    """One number of one filing.

    Attributes:
        entity: CIK without leading zeros, or the six-digit stock code; None where the source names no company.
        concept: with its prefix, as in `us-gaap:Revenues`; the column's name in an export table.
        value: scale and sign applied; a share of 6.25% is 0.0625.
        unit: as in `USD`, `USD/shares`, `pure`, `CNY`.
        decimals: power of ten that the value is exact to, as in "-6"; "INF" when exact; None when unstated.
        start, end: ISO dates as the context states them; start is None for an instant.
        dims: JSON object of axis → member with sorted keys; "{}" for the entity as a whole.
        filed: ISO date, None where the source does not say.
        source: kind of file: inline, instance, companyfacts, fsds, export.
        copies: how often the filing states this fact, at whatever precision.
    """

    entity: str | None
    name: str | None
    concept: str
    value: Number
    unit: str | None
    decimals: str | None
    start: str | None
    end: str
    dims: str
    form: str | None
    accession: str | None
    filed: str | None
    source: str
    copies: int = 1


class TextFact(NamedTuple):
    """One fact of a filing that is not a number: cover-page entries, durations, dates, notes as plain text."""

    entity: str | None
    name: str | None
    concept: str
    value: str
    start: str | None
    end: str
    dims: str
    form: str | None
    accession: str | None
    filed: str | None
    source: str


class Filing(NamedTuple):
    """What is known of one filing, gathered from every source that mentions it."""

    accession: str
    entity: str | None
    name: str | None
    form: str | None
    period: str | None
    filed: str | None


@dataclass(slots=True)
class Reading:
    """All that one part of a file gave.

    Attributes:
        candidates: passage id → the values asked for in a question set; kept beside the passages, never in them.
        labels: concept → the label that its taxonomy gives it.
        left_out: reason → number of facts that were not taken for it.
        remarks: what a person should know of facts that were taken → how often it occurred.
    """

    facts: list[Fact] = field(default_factory=list)
    texts: list[TextFact] = field(default_factory=list)
    passages: list[Passage] = field(default_factory=list)
    candidates: dict[str, list[dict[str, str]]] = field(default_factory=dict)
    filings: list[Filing] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)
    remarks: Counter[str] = field(default_factory=Counter)

    def __bool__(self) -> bool:
        return bool(self.facts or self.texts or self.passages)


def dims_json(dims: Mapping[str, str]) -> str:
    """Axis → member as the table keeps it: JSON with sorted keys."""
    return json.dumps(dims, sort_keys=True, ensure_ascii=False) if dims else "{}"


@lru_cache(4096)
def iso_date(text: str) -> str:
    """A date as YYYY-MM-DD.

    Raises:
        ValueError: not a date.
        TypeError: not text.
    """
    return date.fromisoformat(text).isoformat()


def iso_date_or_none(text: str | None) -> str | None:
    """A date as YYYY-MM-DD; None where the text is none."""
    try:
        return iso_date(text) if text else None
    except ValueError:
        return None


def exact(number: Decimal) -> Number:
    """A decimal as the int that it is, or the nearest float; what SQLite cannot hold as an integer becomes a float.

    Raises:
        ValueError: not a finite number, or beyond any figure in a filing.
    """
    if not number.is_finite() or abs(number.adjusted()) > 60:
        raise ValueError(f"{str(number)[:40]} is not a figure")
    if number == number.to_integral_value():
        whole = int(number)
        return whole if -(2**63) <= whole < 2**63 else float(whole)
    return float(number)


def scaled(numeral: str, scale: int, negative: bool) -> Number:
    """Value of a plain numeral: `scaled("1024.5", 6, True)` is -1024500000.

    Raises:
        ValueError: not a numeral, or a scale beyond any figure in a filing.
    """
    if not -30 <= scale <= 30:
        raise ValueError(f"scale {scale} is beyond any figure in a filing")
    try:
        number = Decimal(numeral).scaleb(scale)
    except InvalidOperation as error:
        raise ValueError(f"{numeral[:40]!r} is not a numeral") from error
    return exact(-number if negative else number)


_EXACT = 99


def precision(decimals: str | None) -> int:
    """Decimals as a number to order by: the higher the finer; exact is 99, unstated -99."""
    if decimals is None:
        return -_EXACT
    if decimals == "INF":
        return _EXACT
    try:
        return max(-_EXACT, min(_EXACT, int(decimals)))
    except ValueError:
        return -_EXACT


class Stated(Protocol):
    """A value as it is stated, exact to its decimals."""

    @property
    def value(self) -> Number: ...  # noqa: D102
    @property
    def decimals(self) -> str | None: ...  # noqa: D102


def agree(one: Stated, other: Stated) -> bool:
    """Whether two values can be the same figure at different precision."""
    if one.value == other.value:
        return True
    return abs(one.value - other.value) <= (_slack(one) + _slack(other)) * 1.0000001


def _slack(stated: Stated) -> float:
    """Half of the last digit that a value is exact to; none where it is exact or says nothing."""
    digits = precision(stated.decimals)
    return 10.0**-digits / 2 if -_EXACT < digits < _EXACT else 0.0


def finest(facts: Iterable[Fact]) -> tuple[list[Fact], int]:
    """One row a fact: of duplicates at different precision the finest, with their count in `copies`.

    Duplicates that contradict each other are all kept. Returns the rows in order of first sight, and the number of
    contradictions.
    """
    groups: dict[tuple[object, ...], list[Fact]] = {}
    for fact in facts:
        key = (fact.concept, fact.dims, fact.end, fact.start, fact.unit, fact.entity, fact.accession, fact.filed)
        groups.setdefault(key, []).append(fact)
    kept = [_merged(group) if len(group) > 1 else group for group in groups.values()]
    return [row for rows in kept for row in rows], sum(len(rows) - 1 for rows in kept)


def _merged(group: list[Fact]) -> list[Fact]:
    """The rows of one fact. They are searched by value, so that thousands that contradict each other take no longer."""
    rows: list[Fact] = []
    order: list[tuple[float, int]] = []  # (value, its place in rows), sorted
    widest = 0.0
    for fact in group:
        own = _slack(fact)
        # Below the point where floats count no single units any more, equal whole numbers must still meet.
        reach = (own + widest) * 1.0000001 + abs(fact.value) * 1e-15 if own + widest else 0
        first, last = bisect_left(order, (fact.value - reach, -1)), bisect_right(order, (fact.value + reach, len(rows)))
        place = min((place for _, place in order[first:last] if agree(rows[place], fact)), default=None)
        if place is None:
            place, known = len(rows), None
            rows.append(fact)
        else:
            known = rows[place]
            finer = fact if precision(fact.decimals) > precision(known.decimals) else known
            rows[place] = finer._replace(copies=known.copies + fact.copies)
        if known is None or known.value != rows[place].value:
            if known is not None:
                del order[bisect_left(order, (known.value, place))]
            insort(order, (rows[place].value, place))
        widest = max(widest, own)
    return rows
