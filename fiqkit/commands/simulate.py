"""fiqkit simulate: hold a simulated user against a file of ruled replies."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from fiqkit.commands.arguments import Command
from fiqkit.commands.options import FILE, json_option, print_json


@click.command(cls=Command)
@click.option("--simulator", default="rules", show_default=True, help="rules, noisy or a model card.")
@click.option(
    "--file", "ruled", type=FILE, required=True, help="JSONL of questions to the user with their right replies."
)
@click.option(
    "--show", type=click.IntRange(0), default=10, show_default=True, help="Print at most so many wrong items."
)
@click.option("--cards", type=FILE, help="TOML file of your own model cards.")
@json_option
def command(simulator: str, ruled: Path, show: int, cards: Path | None, as_json: bool) -> None:
    """Ask the simulated user every question of a file and say how many replies are right.

    \b
    fiqkit simulate --file replies.jsonl
    fiqkit simulate --simulator qwen2.5-32b --file replies.jsonl
    """
    from fiqkit.verdicts import opening
    from fiqkit.verdicts.ruled import ruled_replies

    result = opening.with_role("simulator", simulator, cards, lambda role: ruled_replies(ruled, role))
    print_json(result) if as_json else _print(result, show)


def _print(result: Mapping[str, Any], show: int) -> None:
    from fiqkit.report.numbers import percent

    click.echo(
        f"{percent(result['accuracy'])}% of {result['n']} replies as ruled, {result['false_definite']} false yes or no"
    )
    for item in result["wrong"][:show]:
        click.echo(f"{item['id']}: ruled {item['ruled']}, given {item['given']}\n    {item['question']}")
