"""Options that several commands share."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from fiqkit import offline

FILE = click.Path(path_type=Path)
EXISTING_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)

store_option = click.option(
    "--store", type=FILE, default="fiqkit.db", show_default=True, help="SQLite file of the recorded runs."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")


def _allow(ctx: click.Context, param: click.Parameter, hosts: tuple[str, ...]) -> None:
    for host in hosts:
        offline.allow(host)


def _isolate(ctx: click.Context, param: click.Parameter, wanted: bool) -> None:
    if wanted:
        offline.isolate()


allow_host_option = click.option(
    "--allow-host",
    multiple=True,
    metavar="HOST",
    expose_value=False,
    callback=_allow,
    help="Let Python code connect to this host; a model at a URL allows its own.",
)
# Eager, since a process that has started threads can no longer leave its network behind.
isolate_option = click.option(
    "--isolate",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_isolate,
    help="Take the network away from this process and its children (Linux); loopback stays.",
)


calibrate_option = click.option(
    "--calibrate", is_flag=True, help="Keep what comes of --file beside your cards: reports then correct their rates."
)


def keep_calibration(role: str, result: Mapping[str, Any], ruled: Path, cards: Path | None) -> None:
    """Keep what a role did with a ruled file, and say where."""
    from fiqkit.metrics.corrected import Instrument
    from fiqkit.verdicts.calibration import calibrate

    kept = calibrate(role, result[role], Instrument(**result["counts"]), ruled, cards)
    click.echo(f"calibration of {role} {result[role]}: {kept}", err=True)


def names(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...]:
    """Callback: a comma-separated list as a tuple, empty when nothing was given."""
    found = tuple(name.strip() for name in value.split(",")) if value is not None else ()
    if not all(found):
        raise click.BadParameter(f"{value!r} has nothing between two commas")
    return found


def _gates(ctx: click.Context, param: click.Parameter, written: tuple[str, ...]) -> tuple[Any, ...]:
    if not written:
        return ()
    from fiqkit.report.gate import parse_gate

    return tuple(map(parse_gate, written))


fail_under_option = click.option(
    "--fail-under",
    "gates",
    multiple=True,
    metavar="[MODE:]METRIC=VALUE",
    callback=_gates,
    help="End with exit code 3 where a model is below; may be given several times.",
)


def fail_under(gates: tuple[Any, ...], rows: list[dict[str, Any]]) -> None:
    """End with exit code 3, a line for each number that is below its gate, if any is."""
    if not gates:
        return
    from fiqkit.report.gate import EXIT_CODE, failures

    below = failures(gates, rows)
    for line in below:
        click.echo(f"--fail-under: {line}", err=True)
    if below:
        sys.exit(EXIT_CODE)


def program() -> str:
    """How this program was called: by its name where the shell finds it, else by its path."""
    called = Path(sys.argv[0])
    return str(called) if called.name == "fiqkit" and shutil.which("fiqkit") is None else "fiqkit"


def print_given(result: Mapping[str, Any], verb: str) -> None:
    """How many verdicts were given, stand from before, and could not be had."""
    giver = result["grader" if verb == "graded" else "judge"]
    again = "; the same command tries them again" if result["unscored"] else ""
    click.echo(f"{result[verb]} {verb} by {giver}, {result['kept']} from before, {result['unscored']} unscored{again}")


def print_json(value: Any) -> None:
    """One JSON document on stdout, readable."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=2))
