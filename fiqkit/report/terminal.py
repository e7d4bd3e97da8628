"""The report in a terminal: as much of it as its width has room for, the least needed left out first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from fiqkit.report.notes import change_name, closed_book_line, comparison_notes, no_rate, notes
from fiqkit.report.numbers import Row, number, p_value, percent, percent_interval, points
from fiqkit.taxonomy import FORMS


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its heading, how a row fills it, on which rows it is shown, and how soon it gives way.

    A table that is too wide is narrowed step by step until it fits.

    Attributes:
        steps: shown from the first step of narrowing, 0 is none, to one before the second.
        needs: shown only where some row has a value of this name.
    """

    heading: str
    cell: Callable[[Row], str]
    steps: tuple[int, int] = (0, 1 << 30)
    text: bool = False
    needs: str | None = None

    def shown(self, rows: Sequence[Row], step: int) -> bool:
        """Whether a table of these rows has the column, narrowed so far."""
        there = self.needs is None or any(row.get(self.needs) is not None for row in rows)
        return there and self.steps[0] <= step < self.steps[1]


def _share(name: str) -> Callable[[Row], str]:
    return lambda row: percent(row.get(name))


def _with_interval(name: str) -> Callable[[Row], str]:
    return lambda row: percent_interval(row.get(name), row.get(f"{name}_ci"))


def _whole_interval(name: str) -> Callable[[Row], str]:
    """In whole per cent, where columns are few: "-93 [-100, -33]"."""

    def cell(row: Row) -> str:
        value, interval = row.get(name), row.get(f"{name}_ci")
        if value is None or interval is None:
            return percent(value)
        return "{:.0f} [{:.0f}, {:.0f}]".format(*(100 * x + 0.0 for x in (value, *interval)))

    return cell


def _number(name: str, decimals: int = 2) -> Callable[[Row], str]:
    return lambda row: number(row.get(name), decimals)


def _three_forms(row: Row) -> str:
    """AC@1 in its three forms, in whole per cent: "86/41/6"."""
    values = [row.get(f"ac1_{form}") for form in FORMS]
    if all(value is None for value in values):
        return "–"
    return "/".join("–" if value is None else f"{100 * value:.0f}" for value in values)


NAMES = (Column("model", lambda row: row["model"], text=True), Column("mode", lambda row: row["mode"], text=True))
_LAST = 12  # steps of narrowing; a table that is still too wide folds its names
_NAME = 28  # characters of a name in one line, so that a long one does not take the numbers' place
COLUMNS = (
    Column("n", lambda row: str(row["n"])),
    Column("intent %", _with_interval("intent_resolved"), (0, 6), needs="intent_resolved"),
    Column("intent %", _whole_interval("intent_resolved"), (6, _LAST + 1), needs="intent_resolved"),
    Column("bits", _number("bits_resolved"), (0, 10), needs="bits_resolved"),
    Column("accuracy %", _with_interval("accuracy"), (0, 9)),
    Column("accuracy %", _share("accuracy"), (9, _LAST + 1)),
    Column("pass^k", lambda row: percent(_every_time(row)), needs="pass_k"),
    Column("lenient", _share("accuracy_lenient"), (0, 1), needs="accuracy_lenient"),
    Column("both", _share("both_mentioned"), (0, 1), needs="both_mentioned"),
    Column("closed", _share("accuracy_closed_book"), (0, 7), needs="accuracy_closed_book"),
    Column("default", _share("default_capture"), (0, 8)),
    Column("asked", _share("interaction_rate"), (0, 12)),
    Column("asks", _number("mean_asks"), (0, 5)),
    Column("turns", _number("mean_turns"), (0, 1)),
    Column("AC@1 n/t/c", _three_forms, (4, 11)),
    Column("named", _share("ac1_named"), (0, 4)),
    Column("touch", _share("ac1_touch"), (0, 4)),
    Column("central", _share("ac1_central"), (0, 4)),
    Column("DisE+", _number("dise_plus_all", 3), (0, 3)),
    Column("ECE", _number("ece", 3), (0, 2)),
    Column("commit", _share("commitment"), (0, 1)),
)
LEGEND = (
    "Rates in %, of n scored episodes, accuracy with its exact 95% interval. default: gave the default answer; asked: "
    "asked at least once; asks: mean questions; AC@1: the first question names / touches / is centrally on a true "
    "category, of the questions that were judged."
)
_LEGENDS = {
    "intent %": "intent: (k · share of siblings right − 1) / (k − 1), mean over orbits, interval over "
    "companies; at most 0 in expectation for whoever does not ask; bits: that times log2 k.",
    "lenient": "lenient: the intended value is among those given; both: the answer names both golds.",
    "closed": "closed: accuracy of the same run and model in the mode answer, closed book.",
    "pass^k": "pass^k: right in every one of k samples.",
}


def _every_time(row: Row) -> float | None:
    found = row.get("pass_k")
    return None if not found else list(found.values())[-1]


def _columns(rows: Sequence[Row], step: int) -> list[Column]:
    apart = [
        Column(name, lambda row, name=name: row.get(name) or "–", text=True)  # type: ignore[misc]
        for name in ("run", "retrieval", "grader")
        if tells_apart(rows, name)
    ]
    return [*apart, *NAMES, *(column for column in COLUMNS if column.shown(rows, step))]


def tells_apart(rows: Sequence[Row], name: str) -> bool:
    """Whether two rows of one model and mode differ in this."""
    seen: dict[tuple[str, str], str] = {}
    return any(seen.setdefault((row["model"], row["mode"]), row.get(name, "")) != row.get(name, "") for row in rows)


def main_table(
    rows: Sequence[Row], *, width: int = 80, references: Sequence[Row] = (), title: str | None = None
) -> RenderableType:
    """The main table and, under it, what was kept out of the rates.

    Args:
        rows: from `fiqkit.metrics.table.main_rows`; those of each data set make a table of their own.
        width: columns of the terminal.
        references: analytic rows that frame the table (`fiqkit.metrics.items.reference_rows`).
    """
    sets = [list(found) for _, found in groupby(rows, key=lambda row: row.get("dataset"))]
    framed = references if len(sets) == 1 else ()
    tables = [_fitting(found, width, framed, title or _set_title(found, len(sets))) for found in sets]
    headings = {column.header for table in tables for column in table.columns}
    legends = [text for heading, text in _LEGENDS.items() if heading in headings]
    said = [Text(note, style="yellow") for note in notes(rows)]
    if "closed" not in headings and (line := closed_book_line(rows)):
        said.append(Text(line))
    return Group(*tables, Text(" ".join([LEGEND, *legends]), style="dim"), *said)


def _set_title(rows: Sequence[Row], sets: int) -> str | None:
    return f"data set {rows[0]['dataset']}" if sets > 1 else None


def _fitting(rows: Sequence[Row], width: int, references: Sequence[Row], title: str | None) -> Table:
    """The table with the most columns that fits the width, with gaps between them where these fit too."""
    paper = Console(width=1 << 16)
    for step in range(_LAST + 1):
        for gap in (1, 0):
            table = _one_table(rows, _columns(rows, step), gap, references, title)
            if paper.measure(table).maximum <= width:
                return table
    return table


def _one_table(
    rows: Sequence[Row], shown: Sequence[Column], gap: int, references: Sequence[Row], title: str | None
) -> Table:
    table = Table(
        box=SIMPLE_HEAD, title=title, title_justify="left", pad_edge=False, show_edge=False, padding=(0, gap, 0, 0)
    )
    for column in shown:
        if column.text:
            table.add_column(column.heading, overflow="fold", max_width=_NAME)
        else:
            table.add_column(column.heading, justify="right", no_wrap=True)
    for above, row in zip([None, *rows], rows, strict=False):
        if above and above["model"] != row["model"]:
            table.add_section()
        table.add_row(*_cells(shown, row))
    if references:
        table.add_section()
    for row in references:
        table.add_row(*(column.cell(row) for column in shown), style="dim")
    return table


def _cells(columns: Sequence[Column], row: Row) -> list[str]:
    """The cells of a row. One in which no agent was heard to its end has no rate, and says what happened instead."""
    instead = no_rate(row)
    if instead is None:
        return [column.cell(row) for column in columns]
    told = {"n": str(row["n"]), "accuracy %": instead}
    return [column.cell(row) if column.text else told.get(column.heading, "–") for column in columns]


def comparison_table(comparisons: Sequence[Row]) -> RenderableType:
    """Paired accuracy differences, with p corrected over the table."""
    table = Table(
        box=SIMPLE_HEAD, title="accuracy, paired", title_justify="left", pad_edge=False, show_edge=False, padding=0
    )
    for heading in ("change", "points", "95% interval", "p", "exact", "firms", "Holm"):
        table.add_column(heading, justify="left" if heading == "change" else "right", overflow="fold")
    several = len({side["run"] for found in comparisons for side in (found["first"], found["second"])}) > 1
    for found in comparisons:
        table.add_row(
            change_name(found, runs=several),
            points(found["difference"]),
            f"[{points(found['ci'][0])}, {points(found['ci'][1])}]",
            *(p_value(found[name]) for name in ("p", "p_mcnemar", "clustered_p", "p_holm")),
        )
    said = comparison_notes(comparisons)
    return Group(table, Text(COMPARISON_LEGEND, style="dim"), *(Text(note, style="yellow") for note in said))


COMPARISON_LEGEND = (
    "p: bootstrap, as the paper's; exact: McNemar; firms: companies' differences with signs flipped, which is exact "
    "McNemar where no company repeats; Holm: that, corrected over this table."
)
