"""Recipes and splits: every bundled one is sound, and what is wrong is one line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from fiqkit.datasets import read_instances
from fiqkit.errors import UserError
from fiqkit.models.cards.cards import find_card
from fiqkit.records import Instance
from fiqkit.train import splits
from fiqkit.train.recipe import names, recipe


@pytest.mark.parametrize("name", names())
def test_every_bundled_recipe_names_a_card(name: str) -> None:
    made = recipe(name)
    assert find_card(made.model).name == made.model
    assert made.gpu is (name != "smollm2-cpu")


def test_the_published_settings_are_the_defaults() -> None:
    made = recipe("qwen3-4b")
    assert made.quantisation == "nf4"
    assert (made.lora.r, made.lora.alpha, made.lora.dropout) == (16, 32, 0.05)
    assert made.lora.targets == ("q_proj", "k_proj", "v_proj", "o_proj")
    assert (made.sft.epochs, made.sft.batch, made.sft.accumulate, made.sft.learning_rate) == (3, 2, 8, 2e-4)
    assert made.max_length == 2048
    assert (made.grpo.steps, made.grpo.group, made.grpo.batch) == (30, 4, 16)
    assert (made.rollout.samples, made.rollout.temperature) == (4, 0.8)


def test_a_field_can_be_changed() -> None:
    made = recipe("smollm2-cpu", ["sft.epochs=5", 'lora.targets=["q_proj"]', "seed=3", "quantisation=nf4"])
    assert (made.sft.epochs, made.lora.targets, made.seed, made.quantisation) == (5, ("q_proj",), 3, "nf4")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("sft.epoch=1", "unknown field 'epoch'; there are epochs"),
        ("nosuch=1", "unknown field 'nosuch'"),
        ("sft=1", "sft is a table"),
        ("sft.epochs", "is not FIELD=VALUE"),
        ("sft.batch=two", "batch is 'two'; a int is needed"),
        ("sft.batch=true", "batch is True"),
        ("sft.learning_rate=-1", "cannot be negative"),
        ("sft.learning_rate=nan", "cannot be negative"),
        ("grpo.batch=9", "no multiple of grpo.group"),
        ("kto.batch=1", "kto.batch is 1"),
        ('model=""', "the field 'model' is missing"),
    ],
)
def test_a_bad_field_is_one_line(change: str, why: str) -> None:
    with pytest.raises(UserError) as caught:
        recipe("smollm2-cpu", [change])
    assert why in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_unknown_recipe_names_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no recipe 'qwen4'; the recipes are qwen3-14b"):
        recipe("qwen4")
    (tmp_path / "r.toml").write_text("model = [")
    with pytest.raises(UserError, match=r"r\.toml: not a recipe"):
        recipe(str(tmp_path / "r.toml"))


# --- splits ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def companies(make_instance: Callable[..., Instance]) -> list[Instance]:
    return [make_instance(instance_id=f"i{n}", ticker=f"C{n // 2}") for n in range(20)]


def test_companies_stay_whole_and_nothing_is_lost(companies: list[Instance]) -> None:
    parts = splits.by_company(companies)
    splits.check(parts, "here")
    assert sorted(i.instance_id for part in parts.values() for i in part) == sorted(i.instance_id for i in companies)
    assert all(parts.values())
    assert splits.by_company(companies[::-1])["test"][::-1] == parts["test"]  # whatever the file's order


def test_splits_that_share_a_company_are_refused(companies: list[Instance], tmp_path: Path) -> None:
    table = {"train": ["i0"], "validation": ["i2"], "test": ["i1"]}
    (tmp_path / "splits.json").write_text(json.dumps(table))
    with pytest.raises(UserError, match="C0 stands in train and in test"):
        splits.read(tmp_path / "splits.json", companies)


@pytest.mark.conformance
def test_the_releases_test_items_and_a_split_of_ours(shared_data: Path) -> None:
    """Of its 37 test companies 30 stand outside its test items too: their other items are left out of training."""
    ladder = (shared_data / "release_extras" / "ladder.jsonl").read_text("utf-8").splitlines()
    test = {row["instance_id"] for line in ladder if "instance_id" in (row := json.loads(line))}
    released = read_instances(shared_data / "fininteract" / "fininteract_v1.jsonl")
    parts = splits.around(sorted(test), released)
    splits.check(parts, "the release")
    assert {i.instance_id for i in parts["test"]} == test
    companies = {i.cluster for i in parts["test"]}
    others = [i for i in released if i.instance_id not in test]
    assert (len(companies), len(companies & {i.cluster for i in others})) == (37, 30)
    assert [i for i in others if i.cluster not in companies] == [
        i for i in released if i in parts["train"] or i in parts["validation"]
    ]
    splits.check(splits.by_company(released), "ours")


def test_test_items_that_leave_nothing_to_train_on_are_one_line(companies: list[Instance]) -> None:
    with pytest.raises(UserError, match="the test item 'x' is not among the instances"):
        splits.around(["x"], companies)
    with pytest.raises(UserError, match="20 test items leave 0 companies"):
        splits.around([i.instance_id for i in companies], companies)


@pytest.mark.parametrize("text", ["", "[]", '{"train": []}', '{"train": ["x"], "validation": [], "test": []}'])
def test_bad_splits_are_one_line(companies: list[Instance], tmp_path: Path, text: str) -> None:
    (tmp_path / "splits.json").write_text(text)
    with pytest.raises(UserError, match=r"splits\.json"):
        splits.read(tmp_path / "splits.json", companies)
