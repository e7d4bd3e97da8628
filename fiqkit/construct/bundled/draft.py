"""What a source hands to the renderer: the readings of one question, and the facts that stand around them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import log2

from fiqkit.records import Interpretation
from fiqkit.taxonomy import CATEGORIES

MONEY = "money"
PER_SHARE = "per_share"
PERCENT = "percent"


@dataclass(frozen=True, slots=True)
class Fact:
    """A captioned value: dollars, yuan, dollars a share or percent."""

    caption: str
    amount: float
    unit: str = MONEY


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to read the question.

    Attributes:
        constraint: what a user would say to fix this reading and no other of the same draft.
    """

    interpretation: Interpretation
    fact: Fact
    constraint: str


@dataclass(frozen=True)
class Filing:
    """Where facts were published.

    Attributes:
        code: CIK without leading zeros, or the six-digit stock code; companies are told apart by it.
        period: ISO date on which the period ends, or None where the source gives none.
        title: what the passage says it is taken from, period included.
        filed: ISO date, or None where the source gives none.
    """

    code: str
    ticker: str
    company: str
    form: str
    period: str | None
    title: str
    language: str
    source: str
    filed: str | None = None


@dataclass(frozen=True)
class Draft:
    """An instance to be: two of its readings are asked about, the others stand in the passage beside them.

    Attributes:
        metric: the words by which the question names the metric.
        pair: positions of the two readings in `readings`.
        intended: position of the intended one where only one can sensibly be, else None.
    """

    filing: Filing
    metric: str
    readings: tuple[Reading, ...]
    pair: tuple[int, int] = (0, 1)
    intended: int | None = None
    facts: tuple[Fact, ...] = field(default=())

    @cached_property
    def categories(self) -> tuple[str, ...]:
        """The category in which the pair differs, then those in which another reading of the passage does."""
        first, second = (self.readings[i].interpretation for i in self.pair)
        fields = list(first.differs_from(second))
        for other in self.readings:
            fields += [name for name in first.differs_from(other.interpretation) if name not in fields]
        by_field = {category.field: category.name for category in CATEGORIES.values()}
        return tuple(by_field[name] for name in fields)

    @property
    def h0(self) -> float:
        """Bits of the choice among the passage's readings."""
        return round(log2(len(self.readings)), 4)

    @property
    def larger(self) -> int:
        """Position of the pair's larger value."""
        return max(self.pair, key=lambda i: self.readings[i].fact.amount)


def apart(a: float, b: float) -> bool:
    """Whether two amounts differ by more than 3% of the larger, rule R14."""
    return abs(a - b) > 0.03 * max(abs(a), abs(b))
