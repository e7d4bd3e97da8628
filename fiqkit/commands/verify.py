"""`fiqkit verify`: certificates recomputed from a fact store."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from fiqkit.commands.arguments import Command
from fiqkit.commands.options import EXISTING_FILE, json_option, print_json

_SHOWN = 20


@click.command(cls=Command)
@click.argument("file", type=EXISTING_FILE)
@click.option("--facts", type=EXISTING_FILE, help="Fact store (fiqkit ingest) that holds the filings.")
@json_option
def command(file: Path, facts: Path | None, as_json: bool) -> None:
    """Recompute every value of a set from the facts that its certificates name, or every hash of a capsule.

    \b
    fiqkit verify mine/instances.jsonl --facts facts.db
    fiqkit verify run.capsule.db

    FILE holds instances with certificates, as `fiqkit construct` writes them, and needs --facts; or it is a capsule,
    as `fiqkit capsule` writes it. Exit code 1 when something does not hold.
    """
    from fiqkit.store.capsule import is_store

    if is_store(file):
        _verify_capsule(file, as_json)
        return
    if facts is None:
        raise click.UsageError("certificates are recomputed from a fact store; name it with --facts")
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


def _verify_capsule(file: Path, as_json: bool) -> None:
    from fiqkit.store.capsule import read_capsule, verify_capsule

    told, faults = read_capsule(file), verify_capsule(file)
    if as_json:
        print_json({"run": told["run"], "hash": told.get("hash"), "faults": faults})
    else:
        click.echo(f"{file}: run {told['run']}, {'changed' if faults else 'as it was written'}, {told.get('hash')}")
        for fault in faults[:_SHOWN]:
            click.echo(f"  {fault}")
    if faults:
        sys.exit(1)
