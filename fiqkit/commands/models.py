"""`fiqkit models`: the model cards, where each one's weights are or would be, and whether it can run here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fiqkit.commands.arguments import Command
from fiqkit.commands.options import json_option, print_json
from fiqkit.models.checks.survey import survey


@click.command(cls=Command)
@click.option(
    "--cards",
    type=click.Path(dir_okay=False, path_type=Path),
    help="TOML file of your own cards (default: FIQKIT_CARDS).",
)
@json_option
def command(cards: Path | None, as_json: bool) -> None:
    """List the model cards and whether each can run here.

    \b
    fiqkit models
    fiqkit models --cards cards.toml --json
    """
    rows = survey(cards)
    if as_json:
        print_json(rows)
        return
    _print(rows)


def _print(rows: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("name", "engine", "size", "context", "thinking", "roles", "here"):
        table.add_column(heading, overflow="fold")
    for row in rows:
        size = f"{row['bytes'] / 2**30:.2f} GiB" if row["bytes"] else ""
        runs = "yes" if row["runs"] else "no"
        thinking, roles = "/".join(row["thinking"]), " ".join(row["roles"])
        table.add_row(row["name"], row["engine"], size, str(row["context"]), thinking, roles, runs)
    Console().print(table)
    for row in rows:
        click.echo(f"\n{row['name']}\n  weights  {row['weights']}" + ("" if row["present"] else "  (not here)"))
        for label, text in (("here     no: ", row["why_not"]), ("note     ", row["note"])):
            if text:
                click.echo(f"  {label}{text}")
