"""Closed forms against the fits that they stand for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Ridge
from sklearn.metrics import roc_auc_score

from fiqkit.probe.ridge import PENALTIES, NestedRidge, auroc, gram


def grams(states: np.ndarray, outer: np.ndarray) -> list[np.ndarray]:
    return [gram(states, outer != fold) for fold in np.unique(outer)]


def by_refitting(layers: list[np.ndarray], y: np.ndarray, outer: np.ndarray, inner: np.ndarray) -> tuple:
    """The same nested procedure with scikit-learn, one fit at a time."""
    scores, chosen = np.zeros(len(y)), []
    for fold in np.unique(outer):
        held_in, held_out = outer != fold, outer == fold
        scaled = [(x - x[held_in].mean(0)) / x[held_in].std(0) for x in layers]
        tried = []
        for layer, x in enumerate(scaled):
            centred = x[held_in] - x[held_in].mean(0)
            scale = np.trace(centred @ centred.T) / held_in.sum()
            for penalty in PENALTIES:
                error = 0.0
                for group in np.unique(inner[held_in]):
                    left = held_in & (inner == group)
                    fit = Ridge(alpha=penalty * scale).fit(x[held_in & ~left], y[held_in & ~left])
                    error += np.square(y[left] - fit.predict(x[left])).sum()
                fit = Ridge(alpha=penalty * scale).fit(x[held_in], y[held_in])
                tried.append((error, layer, fit.predict(x[held_out])))
        best = min(tried, key=lambda row: row[0])
        scores[held_out], _ = best[2], chosen.append(best[1])
    return scores, chosen


@pytest.mark.parametrize("seed", range(3))
def test_nested_ridge_equals_refitting_every_fold(seed: int) -> None:
    rng = np.random.default_rng(seed)
    layers = [rng.standard_normal((40, 12)) for _ in range(3)]
    y = np.where(rng.random(40) < 0.6, 1.0, -1.0)
    layers[1][:, 0] += y
    folds = rng.permutation(np.arange(40) % 5)
    ridge = NestedRidge(y[:, None], folds, folds)
    for x in layers:
        ridge.take(ridge.fit(grams(x, folds)))
    scores, chosen = by_refitting(layers, y, folds, folds)
    np.testing.assert_allclose(ridge.scores[:, 0], scores, atol=1e-4)
    assert ridge.layer[:, 0].tolist() == chosen


def test_every_column_is_decoded_as_if_alone() -> None:
    rng = np.random.default_rng(1)
    folds = np.arange(30) % 3
    targets = np.where(rng.random((30, 4)) < 0.5, 1.0, -1.0)
    kernels = [grams(rng.standard_normal((30, 8)), folds) for _ in range(2)]
    together = NestedRidge(targets, folds, folds)
    alone = [NestedRidge(targets[:, [c]], folds, folds) for c in range(4)]
    for kernel in kernels:
        together.take(together.fit(kernel))
        for one in alone:
            one.take(one.fit(kernel))
    for column, one in enumerate(alone):
        np.testing.assert_allclose(together.scores[:, [column]], one.scores, atol=1e-5)


def test_held_out_items_change_nothing_in_how_they_are_scored() -> None:
    """Flip the labels of one fold: its own scores must stay."""
    rng = np.random.default_rng(2)
    folds = np.arange(40) % 4
    y = np.where(rng.random(40) < 0.5, 1.0, -1.0)
    flipped = np.where(folds == 2, -y, y)
    ridge = NestedRidge(np.stack([y, flipped], axis=1), folds, folds)
    for _ in range(3):
        ridge.take(ridge.fit(grams(rng.standard_normal((40, 10)), folds)))
    np.testing.assert_allclose(ridge.scores[folds == 2, 0], ridge.scores[folds == 2, 1], atol=1e-6)
    assert not np.allclose(ridge.scores[folds == 1, 0], ridge.scores[folds == 1, 1])


def test_features_that_never_vary_decode_nothing_and_do_not_fail() -> None:
    ridge = NestedRidge(np.array([[1.0], [1.0], [1.0], [-1.0]] * 3), np.arange(12) % 3, np.arange(12) % 3)
    scores = ridge.fit(grams(np.ones((12, 2)), np.arange(12) % 3)).scores
    assert np.isfinite(scores).all()
    np.testing.assert_allclose(scores[:, 0], scores[0, 0], atol=0.2)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(-3, 3), st.booleans()), min_size=2, max_size=40))
def test_auroc_with_ties_equals_the_reference(rows: list[tuple[int, bool]]) -> None:
    scores = np.array([[float(s)] for s, _ in rows])
    truth = np.array([[t] for _, t in rows])
    if truth.all() or not truth.any():
        assert np.isnan(auroc(scores, truth)[0])
    else:
        assert auroc(scores, truth)[0] == pytest.approx(roc_auc_score(truth[:, 0], scores[:, 0]))


def test_layers_may_be_fitted_in_any_order() -> None:
    rng = np.random.default_rng(3)
    folds = np.arange(30) % 3
    targets = np.where(rng.random((30, 3)) < 0.5, 1.0, -1.0)
    kernels = [grams(rng.standard_normal((30, 8)), folds) for _ in range(3)]
    forward, backward = (NestedRidge(targets, folds, folds) for _ in range(2))
    for kernel in kernels:
        forward.take(forward.fit(kernel))
    for fit in reversed([backward.fit(kernel) for kernel in reversed(kernels)]):
        backward.take(fit)
    np.testing.assert_array_equal(forward.scores, backward.scores)
    np.testing.assert_array_equal(forward.layer, backward.layer)


def test_held_out_items_have_no_say_in_how_features_are_scaled() -> None:
    rng = np.random.default_rng(5)
    folds = np.arange(24) % 3
    states = rng.standard_normal((24, 6))
    far = np.where((folds == 0)[:, None], states * 1000, states)
    one, other = (gram(x, folds != 0) for x in (states, far))
    inside = np.ix_(folds != 0, folds != 0)
    np.testing.assert_allclose(one[inside], other[inside])
