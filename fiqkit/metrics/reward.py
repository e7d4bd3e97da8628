"""What an episode is worth to a trainer, from what it came to:

    1 · right + .7 · first question on category − .3 · no question − .05 · each further question

The weights reproduce the eight means that the release logged within .05 (protocol, section 9).
"""

from __future__ import annotations

from dataclasses import dataclass

RIGHT, ON_CATEGORY, SILENT, FURTHER = 1.0, 0.7, -0.3, -0.05


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of one episode's reward, each already weighed. `None` as a whole means that it cannot be scored."""

    right: float
    on_category: float
    silent: float
    further: float

    @property
    def total(self) -> float:
        """Their sum."""
        return self.right + self.on_category + self.silent + self.further


def terms(right: bool, asks: int, on_category: bool) -> Terms:
    """The reward of an episode that was right or not, asked so many questions, the first on category or not."""
    return Terms(
        RIGHT * right, ON_CATEGORY * bool(on_category and asks), SILENT * (asks == 0), FURTHER * max(0, asks - 1)
    )
