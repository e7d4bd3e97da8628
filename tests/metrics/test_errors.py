from __future__ import annotations

import pytest

from fiqkit.metrics.errors import answered_by_template, diagnose, error_budget, error_flags, primary_error
from fiqkit.records import Ending


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


def points_at(episodes):
    return [finding.points_at for finding in diagnose(episodes)]


def test_diagnosis_by_level(scored):
    silent = [scored(f"{i}", outcome="default") for i in range(10)]
    assert points_at(silent) == ["E1"]
    astray = [scored(f"{i}", outcome="default", asked=("temporal_scope",)) for i in range(10)]
    assert points_at(astray) == ["E2 / E3", "E2"]
    vague = [scored(f"{i}", outcome="default", asked=("generic",)) for i in range(10)]
    assert points_at(vague) == ["E2 / E3", "E3"]
    deaf = [scored(f"{i}", outcome="default", asked=("entity_scope",)) for i in range(10)]
    assert points_at(deaf) == ["E5 / E6"]


def test_diagnosis_between_modes(scored):
    wrong = [scored(f"{i}", outcome="default", asked=("entity_scope",) if i % 2 else ()) for i in range(30)]
    oracle = [scored(f"{i}", mode="template-oracle") for i in range(30)]
    found = diagnose([*wrong, *oracle])
    assert [f.points_at for f in found] == ["E5 / E6", "E2 / E3"]
    assert "100.0 points above interact" in found[-1].grounds
    weak = [scored(f"{i}", mode="template-oracle", outcome="intended" if i < 3 else "other") for i in range(30)]
    assert "E6" in points_at([*wrong, *weak])


def test_diagnosis_of_nothing(scored):
    assert diagnose([]) == []
    assert diagnose([scored("a", mode="answer")]) == []
