from __future__ import annotations

import pytest

from fiqkit.metrics.diagnosis import depends_on_form, diagnose
from fiqkit.records import Judgement
from fiqkit.taxonomy import FORMS


def points_at(episodes, form=None):
    return [finding.points_at for finding in diagnose(episodes) if finding.form == form]


def test_by_level(scored):
    silent = [scored(f"{i}", outcome="default") for i in range(20)]
    assert points_at(silent) == ["E1"]
    astray = [scored(f"{i}", outcome="default", asked=("temporal_scope",)) for i in range(20)]
    assert points_at(astray, "touch") == ["E2 / E3", "E2"]
    generic = [scored(f"{i}", outcome="default", asked=("generic",)) for i in range(20)]
    assert points_at(generic, "touch") == ["E2 / E3", "E3"]
    unused = [scored(f"{i}", outcome="default", asked=("entity_scope",)) for i in range(20)]
    assert points_at(unused, "central") == ["E5 / E6"]


def test_grounds_have_their_n_and_interval(scored):
    (found,) = [
        f
        for f in diagnose([scored(f"{i}", outcome="default", asked=("entity_scope",)) for i in range(20)])
        if f.form == "touch"
    ]
    assert found.grounds == "ac1 touch 1.00 [0.83, 1.00], accuracy 0.00 [0.00, 0.17]"
    assert found.n == 20


@pytest.mark.parametrize(("n", "said"), [(19, ["too few"]), (20, ["E1"]), (0, [])])
def test_too_few_episodes_say_nothing(scored, n, said):
    assert points_at([scored(f"{i}", outcome="default") for i in range(n)]) == said


def test_too_few_judged_questions_say_nothing_of_targeting(scored):
    few = [scored(f"{i}", outcome="default", asked=("temporal_scope",) if i < 5 else ()) for i in range(40)]
    assert points_at(few) == ["E1"]
    assert points_at(few, "touch") == ["too few"]


def test_between_modes(scored):
    wrong = [scored(f"{i}", outcome="default", asked=("entity_scope",) if i % 2 else ()) for i in range(40)]
    oracle = [scored(f"{i}", mode="template-oracle") for i in range(40)]
    found = [f for f in diagnose([*wrong, *oracle]) if f.form is None]
    assert [f.points_at for f in found] == ["E2 / E3"]
    assert "100.0 points [8" in found[0].grounds and "above interact" in found[0].grounds
    weak = [scored(f"{i}", mode="template-oracle", outcome="intended" if i < 3 else "other") for i in range(40)]
    assert "E6" in points_at([*wrong, *weak])


def test_another_form_another_diagnosis(scored):
    """Every question names the true category and is about another one: named says E5, central says E2."""
    question = Judgement(("temporal_scope",), "temporal_scope", named=("entity_scope", "temporal_scope"))
    episodes = [scored(f"{i}", outcome="default", n_asks=1, questions=(question,)) for i in range(20)]
    said = depends_on_form(diagnose(episodes), FORMS)
    assert "named points at E5 / E6; touch points at E2 / E3, E2" in said
    same = [scored(f"{i}", outcome="default", asked=("entity_scope",)) for i in range(20)]
    assert depends_on_form(diagnose(same), FORMS) is None


def test_of_nothing(scored):
    assert diagnose([]) == []
    assert diagnose([scored("a", mode="answer")]) == []
