"""Bootstrap of sums, vectorised: the paired test of the paper (Efron and Tibshirani, 1993, chapter 16).

A resample of n rows depends on the rows only through how often each distinct row is drawn, and those counts are
multinomial. Metrics of episodes take few distinct values, so drawing the counts replaces drawing n indices, exactly.
Intervals are not from here: the percentile bootstrap fails at the edges (`fiqkit.metrics.intervals`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

RESAMPLES = 20_000
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
    """Rows summed within each cluster (company), in the order of the clusters' names."""
    table = np.asarray(rows, dtype=np.float64)
    table = table[:, None] if table.ndim == 1 else table
    _, member = np.unique(np.asarray(clusters), return_inverse=True)
    sums = np.zeros((member.max() + 1, table.shape[1]))
    np.add.at(sums, member, table)
    return sums


def paired_p(differences: ArrayLike, *, resamples: int = RESAMPLES, seed: int = 0) -> float:
    """Two-sided bootstrap p of a mean paired difference: twice the smaller tail at zero, ties in both, at most 1.

    Both tails count the sample itself, (b + 1) / (B + 1) of Davison and Hinkley (1997, section 4.2), so that p is
    never 0. With few discordant pairs it is too small (`exact_mcnemar` and `sign_flip_p` are not).
    """
    sums = resampled_sums(np.sort(np.asarray(differences, np.float64)), resamples, seed)[:, 0]
    below, above = (int(np.sum(sums <= 1e-9)), int(np.sum(sums >= -1e-9)))
    return min(1.0, 2 * (min(below, above) + 1) / (resamples + 1))
