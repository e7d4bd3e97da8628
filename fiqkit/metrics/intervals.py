"""Intervals that hold at the edges, where this benchmark lives: 0 of 8 is no certainty.

One construction throughout. The upper end of an interval of a mean imagines one more unit, at the highest value there
could be, and weighs all units by a draw from the flat Dirichlet distribution (Rubin's Bayesian bootstrap, 1981); the
lower end imagines it at the lowest. On shares of right and wrong this is, exactly and without drawing, the interval of
Clopper and Pearson (1934), whose coverage is at least the level at every n and p; on other bounded scores it is the
bound of Gaffke (2005), found by Learned-Miller and Thomas (2020) to cover at every distribution they tried. The plain
percentile bootstrap prints [0, 0] for 0 of 8 and covers in a third of samples at n = 8, p = .05.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

RESAMPLES = 10_000
LEVEL = 0.95
_CELLS = 1 << 20  # weights held at once

Floats = NDArray[np.float64]
Interval = list[float]


def share_interval(hits: float, n: float, level: float = LEVEL) -> Interval:
    """Clopper and Pearson's exact interval of a share, `hits` of `n` independent units, n ≥ 1.

    >>> [round(end, 3) for end in share_interval(0, 8)]
    [0.0, 0.369]
    """
    from scipy.stats import beta  # half a second of imports, and only a report needs it

    tail = (1 - level) / 2
    low = float(beta.ppf(tail, hits, n - hits + 1)) if hits > 0 else 0.0
    high = float(beta.ppf(1 - tail, hits + 1, n - hits)) if hits < n else 1.0
    return [low, high]


@dataclass(frozen=True, slots=True)
class Nesting:
    """Which units are dependent, level by level: indices of shape (n,), the outermost level first.

    With companies, items and samples an episode is weighed by its company's weight, times its item's within the
    company, times its own within the item; a level that holds one unit everywhere adds nothing.
    """

    levels: tuple[NDArray[np.int64], ...]

    @classmethod
    def of(cls, *levels: Sequence[object]) -> Nesting:
        """From the names of each row's company, item, …; a name counts within its outer level only."""
        indices, path = [], [""] * len(levels[0])
        for level in levels:
            path = [f"{outer}\x1f{name}" for outer, name in zip(path, level, strict=True)]
            indices.append(np.unique(np.asarray(path), return_inverse=True)[1].reshape(-1))
        return cls(tuple(indices))

    @property
    def clusters(self) -> int:
        """How many units the outermost level has."""
        return int(self.levels[0].max()) + 1


def bounded_interval(
    numerators: ArrayLike,
    denominators: ArrayLike,
    low: float,
    high: float,
    *,
    nesting: Nesting | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
    level: float = LEVEL,
) -> Interval | None:
    """Interval of sum(numerators) / sum(denominators), a ratio that lies between `low` and `high` in every unit.

    Args:
        numerators, denominators: shape (n,), one entry a row; a row outside the ratio has 0 in both.
        nesting: which rows are dependent; without it each row is a unit of its own.

    Returns:
        [low, high], or None when every denominator is 0.
    """
    top, bottom = np.asarray(numerators, np.float64), np.asarray(denominators, np.float64)
    inside = bottom != 0
    if not inside.any():
        return None
    top, bottom = top[inside], bottom[inside]
    if nesting is not None:
        nesting = Nesting(tuple(np.unique(index[inside], return_inverse=True)[1] for index in nesting.levels))
    independent = nesting is None or nesting.clusters == len(top)
    if independent and (low, high) == (0.0, 1.0) and (bottom == 1).all() and np.isin(top, (0.0, 1.0)).all():
        return share_interval(float(top.sum()), len(top), level)
    units = len(top) if independent else nesting.clusters  # type: ignore[union-attr]
    size = float(bottom.sum()) / units  # of the imagined unit: that of a mean one
    draws = _weighted_sums(np.column_stack([top, bottom]), None if independent else nesting, units, resamples, seed)
    sums, extra = draws[:, :2], draws[:, 2]
    tail = (1 - level) / 2
    ends = [
        np.quantile((sums[:, 0] + extra * size * bound) / (sums[:, 1] + extra * size), share)
        for bound, share in ((low, tail), (high, 1 - tail))
    ]
    return [max(low, float(ends[0])), min(high, float(ends[1]))]


def _weighted_sums(rows: Floats, nesting: Nesting | None, units: int, resamples: int, seed: int) -> Floats:
    """Weighted column sums of each draw, and the weight of the imagined unit in a last column."""
    rng = np.random.default_rng(seed)
    draw = _flat(rows) if nesting is None else _nested(rows, nesting)
    step = max(1, _CELLS // max(len(rows), units))
    parts = []
    for start in range(0, resamples, step):
        size = min(step, resamples - start)
        parts.append(np.column_stack([draw(rng, size), rng.standard_exponential(size)]))
    return np.concatenate(parts)


def _flat(rows: Floats) -> Callable[[np.random.Generator, int], Floats]:
    """Equal rows share a weight: the sum of m exponential weights is a gamma weight of shape m."""
    distinct, counts = np.unique(rows, axis=0, return_counts=True)
    return lambda rng, size: rng.standard_gamma(counts, size=(size, len(distinct))) @ distinct


def _nested(rows: Floats, nesting: Nesting) -> Callable[[np.random.Generator, int], Floats]:
    outer = nesting.levels[0]

    def draw(rng: np.random.Generator, size: int) -> Floats:
        weights = rng.standard_exponential((size, nesting.clusters))[:, outer]
        for above, index in zip(nesting.levels, nesting.levels[1:], strict=False):
            count = int(index.max()) + 1
            if count == int(above.max()) + 1:
                continue  # one unit within each outer one: its weight within it is 1
            own = rng.standard_exponential((size, count))
            parent = np.zeros(count, np.int64)
            parent[index] = above
            members = np.bincount(parent)
            within = np.zeros((size, len(members)))
            order = np.argsort(parent, kind="stable")
            starts = np.concatenate([[0], np.cumsum(members)[:-1]])
            within[:] = np.add.reduceat(own[:, order], starts, axis=1)
            weights = weights * (own * members[parent] / within[:, parent])[:, index]
        return weights @ rows

    return draw
