from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fiqkit.metrics.compare import table_comparisons
from fiqkit.metrics.measures import estimate
from fiqkit.metrics.table import entropy_bins, main_rows
from fiqkit.records import Ending, Judgement
from fiqkit.report.notes import cutoff_lines
from fiqkit.taxonomy import mode_rank

ALL = ("entity_scope", "temporal_scope", "metric_definition", "recognition_policy", "filing_vintage")


def test_faults_are_no_wrong_answers(scored):
    """One right, one wrong, one unscored, one engine error: accuracy is one of two, and between 1/4 and 3/4."""
    episodes = [
        scored("a"),
        scored("b", outcome="other"),
        scored("c", outcome="unscored"),
        scored("d", outcome=None, ending=Ending.ENGINE_ERROR),
    ]
    (row,) = main_rows(episodes)
    assert (row["n"], row["episodes"], row["unscored"], row["engine_error"]) == (2, 4, 1, 1)
    assert row["accuracy"] == 0.5
    assert (row["accuracy_worst"], row["accuracy_best"]) == (0.25, 0.75)
    assert row["endings"] == {"answered": 0.75, "engine_error": 0.25}


def test_an_engine_error_does_not_count_whatever_its_label(scored):
    (row,) = main_rows([scored("a"), scored("b", ending=Ending.ENGINE_ERROR)])
    assert (row["n"], row["accuracy"], row["engine_error"]) == (1, 1.0, 1)


def test_endings_without_an_answer_are_not_correct(scored):
    lost = [
        scored(ending, outcome=None, ending=ending, is_intended=False, is_default=False)
        for ending in (Ending.BUDGET, Ending.PARSE_FAILURE, Ending.TRUNCATED, Ending.CONTEXT_OVERFLOW)
    ]
    (row,) = main_rows([scored("a"), *lost])
    assert (row["n"], row["accuracy"], row["commitment"]) == (5, 0.2, 0.2)
    assert row["outcomes"] == {"intended": 0.2}
    assert row["endings"]["context_overflow"] == 0.2


def test_commitment(scored):
    outcomes = ("intended", "default", "other", "hedge", "refusal", "question", "empty")
    (row,) = main_rows([scored(o, outcome=o) for o in outcomes])
    assert row["commitment"] == pytest.approx(3 / 7)
    assert row["outcomes"] == {o: pytest.approx(1 / 7) for o in outcomes}


def test_commitment_is_unknown_where_only_booleans_were_recorded(scored):
    (row,) = main_rows([scored("a", outcome=None, is_intended=True, is_default=False), scored("b")])
    assert row["commitment"] is None
    assert row["accuracy"] == 1.0


def test_default_capture_and_single_gold(scored):
    (row,) = main_rows(
        [scored(f"a{i}") for i in range(3)]
        + [scored(f"d{i}", outcome="default") for i in range(9)]
        + [scored(f"o{i}", outcome="other") for i in range(3)]
    )
    assert row["default_capture"] == 0.6
    assert row["single_gold_inflation"] == pytest.approx(3.0)
    assert row["single_gold_difference"] == pytest.approx(0.4)


def test_answers_without_their_scale_are_also_counted_out(scored):
    (row,) = main_rows([scored("a"), scored("b", flags=("scale_missing",)), scored("c", outcome="other")])
    assert (row["accuracy"], row["accuracy_without_scale_missing"]) == (pytest.approx(2 / 3), pytest.approx(1 / 3))


def test_no_inflation_from_fewer_than_ten(scored):
    """One right and eight default answers are no factor of eight; the difference stands."""
    (row,) = main_rows([scored("a"), *(scored(f"d{i}", outcome="default") for i in range(8))])
    assert row["single_gold_inflation"] is None
    assert row["single_gold_difference"] == pytest.approx(7 / 9)


def test_single_gold_inflation_without_a_right_answer_is_undefined(scored):
    (row,) = main_rows([scored("a", outcome="default")])
    assert row["single_gold_inflation"] is None
    assert row["single_gold_difference"] == 1.0


def test_unknown_default_labels_leave_only_default_capture_out(scored):
    (row,) = main_rows([scored("a", outcome=None, is_intended=True, is_default=None)])
    assert (row["accuracy"], row["default_capture"]) == (1.0, None)


def test_asking(scored):
    """Four episodes: on category; wrong then on; generic; no question."""
    episodes = [
        scored("a", asked=("entity_scope",)),
        scored("b", asked=("temporal_scope", "entity_scope"), outcome="other"),
        scored("c", asked=("generic",), outcome="other"),
        scored("d"),
    ]
    (row,) = main_rows(episodes)
    assert row["interaction_rate"] == 0.75
    assert row["mean_asks"] == 1.0
    assert row["ac1_touch"] == pytest.approx(1 / 3)
    assert row["any_category"] == 0.5
    assert row["wrong_category"] == 0.25
    assert row["generic_ask"] == 0.25
    assert row["dise"] == pytest.approx((2 + 1 + 2) / 3)
    assert row["dise_plus_all"] == pytest.approx((2 + 0 + 0 + 2) / 4)
    assert row["dise_plus_interact"] == pytest.approx(2 / 4)


def test_the_three_forms_differ(scored):
    """It names the metric, raises entity and period, and is about the period; the metric is what was open."""
    question = Judgement(("entity_scope", "temporal_scope"), "temporal_scope", named=(*ALL[:2], "metric_definition"))
    for category, forms in (("metric_definition", "100"), ("entity_scope", "110"), ("temporal_scope", "111")):
        (row,) = main_rows([scored("a", n_asks=1, questions=(question,), categories=(category,))])
        assert [row[f"ac1_{form}"] for form in ("named", "touch", "central")] == [float(hit) for hit in forms]
        assert row["wrong_category_central"] == 1.0 - float(forms[2])


def test_what_one_label_does_not_tell_is_unknown(scored):
    """A judge that gave the central category alone said nothing on touch: unknown, and not equal to central."""
    question = Judgement(None, "entity_scope")
    (row,) = main_rows([scored("a", n_asks=1, questions=(question,))])
    assert (row["ac1_named"], row["ac1_touch"], row["ac1_central"]) == (None, None, 1.0)
    assert (row["any_category_touch"], row["any_category_central"], row["wrong_category"]) == (None, 1.0, None)


def test_any_category_leaves_out_what_was_not_judged(scored):
    """On category; asked twice and once judged, off; nothing asked: one of two."""
    episodes = [
        scored("a", asked=("entity_scope",)),
        scored("b", asked=("temporal_scope",), n_asks=2),
        scored("c"),
        scored("d", asked=("temporal_scope", "unscored")),
    ]
    (row,) = main_rows(episodes)
    assert (row["any_category"], row["any_category_touch_n"]) == (0.5, 2)


def test_answers_that_name_both(scored):
    both = ("intended", "default")
    episodes = [
        scored("a", named_golds=both),
        scored("b", outcome="default", named_golds=both),
        scored("c", outcome="default", named_golds=("default",)),
        scored("d", outcome="hedge", named_golds=("intended",)),
        scored("e", outcome=None, is_intended=False, is_default=False, ending=Ending.BUDGET, named_golds=()),
    ]
    (row,) = main_rows(episodes)
    assert (row["accuracy"], row["both_mentioned"], row["accuracy_lenient"]) == (0.2, 0.4, 0.6)
    assert main_rows([scored("a")])[0]["accuracy_lenient"] is None  # the grader kept no such thing


def test_burden(scored):
    """Two questions of 4 and 8 characters, one said twice but for case and space; two bits were resolved."""
    (row,) = main_rows(
        [scored("a", n_asks=3, asks=("GAAP", "Gaap ", "quarter?")), scored("b", outcome="other", n_asks=1, asks=("x",))]
    )
    assert row["question_length"] == (4 + 5 + 8 + 1) / 4
    assert row["repeated_asks"] == 0.25
    assert row["asks_per_bit"] == 4 / 2


def test_closed_book_accuracy_stands_beside_every_row(scored):
    rows = main_rows([scored("a", mode="answer"), scored("a", outcome="other"), scored("a", model="other")])
    assert [(row["model"], row["mode"], row["accuracy_closed_book"]) for row in rows] == [
        ("m", "answer", 1.0),
        ("m", "interact", 1.0),
        ("other", "interact", None),
    ]


def test_before_and_after_a_cutoff(scored):
    dates = {"a": "2023-12-31", "b": "2024-01-01", "c": None}
    (row,) = main_rows([scored(name, filing_date=date) for name, date in dates.items()], cutoff="2024-01-01")
    assert {name: part["n"] for name, part in row["by_cutoff"].items()} == {"before": 1, "after": 1, "undated": 1}
    closed = [
        scored(name, mode="answer", filing_date=date, outcome="intended" if name == "a" else "other")
        for name, date in dates.items()
    ]
    rows = main_rows([scored("a", filing_date=dates["a"]), *closed], cutoff="2024-01-01")
    assert rows[1]["accuracy_closed_book"] == pytest.approx(1 / 3)
    assert rows[1]["by_cutoff"]["before"]["accuracy_closed_book"] == 1.0
    said = cutoff_lines(rows, "2024-01-01")
    assert "filed before 2024-01-01 100.0 [2.5, 100.0] (n = 1, closed book 100.0); on it or after 0.0" in said[0]


def test_a_bug_is_no_wrong_answer(scored):
    (row,) = main_rows([scored("a"), scored("b", outcome="other", ending=Ending.BUG)])
    assert (row["n"], row["accuracy"], row["bug"], row["unscored"]) == (1, 1.0, 1, 0)


def test_rows_keep_retrievals_and_data_sets_apart(scored):
    rows = main_rows(
        [scored("a", retrieval=r) for r in ("own", "index")] + [scored("a", dataset="v1.1", outcome="other")]
    )
    assert [(row["dataset"], row["retrieval"], row["accuracy"]) for row in rows] == [
        ("", "index", 1.0),
        ("", "own", 1.0),
        ("v1.1", "index", 0.0),
    ]


@given(random=st.randoms(use_true_random=False))
@settings(max_examples=15, deadline=None)
def test_the_order_of_episodes_never_shows(scored, random):
    """Sums of many fractions, companies that repeat, questions and confidences: the same to the last digit."""
    episodes = [
        scored(
            f"i{i}",
            h0=1 + i / 7,
            cluster=f"c{i % 5}",
            confidence=float(i * 37 % 100),
            outcome=("intended", "default", "other")[i % 3],
            asked=("entity_scope", "temporal_scope")[: i % 3],
            mode=("search", "interact")[i % 2],
        )
        for i in range(40)
    ]
    shuffled = episodes[:]
    random.shuffle(shuffled)
    assert json.dumps(main_rows(shuffled, resamples=200)) == json.dumps(main_rows(episodes, resamples=200))
    assert json.dumps(table_comparisons(shuffled)) == json.dumps(table_comparisons(episodes))


def test_accuracy_has_an_exact_interval(scored):
    (row,) = main_rows([scored(f"{i}", outcome="other") for i in range(8)])
    assert row["accuracy_ci"] == pytest.approx([0.0, 1 - 0.025 ** (1 / 8)])


def test_parts_have_the_n_of_their_ac1(scored):
    episodes = [scored("a", asked=("entity_scope",)), scored("b"), scored("c", asked=("unscored",))]
    part = main_rows(episodes)[0]["by_category"]["entity_scope"]
    assert (part["n"], part["ac1_touch"], part["ac1_touch_n"]) == (3, 1.0, 1)
    assert part["ac1_touch_ci"] == [pytest.approx(0.025), 1.0]


def test_any_of_several_true_categories_will_do(scored):
    (row,) = main_rows([scored("a", asked=("metric_definition",), categories=("entity_scope", "metric_definition"))])
    assert (row["ac1_touch"], row["ac1_central"]) == (1.0, 1.0)


def test_ac1_is_null_when_nobody_asked(scored):
    (row,) = main_rows([scored("a")])
    assert row["ac1_touch"] is None and row["ac1_touch_ci"] is None and row["wrong_category"] is None


def test_an_unscored_first_question_is_outside_ac1(scored):
    (row,) = main_rows([scored("a", asked=("unscored",)), scored("b", asked=("entity_scope",))])
    assert row["ac1_touch"] == 1.0


def test_none_counts_as_generic(scored):
    (row,) = main_rows([scored("a", asked=("none",))])
    assert (row["generic_ask"], row["wrong_category"], row["ac1_touch"]) == (1.0, 0.0, 0.0)


def test_parts(scored):
    episodes = [
        scored("a"),
        scored("b", confidence=100, language="zh", categories=("metric_definition", "entity_scope"), outcome="other"),
        scored("c", language="zh"),
    ]
    (row,) = main_rows(episodes)
    assert {k: v["accuracy"] for k, v in row["by_language"].items()} == {"en": 1.0, "zh": 0.5}
    assert {k: v["ece"] for k, v in row["by_language"].items()} == {"en": None, "zh": 1.0}
    assert row["by_category"]["metric_definition"]["single_gold_difference"] == 0.0
    assert {k: (v["n"], v["accuracy"]) for k, v in row["by_category"].items()} == {
        "entity_scope": (2, 1.0),
        "metric_definition": (1, 0.0),
    }


def test_enumerate_reports_both_golds(scored):
    both = scored("a", mode="enumerate", outcome="hedge", is_intended=True, is_default=True)
    one = scored("b", mode="enumerate", outcome="hedge", is_intended=True, is_default=False)
    (row,) = main_rows([both, one])
    assert (row["accuracy"], row["covers_both"]) == (1.0, 0.5)
    assert main_rows([scored("a")])[0]["covers_both"] is None


def test_entropy_bins_hold_ten_items():
    values = [1.0] * 3 + [1.585] * 8 + [2.0] * 30 + [3.585] * 4
    assert entropy_bins(values) == {1.0: "1–1.585", 1.585: "1–1.585", 2.0: "2–3.585", 3.585: "2–3.585"}
    assert entropy_bins([2.0, 2.0]) == {2.0: "2"}
    assert entropy_bins([]) == {}


def test_rows_are_ordered_by_model_and_the_protocols_modes(scored):
    modes = ("context-oracle", "forced-interact-10", "forced-interact-4", "interact", "answer", "search")
    rows = main_rows([scored("a", mode=mode, model=model) for model in ("b", "a") for mode in modes])
    assert [row["model"] for row in rows] == ["a"] * 6 + ["b"] * 6
    assert [row["mode"] for row in rows[:6]] == [
        *("answer", "search", "interact", "forced-interact-4", "forced-interact-10", "context-oracle"),
    ]
    assert mode_rank("unheard-of") > mode_rank("category-aware")


def test_rows_are_json(scored):
    rows = main_rows([scored("a", confidence=90), scored("b", outcome="unscored")])
    assert json.loads(json.dumps(rows, allow_nan=False)) == rows


def test_nothing_counts(scored):
    (row,) = main_rows([scored("a", outcome="unscored")])
    assert (row["n"], row["accuracy"], row["accuracy_ci"], row["accuracy_best"]) == (0, None, None, 1.0)
    assert estimate("mean_asks", []) is None
