"""fiqkit export: recorded runs as files for other programs."""

from __future__ import annotations

from pathlib import Path

import click

from fiqkit.commands.arguments import Command
from fiqkit.commands.options import FILE, json_option, print_json, store_option


@click.command(cls=Command)
@click.argument("runs", nargs=-1)
@click.option("--out", type=FILE, required=True, help="The file; .csv, .jsonl or .parquet says how it is written.")
@click.option(
    "--table",
    type=click.Choice(("results", "questions", "transcripts")),
    default="results",
    show_default=True,
    help="A row an episode and grader, a clarifying question and judge, or a turn.",
)
@click.option(
    "--to",
    "reader",
    type=click.Choice(("inspect", "datasette")),
    help="Write logs of Inspect into the folder --out; or what explains the store to Datasette.",
)
@store_option
@json_option
def command(runs: tuple[str, ...], out: Path, table: str, reader: str | None, store: Path, as_json: bool) -> None:
    """Write RUNS (ids, "last" or "all") to a file for other programs.

    \b
    fiqkit export last --out results.csv
    fiqkit export all --table questions --out questions.parquet
    fiqkit export last --to inspect --out logs
    fiqkit export --to datasette --out metadata.json && datasette fiqkit.db -m metadata.json

    By default the last run, or the files that were last imported together. A text that a spreadsheet would run as a
    formula has an apostrophe before it in CSV; JSON lines and Parquet hold every text as it is.
    """
    from fiqkit.report.datasette import write_metadata
    from fiqkit.report.document import chosen_runs
    from fiqkit.report.export import export
    from fiqkit.store.store import Store

    if reader == "datasette":
        if runs:
            raise click.UsageError("--to datasette is about the whole store; leave the runs out")
        write_metadata(store, out)
        click.echo(f"{out}; see: datasette {store} -m {out}", err=True)
        return
    kept = Store(store)
    try:
        chosen = [run["run"] for run in chosen_runs(kept, runs)]
        if reader == "inspect":
            from fiqkit.adapters.inspect_log import write_logs

            written = write_logs(kept, chosen, out)
            click.echo(
                f"{out}: {len(written)} logs of {', '.join(chosen)}; see: inspect view --log-dir {out}", err=True
            )
            return
        count = export(kept, chosen, table, out)
    finally:
        kept.close()
    if as_json:
        print_json({"file": str(out), "table": table, "runs": chosen, "rows": count})
    else:
        click.echo(f"{out}: {count:,} {table} of {', '.join(chosen)}")
