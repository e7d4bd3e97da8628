"""fiqkit grade: grade recorded answers again, or a file of ruled answers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from fiqkit.commands.arguments import Command
from fiqkit.commands.options import (
    FILE,
    allow_host_option,
    calibrate_option,
    isolate_option,
    json_option,
    keep_calibration,
    print_given,
    print_json,
    store_option,
)
from fiqkit.errors import UserError


@click.command(cls=Command)
@click.argument("runs", nargs=-1)
@click.option("--grader", default="rules", show_default=True, help="rules, cascade:CARD or a model card.")
@click.option("--file", "ruled", type=FILE, help="Grade this JSONL of ruled answers instead of recorded runs.")
@click.option("--against", help="The grader to agree with; by default the recorded one, or the first other one.")
@calibrate_option
@click.option(
    "--show", type=click.IntRange(0), default=10, show_default=True, help="Print at most so many disagreements."
)
@click.option("--cards", type=FILE, help="TOML file of your own model cards.")
@click.option("--allow-self-grading", is_flag=True, help="Let a model grade its own answers.")
@click.option("--again", is_flag=True, help="Give the verdicts anew that this model gave before.")
@allow_host_option
@isolate_option
@store_option
@json_option
def command(
    runs: tuple[str, ...],
    grader: str,
    ruled: Path | None,
    against: str | None,
    calibrate: bool,
    show: int,
    cards: Path | None,
    allow_self_grading: bool,
    again: bool,
    store: Path,
    as_json: bool,
) -> None:
    """Grade the answers of RUNS (all of them by default) beside the verdicts they have, and say how the two agree.

    \b
    fiqkit grade last --grader qwen2.5-32b
    fiqkit grade --grader cascade:qwen2.5-32b --file answers.jsonl

    With a model, verdicts are written as they come: after Ctrl-C the same command goes on with what is missing.
    """
    from fiqkit.commands.progress import WorkProgress
    from fiqkit.verdicts import opening

    if calibrate and not ruled:
        raise UserError("--calibrate keeps what comes of a ruled file; name one with --file")
    with WorkProgress() as progress:
        if ruled:
            from fiqkit.verdicts.ruled import ruled_answers

            result = opening.with_role("grader", grader, cards, lambda role: ruled_answers(ruled, role), progress.watch)
        else:
            result = opening.grade_runs(
                store,
                runs,
                grader,
                against,
                cards,
                again=again,
                allow_self_grading=allow_self_grading,
                watch=progress.watch,
            )
    if ruled and calibrate:
        keep_calibration("grader", result, ruled, cards)
    if as_json:
        print_json(result)
    elif ruled:
        _print_ruled(result, show)
    else:
        print_given(result, "graded")
        _print_agreement(result, show)
    if not result.get("complete", True):
        click.echo(f"interrupted; the {result['graded']} verdicts given are kept, the same command goes on", err=True)
        raise KeyboardInterrupt


def _print_ruled(result: Mapping[str, Any], show: int) -> None:
    from fiqkit.report.numbers import number, percent, percent_interval

    share = percent_interval(result["accuracy"], result["accuracy_ci"])
    told = ", ".join(f"{name} {percent(result[name])}%" for name in ("sensitivity", "specificity"))
    click.echo(f"{share}% of {result['n']} outcomes as ruled, kappa {number(result['kappa'])}; of the intended: {told}")
    for item in result["wrong"][:show]:
        click.echo(f"{item['id']}: ruled {item['ruled']}, given {item['given']} ({item['why']})\n    {item['answer']}")


def _print_agreement(result: Mapping[str, Any], show: int) -> None:
    from fiqkit.report.numbers import number, percent_interval

    for label, found in result["agreement"].items():
        click.echo(
            f"{label:9} raw {percent_interval(found['raw'], found['raw_ci'])}%  kappa {number(found['kappa'])}  "
            f"Gwet's AC1 {number(found['gwet_ac1'])}  n {found['n']}  against {', '.join(result['against']) or '–'}"
        )
    twice = result["both_ways"]
    click.echo(
        f"{len(result['disagreements'])} disagreements; of {twice['values']} values taken, the other "
        f"grader labelled {twice['n']} both right and wrong"
    )
    for item in result["disagreements"][:show]:
        click.echo(
            f"{item['instance_id']} {item['model']} {item['mode']}: {item['label']}, took {item['value']!r} for "
            f"{item['intended']!r} / {item['default']!r}: {item['why']}"
        )
