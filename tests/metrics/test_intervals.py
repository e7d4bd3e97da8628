from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from fiqkit.metrics.intervals import Nesting, bounded_interval, share_interval


@given(st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_a_share_has_scipys_exact_interval(hits_n):
    hits, n = hits_n
    exact = binomtest(hits, n).proportion_ci(0.95, method="exact")
    assert share_interval(hits, n) == pytest.approx([exact.low, exact.high], abs=1e-9)


@pytest.mark.parametrize("n", [8, 20, 50, 173])
def test_exact_coverage_is_at_least_the_level_everywhere(n):
    """Computed, not drawn: every p on a grid, every count that n can give."""
    ends = [share_interval(hits, n) for hits in range(n + 1)]
    low, high = np.array(ends).T
    rates = np.linspace(0.001, 0.999, 999)
    coverage = [binom.pmf(np.arange(n + 1), n, p)[(low <= p) & (p <= high)].sum() for p in rates]
    assert min(coverage) >= 0.95
    assert np.mean(coverage) <= 0.99


@pytest.mark.parametrize(("hits", "n"), [(0, 8), (1, 20), (35, 173), (173, 173)])
def test_drawing_comes_to_the_exact_interval_of_a_share(hits, n):
    """The general construction on right and wrong is Clopper and Pearson's interval; half a bound away, it is drawn."""
    values = np.repeat([1.0, 0.0], [hits, n - hits])
    drawn = bounded_interval(2 * values, np.ones(n), 0.0, 2.0, resamples=40_000)
    assert drawn == pytest.approx([2 * end for end in share_interval(hits, n)], abs=0.02)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0, 6), min_size=1, max_size=40), st.integers(0, 5))
def test_an_interval_holds_the_mean_and_keeps_the_bounds(values, seed):
    low, high = bounded_interval(values, np.ones(len(values)), 0.0, 6.0, resamples=400, seed=seed)
    assert 0.0 <= low <= np.mean(values) + 1e-9
    assert np.mean(values) - 1e-9 <= high <= 6.0


def test_nothing_seen_is_no_certainty():
    low, high = bounded_interval([0.0] * 50, np.ones(50), 0.0, 3.0)
    assert low == 0.0
    assert high == pytest.approx(3 * share_interval(0, 50)[1], abs=0.01)


def test_a_ratio_without_any_denominator_has_no_interval():
    assert bounded_interval([0.0, 0.0], [0.0, 0.0], 0.0, 1.0) is None


def test_rows_outside_the_ratio_are_no_units():
    assert bounded_interval([1.0, 0, 0, 0], [1.0, 0, 0, 0], 0.0, 1.0) == share_interval(1, 1)


def test_companies_widen_the_interval_of_dependent_items():
    """Twenty companies of ten equal items are twenty observations, not two hundred."""
    values = np.repeat([1.0] * 8 + [0.0] * 12, 10)
    companies = Nesting.of(np.repeat([f"c{i}" for i in range(20)], 10).tolist())
    clustered = bounded_interval(values, np.ones(200), 0.0, 1.0, nesting=companies, resamples=40_000)
    assert clustered == pytest.approx(share_interval(8, 20), abs=0.01)


def test_equal_samples_of_an_item_are_one_observation():
    """company → item → sample: three equal samples of each of 40 items say no more than one."""
    values = np.repeat([1.0] * 10 + [0.0] * 30, 3)
    items = np.repeat(np.arange(40), 3).tolist()
    nesting = Nesting.of(items, items, list(range(120)))
    found = bounded_interval(values, np.ones(120), 0.0, 1.0, nesting=nesting, resamples=40_000)
    assert found == pytest.approx(share_interval(10, 40), abs=0.01)


def test_a_name_counts_within_its_outer_level():
    nesting = Nesting.of(["a", "a", "b"], ["x", "y", "x"])
    assert nesting.clusters == 2
    assert len(set(nesting.levels[1].tolist())) == 3


def test_same_seed_same_interval():
    values = np.linspace(0, 1, 30)
    one, two, other = (bounded_interval(values, np.ones(30), 0, 1, resamples=500, seed=s) for s in (1, 1, 2))
    assert one == two != other
