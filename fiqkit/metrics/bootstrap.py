"""Bootstrap of sums, vectorised. Every interval of the kit comes from here.

A resample of n rows depends on the rows only through how often each distinct row is drawn, and those counts are
multinomial. Metrics of episodes take few distinct values, so drawing the counts replaces drawing n indices, exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

RESAMPLES = 10_000
PAIRED_RESAMPLES = 20_000
LEVEL = 0.95
_CELLS = 1 << 18  # drawn counts or indices held at once: few enough to stay in the cache

Floats = NDArray[np.float64]


def resampled_sums(rows: ArrayLike, resamples: int = RESAMPLES, seed: int = 0) -> Floats:
    """Column sums of bootstrap resamples.

    Args:
        rows: shape (n, columns), or (n,) for one column; n independent units.
        resamples: number of resamples, each of n rows with replacement.

    Returns:
        shape (resamples, columns).
    """
    table = np.asarray(rows, dtype=np.float64)
    table = table[:, None] if table.ndim == 1 else table
    rng = np.random.default_rng(seed)
    levels, counts = np.unique(table, axis=0, return_counts=True)
    few = len(levels) * 8 < len(table)  # a multinomial count costs about as much as eight indices
    draw = _by_counts(levels, counts, rng) if few else _by_index(table, rng)
    step = max(1, _CELLS // max(len(levels) if few else len(table), 1))
    sizes = [min(step, resamples - start) for start in range(0, resamples, step)]
    return np.concatenate([draw(size) for size in sizes])


def _by_counts(levels: Floats, counts: NDArray[np.int64], rng: np.random.Generator) -> Callable[[int], Floats]:
    total = int(counts.sum())
    return lambda size: rng.multinomial(total, counts / total, size=size) @ levels


def _by_index(table: Floats, rng: np.random.Generator) -> Callable[[int], Floats]:
    n = len(table)
    varying = [(at, np.ascontiguousarray(column)) for at, column in enumerate(table.T) if (column != column[0]).any()]

    def draw(size: int) -> Floats:
        sums = np.tile(n * table[0], (size, 1))  # right for a column of equal values, such as a denominator of ones
        index = rng.integers(0, n, size=(size, n))
        for at, column in varying:
            sums[:, at] = column[index].sum(axis=1)
        return sums

    return draw


def cluster_sums(rows: ArrayLike, clusters: Sequence[str]) -> Floats:
    """Rows summed within each cluster, so that resampling them resamples whole clusters (companies)."""
    table = np.asarray(rows, dtype=np.float64)
    table = table[:, None] if table.ndim == 1 else table
    _, member = np.unique(np.asarray(clusters), return_inverse=True)
    sums = np.zeros((member.max() + 1, table.shape[1]))
    np.add.at(sums, member, table)
    return sums


def percentile_interval(statistics: ArrayLike, level: float = LEVEL) -> list[float] | None:
    """Percentile interval of resampled statistics; resamples that left the statistic undefined (nan) drop out."""
    values = np.asarray(statistics, dtype=np.float64)
    values = values[~np.isnan(values)]
    if not len(values):
        return None
    tail = (1 - level) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    return [float(low), float(high)]


def ratio_interval(
    numerators: ArrayLike,
    denominators: ArrayLike,
    *,
    clusters: Sequence[str] | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> list[float] | None:
    """Percentile interval of sum(numerators) / sum(denominators): a mean where every denominator is 1.

    Args:
        clusters: company of each row; companies are then resampled whole.

    Returns:
        [low, high], or None when the ratio is never defined.
    """
    rows = np.column_stack([np.asarray(numerators, np.float64), np.asarray(denominators, np.float64)])
    if not rows[:, 1].any():
        return None
    if clusters is not None:
        rows = cluster_sums(rows, clusters)
    sums = resampled_sums(rows, resamples, seed)
    with np.errstate(invalid="ignore", divide="ignore"):
        return percentile_interval(sums[:, 0] / sums[:, 1])


@dataclass(frozen=True, slots=True)
class Difference:
    """A paired difference, second minus first: estimate, interval and two-sided bootstrap p."""

    estimate: float
    interval: list[float]
    p: float


def paired_difference(
    first: ArrayLike,
    second: ArrayLike,
    *,
    clusters: Sequence[str] | None = None,
    resamples: int = PAIRED_RESAMPLES,
    seed: int = 0,
) -> Difference:
    """Mean of second − first over paired items, by bootstrap over the pairs.

    p is twice the smaller of the two tails at zero, ties included in both, at most 1; with no resample beyond zero it
    is 0, to be read as p < 2 / resamples.
    """
    difference = np.asarray(second, np.float64) - np.asarray(first, np.float64)
    rows = np.column_stack([difference, np.ones_like(difference)])
    if clusters is not None:
        rows = cluster_sums(rows, clusters)
    sums = resampled_sums(rows, resamples, seed)
    means = sums[:, 0] / sums[:, 1]
    tail = min(float(np.mean(means <= 1e-12)), float(np.mean(means >= -1e-12)))
    interval = percentile_interval(means)
    assert interval is not None
    return Difference(float(difference.mean()), interval, min(1.0, 2 * tail))
