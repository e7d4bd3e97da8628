"""fiqkit import: read released instances and recorded runs into the store."""

from __future__ import annotations

from pathlib import Path

import click

from fiqkit.commands.arguments import Group
from fiqkit.commands.options import FILE, json_option, print_json, store_option


@click.group(cls=Group)
def command() -> None:
    """Read released instances and recorded runs into the store."""


@command.command()
@click.argument("folder", type=FILE)
@click.option("--keep-going", is_flag=True, help="Exit with 0 although some lines were bad.")
@store_option
@json_option
def fininteract(folder: Path, keep_going: bool, store: Path, as_json: bool) -> None:
    """Read the FinInteract release: fininteract_v*.jsonl and eval_*.jsonl anywhere below FOLDER.

    \b
    fiqkit import fininteract release
    fiqkit import fininteract release --store paper.db --keep-going

    Each run file becomes one run, its labels verdicts of the grader and the judge "recorded". Doing it again adds
    nothing. Bad lines are named and left out; they make the exit code 2 unless --keep-going is given.
    """
    from dataclasses import asdict

    from fiqkit.imports.fininteract import import_fininteract

    imported, faults = import_fininteract(folder, store)
    if as_json:
        print_json({"imported": [asdict(file) for file in imported], "faults": [str(fault) for fault in faults]})
    else:
        for file in imported:
            click.echo(file.line())
        click.echo(f"in {store}; see: fiqkit report --store {store}")
    for fault in faults:
        click.echo(f"fiqkit: {fault}", err=True)
    if faults and not keep_going:
        raise SystemExit(2)
