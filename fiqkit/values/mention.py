"""Whether a text holds a value, in whatever notation: the strict reading that leak checks need."""

from __future__ import annotations

from math import isclose

from fiqkit.values.scan import find
from fiqkit.values.value import SCALES_LEFT_OUT, Value, comparable


def mentions(text: str, value: Value | str, tolerance: float = 0.01) -> bool:
    """Whether `text` holds this value in any notation: other units, the scale left out, either sign, as a fraction.

    Stricter readers than `same` need this: a leak check must not miss "46,750 (in millions)" or "0.423". A string is
    read with `find`; one that holds no value is looked for as it is written.
    """
    wanted = [value] if isinstance(value, Value) else find(value)
    if not wanted:
        return str(value).strip() in text
    return any(_is_notation_of(found, wanted[0], tolerance) for found in find(text))


def _is_notation_of(found: Value, wanted: Value, tolerance: float) -> bool:
    if not comparable(found, wanted):
        return False
    factors = [1.0]
    if wanted.kind == "percent" and found.kind == "plain":
        factors.append(100.0)
    if wanted.scale != 1 and found.scale == 1:
        factors.extend(SCALES_LEFT_OUT)
    size = abs(wanted.number)
    return any(isclose(abs(found.number) * factor, size, rel_tol=tolerance) for factor in factors)
