"""fiqkit capsule: one run in a file that proves itself."""

from __future__ import annotations

from pathlib import Path

import click

from fiqkit.commands.arguments import Command, NewFile
from fiqkit.commands.options import FILE, json_option, print_json, store_option


@click.command(cls=Command)
@click.argument("run")
@click.option("--out", type=NewFile(), required=True, help="File to write; it must not be there.")
@click.option("--passages", type=FILE, help="JSONL of the passages; the bundled ones without it.")
@click.option("--without-passages", is_flag=True, help="Leave the passages out.")
@store_option
@json_option
def command(run: str, out: Path, passages: Path | None, without_passages: bool, store: Path, as_json: bool) -> None:
    """Write RUN (an id, or "last") with its instances, passages, prompts, episodes and verdicts to one file.

    \b
    fiqkit capsule last --out run.capsule.db
    fiqkit capsule last --out run.capsule.db --passages passages.jsonl

    It is a run store with a hash of every table: `fiqkit verify FILE` checks them, `fiqkit regrade FILE` grades it
    again.
    """
    from fiqkit.bench_data import PASSAGES
    from fiqkit.datasets import read_passages
    from fiqkit.store.capsule import write_capsule
    from fiqkit.verdicts.regrade import code_version

    found = [] if without_passages else read_passages(passages or PASSAGES)
    told = write_capsule(store, run, out, found, code_version())
    if as_json:
        print_json(told | {"file": str(out)})
        return
    click.echo(f"{out}: run {told['run']}, {out.stat().st_size:,} bytes, sha256 {told['hash']}")
