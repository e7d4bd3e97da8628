"""What became of categories that nothing was trained on, by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from fiqkit.metrics.scored import Scored
from fiqkit.models.checks.adapters import RECORD
from fiqkit.records import Instance
from fiqkit.train.forgetting import forgetting, trained_on

Played = Callable[[list[Instance], Callable[[Instance], bool]], list[Scored]]
PAIRS = 6  # orbits of two siblings, each of a company; the first half entity, the second temporal


@pytest.fixture
def items(make_instance: Callable[..., Instance]) -> list[Instance]:
    return [
        make_instance(
            instance_id=f"i{pair}{sibling}",
            categories=("entity_scope" if pair < PAIRS / 2 else "temporal_scope",),
            company=f"C{pair}",
            ticker=None,
            orbit=f"o{pair}",
        )
        for pair in range(PAIRS)
        for sibling in "ab"
    ]


def test_what_was_not_trained_on_is_lost(items: list[Instance], played: Played) -> None:
    """The base is good at temporal questions, the trained stage at those of the entity alone."""
    sides = {
        "base": played(items, lambda i: i.primary == "temporal_scope"),
        "sft": played(items, lambda i: i.primary == "entity_scope"),
    }
    found = forgetting(sides, items, ["entity_scope"])
    assert (found["trained"], found["other"]) == (["entity_scope"], ["temporal_scope"])
    base, sft = found["stages"]
    assert [base[kind]["accuracy"] for kind in ("trained", "other")] == [0.0, 1.0]
    assert [sft[kind]["accuracy"] for kind in ("trained", "other")] == [1.0, 0.0]
    assert (sft["trained"]["n"], sft["other"]["n"]) == (6, 6)
    changes = {c["measure"]: c for c in found["changes"]}
    assert {c["second"] for c in found["changes"]} == {"sft"}
    assert {name: c["n"] for name, c in changes.items()} == {"asked": 6, "primary": 6, "accuracy": 6, "intent": 3}
    for name, difference in (("asked", -1.0), ("primary", -1.0), ("accuracy", -1.0), ("intent", -2.0)):
        # From both siblings right (resolved 1) to neither (−1): three companies, all in one direction.
        assert (changes[name]["difference"], changes[name]["p"]) == (difference, 2 / 2**3)
    assert changes["intent"]["smallest"] is None


def test_a_stage_that_does_as_the_base_does_has_forgotten_nothing(items: list[Instance], played: Played) -> None:
    same = played(items, lambda i: i.instance_id.endswith("a"))
    found = forgetting({"base": same, "sft": same, "kto": same}, items, ["entity_scope"])
    assert [(c["second"], c["difference"], c["p"]) for c in found["changes"]] == [
        (stage, 0.0, 1.0) for stage in ("sft", "kto") for _ in range(4)
    ]


def test_without_another_category_there_is_nothing_to_forget(items: list[Instance], played: Played) -> None:
    same = played(items, lambda i: True)
    found = forgetting({"base": same, "sft": same}, items, ["entity_scope", "temporal_scope", "filing_vintage"])
    assert (found["other"], found["stages"], found["changes"]) == ([], [], [])


def test_what_adapters_were_trained_on(tmp_path: Path) -> None:
    for name, record in (
        ("one", {"trained_on": ["temporal_scope"]}),
        ("two", {"trained_on": ["entity_scope"]}),
        ("old", {}),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "adapter_config.json").write_text("{}")
        (tmp_path / name / "adapter_model.safetensors").write_bytes((2).to_bytes(8, "little") + b"{}")
        (tmp_path / name / RECORD).write_text(json.dumps(record))
    assert trained_on([tmp_path / "one"]) == ["temporal_scope"]
    assert trained_on([tmp_path / "one", tmp_path / "two"]) == ["entity_scope", "temporal_scope"]
    assert len(trained_on([tmp_path / "one", tmp_path / "old"])) == 5
