"""`--before-after` of `fiqkit train ladder` and `evaluate`: what training did beside what it was for.

Training and probing know nothing of each other, so what takes both is put together here. It is added to the table, and
to the file that holds it:

    {"stages": […], …, "before_after": {"probe": {"stages": […], …}, "forgetting": {"other": […], "changes": […], …}}}
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

BEFORE_AFTER = click.option(
    "--before-after",
    is_flag=True,
    help="Probe before and after each stage; what became of other categories.",
)


def begin(recipe: Any, items: Sequence[Any], out: Path) -> Any:
    """The probe of the items that are evaluated, with all checked before the training that comes first.

    Raises:
        UserError: too few items or companies, or packages of the probe that are not installed.
    """
    from fiqkit.errors import UserError
    from fiqkit.probe.study import Settings, prepare

    try:
        return prepare(items, Settings(recipe.model, out / "probe", seed=recipe.seed))
    except UserError as error:
        raise UserError(f"--before-after: {str(error).removesuffix(' or lower --folds')}") from None


def finish(
    table: dict[str, Any],
    file: Path,
    adapters: Mapping[str, Path],
    items: Sequence[Any],
    ready: Any,
    say: Callable[[str], None],
) -> None:
    """Add what the probe and the other categories say to the table and to its file.

    Args:
        adapters: by the name of their stage; the base is among the table's stages besides.
    """
    from fiqkit.commands.probe import progress_bar
    from fiqkit.probe.before_after import before_after
    from fiqkit.train.compared import episodes_by_stage
    from fiqkit.train.forgetting import forgetting, trained_on
    from fiqkit.whole_file import write_text

    played = episodes_by_stage(table["stages"], file.parent / "evaluation.db")
    table["before_after"] = {
        "probe": before_after(ready, adapters, say, progress_bar),
        "forgetting": forgetting(played, items, trained_on(adapters.values())),
    }
    write_text(file, json.dumps(table, ensure_ascii=False, indent=1))


def show(found: Mapping[str, Any], show_comparisons: Callable[[Sequence[Mapping[str, Any]]], None]) -> None:
    """Print both parts."""
    click.echo()
    _show_probe(found["probe"])
    click.echo()
    _show_forgetting(found["forgetting"], show_comparisons)


def _show_probe(probe: Mapping[str, Any]) -> None:
    measures = {"separation": "Q from Q + C", "accuracy": "pair", "auroc": "each category"}
    headers = [header for measure in measures.values() for header in (measure, "p")]
    rows = []
    for row in (*probe["stages"], *probe["controls"]):
        changes = row.get("change", {})
        p = {name: f"{changes[name]['p']:.4f}" if changes else "" for name in measures}
        rows.append([row.get("stage") or f"{row['control']} alone"])
        rows[-1] += [cell for name in measures for cell in (f"{row[name]:.3f}", p[name])]
    show_rows("hidden states", headers, rows)
    click.echo(
        f"{probe['items']} items of {probe['companies']} companies; p of the change from the base. Q from Q + C: SD; "
        f"pair: {' or '.join(probe['pair'])}, accuracy (majority {probe['baseline']:.3f}); each category against the "
        "rest: AUROC, mean"
    )


def _show_forgetting(
    forgetting: Mapping[str, Any], show_comparisons: Callable[[Sequence[Mapping[str, Any]]], None]
) -> None:
    if not forgetting["other"]:
        click.echo("every category of these items was trained on: there is no other one to forget")
        return
    shares = {"asked": "interaction_rate", "central": "ac1_central", "right": "accuracy", "intent": "intent_resolved"}
    rows = []
    for stage in forgetting["stages"]:
        for kind in ("trained", "other"):
            numbers = [stage[kind][name] for name in shares.values()]
            shown = ["–" if value is None else f"{value:.3f}" for value in numbers]
            rows.append([f"{stage['stage']}, {kind}", str(stage[kind]["n"]), *shown])
    show_rows("categories", ["n", *shares], rows)
    click.echo(f"other, not trained on: {', '.join(forgetting['other'])}; of these:")
    show_comparisons(forgetting["changes"])


def show_rows(first: str, headers: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table whose first column is text and whose others are numbers."""
    from rich.console import Console
    from rich.table import Table

    shown = Table(box=None, header_style="bold", pad_edge=False)
    shown.add_column(first)
    for header in headers:
        shown.add_column(header, justify="right")
    for row in rows:
        shown.add_row(*row)
    Console().print(shown)
