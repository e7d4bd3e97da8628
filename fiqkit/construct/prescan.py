"""What can be seen of a passage before anybody constructs from it: which categories its lines signal, and how strongly.

A category is a candidate if two lines of one kind and one family carry its words ("net", "quarter", "segment", …), or
one does and another line of the family does not: those are two answers to one question. What a source cannot tell is
excluded: A-share tables give one period and one basis a line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from fiqkit.construct.orbits import Row, apart
from fiqkit.construct.topics import topics
from fiqkit.roles.language import lexicon
from fiqkit.roles.language.statement import read_text
from fiqkit.taxonomy import CATEGORIES

# (kind of source, category) that is never tried.
EXCLUDED = frozenset(
    {
        ("mined", "recognition_policy", "zh"),
        ("export", "recognition_policy", "zh"),
        ("mined", "temporal_scope", "zh"),
        ("export", "filing_vintage", "zh"),
    }
)


@dataclass(frozen=True, slots=True)
class Scan:
    """What a pre-scan found.

    Attributes:
        categories: candidate category → share of the signalling lines that signal it (primary ÷ any), strongest first.
        why: why nothing can be constructed, "" where something can.
    """

    categories: dict[str, float]
    why: str = ""

    @property
    def salience(self) -> float:
        """Of the strongest category."""
        return next(iter(self.categories.values()), 0.0)


def prescan(rows: Sequence[Row], source: str, language: str) -> Scan:
    """Scan the lines of a passage from a kind of source."""
    pairs = [(a, b) for a, b in combinations(rows, 2) if _two_answers(a, b)]
    if not pairs:
        return Scan({}, "no two values of one kind")
    signals = [_signals(row.caption) for row in rows]
    any_signal = sum(bool(found) for found in signals)
    told = {name for a, b in pairs for name in _differing(a, b)}
    found = {
        name: round(sum(name in signal for signal in signals) / max(1, any_signal), 4)
        for name in CATEGORIES
        if name in told and (source, name, language) not in EXCLUDED
    }
    ordered = dict(sorted(found.items(), key=lambda item: -item[1]))
    return Scan(ordered, "" if ordered else "no category is signalled")


def _two_answers(one: Row, other: Row) -> bool:
    a, b = one.quantity, other.quantity
    return a.kind == b.kind and _family(one) == _family(other) and apart(a.value, b.value, a.kind)


def _family(row: Row) -> str:
    topic = topics().get(row.topic)
    return topic.family if topic else row.topic


def _signals(caption: str) -> dict[str, dict[str, frozenset[str]]]:
    """Category → what a line's words state of it."""
    found: dict[str, dict[str, frozenset[str]]] = {}
    for dimension, stated in read_text(caption).values.items():
        found.setdefault(lexicon.categories()[dimension], {})[dimension] = stated
    return found


def _differing(one: Row, other: Row) -> set[str]:
    """Categories of which two lines state something else."""
    a, b = _signals(one.caption), _signals(other.caption)
    return {name for name in a.keys() | b.keys() if a.get(name) != b.get(name)}
