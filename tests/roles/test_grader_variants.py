"""Answers of many wordings to released and bundled questions; question and golds are read from the ruled files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fiqkit.datasets import read_jsonl
from fiqkit.records import Interpretation
from fiqkit.roles.grader.rules import grade_answer
from fiqkit.roles.interfaces import Gold

pytestmark = pytest.mark.conformance

ROWS = (Path(__file__).parent / "grader_variants.tsv").read_text(encoding="utf-8").splitlines()
VARIANTS = [row.split("\t") for row in ROWS if not row.startswith("#")]
FILES = ("ruled/grade.jsonl", "ruled/fresh_grade.jsonl", "cases/values/answers.jsonl")


def gold(row: dict[str, Any], side: str) -> Gold:
    return Gold(row[f"{side}_answer"], Interpretation(**row[f"{side}_interpretation"]))


def test_variants(shared_data: Path) -> None:
    ruled = {row["id"]: row for file in FILES for _, row in read_jsonl(shared_data / file)}
    wrong = []
    for name, outcome, answer in VARIANTS:
        row, text = ruled[name], answer.replace("\\n", "\n")
        verdict = grade_answer(row["question"], gold(row, "intended"), gold(row, "default"), text, row["language"])
        if verdict.outcome != outcome:
            wrong.append((name, text, outcome, verdict.outcome, verdict.why))
    assert len(VARIANTS) > 150
    assert not wrong
