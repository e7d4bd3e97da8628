from __future__ import annotations

import pytest

from fiqkit.metrics.errors import (
    answered_by_template,
    error_budget,
    error_flags,
    error_numbers,
    known_forms,
    primary_error,
)
from fiqkit.records import Ending, Judgement
from fiqkit.taxonomy import FORMS


@pytest.mark.parametrize(
    ("asked", "searches", "label"),
    [
        ((), 0, "E1"),
        ((), 2, "E4"),
        (("generic",), 1, "E3"),
        (("none", "generic"), 0, "E3"),
        (("generic", "temporal_scope"), 0, "E2"),
        (("temporal_scope", "generic", "entity_scope"), 3, "E5"),
        (("unscored",), 0, "unjudged"),
    ],
)
def test_one_label_in_the_protocols_order(scored, asked, searches, label):
    assert primary_error(scored("a", outcome="other", asked=asked, n_searches=searches)) == label


def test_right_and_uncounted_episodes_have_none(scored):
    assert primary_error(scored("a")) is None
    assert primary_error(scored("a", outcome="unscored")) is None
    assert primary_error(scored("a", ending=Ending.ENGINE_ERROR, outcome=None)) is None


def test_budget_ending_with_questions_nobody_judged(scored):
    lost = scored("a", outcome=None, is_intended=False, is_default=False, ending=Ending.BUDGET, n_asks=2)
    assert primary_error(lost) == "unjudged"


def test_flags(scored):
    template = scored("a", mode="template-oracle")
    by_template = answered_by_template([template, scored("b", mode="template-oracle", outcome="other"), scored("c")])
    assert by_template == {("m", "a", "")}
    assert error_flags(scored("a", outcome="other"), by_template) == ("E6",)
    assert error_flags(scored("b", outcome="other"), by_template) == ()
    assert error_flags(scored("a", asked=("entity_scope",) * 5), by_template) == ("E7",)  # 2 bits over 5 questions
    assert error_flags(scored("a", asked=("entity_scope",) * 4), by_template) == ()  # exactly half a bit
    assert error_flags(scored("a", outcome="unscored"), by_template) == ()


def test_budget_adds_up(scored):
    episodes = [
        scored("a"),
        scored("b", outcome="other"),
        scored("c", outcome="default", n_searches=1),
        scored("d", outcome="other", asked=("temporal_scope",)),
        scored("e", outcome="unscored"),
    ]
    budget = error_budget(episodes)
    assert budget["right"] == budget["E1"] == budget["E4"] == budget["E2"] == 0.25
    assert sum(budget[name] for name in ("right", "E1", "E2", "E3", "E4", "E5", "unjudged")) == 1.0
    assert set(error_budget([]).values()) == {0.0}


def test_the_label_depends_on_the_form(scored):
    """The words name the entity, the choice offered is a period, and that is what the question is about."""
    question = Judgement(("temporal_scope",), "temporal_scope", named=("entity_scope", "temporal_scope"))
    wrong = scored("a", outcome="other", n_asks=1, questions=(question,))
    assert [primary_error(wrong, form) for form in FORMS] == ["E5", "E2", "E2"]


def test_the_first_question_alone(scored):
    wrong = scored("a", outcome="other", asked=("generic", "entity_scope"))
    assert (primary_error(wrong), primary_error(wrong, first_only=True)) == ("E5", "E3")


def test_a_judge_of_one_label_tells_no_touch(scored):
    question = Judgement(None, "temporal_scope")
    wrong = scored("a", outcome="other", n_asks=1, questions=(question,))
    assert known_forms([wrong]) == ("central",)
    found = error_numbers([wrong])
    assert (found["errors_form"], found["errors"]["E2"]) == ("central", 1.0)
    assert found["errors_by_form"].keys() == {"central"}
    assert primary_error(wrong, "touch") == "unjudged"
