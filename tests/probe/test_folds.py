"""Folds, shuffles and flips keep companies together; Holm equals its definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fiqkit.errors import UserError
from fiqkit.probe.folds import block_permutations, company_folds, company_signs, company_weights, p_value, sign_flip_p
from fiqkit.probe.ridge import NestedRidge, accuracy, gram

companies = st.lists(st.sampled_from("abcdefghij"), min_size=6, max_size=40).filter(lambda names: len(set(names)) > 3)


@settings(max_examples=60, deadline=None)
@given(companies, st.integers(2, 4), st.integers(0, 5))
def test_a_company_lies_in_one_fold_and_no_fold_is_empty(clusters: list[str], folds: int, seed: int) -> None:
    labels = ["x" if i % 3 else "y" for i in range(len(clusters))]
    found = company_folds(clusters, labels, folds, seed)
    assert set(found) == set(range(folds))
    for company in set(clusters):
        assert len({int(f) for f, c in zip(found, clusters, strict=True) if c == company}) == 1


def test_folds_are_alike_in_size_and_labels() -> None:
    clusters = [f"c{i // 3}" for i in range(150)]
    labels = ["a" if i % 3 else "b" for i in range(150)]
    found = company_folds(clusters, labels, 5, seed=1)
    for fold in range(5):
        inside = [label for label, f in zip(labels, found, strict=True) if f == fold]
        assert len(inside) == 30 and inside.count("b") == 10


@settings(max_examples=60, deadline=None)
@given(companies, st.integers(0, 5))
def test_a_shuffle_gives_a_company_the_labels_of_one_company(clusters: list[str], seed: int) -> None:
    names = np.array(clusters)
    for index in block_permutations(clusters, np.zeros(len(clusters), int), 5, seed):
        given = {name: set(names[index[names == name]]) for name in set(clusters)}
        assert all(len(source) == 1 for source in given.values())
        assert len({min(source) for source in given.values()}) == len(given)  # each company gives once
        for name in given:  # and none of its items twice before each was taken once
            taken = index[names == name]
            size = min(len(taken), int((names == names[taken[0]]).sum()))
            assert len(set(taken[:size])) == size


def test_shuffles_differ_and_every_item_can_come_anywhere() -> None:
    index = block_permutations(["a", "b", "c", "d"], np.zeros(4, int), 400, seed=0)
    for item in range(4):
        counts = np.bincount(index[:, item], minlength=4)
        assert counts.min() > 60


@pytest.mark.slow
@pytest.mark.parametrize("follow", [True, False])
def test_p_is_right_where_categories_follow_companies_and_companies_have_states_of_their_own(follow: bool) -> None:
    """Nothing is planted: a test at .05 must not find something in 12% of 120 sets (its own chance of that is .002)."""
    rng = np.random.default_rng(1)
    found = 0
    for _ in range(120):
        sizes = rng.integers(1, 8, 16)
        company = np.repeat(np.arange(16), sizes)
        truth = (rng.integers(0, 2, 16)[company] if follow else rng.integers(0, 2, len(company))).astype(bool)
        states = (1.5 * rng.standard_normal((16, 12)))[company] + rng.standard_normal((len(company), 12))
        clusters = [f"c{number}" for number in company]
        split = company_folds(clusters, truth.astype(str).tolist(), 4, 0)
        moved = block_permutations(clusters, split, 39, int(rng.integers(1 << 30)))
        targets = np.where(np.concatenate([truth[None], truth[moved]]).T, 1.0, -1.0)
        ridge = NestedRidge(targets, split, split)
        ridge.take(ridge.fit([gram(states, split != fold) for fold in np.unique(split)]))
        hits = accuracy(ridge.scores, targets)
        found += p_value(hits[0], hits[1:]) <= 0.05
    assert found <= 14


def test_labels_stay_within_their_fold() -> None:
    clusters, strata = [f"c{i // 2}" for i in range(40)], np.arange(40) // 10
    for index in block_permutations(clusters, strata, 50, seed=0):
        assert (strata[index] == strata).all()


def test_signs_and_weights_are_one_a_company() -> None:
    clusters = ["a", "b", "a", "c"]
    signs, weights = company_signs(clusters, 50, 0), company_weights(clusters, 50, 0)
    assert (signs[:, 0] == signs[:, 2]).all() and set(np.unique(signs)) == {-1, 1}
    assert (weights[:, 0] == weights[:, 2]).all()
    assert (weights[:, [0, 1, 3]].sum(axis=1) == 3).all()


def test_sign_flip_p_counts_companies_not_items() -> None:
    """Forty items of two companies are two independent values: p cannot fall below about a quarter."""
    p = sign_flip_p(np.ones(40), ["a"] * 20 + ["b"] * 20, 2000, 0)
    assert p == pytest.approx(0.25, abs=0.04)
    assert sign_flip_p(np.ones(40), [str(i) for i in range(40)], 2000, 0) < 0.001


def test_too_little_to_split_is_one_line() -> None:
    for clusters, folds, words in (
        (["a"], 2, "1 items"),
        (["a"] * 9, 3, "1 companies cannot fill 3 folds"),
        (["a", "b"], 1, "at least 2"),
    ):
        with pytest.raises(UserError, match=words):
            company_folds(clusters, ["x"] * len(clusters), folds, 0)
