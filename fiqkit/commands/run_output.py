"""What `fiqkit run` prints when it is done: the table, what was used, and the commands that lead on from there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fiqkit.commands.options import program

if TYPE_CHECKING:
    from fiqkit.run.evaluation import Result


def print_result(result: Result, notice: str | None) -> None:
    """Print a run's table with what its line-up says to look at."""
    from rich.console import Console

    from fiqkit.report.next_steps import next_steps
    from fiqkit.report.terminal import main_table

    console = Console()
    console.print(main_table(result.rows, width=console.width))
    if notice:
        console.print(notice, style="bold", highlight=False)
    for row in result.usage:
        cost = "" if row["dollars"] is None else f", ${row['dollars']:.2f}"
        tokens = f"{row['prompt_tokens']:,} prompt and {row['output_tokens']:,} output tokens"
        click.echo(f"{row['role']} {row['name']}: {row['requests']:,} requests, {tokens}{cost}")
    failed = [f"{n} {what}" for n, what in _failures(result) if n]
    told = f" ({', '.join(failed)}; --resume tries them again)" if failed else ""
    click.echo(f"run {result.run}: {result.episodes} episodes{told} in {result.store.resolve()}, {_spoken(result)}")
    for what, line in next_steps(result.store, result.run):
        click.echo(f"{what:13} {program()} {line}")


def _failures(result: Result) -> tuple[tuple[int, str], ...]:
    return (result.engine_errors, "engine errors"), (result.bugs, "bugs"), (result.unscored, "unscored verdicts")


def _spoken(result: Result) -> str:
    """How long it took, by the clock: "2 min 05 s"."""
    minutes, seconds = divmod(round(result.seconds), 60)
    return f"{minutes} min {seconds:02} s" if minutes else f"{result.seconds:.1f} s"
