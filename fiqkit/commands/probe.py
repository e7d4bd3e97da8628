"""`fiqkit probe`: where ambiguity lives in a model's hidden states, with controls."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from fiqkit.errors import UserError

BUNDLED = Path(__file__).parent.parent / "bench_data" / "instances.jsonl"


def layer_list(text: str | None) -> list[int] | None:
    """Layers of "3,7,10-12".

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
        raise UserError(f"--layers {text!r}: layers are written like 3,7,10-12") from error
    if not found:
        raise UserError(f"--layers {text!r}: an empty range; the lower layer comes first")
    return found


def progress_bar(what: str, done: int, of: int) -> None:
    """One line on stderr that overwrites itself."""
    click.echo(f"\r{what}: {done}/{of}" + ("\n" if done >= of else ""), err=True, nl=False)


@click.command()
@click.option("--model", required=True, help="Model card, path of a checkpoint or GGUF, or OWNER/REPO in the cache.")
@click.option("--instances", type=click.Path(path_type=Path), default=None, help="JSONL; default: the bundled set.")
@click.option("--limit", type=click.IntRange(min=1), help="Only the first N instances.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("probe"), show_default=True, help="Output folder.")
@click.option("--dtype", type=click.Choice(["auto", "f32", "bf16", "fp16", "4bit"]), default="auto", show_default=True)
@click.option("--adapter", type=click.Path(path_type=Path), help="Compare before and after this LoRA adapter.")
@click.option("--layers", help="Points to look at, like 0,10-20; 0 is the embedding. Default: all.")
@click.option("--folds", type=int, default=5, show_default=True, help="Cross-validation folds; companies stay whole.")
@click.option("--permutations", type=click.IntRange(min=19), help="Default: enough for Holm over the layers.")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--steer", is_flag=True, help="Add the direction while the agent takes its first action.")
@click.option("--alphas", default="-4,-2,-1,0,1,2,4", show_default=True, help="Steering strengths, in gaps Q to Q + C.")
@click.option("--steer-layers", help="Layers to steer at; default: the direction's peak.")
@click.option("--steer-items", type=click.IntRange(min=1), default=24, show_default=True, help="Items to steer on.")
@click.option("--json", "as_json", is_flag=True, help="The whole result on stdout.")
def command(instances: Path | None, limit: int | None, as_json: bool, **options: Any) -> None:
    """Find where ambiguity lives in a model's hidden states, and which findings survive their controls."""
    from fiqkit.probe.output import summary, write
    from fiqkit.probe.study import Settings, probe
    from fiqkit.records import read_instances

    steer = {name: options.pop(name) for name in ("steer", "alphas", "steer_layers", "steer_items")}
    settings = Settings(**{**options, "layers": layer_list(options["layers"])})
    chosen = read_instances(instances or BUNDLED)[:limit]
    study = probe(chosen, settings, lambda line: click.echo(line, err=True), progress_bar)
    written = write(study.result, settings.out)
    click.echo(json.dumps(study.result, ensure_ascii=False) if as_json else summary(study.result))
    click.echo(f"written: {', '.join(path.name for path in written)} in {settings.out}", err=True)
