"""Folds, shuffles and flips keep companies together; Holm equals its definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fiqkit.errors import UserError
from fiqkit.probe.folds import block_permutations, company_folds, company_signs, company_weights, sign_flip_p

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
def test_shuffles_are_permutations_that_move_whole_companies(clusters: list[str], seed: int) -> None:
    names = np.array(clusters)
    places = np.argsort(names, kind="stable")
    for index in block_permutations(clusters, np.zeros(len(clusters), int), 5, seed):
        assert sorted(index) == list(range(len(clusters)))
        moved = names[index[places]]  # read company by company, each company arrives in one run
        runs = 1 + int(np.sum(moved[1:] != moved[:-1]))
        assert runs == len(set(clusters))


def test_shuffles_differ_and_every_item_can_come_anywhere() -> None:
    index = block_permutations(["a", "b", "c", "d"], np.zeros(4, int), 400, seed=0)
    for item in range(4):
        counts = np.bincount(index[:, item], minlength=4)
        assert counts.min() > 60


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
