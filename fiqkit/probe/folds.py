"""Folds that keep a company together, and the label permutations and sign flips that respect companies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fiqkit.errors import UserError

Ints = NDArray[np.int64]
Floats = NDArray[np.floating]


def company_folds(clusters: Sequence[str], labels: Sequence[str], folds: int, seed: int) -> Ints:
    """Fold of each item, shape (n,): companies stay whole, labels are spread as evenly as companies allow.

    The largest companies are placed first, each where it keeps the folds most alike; the seed orders equal ones.

    Raises:
        UserError: fewer items or companies than folds, or fewer than two folds.
    """
    if folds < 2:
        raise UserError(f"--folds {folds}: at least 2 are needed, to learn on one part and report on the other")
    if len(labels) < folds:
        raise UserError(f"{len(labels)} items cannot fill {folds} folds; raise --limit or lower --folds")
    names, member = np.unique(np.asarray(clusters), return_inverse=True)
    if len(names) < folds:
        raise UserError(f"{len(names)} companies cannot fill {folds} folds; give more companies or lower --folds")
    kinds, kind = np.unique(np.asarray(labels), return_inverse=True)
    counts = np.zeros((len(names), len(kinds) + 1))
    np.add.at(counts, (member, kind), 1.0)
    counts[:, -1] = counts.sum(axis=1)  # the last column evens out the sizes of the folds
    counts /= counts.sum(axis=0)
    order = np.random.default_rng(seed).permutation(len(names))
    order = order[np.argsort(-counts[order, -1], kind="stable")]
    load = np.zeros((folds, counts.shape[1]))
    fold_of = np.zeros(len(names), dtype=np.int64)
    for company in order:
        cost = ((load + counts[company]) ** 2 - load**2).sum(axis=1)
        fold_of[company] = int(np.argmin(cost))
        load[fold_of[company]] += counts[company]
    return fold_of[member]


def block_permutations(clusters: Sequence[str], strata: Ints, draws: int, seed: int) -> Ints:
    """Index arrays, shape (draws, n), that give each company the labels of another: `labels[index]` is one shuffle.

    Companies change places, items do not: where the labels follow companies, a shuffle that cut across them would make
    chance look too narrow. A company's items take the labels of the other's items, in random order, over again where it
    has more. Companies change places within their stratum, shape (n,): folds are balanced by the true labels, and a
    shuffle that upset the balance would decode worse than chance.
    """
    member = np.unique(np.asarray(clusters), return_inverse=True)[1]
    strata = np.asarray(strata)
    rng = np.random.default_rng(seed)
    blocks = [
        [np.flatnonzero((strata == stratum) & (member == company)) for company in np.unique(member[strata == stratum])]
        for stratum in np.unique(strata)
    ]
    index = np.empty((draws, len(member)), np.int64)
    for draw in index:
        for companies in blocks:
            for company, other in zip(companies, rng.permutation(len(companies)), strict=True):
                draw[company] = np.resize(rng.permutation(companies[other]), len(company))
    return index


def company_signs(clusters: Sequence[str], draws: int, seed: int) -> NDArray[np.float32]:
    """Signs ±1, shape (draws, n), one for all items of a company."""
    names, member = np.unique(np.asarray(clusters), return_inverse=True)
    signs = np.random.default_rng(seed).integers(0, 2, size=(draws, len(names))) * 2 - 1
    return signs[:, member].astype(np.float32)


def company_weights(clusters: Sequence[str], draws: int, seed: int) -> Floats:
    """How often each item is drawn in `draws` bootstrap resamples of whole companies, shape (draws, n)."""
    names, member = np.unique(np.asarray(clusters), return_inverse=True)
    counts = np.random.default_rng(seed).multinomial(len(names), np.full(len(names), 1 / len(names)), size=draws)
    return counts[:, member].astype(np.float64)


def p_value(observed: float, null: NDArray[np.floating]) -> float:
    """One-sided permutation p: how often chance does at least as well, the observed arrangement included."""
    return float((1 + np.sum(null >= observed - 1e-12)) / (1 + len(null)))


def sign_flip_p(values: NDArray[np.floating], clusters: Sequence[str], draws: int, seed: int) -> float:
    """One-sided p of a mean above zero when each company's values may as well have had the other sign."""
    null = company_signs(clusters, draws, seed) @ values.astype(np.float64)
    return p_value(float(values.sum()), null)
