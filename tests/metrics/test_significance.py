from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from fiqkit.metrics.significance import exact_mcnemar, holm, sign_flip_p, smallest_difference


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


@given(st.integers(0, 12), st.integers(0, 12), st.integers(0, 5))
def test_flipping_companies_of_one_item_is_exact_mcnemar(gained, lost, equal):
    changes = [1.0] * gained + [-1.0] * lost + [0.0] * equal
    if changes:
        found = sign_flip_p(changes, [f"c{i}" for i in range(len(changes))])
        assert found == pytest.approx(exact_mcnemar(gained, lost), rel=1e-9)


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=9))
def test_flipping_companies_counts_every_assignment_of_signs(sums):
    """Against plain enumeration over all 2^n signs."""
    observed = abs(sum(sums))
    reached = [
        abs(sum(s * v for s, v in zip(signs, sums, strict=True))) >= observed
        for signs in itertools.product((-1, 1), repeat=len(sums))
    ]
    found = sign_flip_p([float(v) for v in sums], [f"c{i}" for i in range(len(sums))])
    assert found == pytest.approx(sum(reached) / len(reached), rel=1e-9)


def test_items_of_one_company_stand_or_fall_together():
    """Ten gains in two companies are two observations: p cannot fall below a half."""
    assert sign_flip_p([1.0] * 10, ["a"] * 5 + ["b"] * 5) == 0.5
    assert sign_flip_p([1.0] * 10, [f"{i}" for i in range(10)]) == pytest.approx(2 / 2**10)


def test_broken_sums_are_drawn():
    halves = [0.5] * 12
    found = sign_flip_p([*halves, 0.3], [f"{i}" for i in range(13)])
    assert found == pytest.approx(2 / 2**13, abs=2e-4) and found > 0


def test_smallest_difference_is_found_at_the_stated_power():
    """Simulated pairs with just that difference are told from zero by exact McNemar in 80% of samples."""
    n, discordant = 173, 0.2
    d = smallest_difference(n, discordant)
    gained, lost = (discordant + d) / 2, (discordant - d) / 2
    draws = np.random.default_rng(0).multinomial(n, [gained, lost, 1 - discordant], size=4_000)
    found = np.mean([exact_mcnemar(up, down) <= 0.05 for up, down, _ in draws.tolist()])
    assert found == pytest.approx(0.8, abs=0.02)


def test_smallest_difference_shrinks_with_n_and_may_not_be_there():
    assert smallest_difference(50, 0.2) > smallest_difference(200, 0.2)
    assert smallest_difference(173, 0.0) is None
    assert smallest_difference(8, 0.5) is None  # at most 8 discordant pairs, and 6 are needed on one side
    assert smallest_difference(0, 0.0) is None


def test_family_wise_error_at_the_edge():
    """76 comparisons without any difference, at rates near zero: Holm over the exact test errs in at most 5%."""
    rng = np.random.default_rng(1)
    families = 200
    wrong = 0
    for _ in range(families):
        discordant = rng.binomial(173, rng.choice([0.005, 0.02, 0.05], size=76))
        gained = rng.binomial(discordant, 0.5)
        p = [exact_mcnemar(int(g), int(d - g)) for g, d in zip(gained, discordant, strict=True)]
        wrong += min(holm(p)) <= 0.05
    assert wrong / families <= 0.055
