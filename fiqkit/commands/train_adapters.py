"""`fiqkit train export` and `fiqkit train merge`: a trained adapter in the forms in which other engines take it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fiqkit.commands.arguments import Command, NewFile, NewFolder
from fiqkit.commands.options import json_option, print_json

ADAPTER = click.argument("adapter", type=click.Path(path_type=Path))
BASE = click.option("--base", help="The model that it acts on, a card or a path; the one it was trained on without it.")


@click.command(cls=Command)
@ADAPTER
@BASE
@click.option("--out", type=NewFile(), required=True, help="The GGUF file.")
@click.option("--dtype", type=click.Choice(["f16", "f32"]), default="f16", show_default=True, help="Of its numbers.")
@json_option
def export(adapter: Path, base: str | None, out: Path, dtype: str, as_json: bool) -> None:
    """Write a PEFT adapter as the GGUF file that llama.cpp serves: `adapter = "FILE"` in a card.

    \b
    fiqkit train export sft --out sft.gguf
    fiqkit train export sft --base smollm2-135m --dtype f32 --out sft.gguf
    """
    from fiqkit.models.cards.lora import to_gguf
    from fiqkit.models.cards.weights import fingerprint, locate
    from fiqkit.models.checks.adapters import base_of, check_gguf_adapter

    card = base_of(adapter, base)
    weights = locate(card)
    to_gguf(adapter, weights, out, dtype=dtype)
    if weights.is_file():
        check_gguf_adapter(out, card.name, weights)
    _say({"adapter": str(out), "base": card.name, "bytes": out.stat().st_size, "sha256": fingerprint(out)}, as_json)


@click.command(cls=Command)
@ADAPTER
@BASE
@click.option("--out", type=NewFolder(), required=True, help="The folder of the merged model.")
@json_option
def merge(adapter: Path, base: str | None, out: Path, as_json: bool) -> None:
    """Add an adapter to its base for good, as a folder of weights that every engine loads.

    \b
    fiqkit train merge sft --out merged
    fiqkit train merge sft --base smollm2-135m-hf --out merged
    """
    from fiqkit.models.cards.weights import stored_bytes
    from fiqkit.models.checks.adapters import base_of
    from fiqkit.train.merge import merge as merge_into

    card = base_of(adapter, base)
    merge_into(adapter, card, out)
    _say({"model": str(out), "base": card.name, "bytes": stored_bytes(out)}, as_json)


def _say(made: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(made)
    else:
        click.echo(
            ", ".join(f"{name} {value:,}" if name == "bytes" else f"{name} {value}" for name, value in made.items())
        )
