"""Ridge decoders in closed form on Gram matrices: nested cross-validation of many label sets at once.

With n items and a kernel K (n × n), a ridge fit, its leave-a-group-out errors and its held-out scores are products of
n × n matrices with the targets. Thousands of shuffled label sets are then columns of one matrix, and the whole
procedure, choice of layer and of penalty included, is repeated for each of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fiqkit.probe.folds import Floats, Ints

PENALTIES = (0.01, 0.1, 1.0)  # in units of the kernel's mean diagonal


def gram(states: Floats, held_in: NDArray[np.bool_]) -> Floats:
    """Kernel, shape (n, n), of states (n, width), each feature centred and scaled to unit variance over the held-in."""
    centred = states - states[held_in].mean(axis=0)
    spread = centred[held_in].std(axis=0)
    centred /= np.where(spread > 1e-12, spread, 1.0)
    return centred @ centred.T


@dataclass(frozen=True, slots=True)
class RidgeFit:
    """One layer's inner errors, (outer folds, columns), and held-out scores, (n, columns)."""

    error: Floats
    scores: Floats


class NestedRidge:
    """Held-out scores of linear decoders whose layer and penalty were chosen without the held-out items.

    `fit` each layer's kernel, in any order or thread, and `take` the fits in the layers' order. For each outer fold and
    each column of the targets the layer and the penalty with the least squared error in leave-one-inner-fold-out on the
    held-in items are kept.

    Attributes:
        scores: shape (n, columns), held-out scores at the chosen layers.
        layer: shape (outer folds, columns), the layer that each choice fell on.
    """

    def __init__(self, targets: Floats, outer: Ints, inner: Ints) -> None:
        """Targets: shape (n, columns), ±1. Fold of each item: `outer` to report on, `inner` to choose by."""
        self.targets = targets.astype(np.float32)
        self._splits = list(_splits(outer, inner))
        self._intercept = np.zeros_like(self.targets)
        for held_in, held_out, _ in self._splits:
            self._intercept[held_out] = self.targets[held_in].mean(axis=0)
        shape = (len(self._splits), targets.shape[1])
        self._error = np.full(shape, np.inf, dtype=np.float32)
        self.layer = np.zeros(shape, dtype=np.int64)
        self.scores = np.zeros(targets.shape, dtype=np.float32)
        self._seen = 0

    def ranking(self, scores: Floats) -> Floats:
        """Scores without each fold's intercept, for comparing items across folds.

        A fold that holds many positives is scored by a fit that has seen few, so that with the intercept in, pooled
        ranks sit below one half where there is nothing to find.
        """
        return scores - self._intercept

    def fit(self, kernels: Sequence[Floats]) -> RidgeFit:
        """The decoders of one layer from a kernel for each outer fold, in their order; changes nothing."""
        error = np.empty_like(self._error)
        scores = np.empty_like(self.scores)
        for fold, (kernel, (held_in, held_out, groups)) in enumerate(zip(kernels, self._splits, strict=True)):
            error[fold], scores[held_out] = _best_penalty(kernel, self.targets, held_in, held_out, groups)
        return RidgeFit(error, scores)

    def take(self, fit: RidgeFit) -> None:
        """Count in the next layer."""
        for fold, (_, held_out, _) in enumerate(self._splits):
            better = fit.error[fold] < self._error[fold]
            self._error[fold, better] = fit.error[fold, better]
            self.layer[fold, better] = self._seen
            self.scores[held_out] = np.where(better, fit.scores[held_out], self.scores[held_out])
        self._seen += 1


def _splits(outer: Ints, inner: Ints) -> Iterator[tuple[Ints, Ints, list[Ints]]]:
    """(held-in items, held-out items, inner groups as positions within the held-in items) of each outer fold."""
    for fold in np.unique(outer):
        held_in, held_out = np.flatnonzero(outer != fold), np.flatnonzero(outer == fold)
        yield held_in, held_out, [np.flatnonzero(inner[held_in] == g) for g in np.unique(inner[held_in])]


def _best_penalty(
    kernel: Floats, targets: Floats, held_in: Ints, held_out: Ints, groups: list[Ints]
) -> tuple[Floats, Floats]:
    """Inner error (columns,) and held-out scores (held out, columns) at the best penalty of each column."""
    n = len(held_in)
    within = kernel[np.ix_(held_in, held_in)].astype(np.float64)
    across = kernel[np.ix_(held_out, held_in)].astype(np.float64)
    means = within.mean(axis=0)
    across = across - means - across.mean(axis=1, keepdims=True) + means.mean()
    within = within - means - means[:, None] + means.mean()
    scale = np.trace(within) / n or 1.0
    y = targets[held_in]
    best = np.full(targets.shape[1], np.inf, dtype=np.float32)
    chosen = np.zeros((len(held_out), targets.shape[1]), dtype=np.float32)
    for penalty in PENALTIES:
        ridge = penalty * scale
        inverse = _inverse(within + ridge * np.eye(n))
        # Residuals are (ridge · inverse − 1/n) y and held-out scores (across · inverse + 1/n) y: the intercept is free.
        residual_maker = ridge * inverse - 1 / n
        maker = np.concatenate([residual_maker, across @ inverse + 1 / n]).astype(np.float32)
        fitted = maker @ y
        error = np.zeros_like(best)
        for group in groups:
            left_out = np.linalg.inv(residual_maker[np.ix_(group, group)]).astype(np.float32)
            residuals = left_out @ fitted[group]
            error += np.einsum("ic,ic->c", residuals, residuals)
        better = error < best
        best[better] = error[better]
        np.copyto(chosen, fitted[n:], where=better)
    return best, chosen


def _inverse(positive: Floats) -> Floats:
    """Inverse of a symmetric positive definite matrix, at half the cost of a general one."""
    from scipy.linalg.lapack import dpotrf, dpotri

    factor, _ = dpotrf(positive, lower=1)
    half, fault = dpotri(factor, lower=1)
    if fault:
        raise np.linalg.LinAlgError("a kernel is not positive definite; are there states that are not finite?")
    return np.tril(half) + np.tril(half, -1).T


def auroc(scores: Floats, positive: NDArray[np.bool_]) -> Floats:
    """Area under the ROC curve of each column; both arguments have shape (n, columns). Nan where a class is empty."""
    from scipy.stats import rankdata

    ranks = rankdata(scores, axis=0)
    count = positive.sum(axis=0).astype(np.float64)
    other = len(scores) - count
    with np.errstate(invalid="ignore", divide="ignore"):
        area: Floats = ((ranks * positive).sum(axis=0) - count * (count + 1) / 2) / (count * other)
    return area


def accuracy(scores: Floats, targets: Floats) -> Floats:
    """Share of items on the right side of zero, by column; targets are ±1, shape (n, columns)."""
    share: Floats = ((scores > 0) == (targets > 0)).mean(axis=0)
    return share
