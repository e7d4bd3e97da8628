"""Tests that hold at the edges: exact McNemar, its generalisation to companies, Holm's correction, exact power."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fiqkit.metrics.bootstrap import cluster_sums

FEW_CLUSTERS = 10  # companies, under which a cluster-robust p has few values that it could take
_DRAWS = 20_000
_EXACT = 1 << 14  # largest sum of absolute cluster sums that is enumerated


def exact_mcnemar(gained: int, lost: int) -> float:
    """Two-sided exact p of McNemar's test: twice the binomial tail of the smaller count at one half, at most 1.

    Args:
        gained: items that only the second got right.
        lost: items that only the first got right.
    """
    discordant = gained + lost
    tail = sum(comb(discordant, k) for k in range(min(gained, lost) + 1))
    return min(1.0, 2 * tail / 2**discordant)


def sign_flip_p(differences: ArrayLike, clusters: Sequence[str], seed: int = 0) -> float:
    """Two-sided p that companies' summed differences may as well have had the other sign (Fisher, 1935).

    Items of one company may depend on each other as they like; only companies are exchangeable. Where each company has
    one item this is exact McNemar. Whole sums are enumerated by convolution; others are drawn, (b + 1) / (B + 1).

    Args:
        differences: shape (n,), second minus first.
        clusters: the company of each.
    """
    sums = cluster_sums(differences, clusters)[:, 0]
    sizes, observed = np.sort(np.abs(sums[np.abs(sums) > 1e-12])), abs(float(sums.sum()))
    if not len(sizes):
        return 1.0
    whole = np.rint(sizes)
    if np.abs(sizes - whole).max() < 1e-9 and whole.sum() <= _EXACT:
        return _exact_tails(whole.astype(np.int64), round(observed))
    rng = np.random.default_rng(seed)
    signs = rng.integers(0, 2, size=(_DRAWS, len(sizes)), dtype=np.int8) * 2 - 1
    return float((1 + np.sum(np.abs(signs @ sizes) >= observed - 1e-9)) / (_DRAWS + 1))


def _exact_tails(sizes: NDArray[np.int64], observed: int) -> float:
    """P(|Σ ± size| ≥ observed) with fair signs. Σ ± size = total − 2 · (sum of those with a minus)."""
    total = int(sizes.sum())
    chance = np.zeros(total + 1)  # of the sum of those with a minus
    chance[0] = 1.0
    for size in sizes:
        moved = chance / 2
        moved[size:] += chance[: total + 1 - size] / 2
        chance = moved
    reached = np.abs(total - 2 * np.arange(total + 1)) >= observed
    return min(1.0, float(chance[reached].sum()))


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment (1979): adjusted p values in the order given, held against the level as they are."""
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, index in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted


def smallest_difference(n: int, discordant: float, *, level: float = 0.05, power: float = 0.8) -> float | None:
    """Smallest paired difference of two rates that exact McNemar finds among n pairs, by its exact power.

    Args:
        n: number of pairs.
        discordant: share of pairs on which exactly one of the two is right, 0 to 1.

    Returns:
        The difference, to a thousandth of the share, never above it; None where no difference with so many discordant
        pairs is found with that power (so where none is discordant).
    """
    if not n or discordant <= 0:
        return None
    from scipy.stats import binom

    counts = np.arange(n + 1)
    chance = binom.pmf(counts, n, discordant)
    kept = chance > 1e-12
    counts, chance = counts[kept], chance[kept]
    critical = binom.ppf(level / 2, counts, 0.5) - 1  # the largest smaller count that is still significant
    critical = np.where(binom.cdf(critical + 1, counts, 0.5) <= level / 2, critical + 1, critical)

    def found(d: float) -> float:
        gained = (discordant + d) / (2 * discordant)
        tails = binom.cdf(critical, counts, gained) + binom.cdf(critical, counts, 1 - gained)
        return float(chance @ np.where(critical >= 0, tails, 0.0))

    low, high = 0, 1000
    if found(discordant) < power:
        return None
    while high - low > 1:  # power grows with the difference
        middle = (low + high) // 2
        low, high = (low, middle) if found(discordant * middle / 1000) >= power else (middle, high)
    return discordant * high / 1000
