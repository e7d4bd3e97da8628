"""The rules grader held against the ruled answers and against the recorded labels of the released runs."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from fiqkit.datasets import read_instances, read_jsonl
from fiqkit.records import Grade, Interpretation
from fiqkit.roles.grader.rules import grade_answer
from fiqkit.roles.interfaces import Gold

pytestmark = pytest.mark.conformance


def ruled_gold(row: dict[str, Any], side: str) -> Gold:
    return Gold(row[f"{side}_answer"], Interpretation(**row[f"{side}_interpretation"]))


def ruled(data: Path) -> Iterator[tuple[dict[str, Any], Grade]]:
    for _, row in read_jsonl(data / "ruled" / "grade.jsonl"):
        golds = ruled_gold(row, "intended"), ruled_gold(row, "default")
        yield row, grade_answer(row["question"], *golds, row["final_answer"], row["language"])


@cache
def recorded(data: Path) -> list[tuple[dict[str, Any], Grade]]:
    """Every answer of the eight recorded run files with its grade."""
    released = read_instances(data / "fininteract" / "fininteract_v1.jsonl")
    instances = {instance.instance_id: instance for instance in released}
    graded = []
    for path in sorted((data / "fininteract" / "runs").glob("eval_*.jsonl")):
        for _, row in read_jsonl(path):
            instance = instances[row["instance_id"]]
            intended = Gold(instance.answer, instance.intended_interpretation)
            default = Gold(instance.default_answer, instance.default_interpretation)
            answer = row["final_answer"]
            graded.append((row, grade_answer(instance.question, intended, default, answer, instance.language)))
    return graded


def test_ruled_answers(shared_data: Path) -> None:
    wrong = [
        json.dumps([row["id"], row["outcome"], grade.outcome, grade.why], ensure_ascii=False)
        for row, grade in ruled(shared_data)
        if row["outcome"] is not None and row["outcome"] != grade.outcome
    ]
    assert len(wrong) <= 0.03 * 130, "\n".join(wrong)


def test_ruled_mentions_and_flags(shared_data: Path) -> None:
    graded = list(ruled(shared_data))
    committed = [(row, grade) for row, grade in graded if grade.outcome in ("intended", "default")]
    also = sum((len(grade.also) == 2) == row["also_mentions_other_gold"] for row, grade in committed)
    flags = sum(set(grade.flags) == set(row["flags"]) for row, grade in graded)
    assert also >= 0.97 * len(committed) and flags >= 0.97 * len(graded)


@pytest.mark.parametrize(
    ("label", "outcome", "least", "count"),
    [("correct", "intended", 0.97, 2487), ("default_captured", "default", 0.95, 1968)],
)
def test_recorded_labels(shared_data: Path, label: str, outcome: str, least: float, count: int) -> None:
    rows = [(row, grade) for row, grade in recorded(shared_data) if row.get(label) is not None]
    agreed = sum((grade.outcome == outcome) == row[label] for row, grade in rows)
    assert len(rows) == count
    assert agreed / count >= least


def test_every_disagreement_names_value_golds_and_rule(shared_data: Path) -> None:
    for row, grade in recorded(shared_data):
        if (grade.outcome == "intended") != row["correct"] and grade.value:
            assert grade.value in grade.why and row["correct_answer"] in grade.why and "(" in grade.why


def test_the_recorded_grader_contradicts_itself_and_the_rules_do_not(shared_data: Path) -> None:
    """The same final answer to the same instance, labelled right once and wrong once."""
    theirs: defaultdict[tuple[str, str], Counter[bool]] = defaultdict(Counter)
    ours: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for row, grade in recorded(shared_data):
        if grade.value:
            theirs[row["instance_id"], grade.value][row["correct"]] += 1
            ours[row["instance_id"], row["final_answer"]].add(grade.outcome)
    assert sum(len(labels) > 1 for labels in theirs.values()) >= 10
    assert all(len(outcomes) == 1 for outcomes in ours.values())
