"""`fiqkit audit`: a set of instances against the fourteen rules, and what it gives away."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fiqkit.commands.arguments import Command
from fiqkit.commands.options import EXISTING_FILE, json_option, print_json


@click.command(cls=Command)
@click.argument("file", type=EXISTING_FILE)
@click.option(
    "--passages", type=EXISTING_FILE, help="Passages of the set; with them what must stand in a passage is held too."
)
@click.option("--why", is_flag=True, help="List each offence with its text.")
@json_option
def command(file: Path, passages: Path | None, why: bool, as_json: bool) -> None:
    """Hold a set against rules R1 to R14 and look for what it gives away.

    \b
    fiqkit audit mine/instances.jsonl --passages mine/passages.jsonl
    fiqkit audit mine/instances.jsonl --why

    FILE holds instances (JSONL): this kit's, the release's, or your own. The rules stand as the paper has them and,
    apart, where this kit is stricter.
    """
    from fiqkit.construct.audit import audit, read_cases

    found = audit(read_cases(file, passages))
    if as_json:
        print_json(found)
        return
    click.echo(f"{file}: {found['passed']} of {found['n']} instances keep R1 to R14")
    for title, rules in (("as the paper has it", found["rules"]), ("stricter", found["stricter"])):
        for name, held in rules.items():
            if held["failed"]:
                click.echo(f"{name} ({title}): {len(held['failed'])} fail")
                for key, text in held["why"].items() if why else ():
                    click.echo(f"  {key}: {text}")
    _print_checks(found["checks"])


def _print_checks(checks: dict[str, Any]) -> None:
    orbits = checks["orbits"]
    both = checks["both_values_in_passage"]
    click.echo(
        f"orbits: {orbits['orbits']} with {orbits['in_orbits']} instances, {len(orbits['incomplete'])} incomplete\n"
        f"leaks {len(checks['leaks'])} · near-duplicates {len(checks['near_duplicates'])} · contradictory "
        f"{len(checks['contradictory'])} · part for the whole {len(checks['part_whole'])} · all values in the passage "
        f"{'not known' if both is None else f'{both:.0%}'}"
    )
    click.echo("\n| without asking | accuracy | intent_resolved |\n| --- | ---: | ---: |")
    for name, row in checks["no_ask"].items():
        shown = ("–" if share is None else f"{share:.3f}" for share in (row["accuracy"], row["intent_resolved"]))
        click.echo(f"| {name} | {' | '.join(shown)} |")
    click.echo("\n| classifier, across companies | right | chance |\n| --- | ---: | ---: |")
    for name, row in checks["classifiers"].items():
        click.echo(f"| {name} | {row['share']:.3f} | {row['chance']:.3f} |")
    asking = checks["asking"]
    click.echo(
        f"\nbest constant question: central {asking['constant_central']['share']:.3f}, touch "
        f"{asking['constant_touch']['share']:.3f}; best compound: touch {asking['compound_touch']['share']:.3f}; "
        f"targeting ceiling {asking['ceiling']:.3f}, {asking['live']:.2f} live categories a passage"
    )
