from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from fiqkit.metrics.significance import exact_mcnemar, holm, smallest_difference


def test_exact_mcnemar():
    assert exact_mcnemar(2, 15) == pytest.approx(2 * (1 + 17 + 136) / 2**17)
    assert exact_mcnemar(0, 0) == 1.0
    assert exact_mcnemar(4, 4) == 1.0


@given(st.integers(0, 60), st.integers(0, 1500))
def test_exact_mcnemar_equals_scipys_binomial_test(gained, lost):
    expected = binomtest(gained, gained + lost).pvalue if gained + lost else 1.0
    assert exact_mcnemar(gained, lost) == pytest.approx(expected, rel=1e-9)


def test_holm():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_never_lowers_and_keeps_the_order(p_values):
    adjusted = holm(p_values)
    assert all(p <= a <= 1 for p, a in zip(p_values, adjusted, strict=True))
    assert all(adjusted[i] <= adjusted[j] for i, p in enumerate(p_values) for j, q in enumerate(p_values) if p < q)


def test_smallest_difference_is_found_at_the_stated_power():
    """Simulated pairs with just that difference are told from zero in about 80% of samples."""
    n, discordant = 173, 0.2
    d = smallest_difference(n, discordant)
    gained, lost = (discordant + d) / 2, (discordant - d) / 2
    draws = np.random.default_rng(0).multinomial(n, [gained, lost, 1 - discordant], size=20_000)
    difference = (draws[:, 0] - draws[:, 1]) / n
    spread = np.sqrt(((draws[:, 0] + draws[:, 1]) / n - difference**2) / n)
    assert np.mean(np.abs(difference) > 1.96 * spread) == pytest.approx(0.8, abs=0.02)


def test_smallest_difference_shrinks_with_n_and_is_bounded():
    assert smallest_difference(50, 0.2) > smallest_difference(200, 0.2)
    assert smallest_difference(3, 0.01) == 0.01
    assert smallest_difference(100, 0.0) == 0.0
