"""The main table in a terminal: what must be seen at 80 columns, more where there is room."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its heading, how a row fills it, and from which terminal width on it is shown."""

    heading: str
    cell: Callable[[Row], str]
    from_width: int = 0
    text: bool = False


def percent(value: float | None) -> str:
    """A fraction as a percentage with one decimal."""
    return "–" if value is None else f"{100 * value:.1f}"


def percent_interval(value: float | None, interval: Sequence[float] | None) -> str:
    """A fraction and its interval as percentages: "20.2 [14.5, 26.6]"."""
    if value is None or interval is None:
        return percent(value)
    return f"{100 * value:.1f} [{100 * interval[0]:.1f}, {100 * interval[1]:.1f}]"


def number(value: float | None, decimals: int = 2) -> str:
    """A plain number."""
    return "–" if value is None else f"{value:.{decimals}f}"


def _share(name: str) -> Callable[[Row], str]:
    return lambda row: percent(row.get(name))


def _with_interval(name: str) -> Callable[[Row], str]:
    return lambda row: percent_interval(row.get(name), row.get(f"{name}_ci"))


def _number(name: str, decimals: int = 2) -> Callable[[Row], str]:
    return lambda row: number(row.get(name), decimals)


COLUMNS = (
    Column("model", lambda row: row["model"], text=True),
    Column("mode", lambda row: row["mode"], text=True),
    Column("n", lambda row: str(row["n"])),
    Column("accuracy %", _with_interval("accuracy")),
    Column("default", _share("default_capture")),
    Column("asked", _share("interaction_rate")),
    Column("asks", _number("mean_asks")),
    Column("turns", _number("mean_turns"), from_width=110),
    Column("AC@1", _share("ac1_touch")),
    Column("central", _share("ac1_central"), from_width=110),
    Column("DisE+", _number("dise_plus_all", 3), from_width=110),
    Column("ECE", _number("ece", 3), from_width=110),
    Column("commit", _share("commitment"), from_width=110),
)
_ROOMY = 128  # columns from which on there is room between the numbers, too
RUN = Column("run", lambda row: row["run"], text=True)
LEGEND = (
    "accuracy with its bootstrap 95% interval; default: gave the default answer; asked: asked at least once; "
    "asks: mean questions; AC@1: first question on a true category. Rates in %, of n scored episodes."
)


def main_table(
    rows: Sequence[Row], *, width: int = 80, references: Sequence[Row] = (), title: str | None = None
) -> RenderableType:
    """The main table and, under it, what was kept out of the rates.

    Args:
        rows: from `fiqkit.metrics.table.main_rows`.
        width: columns of the terminal; columns that would not fit are left out.
        references: analytic rows that frame the table (`fiqkit.metrics.references`).
    """
    gap = 0 if width < _ROOMY else 1
    table = Table(
        box=SIMPLE_HEAD, title=title, title_justify="left", pad_edge=False, show_edge=False, padding=(0, gap, 0, 0)
    )
    shown = [column for column in COLUMNS if column.from_width <= width]
    if len({(row["model"], row["mode"]) for row in rows}) < len(rows):
        shown.insert(0, RUN)
    for column in shown:
        table.add_column(
            column.heading, justify="left" if column.text else "right", no_wrap=not column.text, overflow="fold"
        )
    for above, row in zip([None, *rows], rows, strict=False):
        if above and above["model"] != row["model"]:
            table.add_section()
        table.add_row(*(column.cell(row) for column in shown))
    if references:
        table.add_section()
    for row in references:
        table.add_row(*(column.cell(row) for column in shown), style="dim")
    return Group(table, Text(LEGEND, style="dim"), *(Text(note, style="yellow") for note in notes(rows)))


def comparison_table(comparisons: Sequence[Row]) -> RenderableType:
    """Paired accuracy differences, with p corrected over the table."""
    table = Table(
        box=SIMPLE_HEAD, title="accuracy, paired", title_justify="left", pad_edge=False, show_edge=False, padding=0
    )
    for heading in ("change", "points", "95% interval", "p", "Holm", "McNemar"):
        table.add_column(heading, justify="left" if heading == "change" else "right", no_wrap=heading != "change")
    for found in comparisons:
        low, high = (f"{100 * value:+.1f}" for value in found["ci"])
        table.add_row(
            change_name(found),
            f"{100 * found['difference']:+.1f}",
            f"[{low}, {high}]",
            *(p_value(found[name]) for name in ("p", "p_holm", "p_mcnemar")),
        )
    return table


def change_name(found: Row) -> str:
    """What is compared: two modes of a model, or two models in a mode."""
    first, second = found["first"], found["second"]
    if first["model"] == second["model"]:
        return f"{second['model']}: {first['mode']} → {second['mode']}"
    return f"{second['mode']}: {first['model']} → {second['model']}"


def p_value(p: float) -> str:
    """A p value to three decimals; below that, only that it is below."""
    return "<.001" if p < 0.001 else f"{p:.3f}"


def partial_runs(runs: Sequence[Row]) -> list[str]:
    """A line for each run that did not come to its end."""
    return [
        f"run {run['run']} is {run['status']}: it was not finished, and its numbers are those of the episodes it has"
        for run in runs
        if run["status"] != "done"
    ]


def notes(rows: Sequence[Row]) -> list[str]:
    """One line for each row that left episodes out of its rates, or counts answers without their scale as right."""
    left_out = [
        f"{row['model']} {row['mode']}: {row['unscored']} unscored and {row['engine_error']} engine errors are outside "
        f"the rates; accuracy is between {percent(row['accuracy_worst'])} and {percent(row['accuracy_best'])}"
        for row in rows
        if row["unscored"] or row["engine_error"]
    ]
    scaleless = [
        f"{row['model']} {row['mode']}: some right answers left the scale out; without them accuracy is "
        f"{percent(row['accuracy_without_scale_missing'])}"
        for row in rows
        if row["accuracy_without_scale_missing"] != row["accuracy"]
    ]
    return left_out + scaleless
