"""fiqkit regrade: a capsule graded and judged again by the rules."""

from __future__ import annotations

from pathlib import Path

import click

from fiqkit.commands.arguments import Command
from fiqkit.commands.options import EXISTING_FILE, json_option, print_json


@click.command(cls=Command)
@click.argument("file", type=EXISTING_FILE)
@json_option
def command(file: Path, as_json: bool) -> None:
    """Grade and judge the capsule FILE again by the rules, and say what has changed.

    \b
    fiqkit regrade run.capsule.db
    fiqkit regrade run.capsule.db --json

    The part "canonical" of the JSON is the same to the byte on every machine that has the same rules.
    """
    from fiqkit.verdicts.regrade import regrade

    found = regrade(file)
    if as_json:
        print_json(found)
        return
    outcomes = ", ".join(f"{count} {name}" for name, count in found["canonical"]["outcomes"].items())
    click.echo(f"run {found['canonical']['run']}: {outcomes or 'no answer'}")
    if not found["same_rules"]:
        then, now = found["written_with"].get("fiqkit"), found["regraded_with"]["fiqkit"]
        click.echo(f"written with other rules than these (fiqkit {then}, now {now})")
    click.echo(f"{len(found['changed'])} verdicts are not what they were")
