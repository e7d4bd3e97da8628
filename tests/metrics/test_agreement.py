from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fiqkit.metrics.agreement import agreement, confusion, macro_f1, macro_f1_interval
from fiqkit.metrics.intervals import share_interval


def coded(both_yes: int, only_first: int, only_second: int, both_no: int) -> tuple[list[bool], list[bool]]:
    cells = ((True, True, both_yes), (True, False, only_first), (False, True, only_second), (False, False, both_no))
    pairs = [(a, b) for a, b, count in cells for _ in range(count)]
    return [a for a, _ in pairs], [b for _, b in pairs]


@pytest.mark.parametrize(
    ("cells", "raw", "kappa", "ac1"),
    [
        # the release's published annotation statistics of 60 items: H1, H2, H5, H6
        ((58, 1, 1, 0), 0.9666666666666667, -0.016949152542372135, 0.9655370476737507),
        ((51, 3, 6, 0), 0.85, -0.07142857142857148, 0.8258345428156749),
        ((49, 4, 6, 1), 0.8333333333333334, 0.07692307692307782, 0.7967479674796748),
        ((54, 2, 4, 0), 0.9, -0.04651162790697707, 0.8895027624309393),
        ((25, 25, 25, 25), 0.5, 0.0, 0.0),
        ((0, 10, 10, 0), 0.0, -1.0, -1.0),
    ],
)
def test_two_coders(cells, raw, kappa, ac1):
    found = agreement(*coded(*cells))
    assert found["raw"] == pytest.approx(raw)
    assert found["kappa"] == pytest.approx(kappa, abs=1e-9)
    assert found["gwet_ac1"] == pytest.approx(ac1, abs=1e-9)


def test_one_label_only():
    """With a single label kappa is undefined, and Gwet's coefficient is 1."""
    assert agreement([True] * 5, [True] * 5) == {"raw": 1.0, "kappa": None, "gwet_ac1": 1.0, "n": 5}
    assert agreement([], []) == {"raw": None, "kappa": None, "gwet_ac1": None, "n": 0}


def test_unequal_lengths_are_a_bug():
    with pytest.raises(ValueError, match="2 labels against 1"):
        agreement([1, 2], [1])


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1))
def test_symmetric_and_bounded(pairs):
    one, two = [a for a, _ in pairs], [b for _, b in pairs]
    there, back = agreement(one, two), agreement(two, one)
    assert there == back or there["kappa"] == pytest.approx(back["kappa"])
    assert -1.0 - 1e-9 <= there["gwet_ac1"] <= 1.0


def test_kappa_equals_scikit_learns():
    sklearn = pytest.importorskip("sklearn.metrics")
    one, two = list("aabbbccaab"), list("abbbacacab")
    assert agreement(one, two)["kappa"] == pytest.approx(sklearn.cohen_kappa_score(one, two))
    sets = [[x] for x in one], [[x] for x in two]
    assert macro_f1(*sets, "abc") == pytest.approx(sklearn.f1_score(one, two, average="macro"))


def test_confusion():
    assert confusion(["a", "a", "b"], ["a", "b", "b"]) == {"a": {"a": 1, "b": 1}, "b": {"b": 1}}


def test_macro_f1_leaves_absent_labels_out():
    assert macro_f1([["a"], []], [["a"], ["b"]], ("a", "b")) == 1.0
    assert macro_f1([[]], [["a"]], ("a",)) is None


def test_full_agreement_is_no_certainty():
    """Sixty of sixty: raw agreement may be 94%, and the coefficients are not sure to be 1 either."""
    found = agreement(["a"] * 40 + ["b"] * 20, ["a"] * 40 + ["b"] * 20, resamples=2_000)
    assert found["raw_ci"] == share_interval(60, 60)
    assert 0.8 < found["kappa_ci"][0] < 0.95 and found["kappa_ci"][1] == 1.0
    assert 0.8 < found["gwet_ac1_ci"][0] < 0.95


def test_one_label_has_an_interval_of_what_is_defined():
    found = agreement([True] * 30, [True] * 30, resamples=500)
    assert found["kappa_ci"] is None
    assert found["gwet_ac1_ci"][0] < 1.0 == found["gwet_ac1_ci"][1]
    assert agreement([], [], resamples=10)["raw_ci"] is None


def test_kappa_interval_covers():
    """Two coders of 60 items who agree on 85%: the true kappa, by 100,000 pairs, is inside 19 times in 20."""
    table = np.array([[0.5, 0.07], [0.08, 0.35]])
    many = np.repeat([("a", "a"), ("a", "b"), ("b", "a"), ("b", "b")], (table.ravel() * 100_000).astype(int), axis=0)
    truth = agreement(many[:, 0].tolist(), many[:, 1].tolist())
    rng = np.random.default_rng(1)
    covered = np.zeros(2)
    for seed in range(150):
        counts = rng.multinomial(60, table.ravel())
        pairs = [p for p, count in zip(("aa", "ab", "ba", "bb"), counts, strict=True) for _ in range(count)]
        found = agreement([p[0] for p in pairs], [p[1] for p in pairs], resamples=400, seed=seed)
        covered += [found[f"{name}_ci"][0] <= truth[name] <= found[f"{name}_ci"][1] for name in ("kappa", "gwet_ac1")]
    assert (covered / 150 >= 0.92).all()


def test_macro_f1_has_an_interval():
    sets = [["a"]] * 10 + [["b"]] * 10, [["a"]] * 10 + [["b"]] * 10
    low, high = macro_f1_interval(*sets, "ab")
    assert 0.7 < low < 0.95 and high == 1.0
    assert macro_f1_interval([[]], [["a"]], ("a",)) is None
