"""The valid re-runs of the open models, the forms of targeting and the training ladder (protocol, section 9)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fiqkit.imports.fininteract import import_fininteract
from fiqkit.imports.ladder import read_ladder, stage_numbers
from fiqkit.report.document import Report, make_report
from fiqkit.store.store import Store
from fiqkit.verdicts.opening import judge_runs

pytestmark = [pytest.mark.conformance, pytest.mark.slow]

# model → answer, search, interact; asked in interact; ceiling (per cent)
TABLE = {
    "qwen3-0.6b": ((0.0, 25.4, 15.6), 11.6, 60.1),
    "qwen3-8b": ((0.6, 14.5, 24.9), 15.0, 92.5),
    "qwen3-14b": ((0.0, 18.5, 22.5), 35.8, 90.8),
    "qwen3-30b-a3b": ((1.2, 28.3, 11.6), 71.7, 90.2),
}


def percent(value: float) -> float:
    return round(100 * value, 1)


@pytest.fixture(scope="module")
def opened(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Report:
    path = tmp_path_factory.mktemp("open") / "o.db"
    imported, faults = import_fininteract(shared_data / "fininteract_open", path)
    assert faults == [] and sum(f.read for f in imported if f.kind == "run") == 3287
    return make_report(Store(path))


@pytest.fixture(scope="module")
def judged(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """The closed models' rows in interact, graded as recorded and judged by rules."""
    path = tmp_path_factory.mktemp("closed") / "f.db"
    import_fininteract(shared_data / "fininteract", path)
    judge_runs(path, (), "rules")
    report = make_report(Store(path), judge="rules")
    return {row["model"]: row for row in report.rows if row["mode"] == "interact"}


@pytest.mark.parametrize("model", TABLE)
def test_open_models(opened: Report, model: str):
    accuracy, asked, ceiling = TABLE[model]
    rows = {row["mode"]: row for row in opened.rows if row["model"] == model}
    assert tuple(percent(rows[mode]["accuracy"]) for mode in ("answer", "search", "interact")) == accuracy
    assert percent(rows["interact"]["interaction_rate"]) == asked
    assert percent(rows["context-oracle"]["accuracy"]) == ceiling
    assert {row["retrieval"] for row in rows.values()} == {"own"}
    assert rows["interact"]["ac1_touch"] is None  # one label a question: touch is not told
    assert rows["interact"]["ac1_central"] is not None


def test_thinking(opened: Report):
    rows = {(row["model"], row["mode"]): row for row in opened.rows}
    on, off = (rows[f"qwen3-30b-a3b+thinking{mark}", "interact"] for mark in ("", "-off"))
    assert [percent(row["accuracy"]) for row in (off, on)] == [12.1, 11.0]
    assert [round(100 * row["interaction_rate"]) for row in (off, on)] == [72, 94]
    assert rows["qwen3-30b-a3b", "interpretation-oracle"]["accuracy"] == 0.0
    pairs = [(f["first"]["model"], f["second"]["model"]) for f in opened.comparisons if f["kind"] == "thinking"]
    assert ("qwen3-30b-a3b+thinking-off", "qwen3-30b-a3b+thinking") in pairs


def test_the_papers_targeting_is_what_a_question_names(judged):
    models = ("gpt-5", "gpt-4o", "gpt-5-mini")
    assert [round(judged[m]["ac1_named"], 2) for m in models] == pytest.approx([0.86, 0.94, 0.94], abs=0.011)
    first = [judged[m]["errors_first_question"] for m in models]
    assert [100 * budget["named"]["E5"] for budget in first] == pytest.approx([67, 89, 90], abs=2.5)
    assert all(budget["touch"]["E2"] > budget["touch"]["E5"] for budget in first)


def test_training_ladder(shared_data: Path):
    stages = read_ladder(shared_data / "release_extras" / "ladder.jsonl")
    assert len(stages) == 8
    for stage in stages:
        found = stage_numbers(stage)
        assert found["n"] == 51
        logged = [stage.logged[name] for name in ("Accuracy", "Interaction", "AxisHit@1")]
        assert [percent(found[name]) for name in ("accuracy", "interaction_rate", "ac1")] == logged
        assert found["reward"] == pytest.approx(stage.logged["Mean reward"], abs=0.04)
