"""fiqkit judge: judge recorded questions again, or a file of ruled questions."""

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
@click.option("--judge", default="rules", show_default=True, help="rules or a model card.")
@click.option("--file", "ruled", type=FILE, help="Judge this JSONL of ruled questions instead of recorded runs.")
@calibrate_option
@click.option(
    "--show", type=click.IntRange(0), default=10, show_default=True, help="Print at most so many wrong items."
)
@click.option("--cards", type=FILE, help="TOML file of your own model cards.")
@click.option("--allow-self-grading", is_flag=True, help="Let a model judge its own questions.")
@click.option("--again", is_flag=True, help="Give the verdicts anew that this model gave before.")
@allow_host_option
@isolate_option
@store_option
@json_option
def command(
    runs: tuple[str, ...],
    judge: str,
    ruled: Path | None,
    calibrate: bool,
    show: int,
    cards: Path | None,
    allow_self_grading: bool,
    again: bool,
    store: Path,
    as_json: bool,
) -> None:
    """Judge the clarifying questions of RUNS (all of them by default) beside the verdicts they have.

    \b
    fiqkit judge last --judge qwen2.5-32b
    fiqkit judge --judge rules --file questions.jsonl

    With a model, verdicts are written as they come: after Ctrl-C the same command goes on with what is missing.
    """
    from fiqkit.commands.progress import WorkProgress
    from fiqkit.verdicts import opening

    if calibrate and not ruled:
        raise UserError("--calibrate keeps what comes of a ruled file; name one with --file")
    with WorkProgress() as progress:
        if ruled:
            from fiqkit.verdicts.ruled import ruled_questions

            result = opening.with_role("judge", judge, cards, lambda role: ruled_questions(ruled, role), progress.watch)
        else:
            result = opening.judge_runs(
                store, runs, judge, cards, again=again, allow_self_grading=allow_self_grading, watch=progress.watch
            )
    if ruled and calibrate:
        keep_calibration("judge", result, ruled, cards)
    if as_json:
        print_json(result)
    elif ruled:
        _print_ruled(result, show)
    else:
        print_given(result, "judged")
        _print_agreement(result)
    if not result.get("complete", True):
        click.echo(f"interrupted; the {result['judged']} verdicts given are kept, the same command goes on", err=True)
        raise KeyboardInterrupt


def _print_ruled(result: Mapping[str, Any], show: int) -> None:
    from fiqkit.report.numbers import number, percent, percent_interval

    central = percent_interval(result["central"], result["central_ci"])
    click.echo(
        f"{result['n']} questions: touched set {percent(result['touched'])}%, central {central}%, "
        f"macro-F1 {number(result['macro_f1'])}, kappa {number(result['kappa'])}"
    )
    for item in result["wrong"][:show]:
        click.echo(f"{item['id']}: ruled {item['ruled']}, given {item['given']}\n    {item['question']}")


def _print_agreement(result: Mapping[str, Any]) -> None:
    from fiqkit.report.numbers import number, percent_interval

    central = result["central"]
    click.echo(
        f"against the recorded judge on {central['n']}: central "
        f"{percent_interval(central['raw'], central['raw_ci'])}%, kappa {number(central['kappa'])}, macro-F1 "
        f"{number(result['macro_f1'])}"
    )
