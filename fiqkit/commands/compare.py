"""fiqkit compare: paired difference between two runs, models or modes."""

from __future__ import annotations

from pathlib import Path

import click

from fiqkit.commands.arguments import SEED, Command
from fiqkit.commands.options import json_option, print_json, store_option


@click.command(cls=Command)
@click.argument("first", metavar="RUN:MODEL:MODE[@RETRIEVAL]")
@click.argument("second", metavar="RUN:MODEL:MODE[@RETRIEVAL]")
@click.option("--grader", help="Whose grades to take on both sides.")
@click.option("--judge", help="Whose judgements of questions to take on both sides.")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Seed of the bootstrap.")
@store_option
@json_option
def command(
    first: str, second: str, grader: str | None, judge: str | None, seed: int, store: Path, as_json: bool
) -> None:
    """Compare the SECOND side with the FIRST, instance by instance: differences, intervals and p.

    \b
    fiqkit compare last:qwen3-4b:search last:qwen3-4b:interact
    fiqkit compare RUN:before:interact last:after:interact --grader rules

    Each side is RUN:MODEL:MODE, with @RETRIEVAL where a run has several; RUN may be "last".
    """
    from fiqkit.report.comparison import compare_sides, comparison_lines
    from fiqkit.store.store import Store

    kept = Store(store)
    try:
        result = compare_sides(kept, first, second, grader, judge, seed=seed)
    finally:
        kept.close()
    print_json(result) if as_json else click.echo("\n".join(comparison_lines(result)))
