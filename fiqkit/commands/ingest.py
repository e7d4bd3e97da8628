"""`fiqkit ingest`: filings and exports into one fact table."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fiqkit.commands.arguments import Command, NewFile
from fiqkit.commands.options import json_option, print_json
from fiqkit.errors import UserError

if TYPE_CHECKING:
    from fiqkit.filings.ingest import Progress, Summary

_REASONS = 20  # reasons that the summary for people lists; --json has them all


@click.command(cls=Command)
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), required=True, help="Fact store (SQLite).")
@click.option("--jobs", type=click.IntRange(1), default=lambda: os.cpu_count() or 1, help="Reader processes.")
@click.option("--entity", metavar="CODE", help="Company code for export tables that name no company.")
@click.option("--name", metavar="NAME", help="Company name for export tables that name no company.")
@click.option("--passages", type=NewFile(), help="Write the filings' own text as passages (JSONL).")
@click.option("--rendered", type=NewFile(), help="Write the facts as passages in plain words (JSONL).")
@json_option
def command(
    paths: tuple[Path, ...],
    out: Path,
    jobs: int,
    entity: str | None,
    name: str | None,
    passages: Path | None,
    rendered: Path | None,
    as_json: bool,
) -> None:
    """Read filings and exports into one fact table.

    \b
    fiqkit ingest filings --out facts.db
    fiqkit ingest companyfacts.zip --out facts.db --passages passages.jsonl

    PATHS are files or folders: inline XBRL and XBRL instances (.htm, .xml, .gz), SEC companyfacts (.json, .gz or the
    bulk zip), Financial Statement Data Sets (.zip), AKShare and CNINFO tables (.csv), question sets with evidence.
    What the store holds already and has not changed is not read again.
    """
    from fiqkit.datasets import passage_row, write_jsonl
    from fiqkit.filings.ingest import ingest
    from fiqkit.filings.render import render_passages
    from fiqkit.filings.store import FactStore

    with _bar() as progress:
        summary = ingest(paths, out, jobs=jobs, entity=entity, name=name, progress=progress)
    store = FactStore(out)
    for path, found in ((passages, store.passages()), (rendered, render_passages(store))):
        if path:
            count = write_jsonl(path, map(passage_row, found))
            click.echo(f"{count:,} passages in {path}", err=True)
    store.close()
    for line in [*summary.skipped, *summary.faults]:
        click.echo(line, err=True)
    if as_json:
        print_json(summary.row())
    else:
        _print(summary, out)
    if summary.faults:
        raise UserError(
            f"{len(summary.faults)} of {summary.files} files or their parts could not be read; the rest is in {out}"
        )


def _print(summary: Summary, out: Path) -> None:
    """The summary for people."""
    kinds = ", ".join(f"{count} {kind}" for kind, count in summary.read.items()) or "nothing new"
    click.echo(
        f"{out}: {summary.facts:,} facts, {summary.text_facts:,} text facts and {summary.passages:,} passages added\n"
        f"read {kinds}; {summary.already} unchanged, {len(summary.skipped)} skipped, {len(summary.faults)} damaged; "
        f"{summary.seconds:.1f} s"
    )
    for title, counts in (("left out", summary.left_out), ("note", summary.remarks)):
        for reason, count in counts.most_common(_REASONS):
            click.echo(f"{title}: {count:,} × {reason}")


@contextmanager
def _bar() -> Iterator[Progress]:
    """A progress bar with the time left on standard error, where that is a terminal."""
    import rich.progress
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (BarColumn(), DownloadColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
    with rich.progress.Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task("")

        def advance(path: str, done: int, total: int) -> None:
            bar.update(task, description=Path(path).name, completed=done, total=total)

        yield advance
