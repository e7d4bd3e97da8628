from __future__ import annotations

import pytest

from fiqkit.metrics.compare import compare, table_comparisons


def test_pairs_are_instances_that_both_were_scored_on(scored):
    first = [scored("a"), scored("b", outcome="other"), scored("c", outcome="unscored"), scored("x")]
    second = [scored("b"), scored("a"), scored("c"), scored("y")]
    found = compare(first, second)
    assert found["n"] == 2
    assert (found["gained"], found["lost"]) == (1, 0)
    accuracy = found["measures"]["accuracy"]
    assert (accuracy["first"], accuracy["second"], accuracy["difference"]) == (0.5, 1.0, 0.5)


def test_a_measure_is_compared_where_both_have_it(scored):
    first = [scored("a", asked=("entity_scope",)), scored("b")]
    second = [scored("a", asked=("temporal_scope",)), scored("b", asked=("entity_scope",))]
    assert compare(first, second)["measures"]["ac1_touch"]["n"] == 1
    assert "ac1_touch" not in compare([scored("b")], [scored("b")])["measures"]


def test_no_pairs(scored):
    assert compare([scored("a")], [scored("b")]) == {"n": 0, "measures": {}}


def test_mean_difference_of_counts(scored):
    first = [scored(f"{i}", asked=("entity_scope",) * 3) for i in range(20)]
    second = [scored(f"{i}", asked=("entity_scope",) * (1 if i % 2 else 2)) for i in range(20)]
    asks = compare(first, second)["measures"]["mean_asks"]
    assert asks["difference"] == pytest.approx(-1.5)
    assert asks["ci"][1] < -1


def test_table_comparisons_are_the_ladder_and_the_pairs_of_models(scored):
    outcomes = {"answer": 2, "search": 6, "interact": 14}
    episodes = [
        scored(f"{i}", model=model, mode=mode, outcome="intended" if i < right else "other")
        for model in ("a", "b")
        for mode, right in outcomes.items()
        for i in range(20)
    ]
    found = table_comparisons(episodes)
    names = [(c["first"]["model"], c["first"]["mode"], c["second"]["model"], c["second"]["mode"]) for c in found]
    assert names == [
        ("a", "answer", "a", "search"),
        ("a", "search", "a", "interact"),
        ("b", "answer", "b", "search"),
        ("b", "search", "b", "interact"),
        ("a", "interact", "b", "interact"),
    ]
    assert found[1]["p_mcnemar"] == pytest.approx(2 / 2**8)
    assert all(c["p"] <= c["p_holm"] for c in found)
    assert found[-1]["p_holm"] == 1.0


def test_runs_over_other_instances_are_not_compared(scored):
    assert table_comparisons([scored("a", model="a"), scored("b", model="b")]) == []
