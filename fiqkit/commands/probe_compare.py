"""`fiqkit probe-compare A B`: two probe results side by side."""

from __future__ import annotations

import json
from pathlib import Path

import click

from fiqkit.commands.arguments import Command, NewFolder


@click.command(cls=Command)
@click.argument("first", type=click.Path(path_type=Path))
@click.argument("second", type=click.Path(path_type=Path))
@click.option("--out", type=NewFolder(), help="Folder for the table (CSV) and the overlay (SVG, PNG).")
@click.option("--json", "as_json", is_flag=True, help="The comparison on stdout as JSON.")
def command(first: Path, second: Path, out: Path | None, as_json: bool) -> None:
    """Compare two probes: FIRST and SECOND are folders that `fiqkit probe --out` wrote.

    \b
    fiqkit probe-compare probe-before probe-after
    fiqkit probe-compare probe-4b probe-32b --out comparison
    """
    from fiqkit.probe.compare import compare, table, write_comparison
    from fiqkit.probe.output import read_result

    results = read_result(first), read_result(second)
    compared = compare(*results)
    click.echo(json.dumps(compared, ensure_ascii=False) if as_json else table(compared))
    if out:
        written = write_comparison(compared, results, out)
        click.echo(f"written: {', '.join(path.name for path in written)} in {out}", err=True)
