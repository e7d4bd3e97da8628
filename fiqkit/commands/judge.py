"""fiqkit judge: judge recorded questions again, or a file of ruled questions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from fiqkit.commands.options import FILE, allow_host_option, isolate_option, json_option, print_json, store_option


@click.command()
@click.argument("runs", nargs=-1)
@click.option("--judge", default="rules", show_default=True, help="rules or a model card.")
@click.option("--file", "ruled", type=FILE, help="Judge this JSONL of ruled questions instead of recorded runs.")
@click.option("--show", type=int, default=10, show_default=True, help="Print at most so many wrong items.")
@click.option("--cards", type=FILE, help="TOML file of your own model cards.")
@click.option("--allow-self-grading", is_flag=True, help="Let a model judge its own questions.")
@allow_host_option
@isolate_option
@store_option
@json_option
def command(
    runs: tuple[str, ...],
    judge: str,
    ruled: Path | None,
    show: int,
    cards: Path | None,
    allow_self_grading: bool,
    store: Path,
    as_json: bool,
) -> None:
    """Judge the clarifying questions of RUNS (all of them by default) beside the verdicts they have."""
    from fiqkit.verdicts import opening

    if ruled:
        from fiqkit.verdicts.ruled import ruled_questions

        result = opening.with_role("judge", judge, cards, lambda role: ruled_questions(ruled, role))
        print_json(result) if as_json else _print_ruled(result, show)
        return
    result = opening.judge_runs(store, runs, judge, cards, allow_self_grading=allow_self_grading)
    print_json(result) if as_json else _print_agreement(result)


def _print_ruled(result: Mapping[str, Any], show: int) -> None:
    from fiqkit.report.numbers import number, percent

    click.echo(
        f"{result['n']} questions: touched set {percent(result['touched'])}%, central {percent(result['central'])}%, "
        f"macro-F1 {number(result['macro_f1'])}, kappa {number(result['kappa'])}"
    )
    for item in result["wrong"][:show]:
        click.echo(f"{item['id']}: ruled {item['ruled']}, given {item['given']}\n    {item['question']}")


def _print_agreement(result: Mapping[str, Any]) -> None:
    from fiqkit.report.numbers import number, percent

    central = result["central"]
    click.echo(
        f"{result['judged']} questions judged; against the recorded judge on {central['n']}: "
        f"central {percent(central['raw'])}%, kappa {number(central['kappa'])}, macro-F1 {number(result['macro_f1'])}"
    )
