"""`fiqkit train`: demonstrations, the stages of the ladder, and their evaluation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

import click

from fiqkit.commands import train_adapters
from fiqkit.commands.arguments import Group
from fiqkit.commands.options import FILE, json_option, print_json

RECIPE = click.option(
    "--recipe", "recipe_name", default="smollm2-cpu", show_default=True, help="A recipe, or its TOML file."
)
SET = click.option(
    "--set", "changes", multiple=True, metavar="FIELD=VALUE", help="Change a field, such as sft.epochs=1."
)
INSTANCES = click.option("--instances", type=FILE, help="JSONL of instances; the bundled set without it.")
PASSAGES = click.option("--passages", type=FILE, help="JSONL of their passages; the bundled ones without it.")
SPLITS = click.option("--splits", type=FILE, help="JSON of train, validation and test ids; by company without it.")
LANGUAGE = click.option("--language", type=click.Choice(["en", "zh"]), help="Only instances in this language.")
LIMITS = click.option(
    "--limit", "limits", nargs=3, type=int, help="At most so many items to train, validate and test on."
)


def what_to_train_on(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that choose the recipe and the items."""
    options = (RECIPE, SET, INSTANCES, PASSAGES, SPLITS, LANGUAGE, LIMITS)
    return reduce(lambda made, option: option(made), reversed(options), command)


@click.group(cls=Group)
def command() -> None:
    """Teach a model to clarify, in the environment that evaluates it.

    \b
    fiqkit train ladder --recipe smollm2-cpu --out ladder
    fiqkit train demos --recipe qwen3-4b --teacher qwen2.5-72b-awq --hint category --out demos.jsonl
    """


command.add_command(train_adapters.export)
command.add_command(train_adapters.merge)


@command.command()
@what_to_train_on
@click.option("--teacher", default="template", show_default=True, help="template, or a model card.")
@click.option("--hint", default="none", show_default=True, help="What the teacher is told: none, category or full.")
@click.option(
    "--filter", "keep", type=click.Choice(["strict", "asked"]), default="asked", show_default=True, help="What is kept."
)
@click.option("--out", type=FILE, required=True, help="JSONL file of the demonstrations.")
@json_option
def demos(
    recipe_name: str, changes: Sequence[str], teacher: str, hint: str, keep: str, out: Path, as_json: bool, **data: Any
) -> None:
    """Let a teacher play the items of the train split, and keep its good episodes."""
    import asyncio

    from fiqkit.datasets import write_jsonl
    from fiqkit.train.demos import demonstrate, world_for, yields
    from fiqkit.train.recipe import recipe
    from fiqkit.train.teachers import HintedAgent, TemplateTeacher

    chosen = recipe(recipe_name, changes)
    splits, passages = _data(**data)
    instances = splits["train"]
    key = {instance.instance_id: instance for instance in instances}
    world = world_for(instances, passages, chosen.rollout, seed=chosen.seed)

    async def play() -> list[Any]:
        if teacher == "template":
            return await demonstrate(TemplateTeacher(instances), instances, world, chosen.rollout)
        from fiqkit.agent.policy import EngineAgent
        from fiqkit.models import open_engine
        from fiqkit.models.engine import Sampling

        engine = open_engine(teacher)
        sampling = Sampling(max_tokens=chosen.rollout.max_tokens, temperature=chosen.rollout.temperature)
        agent = HintedAgent(EngineAgent(teacher, engine, sampling, seed=chosen.seed), hint, key)
        try:
            return await demonstrate(agent, instances, world, chosen.rollout)
        finally:
            await engine.close()

    made = asyncio.run(play())
    write_jsonl(out, (demo.row(keep) for demo in made))
    found = yields(made)
    if as_json:
        print_json(found)
    else:
        click.echo(
            ", ".join(f"{name} {value:.1%}" if name != "n" else f"{value} episodes" for name, value in found.items())
        )
        click.echo(f"written: {out}")


@command.command()
@what_to_train_on
@click.option("--stages", default="base,sft,kto,grpo", show_default=True, help="Which stages, by comma.")
@click.option("--out", type=FILE, required=True, help="Folder of the ladder; one that was interrupted goes on.")
@json_option
def ladder(recipe_name: str, changes: Sequence[str], stages: str, out: Path, as_json: bool, **data: Any) -> None:
    """Train base → SFT → KTO → GRPO, and hold each against companies that were never trained on."""
    from fiqkit.train.ladder import climb
    from fiqkit.train.recipe import recipe

    chosen = recipe(recipe_name, changes)
    splits, passages = _data(**data)
    names = [name.strip() for name in stages.split(",") if name.strip()]
    table = climb(chosen, splits, passages, out, lambda line: click.echo(line, err=True), names)
    print_json(table) if as_json else _show(table)


def _data(
    instances: Path | None,
    passages: Path | None,
    splits: Path | None,
    language: str | None,
    limits: tuple[int, int, int] | None,
) -> tuple[dict[str, list[Any]], list[Any]]:
    """Instances by split, and the passages."""
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
    if limits:
        found = {name: by.draw(part, most) for (name, part), most in zip(found.items(), limits, strict=True)}
    return found, read_passages(passages or bench_data.PASSAGES)


def _show(table: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    shown = Table(box=None, header_style="bold", pad_edge=False)
    columns = ("n", "ac1_named", "ac1_touch", "ac1_central", "ac1_macro", "interaction_rate", "accuracy", "reward")
    shown.add_column("stage")
    for name in columns:
        shown.add_column(name, justify="right")
    for row in table["stages"]:
        shown.add_row(row["stage"], *(_cell(row[name]) for name in columns))
    Console().print(shown)
    best = table["baselines"]
    click.echo(
        f"best constant question: named {best['constant']['named']:.3f}, macro {best['constant']['macro']:.3f}; "
        f"compound: named {best['compound']['named']:.3f}; ceiling {best['ceiling']:.3f}"
    )


def _cell(value: float | int | None) -> str:
    return "–" if value is None else str(value) if isinstance(value, int) else f"{value:.3f}"
