"""The rows of gates over recorded episodes, and the threshold that is fitted before they are looked at."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from fiqkit.cli import fiqkit
from fiqkit.errors import UserError
from fiqkit.train.gates import Played, fit, row, table, unsure

ITEMS = [
    Played(silent=True, asked=True, confidence=90, base_asks=False),
    Played(silent=True, asked=False, confidence=80, base_asks=True),
    Played(silent=False, asked=True, confidence=30, base_asks=True),
    Played(silent=False, asked=True, confidence=20, base_asks=False),
    Played(silent=False, asked=False, confidence=None, base_asks=False),
]


def test_each_gate_against_the_silent_answers() -> None:
    rows = {found["gate"]: found for found in table(ITEMS, fit(ITEMS))}
    assert rows["never-ask"] == row("never-ask", ITEMS, lambda item: False)
    assert (rows["never-ask"]["accuracy"], rows["never-ask"]["ask_rate"]) == (0.4, 0)
    assert rows["always-ask"] | {"gate": ""} == {
        "gate": "", "n": 5, "ask_rate": 1, "accuracy": 0.6, "wrong_to_right": 2, "right_to_wrong": 1
    }  # fmt: skip
    assert (rows["base-ask"]["accuracy"], rows["base-ask"]["ask_rate"]) == (0.4, 0.4)
    assert rows["base-ask"]["wrong_to_right"] == rows["base-ask"]["right_to_wrong"] == 1
    assert rows["confidence-55"] | {"gate": ""} == {
        "gate": "", "n": 5, "ask_rate": 0.6, "accuracy": 0.8, "wrong_to_right": 2, "right_to_wrong": 0
    }  # fmt: skip


played = st.builds(Played, st.booleans(), st.booleans(), st.one_of(st.none(), st.integers(0, 100)))


@settings(deadline=None)
@given(st.lists(played, min_size=1, max_size=12), st.sampled_from([0.0, 0.05, 0.5]))
def test_no_other_threshold_is_worth_more(items: list[Played], cost: float) -> None:
    def worth(threshold: float) -> float:
        return sum(i.asked - cost if unsure(i, threshold) else i.silent for i in items)

    assert worth(fit(items, cost)) == pytest.approx(max(worth(threshold / 2) for threshold in range(204)))


def test_nothing_to_fit_on_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no validation item"):
        fit([])
    ran = CliRunner().invoke(
        fiqkit, ["train", "gates", "last:a:interact", "last:b:interact", f"--store={tmp_path}/x.db"]
    )
    assert ran.exit_code != 0


def test_gates_of_two_runs_by_command(tmp_path: Path) -> None:
    """Reference policies: one that never asks and one that asks are each right on what they should be."""
    store = tmp_path / "s.db"
    agents = ["--agent", "default-reader,template-asker", "--modes", "interact", "--limit", "6"]
    ran = CliRunner().invoke(fiqkit, ["run", *agents, "--store", str(store)])
    assert ran.exit_code == 0, ran.output
    sides = ["last:default-reader:interact", "last:template-asker:interact"]
    ran = CliRunner().invoke(fiqkit, ["train", "gates", *sides, "--threshold=101", f"--store={store}", "--json"])
    assert ran.exit_code == 0, ran.output
    never, always, confident = json.loads(ran.stdout)["gates"]
    assert (never["ask_rate"], always["accuracy"], confident["accuracy"]) == (0, 1, 1)
    assert always["wrong_to_right"] == round((1 - never["accuracy"]) * never["n"])
    ran = CliRunner().invoke(fiqkit, ["train", "gates", *sides, "--fit", *sides, f"--store={store}"])
    assert "a threshold is fitted on others" in ran.output
