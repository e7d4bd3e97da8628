"""How one number is written, everywhere the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]


def percent(value: float | None) -> str:
    """A fraction as a percentage with one decimal."""
    return "–" if value is None else f"{100 * value:.1f}"


def percent_interval(value: float | None, interval: Sequence[float] | None) -> str:
    """A fraction and its interval as percentages: "20.2 [14.5, 27.0]"."""
    if value is None or interval is None:
        return percent(value)
    return f"{100 * value:.1f} [{100 * interval[0]:.1f}, {100 * interval[1]:.1f}]"


def number(value: float | None, decimals: int = 2) -> str:
    """A plain number."""
    return "–" if value is None else f"{value:.{decimals}f}"


def points(difference: float) -> str:
    """A difference of two fractions in points, with its sign; a difference of nothing has none."""
    shown = f"{100 * difference:+.1f}"
    return "0.0" if shown in ("+0.0", "-0.0") else shown


def p_value(p: float) -> str:
    """A p value to three decimals; below that, only that it is below."""
    return "<.001" if p < 0.001 else f"{p:.3f}"
