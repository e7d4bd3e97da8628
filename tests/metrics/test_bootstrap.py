from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from fiqkit.metrics import bootstrap
from fiqkit.metrics.bootstrap import (
    cluster_sums,
    paired_difference,
    percentile_interval,
    ratio_interval,
    resampled_sums,
)


def test_interval_of_a_rate_is_the_binomial_one():
    """The bootstrap of 35 right of 173 is a binomial, whose quantiles are known; a step is 1/173."""
    right = [1.0] * 35 + [0.0] * 138
    low, high = ratio_interval(right, np.ones(173))
    exact = binom.ppf([0.025, 0.975], 173, 35 / 173) / 173
    assert abs(low - exact[0]) <= 1.01 / 173
    assert abs(high - exact[1]) <= 1.01 / 173


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


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=40), st.integers(0, 5))
def test_interval_lies_within_the_values(values, seed):
    low, high = ratio_interval(values, np.ones(len(values)), resamples=200, seed=seed)
    slack = 1e-9 * max(1.0, max(map(abs, values)))
    assert min(values) - slack <= low <= high <= max(values) + slack


def test_ratio_without_any_denominator_has_no_interval():
    assert ratio_interval([0.0, 0.0], [0.0, 0.0]) is None
    assert percentile_interval([float("nan")]) is None


def test_resamples_without_a_denominator_drop_out():
    """One episode in four asked: some resamples hold none, and the rate over the asking is still 1."""
    assert ratio_interval([1.0, 0, 0, 0], [1.0, 0, 0, 0], resamples=500) == [1.0, 1.0]


def test_cluster_sums():
    sums = cluster_sums([[1.0, 1], [0, 1], [1, 1]], ["b", "a", "b"])
    assert sums.tolist() == [[0.0, 1.0], [2.0, 2.0]]


def test_clusters_widen_the_interval_of_dependent_items():
    """Twenty companies of ten equal items are twenty observations, not two hundred."""
    values = np.repeat([1.0] * 8 + [0.0] * 12, 10)
    companies = np.repeat([f"c{i}" for i in range(20)], 10).tolist()
    alone, clustered = (ratio_interval(values, np.ones(200), clusters=c) for c in (None, companies))
    assert clustered[1] - clustered[0] > 2.5 * (alone[1] - alone[0])


def test_paired_p_is_twice_the_smaller_tail():
    """3 lost, 12 gained of 100: the difference of a resample is a sum whose tail at zero is known by simulation."""
    first = [1.0] * 3 + [0.0] * 97
    second = [0.0] * 3 + [1.0] * 12 + [0.0] * 85
    found = paired_difference(first, second)
    draws = np.random.default_rng(9).multinomial(100, [0.03, 0.12, 0.85], size=200_000)
    tail = np.mean(draws[:, 1] - draws[:, 0] <= 0)
    assert found.estimate == pytest.approx(0.09)
    assert found.p == pytest.approx(2 * tail, abs=0.004)
    assert found.interval[0] > 0


def test_paired_difference_of_equals():
    found = paired_difference([1.0, 0.0], [1.0, 0.0])
    assert (found.estimate, found.interval, found.p) == (0.0, [0.0, 0.0], 1.0)


def test_paired_difference_is_antisymmetric():
    first, second = [1.0, 0, 0, 1, 0, 0, 1], [1.0, 1, 0, 1, 1, 0, 0]
    there, back = paired_difference(first, second), paired_difference(second, first)
    assert there.estimate == -back.estimate
    assert there.p == pytest.approx(back.p, abs=0.02)
