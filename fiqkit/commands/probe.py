"""`fiqkit probe`: where ambiguity lives in a model's hidden states, with controls."""

from __future__ import annotations

import json
from math import isfinite
from pathlib import Path
from typing import Any

import click

from fiqkit.bench_data import INSTANCES
from fiqkit.commands.arguments import SEED, Command, NewFolder
from fiqkit.errors import UserError


def layer_list(text: str | None, option: str) -> list[int] | None:
    """Layers of "3,7,10-12", as given with an option.

    Raises:
        UserError: not a list of layers.
    """
    if not text:
        return None
    found: list[int] = []
    try:
        for part in text.split(","):
            low, _, high = part.strip().partition("-")
            found += range(int(low), int(high or low) + 1)
    except ValueError as error:
        raise UserError(f"{option} {text!r}: layers are written like 3,7,10-12") from error
    if not found:
        raise UserError(f"{option} {text!r}: an empty range; the lower layer comes first")
    return found


def numbers(text: str) -> tuple[float, ...]:
    """Strengths of "-4,0,4".

    Raises:
        UserError: not a list of finite numbers.
    """
    try:
        found = tuple(float(part) for part in text.split(","))
    except ValueError:
        found = ()
    if not found or not all(isfinite(value) for value in found):
        raise UserError(f"--alphas {text!r}: strengths are written like -4,-2,0,2,4")
    return found


def progress_bar(what: str, done: int, of: int) -> None:
    """One line on stderr that overwrites itself."""
    click.echo(f"\r{what}: {done}/{of}" + ("\n" if done >= of else ""), err=True, nl=False)


@click.command(cls=Command)
@click.option("--model", required=True, help="Model card, path of a checkpoint or GGUF, or OWNER/REPO in the cache.")
@click.option("--instances", type=click.Path(path_type=Path), default=None, help="JSONL; default: the bundled set.")
@click.option("--limit", type=click.IntRange(min=1), help="Only the first N instances.")
@click.option("--out", type=NewFolder(), default=Path("probe"), show_default=True, help="Output folder.")
@click.option(
    "--dtype",
    type=click.Choice(["auto", "f32", "bf16", "fp16", "4bit"]),
    default="auto",
    show_default=True,
    help="Precision of the weights; auto is f32 without a GPU.",
)
@click.option("--adapter", type=click.Path(path_type=Path), help="Compare before and after this LoRA adapter.")
@click.option("--layers", help="Points to look at, like 0,10-20; 0 is the embedding. Default: all.")
@click.option("--folds", type=int, default=5, show_default=True, help="Cross-validation folds; companies stay whole.")
@click.option("--permutations", type=click.IntRange(min=19), help="Default: enough for Holm over the layers.")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Seed of folds, shuffles and bootstrap.")
@click.option("--steer", is_flag=True, help="Add the direction while the agent takes its first action.")
@click.option("--erase", is_flag=True, help="Erase the direction while the agent takes its first action.")
@click.option("--alphas", default="-4,-2,0,2,4", show_default=True, help="Steering strengths, in gaps from Q + C to Q.")
@click.option("--steer-layers", help="Points to steer or erase at, like 20 or 18-20; default: picked on other folds.")
@click.option("--steer-items", type=click.IntRange(min=2), default=12, show_default=True, help="Items, of both.")
@click.option("--steer-randoms", type=click.IntRange(min=1), default=2, show_default=True, help="Random directions.")
@click.option("--json", "as_json", is_flag=True, help="The whole result on stdout.")
def command(instances: Path | None, limit: int | None, as_json: bool, steer: bool, erase: bool, **options: Any) -> None:
    """Find where ambiguity lives in a model's hidden states, and which findings survive their controls.

    \b
    fiqkit probe --model smollm2-135m-hf --limit 40
    fiqkit probe --model qwen3-4b --layers 10-20 --steer --out probe
    """
    from fiqkit.datasets import read_instances
    from fiqkit.probe.erasure import erase as erased
    from fiqkit.probe.output import summary, write
    from fiqkit.probe.steering import Plan
    from fiqkit.probe.steering import steer as steered
    from fiqkit.probe.study import Settings, probe, resolve_dtype

    asked = layer_list(options.pop("steer_layers"), "--steer-layers")
    plan = Plan(
        numbers(options.pop("alphas")),
        tuple(asked) if asked else None,
        options.pop("steer_items"),
        options.pop("steer_randoms"),
    )
    settings = Settings(**{**options, "layers": layer_list(options["layers"], "--layers")})
    chosen = read_instances(instances or INSTANCES)[:limit]
    study = probe(chosen, settings, lambda line: click.echo(line, err=True), progress_bar)
    if steer:
        study.add("steering", steered(study, plan, resolve_dtype(settings.dtype), progress_bar))
    if erase:
        study.add("erasure", erased(study, plan, resolve_dtype(settings.dtype), progress_bar))
    written = write(study.result, settings.out)
    click.echo(json.dumps(study.result, ensure_ascii=False) if as_json else summary(study.result))
    click.echo(f"written: {', '.join(path.name for path in written)} in {settings.out}", err=True)
