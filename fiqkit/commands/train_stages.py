"""`fiqkit train sft`, `kto`, `grpo` and `evaluate`: the stages of the ladder, each by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from fiqkit.commands import train_before_after
from fiqkit.commands.arguments import Command, NewFolder
from fiqkit.commands.options import FILE, json_option, print_json
from fiqkit.commands.train_options import data_of, recipe_of, what_to_evaluate_on, what_to_train_on

FROM = click.option(
    "--adapter", type=click.Path(path_type=Path), help="Folder of the adapter to go on from; a new one without it."
)
OUT = click.option(
    "--out", type=NewFolder(), required=True, help="Folder of the adapter; one that was interrupted goes on."
)


def _say(line: str) -> None:
    click.echo(line, err=True)


def _stage(name: str, made: dict[str, Any], as_json: bool, **asked: Any) -> None:
    """Train one stage and print its record."""
    from fiqkit.models.checks.adapters import read_record
    from fiqkit.train.stages import Stages

    adapter, out = asked.pop("adapter"), asked.pop("out")
    chosen = recipe_of(asked.pop("recipe_name"), asked.pop("changes"), adapter, asked.pop("categories"))
    splits, passages = data_of(**asked, categories=chosen.categories)
    stages = Stages(chosen, splits, passages, out, _say, **made)
    record = read_record(stages.train(name, out, adapter))
    if as_json:
        told = {key: record[key] for key in ("stage", "base", "metrics", "data", "versions")}
        print_json({"adapter": str(out), "recipe": record["recipe"]["name"], **told})
        return
    metrics = ", ".join(f"{key} {value:.4g}" for key, value in record["metrics"].items() if "loss" in key)
    click.echo(f"{name}: {metrics or 'done'}; adapter in {out}")
    click.echo(f"next: fiqkit train evaluate {out} --out evaluation")


@click.command(cls=Command)
@what_to_train_on
@FROM
@click.option("--demos", type=FILE, help="Demonstrations of `fiqkit train demos`; the template teacher's without it.")
@OUT
@json_option
def sft(demos: Path | None, as_json: bool, **asked: Any) -> None:
    """Fine-tune on demonstrations that were right after a first question on category.

    \b
    fiqkit train sft --recipe smollm2-cpu --out sft
    fiqkit train sft --recipe qwen3-4b --demos demos.jsonl --out sft
    """
    _stage("sft", {"demos": demos}, as_json, **asked)


@click.command(cls=Command)
@what_to_train_on
@FROM
@click.option(
    "--episodes", type=FILE, help="Episodes of `fiqkit train demos`; the policy's own, played now, without it."
)
@OUT
@json_option
def kto(episodes: Path | None, as_json: bool, **asked: Any) -> None:
    """Learn from episodes marked good (right, asked on category) and bad (Ethayarajh et al. 2024).

    \b
    fiqkit train kto --adapter sft --out kto
    fiqkit train kto --adapter sft --episodes episodes.jsonl --out kto
    """
    _stage("kto", {"episodes": episodes}, as_json, **asked)


@click.command(cls=Command)
@what_to_train_on
@FROM
@OUT
@json_option
def grpo(as_json: bool, **asked: Any) -> None:
    """Optimise the reward of whole episodes that the policy plays itself (Shao et al. 2024).

    \b
    fiqkit train grpo --adapter kto --out grpo
    fiqkit train grpo --adapter kto --set grpo.steps=10 --out grpo
    """
    _stage("grpo", {}, as_json, **asked)


@click.command(cls=Command)
@click.argument("adapters", nargs=-1, type=click.Path(path_type=Path))
@what_to_evaluate_on
@click.option("--split", type=click.Choice(["test", "validation"]), default="test", show_default=True, help="Of items.")
@click.option("--with-base/--without-base", default=True, help="Evaluate the base, too.", show_default=True)
@train_before_after.BEFORE_AFTER
@click.option("--again", is_flag=True, help="Read a test split that was read for this adapter before.")
@click.option(
    "--out", type=NewFolder(), required=True, help="Folder of the evaluation; one that was interrupted goes on."
)
@json_option
def evaluate(
    adapters: Sequence[Path],
    recipe_name: str | None,
    changes: Sequence[str],
    split: str,
    with_base: bool,
    before_after: bool,
    again: bool,
    out: Path,
    as_json: bool,
    **data: Any,
) -> None:
    """Hold adapters against companies that were never trained on. The test split is read once for each.

    \b
    fiqkit train evaluate sft kto --out evaluation
    fiqkit train evaluate kto --split validation --without-base --out evaluation
    """
    from fiqkit.train.evaluate import held_out

    chosen = recipe_of(recipe_name, changes, adapters[0] if adapters else None)
    splits, passages = data_of(**data)
    items = splits[split]
    if before_after and not (with_base and adapters):
        raise click.UsageError("--before-after holds adapters against the base; name adapters, and leave the base in")
    ready = train_before_after.begin(chosen, items, out) if before_after else None
    table = held_out(chosen, splits, passages, out, _say, adapters, split=split, with_base=with_base, again=again)
    if ready:
        named = dict(zip((row["stage"] for row in table["stages"][1:]), adapters, strict=True))
        train_before_after.finish(table, out / "evaluation.json", named, items, ready, _say)
    print_json(table) if as_json else show_table(table)


@click.command(cls=Command)
@click.argument("name", type=click.Choice(["fsdp", "deepspeed"]))
def config(name: str) -> None:
    """Print where the configuration of `accelerate launch` for several GPUs is.

    \b
    fiqkit train config fsdp
    fiqkit train config deepspeed
    """
    from fiqkit.train.model import ACCELERATE

    click.echo(ACCELERATE / f"{name}.yaml")


_COLUMNS = {
    "n": "n",
    "named": "ac1_named",
    "touch": "ac1_touch",
    "central": "ac1_central",
    "macro": "ac1_macro",
    "asked": "interaction_rate",
    "right": "accuracy",
    "default": "default_capture",
    "intent": "intent_resolved",
    "reward": "reward",
}


def show_table(table: dict[str, Any]) -> None:
    """Print the stages' rows, and what they must be held against."""
    rows = ([row["stage"], *(_cell(row[name]) for name in _COLUMNS.values())] for row in table["stages"])
    train_before_after.show_rows("stage", list(_COLUMNS), rows)
    click.echo("named, touch, central: AC@1 of those that asked; macro: their primary category, mean over categories")
    against = {"constant": "best constant question", "compound": "best of two at once", "words": "the words of Q"}
    for name, best in table["baselines"].items():
        if name == "ceiling":
            click.echo(f"ceiling of an asker that reads question and passage: {best:.3f}")
        else:
            click.echo(
                f"{against[name]}: named {best['named']:.3f}, primary {best['primary']:.3f}, macro {best['macro']:.3f}"
            )
    _show_comparisons(table.get("comparisons", ()))
    if "before_after" in table:
        train_before_after.show(table["before_after"], _show_comparisons)


def _show_comparisons(pairs: Sequence[Mapping[str, Any]]) -> None:
    for pair in pairs:
        what = f"{pair['measure']}, {pair['second']} − {pair['first']}"
        if not pair["n"]:
            click.echo(f"{what}: no pair of scored {'orbits' if pair['measure'] == 'intent' else 'items'}")
            continue
        p = f"p {pair['p']:.4f}" if pair["p"] >= 0.0001 else "p < 0.0001"
        smallest = "nothing" if pair["smallest"] is None else f"{pair['smallest']:.3f}"
        could = "" if pair["measure"] == "intent" else f"; could show {smallest}"
        click.echo(f"{what}: {pair['difference']:+.3f} ({p}, n {pair['n']}{could})")


def _cell(value: float | int | None) -> str:
    return "–" if value is None else str(value) if isinstance(value, int) else f"{value:.3f}"
