"""`fiqkit check`: a user's own files, before a run is spent on them."""

from __future__ import annotations

from pathlib import Path

import click

from fiqkit.commands.arguments import Command, NewFolder
from fiqkit.commands.options import FILE, json_option, print_json
from fiqkit.errors import UserError


@click.command(cls=Command)
@click.argument("files", nargs=-1, type=FILE)
@click.option(
    "--template", type=NewFolder(), help="Write an example of each file, with a word on each field, into this folder."
)
@click.option("--no-rules", is_flag=True, help="Do not name the construction rules that instances break.")
@json_option
def command(files: tuple[Path, ...], template: Path | None, no_rules: bool, as_json: bool) -> None:
    """Hold FILES against each other before a run: instances, passages, ruled questions (JSONL) and index folders.

    \b
    fiqkit check instances.jsonl passages.jsonl index
    fiqkit check --template example

    A fault is what a run cannot measure or would measure wrongly, and ends the command with exit code 2; a remark is
    what a person should look at.
    """
    from fiqkit.check.across import check
    from fiqkit.check.template import write_template

    if template:
        for path in write_template(template):
            click.echo(path)
    if not files:
        if not template:
            raise UserError("name a file to check, or --template FOLDER for an example of each")
        return
    found = check(files, rules=not no_rules)
    faults = [finding for finding in found.findings if finding.fatal]
    held = {
        "instances": len(found.instances),
        "passages": len(found.passages),
        "questions": len(found.questions),
        "indexes": len(found.indexes),
    }
    if as_json:
        rows = [{"where": f.where, "what": f.what, "fault": f.fatal} for f in found.findings]
        print_json(held | {"faults": len(faults), "findings": rows})
    else:
        for finding in sorted(found.findings, key=lambda f: not f.fatal):
            click.echo(f"{'fault ' if finding.fatal else 'remark'}  {finding}")
        click.echo(", ".join(f"{count:,} {name}" for name, count in held.items() if count) + " checked")
    if faults:
        raise UserError(f"{len(faults)} faults in {len(files)} files, {len(found.findings) - len(faults)} remarks")
