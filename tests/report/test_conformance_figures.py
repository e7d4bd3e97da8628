"""The published figures of the FinInteract release, from its own recorded labels (protocol, section 7)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from fiqkit.cli import fiqkit
from fiqkit.imports.fininteract import import_fininteract
from fiqkit.report.comparison import compare_sides
from fiqkit.report.document import make_report
from fiqkit.store.store import Store

pytestmark = pytest.mark.conformance

RUN = {"gpt-5": "eval_gpt5_gpt4o", "gpt-4o": "eval_gpt5_gpt4o", "gpt-5-mini": "eval_gpt5mini"}

# model → accuracy in answer, search, interact; asked; default-capture in the three; ceiling; forced-4 (per cent)
TABLE = {
    "gpt-5": ((0.6, 6.4, 20.2), 98.8, (2.3, 10.4, 12.1), 95.4, 1.5),
    "gpt-4o": ((0.6, 12.1, 4.6), 99.4, (0.6, 37.0, 6.4), 93.1, 0.0),
    "gpt-5-mini": ((0.6, 0.0, 0.0), 96.0, (0.0, 0.0, 0.0), 95.4, 0.6),
}


@pytest.fixture(scope="module")
def store(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("release") / "f.db"
    imported, faults = import_fininteract(shared_data / "fininteract", path)
    assert faults == []
    assert sum(f.read for f in imported if f.kind == "run") == 2487
    return path


@pytest.fixture(scope="module")
def rows(store: Path) -> dict[tuple[str, str], dict[str, Any]]:
    result = CliRunner().invoke(fiqkit, ["report", "--store", str(store), "--json"], catch_exceptions=False)
    found = json.loads(result.stdout)["rows"]
    assert {row["grader"] for row in found} == {"recorded"}
    return {(row["model"], row["mode"]): row for row in found}


def percent(value: float) -> float:
    return round(100 * value, 1)


@pytest.mark.parametrize("model", TABLE)
def test_first_table(rows, model):
    accuracy, asked, capture, ceiling, forced = TABLE[model]
    primary = [rows[model, mode] for mode in ("answer", "search", "interact")]
    assert [row["n"] for row in primary] == [173] * 3
    assert tuple(percent(row["accuracy"]) for row in primary) == accuracy
    assert tuple(percent(row["default_capture"]) for row in primary) == capture
    assert percent(primary[2]["interaction_rate"]) == asked
    assert percent(rows[model, "context-oracle"]["accuracy"]) == ceiling
    assert percent(rows[model, "forced-interact-4"]["accuracy"]) == forced
    assert rows[model, "forced-interact-4"]["n"] == (65 if model == "gpt-5" else 173)


def test_paragraph_under_the_table(rows):
    asking = {model: rows[model, "interact"] for model in TABLE}
    assert [round(asking[m]["dise_plus_all"], 4) for m in ("gpt-5", "gpt-4o")] == [0.1251, 0.0393]
    assert [round(asking[m]["mean_asks"], 2) for m in TABLE] == [4.92, 4.71, 4.64]
    assert [round(asking[m]["mean_turns"], 2) for m in ("gpt-5", "gpt-4o")] == [8.82, 7.18]
    assert [round(asking[m]["ece"], 3) for m in ("gpt-5", "gpt-4o")] == [0.531, 0.819]
    assert round(rows["gpt-4o", "answer"]["ece"], 3) == 0.946
    by_language = {m: [percent(asking[m]["by_language"][lang]["accuracy"]) for lang in ("en", "zh")] for m in TABLE}
    assert by_language["gpt-5"] == [24.5, 18.3]
    assert by_language["gpt-4o"] == [13.2, 0.8]
    categories = {name: percent(part["accuracy"]) for name, part in asking["gpt-5"]["by_category"].items()}
    assert categories == {
        "entity_scope": 23.4,
        "temporal_scope": 57.1,
        "metric_definition": 12.7,
        "recognition_policy": 11.1,
    }


def test_interval_of_the_headline(rows):
    """[14.5, 26.6]; one item is 0.58 points, and resampling may move an end by one item."""
    low, high = (100 * end for end in rows["gpt-5", "interact"]["accuracy_ci"])
    assert abs(low - 14.5) < 0.65
    assert abs(high - 26.6) < 0.65


@pytest.mark.parametrize(
    ("model", "difference", "p_below", "mcnemar"),
    [("gpt-5", 13.9, 0.0002, 8.4e-6), ("gpt-4o", -7.5, 0.0025, 0.00235)],
)
def test_search_to_interact(store, model, difference, p_below, mcnemar):
    sides = [f"{RUN[model]}:{model}:{mode}" for mode in ("search", "interact")]
    found = compare_sides(Store(store), *sides)
    accuracy = found["measures"]["accuracy"]
    assert (found["n"], percent(accuracy["difference"])) == (173, difference)
    assert accuracy["p"] < p_below
    assert found["p_mcnemar"] == pytest.approx(mcnemar, rel=0.05)


def test_rules_grader_against_the_recorded_one(store):
    """At least 97% of the intended labels and 95% of the default ones; every disagreement has its reason."""
    result = CliRunner().invoke(fiqkit, ["grade", "--store", str(store), "--json"], catch_exceptions=False)
    found = json.loads(result.stdout)
    assert found["agreement"]["intended"]["n"] == 2487
    assert found["agreement"]["intended"]["raw"] >= 0.97
    assert found["agreement"]["default"]["raw"] >= 0.95
    assert len(found["disagreements"]) < 200
    assert all(item["why"] and item["intended"] and item["answer"] for item in found["disagreements"])
    assert found["both_ways"]["n"] > 0


@pytest.mark.parametrize(
    ("command", "least"), [("grade", {"accuracy": 0.97}), ("judge", {"touched": 0.88, "central": 0.85})]
)
def test_rules_against_the_rulings(shared_data, command, least):
    call = [command, "--file", str(shared_data / "ruled" / f"{command}.jsonl"), "--json"]
    found = json.loads(CliRunner().invoke(fiqkit, call, catch_exceptions=False).stdout)
    assert found["n"] == {"grade": 130, "judge": 78}[command]
    assert {"confusion", "wrong", "kappa", "macro_f1"} <= found.keys()
    assert all(found[name] >= share for name, share in least.items())


def test_the_released_instances(store):
    """173 instances and v1.1 without fininteract_0172; 53 English, 120 Chinese."""
    kept = Store(store)
    counts = kept.conn.execute(
        "SELECT dataset, count(*), sum(language='en') FROM datasets JOIN instances USING (instance_id, item) "
        "GROUP BY dataset"
    ).fetchall()
    assert sorted((n, english) for _, n, english in counts) == [(172, 52), (173, 53)]
    report = make_report(kept, ["eval_gpt5mini"])
    assert len(report.difficulty) == 173
    assert report.references[3]["accuracy"] == pytest.approx((16 / 2 + 49 / 3 + 63 / 4 + 45 / 12) / 173, rel=1e-4)
