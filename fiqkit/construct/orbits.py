"""What a miner hands to a constructor: an orbit, that is one question's readings with the facts that prove each.

A reading is proved by an operation on facts of the store: `value` of one, `ratio` of two, `growth` from the second to
the first, `sum` of all, `difference` of two (and its ratio and growth), `trailing` (year + year to date − the same
stretch a year before). A fact is named by what it is, not by a row number, so that any store that holds the filing can
recompute it:

    320193 us-gaap:Revenues USD {} 2023-10-01 2024-09-28 10-K 0000320193-24-000123 2024-11-01
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import fsum

from fiqkit.construct.topics import PERCENT
from fiqkit.records import Interpretation


@dataclass(frozen=True, slots=True)
class Proof:
    """How a value follows from facts.

    Attributes:
        operation: one of `OPERATIONS`.
        facts: the facts' names, in the operation's order.
    """

    operation: str
    facts: tuple[str, ...]


OPERATIONS: dict[str, Callable[[Sequence[float]], float]] = {
    "value": lambda v: v[0],
    "percent": lambda v: 100 * v[0],
    "ratio": lambda v: 100 * v[0] / v[1],
    "growth": lambda v: 100 * (v[0] - v[1]) / abs(v[1]),
    "sum": fsum,
    "difference": lambda v: v[0] - v[1],
    "difference ratio": lambda v: 100 * (v[0] - v[1]) / v[2],
    "difference growth": lambda v: 100 * (v[0] - v[1] - v[2] + v[3]) / abs(v[2] - v[3]),
    "trailing": lambda v: fsum((v[0], v[1], -v[2])),
}


@dataclass(frozen=True, slots=True)
class Quantity:
    """A value with its kind (money, per_share, percent) and currency; money is in units, percent in points."""

    value: float
    kind: str
    proof: Proof
    currency: str = "USD"


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a passage: what it is called there, its value, and the topic that it would answer."""

    caption: str
    quantity: Quantity
    topic: str


@dataclass(frozen=True, slots=True)
class Alternative:
    """One way to read an orbit's question.

    Attributes:
        interpretation: the five fields; those that differ within the orbit name its categories.
        row: how the passage prints it.
        constraint: what a user would say to fix this reading and no other of the orbit; a noun phrase.
    """

    interpretation: Interpretation
    row: Row
    constraint: str

    @property
    def value(self) -> float:
        """Its value."""
        return self.row.quantity.value


@dataclass(frozen=True, slots=True)
class Source:
    """The filing, or the filings, that an orbit's passage is made from.

    Attributes:
        code: CIK without leading zeros or six-digit stock code; companies are told apart by it.
        end: ISO date on which the period that is asked about ends.
        period: the period in words, as the passage's head gives it.
    """

    code: str
    company: str
    ticker: str | None
    language: str
    form: str | None
    accession: str | None
    filed: str | None
    end: str
    period: str
    kind: str = "facts"


@dataclass(frozen=True, slots=True)
class Orbit:
    """A question's readings, each of which a sibling will intend.

    Attributes:
        miner: the category whose miner made it, and its subtype, as in "recognition_policy/gross or net".
        topic: what is asked for.
        alternatives: two or more, the headline first, then by salience.
        around: other lines of the passage, none of the topic's family.
        question: Q, where a model wrote it; without one the wording is drawn.
    """

    miner: str
    topic: str
    source: Source
    alternatives: tuple[Alternative, ...]
    around: tuple[Row, ...]
    question: str | None = None

    @property
    def category(self) -> str:
        """The category that it was mined for."""
        return self.miner.partition("/")[0]

    @property
    def subtype(self) -> str:
        """The kind of ambiguity within its category."""
        return self.miner.partition("/")[2]

    @property
    def key(self) -> str:
        """Its name: company, end of period and topic, which no other orbit of a set shares."""
        return f"{self.source.code}-{self.source.end}-{self.topic.replace(' ', '-')}"


POINTS_APART = 1.5  # rule R14: golds differ by more, in points, for rates
SHARE_APART = 0.03  # and by more, relative to A, for values


def apart(answer: float, other: float, kind: str) -> bool:
    """Whether two values are told apart by rule R14, in both directions: each may be the A of a sibling."""
    if kind == PERCENT:
        return abs(answer - other) > POINTS_APART
    return abs(answer - other) > SHARE_APART * max(abs(answer), abs(other))
