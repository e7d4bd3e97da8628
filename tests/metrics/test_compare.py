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
    assert -3 <= asks["ci"][0] < -1.5 < asks["ci"][1] < -0.5


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
    assert all(c["clustered_p"] <= c["p_holm"] for c in found)
    assert [c["kind"] for c in found] == ["mode"] * 4 + ["model"]
    assert found[-1]["p_holm"] == 1.0


def test_runs_over_other_instances_are_not_compared(scored):
    assert table_comparisons([scored("a", model="a"), scored("b", model="b")]) == []


def pairs(found):
    return [(c["kind"], *(":".join((c[s]["run"], c[s]["model"])) for s in ("first", "second"))) for c in found]


def test_thinking_and_runs_are_compared(scored):
    """One model with thinking off and on, and before and after, in every mode; not every model in every mode."""
    sides = [("r1", "a"), ("r1", "a+thinking"), ("r2", "a"), ("r1", "b")]
    episodes = [scored("i", run=run, model=model, mode="search") for run, model in sides]
    assert pairs(table_comparisons(episodes)) == [
        ("thinking", "r1:a", "r1:a+thinking"),
        ("thinking", "r2:a", "r1:a+thinking"),
        ("run", "r1:a", "r2:a"),
    ]


def test_retrievals_are_compared_and_graders_are_not(scored):
    episodes = [scored("i", retrieval=r) for r in ("index", "own")] + [scored("i", grader="llm", model="z")]
    assert [c["kind"] for c in table_comparisons(episodes)] == ["retrieval"]


def test_equal_ids_of_other_records_are_no_pairs(scored):
    assert compare([scored("a", item="one")], [scored("a", item="two")])["n"] == 0
    assert compare([scored("a", item="one")], [scored("a", item="one", dataset="v1.1")])["n"] == 1


def test_samples_are_averaged_within_an_item(scored):
    first = [scored(f"{i}", outcome="other") for i in range(12)]
    second = [scored(f"{i}", sample=s, outcome="intended" if s else "other") for i in range(12) for s in (0, 1)]
    found = compare(first, second)
    assert (found["n"], found["gained"], found["lost"]) == (12, 12, 0)
    assert found["measures"]["accuracy"]["difference"] == 0.5


def test_companies_that_repeat_count_once(scored):
    """Ten gains of one company: exact McNemar calls that significant, the company's one sign does not."""
    first = [scored(f"{i}", outcome="other", cluster="ACME") for i in range(10)]
    found = compare(first, [scored(f"{i}", cluster="ACME") for i in range(10)])
    assert found["p_mcnemar"] < 0.01
    assert found["clustered_p"] == 1.0
    assert found["few_clusters"] and found["clusters"] == 1


def test_no_difference_seen_is_no_certainty(scored):
    found = compare([scored(f"{i}") for i in range(50)], [scored(f"{i}") for i in range(50)])
    low, high = found["measures"]["accuracy"]["ci"]
    assert low < -0.05 and high > 0.05
    assert found["smallest_detectable"] is None


def test_the_sign_may_hang_on_answers_that_name_both(scored):
    """Search names both golds, the wrong one as the answer; asking commits to the right one, or to nothing."""
    both = {"outcome": "default", "named_golds": ("intended", "default")}
    episodes = [scored(f"{i}", mode="search", **both) for i in range(10)]
    asks = {True: {"named_golds": ("intended",)}, False: {"outcome": "other", "named_golds": ()}}
    episodes += [scored(f"{i}", **asks[i < 4]) for i in range(10)]
    (lever,) = table_comparisons(episodes)
    assert lever["difference"] == pytest.approx(0.4)
    assert lever["difference_lenient"] == pytest.approx(-0.6)
