"""Tests beside the bootstrap: exact McNemar, Holm's correction, and what a sample can detect at all."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb, sqrt
from statistics import NormalDist


def exact_mcnemar(gained: int, lost: int) -> float:
    """Two-sided exact p of McNemar's test: twice the binomial tail of the smaller count at one half, at most 1.

    Args:
        gained: items that only the second got right.
        lost: items that only the first got right.
    """
    discordant = gained + lost
    tail = sum(comb(discordant, k) for k in range(min(gained, lost) + 1))
    return min(1.0, 2 * tail / 2**discordant)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment: adjusted p values in the order given, to be held against the level as they are."""
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, index in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted


def smallest_difference(n: int, discordant: float, *, level: float = 0.05, power: float = 0.8) -> float:
    """Smallest paired difference of two rates that n items can detect.

    The difference d of n pairs has variance (discordant − d²) / n; d is the one that the two-sided test at `level`
    finds with probability `power` in the normal approximation. It never exceeds the share of discordant pairs.

    Args:
        n: number of pairs, at least 1.
        discordant: share of pairs on which exactly one of the two is right, 0 to 1.
    """
    normal = NormalDist()
    z = normal.inv_cdf(1 - level / 2) + normal.inv_cdf(power)
    return min(discordant, z * sqrt(discordant / (n + z * z)))
