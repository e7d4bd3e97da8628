"""The reward gives the release's logged means, and pays a question by what it resolves."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from fiqkit.metrics.reward import terms
from fiqkit.records import (
    AnswerVerdict,
    Ending,
    Episode,
    Grade,
    Instance,
    Interpretation,
    Judgement,
    Outcome,
    QuestionVerdict,
)
from fiqkit.train.reward import bits, bits_terms, scored


@pytest.mark.conformance
def test_the_eight_logged_means_of_the_release(shared_data: Path) -> None:
    rewards: dict[tuple[str, str], list[float]] = defaultdict(list)
    logged: dict[tuple[str, str], float] = {}
    for line in (shared_data / "release_extras" / "ladder.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        stage = row["model"], row["stage"]
        if "aggregate" in row:
            logged[stage] = row["aggregate"]["Mean reward"]
        else:
            rewards[stage].append(terms(row["correct"], row["asks"], bool(row["first_on_category"])).total)
    assert len(logged) == 8
    for stage, mean in logged.items():
        assert len(rewards[stage]) == 51
        assert sum(rewards[stage]) / 51 == pytest.approx(mean, abs=0.05), stage


@pytest.mark.parametrize(
    ("right", "asks", "on_category", "total"),
    [
        (True, 1, True, 1.7),
        (True, 0, False, 0.7),
        (False, 0, False, -0.3),
        (False, 3, True, 0.6),
        (True, 2, False, 0.95),
    ],
)
def test_terms(right: bool, asks: int, on_category: bool, total: float) -> None:
    assert terms(right, asks, on_category).total == pytest.approx(total)


def test_a_first_question_counts_only_if_there_was_one() -> None:
    assert terms(True, 0, True).on_category == 0


def verdicts(outcome: Outcome, *judged: Judgement) -> list[AnswerVerdict | QuestionVerdict]:
    questions = [QuestionVerdict("rules", turn, judgement) for turn, judgement in enumerate(judged)]
    return [AnswerVerdict.of("rules", Grade(outcome)), *questions]


def test_the_form_of_targeting_decides(make_instance: Callable[..., Instance]) -> None:
    instance = make_instance(categories=("entity_scope",))
    episode = Episode("t1", "m", "interact", Ending.ANSWERED)
    judged = Judgement(("metric_definition",), "metric_definition", named=("entity_scope", "metric_definition"))
    given = verdicts(Outcome.INTENDED, judged)
    totals = {form: scored(episode, given, instance, form) for form in ("named", "touch", "central")}
    assert {form: found.total if found else None for form, found in totals.items()} == {
        "named": pytest.approx(1.7),
        "touch": 1.0,
        "central": 1.0,
    }


def test_what_could_not_be_scored_has_no_reward(make_instance: Callable[..., Instance]) -> None:
    episode = Episode("t1", "m", "interact", Ending.ANSWERED)
    assert scored(episode, verdicts(Outcome.UNSCORED), make_instance()) is None
    assert scored(episode, verdicts(Outcome.INTENDED, Judgement((), "unscored")), make_instance()) is None


def orbit(make_instance: Callable[..., Instance], *periods: str) -> list[Instance]:
    readings = [Interpretation("Quillmark consolidated", period, "revenue", "GAAP") for period in periods]
    return [
        replace(make_instance(), instance_id=f"o-{n}", orbit="o", intended_interpretation=reading, context="")
        for n, reading in enumerate(readings)
    ]


def test_bits_are_those_of_the_readings_that_a_reply_rules_out(make_instance: Callable[..., Instance]) -> None:
    siblings = orbit(make_instance, "FY2021", "FY2022", "FY2023", "FY2024")
    asked = ["Do you mean fiscal year 2023?", "Do you mean fiscal year 2023?", "Do you mean fiscal year 2022?"]
    yes, no = bits(asked, siblings[2], siblings), bits(asked, siblings[0], siblings)
    assert yes == [2.0, 0.0, 0.0]  # one of four: log2 4, and nothing is left to resolve
    assert no == [pytest.approx(0.415, abs=1e-3), 0.0, pytest.approx(0.585, abs=1e-3)]  # 4 → 3 → 3 → 2


def test_all_bits_are_worth_one_question_on_category() -> None:
    assert bits_terms(True, [1.0, 1.0], 4).total == pytest.approx(1 + 0.7 - 0.05)
    assert bits_terms(True, [], 4).total == pytest.approx(1 - 0.3)
    assert bits_terms(False, [0.0], 1).on_category == 0
