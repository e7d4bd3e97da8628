"""What a financial value is, and when two of them are the same."""

from __future__ import annotations

from dataclasses import dataclass
from math import isclose

from fiqkit.values.period import Period

# Kinds that may stand for one another because a text may leave a unit out: a bare "12.3" can be a percentage, an
# amount, a count. A percentage is never a number of percentage points, and no kind but `plain` stands for all.
_COMPATIBLE = {frozenset(("currency", "per_share"))}
_ROUNDED = ("percent", "points")
_RATIOS = ("plain", "ratio")
SCALES_LEFT_OUT = (1e3, 1e4, 1e6, 1e8, 1e9, 1e12)


@dataclass(frozen=True, slots=True)
class Value:
    """A number in a text, with its unit.

    Attributes:
        number: the value with sign and scale applied; percentages in percent (4.5% is 4.5, a fraction 0.045 stays
            0.045), basis points in percentage points (50 bps is 0.5).
        kind: currency, percent, points (percentage points), per_share, count, ratio or plain.
        currency: ISO 4217 code, or None when the text names no currency.
        scale: the multiplier that the text states (1e8 for 亿), 1 when it states none.
        step: what one unit in the last written digit is worth, scale applied: the precision that is shown.
        span: start and end in the text, sign and unit included.
        text: that part of the text.
        period: the period that the sentence gives beside the value; None when it gives none.
    """

    number: float
    kind: str
    currency: str | None
    scale: float
    step: float
    span: tuple[int, int]
    text: str
    period: Period | None = None


def same(a: Value, b: Value, tolerance: float = 0.01) -> bool:
    """Whether two values are one: equal sign, compatible unit, and within `tolerance` relative of `b`.

    Rates are also the same when they agree at the coarser of the two precisions shown ("42%" and "42.1%"), ratios when
    `a` rounds to the decimals of `b` ("-0.0153" and "-0.02"). A unit that one side leaves out is no difference; a
    fraction is never taken for a percentage.
    """
    if not comparable(a, b):
        return False
    if abs(a.number - b.number) <= tolerance * abs(b.number) * (1 + 1e-9):
        return True
    rate = a.kind in _ROUNDED or b.kind in _ROUNDED
    ratio = a.kind in _RATIOS and b.kind in _RATIOS and a.step <= b.step < 1
    return (rate or ratio) and a.number * b.number >= 0 and _rounds_to(a, b)


def same_digits(a: Value, b: Value, tolerance: float = 0.01) -> bool:
    """Whether `a` writes the digits of the scaled amount `b` but leaves its scale out ("15,803,630" for $15.80B)."""
    if a.scale != 1 or b.scale == 1 or not comparable(a, b) or a.kind not in ("plain", "currency"):
        return False
    return any(isclose(a.number * factor, b.number, rel_tol=tolerance) for factor in SCALES_LEFT_OUT)


def comparable(a: Value, b: Value) -> bool:
    """Whether two values can be one: the same kind and currency, as far as both say."""
    if a.currency and b.currency and a.currency != b.currency:
        return False
    return a.kind == b.kind or "plain" in (a.kind, b.kind) or frozenset((a.kind, b.kind)) in _COMPATIBLE


def _rounds_to(a: Value, b: Value) -> bool:
    return abs(a.number - b.number) <= max(a.step, b.step) / 2 * (1 + 1e-9)
