"""The options that the commands of `fiqkit train` share: the recipe, and the items to train and test on."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

import click

from fiqkit.commands.options import FILE
from fiqkit.taxonomy import CATEGORIES

RECIPE = click.option(
    "--recipe", "recipe_name", help="A recipe, or its TOML file; that of the adapter, else smollm2-cpu, without it."
)
SET = click.option(
    "--set", "changes", multiple=True, metavar="FIELD=VALUE", help="Change a field, such as sft.epochs=1."
)
INSTANCES = click.option("--instances", type=FILE, help="JSONL of instances; the bundled set without it.")
PASSAGES = click.option("--passages", type=FILE, help="JSONL of their passages; the bundled ones without it.")
SPLITS = click.option("--splits", type=FILE, help="JSON of train, validation and test ids; by company without it.")
CATEGORY = click.option(
    "--category",
    "categories",
    multiple=True,
    type=click.Choice(list(CATEGORIES)),
    help="Train on items of this primary category alone; may be given several times.",
)
LANGUAGE = click.option("--language", type=click.Choice(["en", "zh"]), help="Only instances in this language.")
LIMITS = click.option(
    "--limit", "limits", nargs=3, type=click.IntRange(1), help="At most so many items to train, validate and test on."
)


def what_to_train_on(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that choose the recipe and the items."""
    return CATEGORY(what_to_evaluate_on(command))


def what_to_evaluate_on(command: Callable[..., Any]) -> Callable[..., Any]:
    """The same without those that concern training alone."""
    options = (RECIPE, SET, INSTANCES, PASSAGES, SPLITS, LANGUAGE, LIMITS)
    return reduce(lambda made, option: option(made), reversed(options), command)


def recipe_of(
    name: str | None, changes: Sequence[str], adapter: Path | None = None, categories: Sequence[str] = ()
) -> Any:
    """The recipe of that name; without one that of the adapter, else the CPU's. Some fields changed.

    Raises:
        UserError: no such recipe, or a field that is unknown or of the wrong kind.
    """
    from fiqkit.models.checks.adapters import read_record
    from fiqkit.train.recipe import recipe, recorded

    changes = [*changes, f"categories={json.dumps(categories)}"] if categories else changes
    record = read_record(adapter) if adapter and not name else {}
    return recorded(record["recipe"], changes) if "recipe" in record else recipe(name or "smollm2-cpu", changes)


def data_of(
    instances: Path | None,
    passages: Path | None,
    splits: Path | None,
    language: str | None,
    limits: tuple[int, int, int] | None,
    categories: Sequence[str] = (),
) -> tuple[dict[str, list[Any]], list[Any]]:
    """Instances by split, and the passages. Where categories are named, training and validation have them alone."""
    from fiqkit import bench_data
    from fiqkit.datasets import read_instances, read_passages
    from fiqkit.train import splits as by

    everything = read_instances(instances or bench_data.INSTANCES)
    bundled = bench_data.HERE / "splits.json"
    if splits is None and instances is None and bundled.is_file():
        splits = bundled
    found = by.read(splits, everything) if splits else by.by_company(everything)
    if language:
        found = {name: [i for i in part if i.language == language] for name, part in found.items()}
    found = by.of_categories(found, categories)
    if limits:
        found = {
            name: by.draw(part, most, spread=name == "train")
            for (name, part), most in zip(found.items(), limits, strict=True)
        }
    return found, read_passages(passages or bench_data.PASSAGES)
