"""fiqkit describe: what a set of instances holds."""

from __future__ import annotations

from pathlib import Path

import click

from fiqkit.commands.arguments import Command, NewFolder
from fiqkit.commands.options import FILE, json_option, print_json


@click.command(cls=Command)
@click.argument("file", type=FILE)
@click.option("--figures", type=NewFolder(), help="Draw it, as set.svg and set.png in this folder.")
@json_option
def command(file: Path, figures: Path | None, as_json: bool) -> None:
    """Count what FILE (JSONL of instances) holds: languages, sources, forms, years, companies, categories, readings.

    \b
    fiqkit describe instances.jsonl
    fiqkit describe instances.jsonl --figures figures
    """
    from fiqkit.datasets import dataset_hash, read_instances
    from fiqkit.metrics.describe import describe
    from fiqkit.report.description import description_lines

    instances = read_instances(file)
    found = {"file": str(file), "dataset": dataset_hash(instances), **describe(instances)}
    if figures:
        from fiqkit.figures.description import describe_set
        from fiqkit.figures.style import chinese_fonts, save

        for path in save(describe_set(found), figures, "set"):
            click.echo(f"figure: {path}", err=True)
        if "zh" in found["languages"] and not chinese_fonts():
            click.echo(
                "no Chinese font is installed: the PNG shows boxes for its characters, the SVG is whole", err=True
            )
    print_json(found) if as_json else click.echo("\n".join(description_lines(found)))
