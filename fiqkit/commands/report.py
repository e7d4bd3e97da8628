"""fiqkit report: tables, figures and the HTML page of recorded runs."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Any

import click

from fiqkit.commands.arguments import SEED, Command, NewFile, NewFolder
from fiqkit.commands.options import FILE, fail_under, fail_under_option, json_option, print_json, store_option


@click.command(cls=Command)
@click.argument("runs", nargs=-1)
@click.option("--format", "form", type=click.Choice(["csv", "json", "latex", "md"]), help="Instead of the table.")
@click.option("--html", type=NewFile(), help="Write one self-contained page, every episode in it.")
@click.option("--probe", "probes", type=FILE, multiple=True, help="Show this result of `fiqkit probe` on the page too.")
@click.option("--training", type=FILE, multiple=True, help="Show the curves of this `fiqkit train` on the page too.")
@click.option("--figures", type=NewFolder(), help="Write every figure as SVG and PNG into this folder.")
@click.option("--grader", help="Whose grades to take; by default the recorded ones of an import, else those of rules.")
@click.option("--judge", help="Whose judgements of questions to take; by default as for --grader.")
@click.option("--cutoff", metavar="DATE", help="Tell items filed before this ISO date from later ones, in every row.")
@click.option("--labels", type=FILE, help="JSONL of rulings on answers: accuracy raw and corrected for the grader.")
@click.option("--calibration", type=FILE, help="File of `grade --calibrate`; by default the one beside your cards.")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Seed of the bootstrap.")
@fail_under_option
@store_option
@json_option
def command(
    runs: tuple[str, ...],
    cutoff: str | None,
    labels: Path | None,
    calibration: Path | None,
    form: str | None,
    html: Path | None,
    probes: tuple[Path, ...],
    training: tuple[Path, ...],
    figures: Path | None,
    grader: str | None,
    judge: str | None,
    seed: int,
    gates: tuple[Any, ...],
    store: Path,
    as_json: bool,
) -> None:
    """Report on RUNS: ids, "last" or "all".

    \b
    fiqkit report last --html report.html
    fiqkit report all --format latex --fail-under interact:accuracy=60%

    By default the last run, or the files that were last imported together.
    """
    from fiqkit.report.document import make_report
    from fiqkit.report.formats import FORMATS
    from fiqkit.store.store import Store
    from fiqkit.verdicts.calibration import calibration_file

    if (probes or training) and not html:
        raise click.UsageError("--probe and --training are shown on the page; name its file with --html")
    calibrations = calibration_file(named=calibration)
    kept = Store(store)
    try:
        report = make_report(
            kept, runs, grader, judge, cutoff=cutoff, labels=labels, calibrations=calibrations, seed=seed
        )
        if html:
            from fiqkit.report.html import write_page

            write_page(report, kept, html, probes, training)
            click.echo(f"page: {html}, {html.stat().st_size / 1e6:.1f} MB", err=True)
        if figures:
            from fiqkit.figures.gallery import save_all

            written = save_all(report.material(), figures)
            click.echo(f"figures: {len(written)} files in {figures}", err=True)
    finally:
        kept.close()
    if as_json or form == "json":
        print_json(report.numbers())
    elif form:
        click.echo(FORMATS[form](report), nl=False)
    else:
        _print(report)
    fail_under(gates, report.rows)


def _print(report: Any) -> None:
    from rich.console import Console

    from fiqkit.report.notes import correction_lines, cutoff_lines, diagnosis_lines, partial_runs
    from fiqkit.report.terminal import comparison_table, main_table

    console = Console()
    console.print(main_table(report.rows, width=console.width, references=report.references))
    for note in partial_runs(report.runs):
        console.print(note, style="yellow", highlight=False)
    if report.comparisons:
        console.print(comparison_table(report.comparisons))
    lines = (cutoff_lines(report.rows, report.cutoff), correction_lines(report.rows), diagnosis_lines(report.diagnosis))
    for line in chain(*lines):
        console.print(line, highlight=False)
