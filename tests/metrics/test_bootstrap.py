from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fiqkit.metrics import bootstrap
from fiqkit.metrics.bootstrap import cluster_sums, paired_p, resampled_sums


def test_drawing_counts_equals_drawing_indices(monkeypatch):
    """Both ways of resampling have the same mean and spread, and neither draws more or fewer than n rows."""
    rng = np.random.default_rng(1)
    few = np.column_stack([rng.integers(0, 3, 400), np.ones(400)])
    many = few + np.column_stack([rng.normal(0, 1e-9, 400), np.zeros(400)])  # all rows distinct: drawn by index
    by_counts, by_index = resampled_sums(few, 4000), resampled_sums(many, 4000)
    assert (by_counts[:, 1] == 400).all() and (by_index[:, 1] == 400).all()
    assert by_counts[:, 0].mean() == pytest.approx(few[:, 0].sum(), rel=0.005)
    assert by_index[:, 0].mean() == pytest.approx(few[:, 0].sum(), rel=0.005)
    assert by_counts[:, 0].std() == pytest.approx(by_index[:, 0].std(), rel=0.06)
    monkeypatch.setattr(bootstrap, "_CELLS", 1000)  # many small chunks
    assert resampled_sums(many, 500).shape == (500, 2)


def test_same_seed_same_draw():
    values = np.arange(50.0)
    assert (resampled_sums(values, 20, seed=3) == resampled_sums(values, 20, seed=3)).all()
    assert (resampled_sums(values, 20, seed=3) != resampled_sums(values, 20, seed=4)).any()


def test_cluster_sums():
    sums = cluster_sums([[1.0, 1], [0, 1], [1, 1]], ["b", "a", "b"])
    assert sums.tolist() == [[0.0, 1.0], [2.0, 2.0]]


def test_paired_p_is_twice_the_smaller_tail():
    """3 lost, 12 gained of 100: the difference of a resample is a sum whose tail at zero is known by simulation."""
    found = paired_p([-1.0] * 3 + [1.0] * 12 + [0.0] * 85)
    draws = np.random.default_rng(9).multinomial(100, [0.03, 0.12, 0.85], size=200_000)
    assert found == pytest.approx(2 * np.mean(draws[:, 1] - draws[:, 0] <= 0), abs=0.004)


def test_p_is_never_zero():
    assert paired_p([1.0] * 100, resamples=999) == pytest.approx(2 / 1000)
    assert paired_p([0.0, 0.0]) == 1.0


@given(st.lists(st.sampled_from([-1.0, 0.0, 1.0]), min_size=1, max_size=40), st.randoms())
def test_p_does_not_depend_on_the_order(differences, random):
    shuffled = differences[:]
    random.shuffle(shuffled)
    assert paired_p(differences, resamples=200) == paired_p(shuffled, resamples=200)
