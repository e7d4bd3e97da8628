"""`fiqkit train`: demonstrations, the stages of the ladder, and their evaluation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from fiqkit.commands import train_adapters, train_before_after, train_gates, train_stages
from fiqkit.commands.arguments import Group, NewFile, NewFolder
from fiqkit.commands.options import FILE, json_option, print_json
from fiqkit.commands.train_options import INSTANCES, data_of, recipe_of, what_to_train_on
from fiqkit.commands.train_stages import show_table


@click.group(cls=Group)
def command() -> None:
    """Teach a model to clarify, in the environment that evaluates it.

    \b
    fiqkit train ladder --recipe smollm2-cpu --out ladder
    fiqkit train sft --recipe qwen3-4b --demos demos.jsonl --out sft
    fiqkit train kto --adapter sft --out kto
    fiqkit train evaluate kto --out evaluation
    fiqkit train demos --recipe qwen3-4b --teacher qwen2.5-72b-awq --hint category --out demos.jsonl
    """


for part in (train_stages.sft, train_stages.kto, train_stages.grpo, train_stages.evaluate, train_stages.config):
    command.add_command(part)
for part in (train_adapters.export, train_adapters.merge, train_gates.gates):
    command.add_command(part)


@command.command()
@INSTANCES
@click.option(
    "--test-items", type=FILE, help="JSONL whose lines name the test items, such as the release's ladder.jsonl."
)
@click.option("--out", type=NewFile(), required=True, help="JSON file of the splits, for --splits.")
@json_option
def splits(instances: Path | None, test_items: Path | None, out: Path, as_json: bool) -> None:
    """Split a set by company, around test items that somebody else chose, or by the companies' names.

    \b
    fiqkit train splits --out splits.json
    fiqkit train splits --instances instances.jsonl --test-items ladder.jsonl --out splits.json
    """
    from fiqkit import bench_data
    from fiqkit.datasets import read_instances, read_jsonl
    from fiqkit.train.splits import around, by_company
    from fiqkit.whole_file import write_text

    everything = read_instances(instances or bench_data.INSTANCES)
    test = [str(row["instance_id"]) for _, row in read_jsonl(test_items) if "instance_id" in row] if test_items else []
    parts = around(test, everything) if test_items else by_company(everything)
    write_text(out, json.dumps({name: [i.instance_id for i in part] for name, part in parts.items()}, indent=1))
    tested, kept = {i.cluster for i in parts["test"]}, {id(i) for part in parts.values() for i in part}
    outside = {i.cluster for i in everything if id(i) not in kept}
    told = {name: {"items": len(part), "companies": len({i.cluster for i in part})} for name, part in parts.items()}
    told["left_out"] = {"items": len(everything) - len(kept), "companies": len(outside)}
    if as_json:
        print_json(told)
        return
    for name in parts:
        click.echo(f"{name}: {told[name]['items']} items of {told[name]['companies']} companies")
    if outside:
        click.echo(
            f"left out: {told['left_out']['items']} items; {len(outside)} of the {len(tested)} test companies stand "
            "outside the test items too"
        )


@command.command()
@what_to_train_on
@click.option("--teacher", default="template", show_default=True, help="template, or a model card.")
@click.option(
    "--hint",
    type=click.Choice(["none", "category", "full"]),
    default="none",
    show_default=True,
    help="What the teacher is told.",
)
@click.option(
    "--filter", "keep", type=click.Choice(["strict", "asked"]), default="asked", show_default=True, help="What is kept."
)
@click.option("--out", type=NewFile(), required=True, help="JSONL file of the demonstrations.")
@json_option
def demos(
    recipe_name: str,
    changes: Sequence[str],
    categories: Sequence[str],
    teacher: str,
    hint: str,
    keep: str,
    out: Path,
    as_json: bool,
    **data: Any,
) -> None:
    """Let a teacher play the items of the train split, and keep its good episodes.

    \b
    fiqkit train demos --out demos.jsonl
    fiqkit train demos --recipe qwen3-4b --teacher qwen2.5-72b-awq --hint category --out demos.jsonl
    """
    import asyncio

    from fiqkit.datasets import write_jsonl
    from fiqkit.train.demos import demonstrate, world_for, yields
    from fiqkit.train.teachers import HintedAgent, TemplateTeacher

    chosen = recipe_of(recipe_name, changes, categories=categories)
    splits, passages = data_of(**data, categories=chosen.categories)
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
@train_before_after.BEFORE_AFTER
@click.option("--out", type=NewFolder(), required=True, help="Folder of the ladder; one that was interrupted goes on.")
@json_option
def ladder(
    recipe_name: str,
    changes: Sequence[str],
    categories: Sequence[str],
    stages: str,
    before_after: bool,
    out: Path,
    as_json: bool,
    **data: Any,
) -> None:
    """Train base → SFT → KTO → GRPO, and hold each against companies that were never trained on.

    \b
    fiqkit train ladder --recipe smollm2-cpu --out ladder
    fiqkit train ladder --recipe smollm2-cpu --stages base,sft --out ladder
    """
    from fiqkit.train.ladder import climb

    chosen = recipe_of(recipe_name, changes, categories=categories)
    splits, passages = data_of(**data, categories=chosen.categories)
    names = [name.strip() for name in stages.split(",") if name.strip()]
    if before_after and ("base" not in names or len(names) < 2):
        raise click.UsageError("--before-after holds trained stages against the base; name both with --stages")
    ready = train_before_after.begin(chosen, splits["test"], out) if before_after else None

    def say(line: str) -> None:
        click.echo(line, err=True)

    table = climb(chosen, splits, passages, out, say, names)
    if ready:
        adapters = {row["stage"]: out / row["stage"] for row in table["stages"] if row["stage"] != "base"}
        train_before_after.finish(table, out / "ladder.json", adapters, splits["test"], ready, say)
    print_json(table) if as_json else show_table(table)
