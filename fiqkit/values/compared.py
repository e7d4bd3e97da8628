"""The years that a text reports on, and those that it compares them with."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from fiqkit.values.aside import WITH
from fiqkit.values.period import Period

_BETWEEN = re.compile(rf"{WITH}|(?<![A-Za-z])(?:to|prior)(?![A-Za-z])", re.IGNORECASE)


def split_comparison(text: str, years: Sequence[Period]) -> tuple[list[Period], list[Period]]:
    """(years reported on, years compared against): of "2022 vs 2021" the later is reported on."""
    latest = max((period.year for period in years), default=0)
    earlier = [period for period in years if period.year < latest]
    if not earlier or not any(_BETWEEN.search(text, a.span[1], b.span[0]) for a, b in pairwise(years)):
        return list(years), []
    return [period for period in years if period.year == latest], earlier
