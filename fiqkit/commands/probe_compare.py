"""`fiqkit probe-compare A B`: two probe results side by side, and published profiles beside them."""

from __future__ import annotations

import json
from pathlib import Path

import click

from fiqkit.commands.arguments import Command, NewFolder


@click.command(cls=Command)
@click.argument("first", type=click.Path(path_type=Path))
@click.argument("second", type=click.Path(path_type=Path), required=False)
@click.option("--flow", type=click.Path(path_type=Path), multiple=True, help="Lay this published profile over them.")
@click.option("--out", type=NewFolder(), help="Folder for the table (CSV) and the overlays (SVG, PNG).")
@click.option("--json", "as_json", is_flag=True, help="The comparison on stdout as JSON.")
def command(first: Path, second: Path | None, flow: tuple[Path, ...], out: Path | None, as_json: bool) -> None:
    """Compare two probes: FIRST and SECOND are folders that `fiqkit probe --out` wrote.

    \b
    fiqkit probe-compare probe-before probe-after
    fiqkit probe-compare probe-4b probe-32b --out comparison

    With --flow, which reads the FinInteract release's profiles, SECOND may be left out.
    """
    from fiqkit.probe.compare import compare, table, write_comparison, write_overlay
    from fiqkit.probe.flow import read_flow
    from fiqkit.probe.output import read_result

    if not (second or flow):
        raise click.UsageError("one probe alone; name a second one, or a published profile with --flow")
    if flow and not out:
        raise click.UsageError("--flow is drawn into a folder; name it with --out")
    published = dict(map(read_flow, flow))
    results = [read_result(path) for path in (first, second) if path]
    written: list[Path] = []
    if len(results) == 2:
        one, two = results
        compared = compare(one, two)
        click.echo(json.dumps(compared, ensure_ascii=False) if as_json else table(compared))
        written += write_comparison(compared, (one, two), out) if out else []
    if published and out:
        written += write_overlay(results, published, out)
    if written:
        click.echo(f"written: {', '.join(path.name for path in written)} in {out}", err=True)
