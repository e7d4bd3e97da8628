"""`fiqkit verify`: certificates recomputed from a fact store."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from fiqkit.commands.options import json_option, print_json

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_SHOWN = 20


@click.command()
@click.argument("file", type=FILE)
@click.option("--facts", type=FILE, required=True, help="Fact store (fiqkit ingest) that holds the filings.")
@json_option
def command(file: Path, facts: Path, as_json: bool) -> None:
    """Recompute every value of a set from the facts that its certificates name.

    FILE holds instances with certificates, as `fiqkit construct` writes them. Exit code 1 when one does not hold.
    """
    from fiqkit.construct.certificate import verify
    from fiqkit.datasets import read_instances
    from fiqkit.filings.store import FactStore

    store = FactStore(facts)
    try:
        done = verify(read_instances(file), store)
    finally:
        store.close()
    if as_json:
        print_json(done.row())
    else:
        click.echo(f"{file}: {done.recomputed} of {done.n} certificates recomputed from {facts}")
        for key, why in list(done.failed.items())[:_SHOWN]:
            click.echo(f"  {key}: {why}")
    if done.failed:
        sys.exit(1)
