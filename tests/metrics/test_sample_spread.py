from __future__ import annotations

import pytest

from fiqkit.metrics.intervals import share_interval
from fiqkit.metrics.samples import sample_numbers
from fiqkit.metrics.table import main_rows


def drawn(scored, right: dict[str, int], samples: int = 4):
    return [
        scored(name, sample=s, outcome="intended" if s < hits else "other")
        for name, hits in right.items()
        for s in range(samples)
    ]


def test_pass_k_by_hand(scored):
    """4, 2 and 0 of 4 right: pass^2 is (1 + C(2,2)/C(4,2) + 0) / 3, and pass^1 is the mean."""
    found = sample_numbers(drawn(scored, {"a": 4, "b": 2, "c": 0}))
    assert (found["items"], found["samples"]) == (3, 4)
    assert found["pass_k"] == {
        "1": pytest.approx(0.5),
        "2": pytest.approx((1 + 1 / 6) / 3),
        "3": pytest.approx(1 / 3),
        "4": pytest.approx(1 / 3),
    }
    assert found["accuracy_by_sample"] == pytest.approx([2 / 3, 2 / 3, 1 / 3, 1 / 3])
    assert found["accuracy_spread"] == pytest.approx(0.19245, abs=1e-5)


def test_pass_k_goes_to_the_fewest_samples(scored):
    uneven = [*drawn(scored, {"a": 4}), *drawn(scored, {"b": 2}, samples=2)]
    assert sample_numbers(uneven)["pass_k"].keys() == {"1", "2"}


def test_one_sample_has_no_spread(scored):
    found = sample_numbers([scored("a"), scored("b")])
    assert (found["items"], found["samples"], found["pass_k"], found["accuracy_spread"]) == (2, 1, None, None)


def test_ten_equal_samples_are_no_ten_items(scored):
    """20 items, each always right or always wrong: the interval is that of 20, not of 200 answers."""
    (row,) = main_rows(drawn(scored, {f"{i}": 10 * (i % 2) for i in range(20)}, samples=10))
    assert row["accuracy_ci"] == pytest.approx(share_interval(10, 20), abs=0.02)
