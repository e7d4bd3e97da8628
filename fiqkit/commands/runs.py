"""fiqkit runs: list the recorded runs."""

from __future__ import annotations

from pathlib import Path

import click

from fiqkit.commands.options import json_option, print_json, store_option


@click.command()
@store_option
@json_option
def command(store: Path, as_json: bool) -> None:
    """List the recorded runs, oldest first."""
    from fiqkit.run.store import Store

    runs = Store(store).runs()
    if as_json:
        print_json({"runs": runs})
        return
    for run in runs:
        agents = ", ".join(agent["name"] for agent in run["manifest"].get("agents", ())) or run["kind"]
        click.echo(f"{run['run']}  {run['status']:8}  {run['episodes']:6} episodes  {run['created']}  {agents}")
