"""`fiqkit doctor`: what this machine has for the kit's work, and the command for what it lacks."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from fiqkit.commands.arguments import Command
from fiqkit.commands.options import FILE, json_option, print_json


@click.command(cls=Command)
@click.option("--cards", type=FILE, help="TOML file of your own cards (default: FIQKIT_CARDS).")
@json_option
def command(cards: Path | None, as_json: bool) -> None:
    """Examine this machine. Exit codes: 0 ready, 1 usable (something lacks), 2 the main job cannot run.

    \b
    fiqkit doctor
    fiqkit doctor --json
    """
    from dataclasses import asdict

    from fiqkit.doctor import EXIT_CODES, examine, overall

    findings = examine(cards)
    state = overall(findings)
    if as_json:
        print_json({"state": state, "findings": [asdict(finding) for finding in findings]})
    else:
        width = max(len(finding.what) for finding in findings)
        for finding in findings:
            click.echo(f"{finding.state:7} {finding.what:{width}}  {finding.found}")
            if finding.mend:
                click.echo(f"{'':7} {'':{width}}  mend: {finding.mend}")
        click.echo(f"this machine is {'not ready' if state == 'not' else state}")
    sys.exit(EXIT_CODES[state])
