"""Before and after: the numbers are the probe's own, and an adapter that learned nothing changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_models import make_adapter, make_instances

from fiqkit.errors import UserError
from fiqkit.probe import study as room
from fiqkit.probe.before_after import before_after, change
from fiqkit.records import Instance


def settings(model: Path, out: Path, **options: Any) -> room.Settings:
    return room.Settings(str(model), out, folds=3, permutations=19, **options)


def silent(*_: Any) -> None:
    """Say nothing."""


def test_the_rows_are_the_probes_own_and_an_adapter_of_zeros_changes_nothing(
    checkpoint: Callable[[str], Path], instances: list[Instance], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = checkpoint("qwen3")
    adapters = {"zero": make_adapter(base, tmp_path / "zero", std=0.0), "sft": make_adapter(base, tmp_path / "sft")}
    ready = room.prepare(instances, settings(base, tmp_path / "out"))
    found = before_after(ready, adapters, silent, silent)
    was, zero, sft = found["stages"]
    assert [row["stage"] for row in found["stages"]] == ["base", "zero", "sft"]
    for name in ("separation", "accuracy", "auroc", "one_vs_rest"):
        assert zero[name] == was[name]
    assert zero["change"] == {key: {"difference": 0.0, "p": 1.0} for key in ("separation", "accuracy", "auroc")}

    whole = room.probe(instances, settings(base, tmp_path / "whole", adapter=adapters["sft"]), silent, silent).result
    for row, one in ((was, whole), (sft, whole["adapter"])):
        each = {name: rest["auroc"] for name, rest in one["category"]["one_vs_rest"].items()}
        assert row["separation"] == one["direction"]["nested_separation"]
        assert row["accuracy"] == one["category"]["accuracy"]
        assert row["one_vs_rest"] == each
        assert row["auroc"] == pytest.approx(np.mean(list(each.values())))
    assert sft["change"]["separation"]["difference"] == pytest.approx(whole["adapter"]["separation_change"]) != 0
    assert sft["change"]["auroc"]["difference"] == pytest.approx(sft["auroc"] - was["auroc"])
    words, length = found["controls"]
    assert words["accuracy"] == whole["controls"]["bag_of_words"]["accuracy"]
    assert length["accuracy"] == whole["controls"]["length"]["accuracy"]

    monkeypatch.setattr(room, "load_model", lambda *_: pytest.fail("the model was loaded again"))
    monkeypatch.setattr("fiqkit.probe.before_after.analysed", lambda *_, **__: pytest.fail("analysed again"))
    assert before_after(ready, adapters, silent, silent) == found


def test_companies_change_places_whole() -> None:
    """Eight items that all gained: a chance of 2 in 2⁸ over eight companies, and no evidence in a single one."""

    def mean(values: Any) -> Any:
        return values[0].mean(axis=0)

    before, after = np.zeros((1, 8)), np.ones((1, 8))
    apart = change(mean, before, after, [f"c{n}" for n in range(8)], seed=0)
    assert apart["difference"] == 1.0
    assert 0.003 < apart["p"] < 0.015
    assert change(mean, before, after, ["c"] * 8, seed=0) == {"difference": 1.0, "p": 1.0}
    assert change(mean, after, before, ["c"] * 8, seed=0)["difference"] == -1.0


def test_what_cannot_be_decoded_is_found_before_a_model_is_loaded(
    checkpoint: Callable[[str], Path], tmp_path: Path
) -> None:
    few = [i for i in make_instances() if i.company in ("Company0 Inc.", "第1公司", "Company2 Inc.")]
    with pytest.raises(UserError, match="no category has 4 items in two folds"):
        room.prepare(few, settings(checkpoint("qwen3"), tmp_path))
