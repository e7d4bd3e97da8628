"""fiqkit runs: list the recorded runs, and merge stores."""

from __future__ import annotations

from pathlib import Path

import click

from fiqkit.commands.arguments import Group
from fiqkit.commands.options import FILE, json_option, print_json, store_option


@click.group(cls=Group, invoke_without_command=True)
@store_option
@json_option
@click.pass_context
def command(ctx: click.Context, store: Path, as_json: bool) -> None:
    """List the recorded runs, oldest first; `merge` makes one store of several.

    \b
    fiqkit runs
    fiqkit runs --store other.db --json
    """
    if ctx.invoked_subcommand:
        return
    from fiqkit.store.store import Store

    runs = Store(store).runs()
    if as_json:
        print_json({"runs": runs})
        return
    for run in runs:
        agents = ", ".join(agent["name"] for agent in run["manifest"].get("agents", ())) or run["kind"]
        click.echo(f"{run['run']}  {run['status']:8}  {run['episodes']:6} episodes  {run['created']}  {agents}")


@command.command()
@click.argument("sources", nargs=-1, required=True, type=FILE)
@click.option("--as", "name", metavar="RUN", help="Make one run of all of them, the parts of one experiment.")
@store_option
@json_option
def merge(sources: tuple[Path, ...], name: str | None, store: Path, as_json: bool) -> None:
    """Copy the runs of the SOURCES, stores of several machines, into --store.

    \b
    fiqkit runs merge one.db two.db --store all.db
    fiqkit runs merge *.db --as experiment --store all.db
    """
    from fiqkit.store.merge import merge as merge_stores

    gained = merge_stores(sources, store, name)
    if as_json:
        print_json({"runs": gained})
        return
    click.echo(f"{store}: gained {', '.join(gained)}")
