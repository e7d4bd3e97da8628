"""The main table drawn, and what a single gold would have hidden."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from fiqkit.figures.style import (
    INK,
    RIGHT,
    RULE,
    WIDTH,
    WRONG,
    Row,
    canvas,
    colours,
    entries_of,
    headroom,
    labels,
    legend_above,
    listed,
    listed_height,
    percent_axis,
    whiskers,
)


def with_orbits(rows: Sequence[Row]) -> list[Row]:
    """The rows whose data has orbits."""
    return [row for row in rows if row.get("intent_resolved") is not None]


def intent_resolved(rows: Sequence[Row]) -> Figure:
    """Intent resolved of every row with its interval over companies; the line is what not asking comes to."""
    figure, axes = canvas(WIDTH, listed_height(rows))
    for at, row, colour in zip(listed(axes, rows), rows, colours(rows), strict=True):
        value = row["intent_resolved"]
        bars = whiskers(value, row["intent_resolved_ci"])
        axes.errorbar(value, at, xerr=bars, fmt="o", color=colour, markersize=5, capsize=2.5, lw=1.4)
        axes.annotate(f"{row['bits_resolved']:.2f} bits", (1.0, at), (4, 0), textcoords="offset points", va="center")
    axes.axvline(0, color=INK, lw=0.8)
    lowest = min(min(row["intent_resolved"], *(row["intent_resolved_ci"] or [0.0])) for row in rows)
    percent_axis(axes, "x", 1.0, min(-0.1, lowest - 0.03))
    axes.set_xlabel("intent resolved, %")
    return figure


def accuracy_by_mode(rows: Sequence[Row]) -> Figure:
    """Accuracy with its 95% interval for every row, under its model; default-capture hollow, lenient as a stroke."""
    figure, axes = canvas(WIDTH, listed_height(rows))
    for at, row, colour in zip(listed(axes, rows), rows, colours(rows), strict=True):
        if row["accuracy"] is not None:
            bars = whiskers(row["accuracy"], row["accuracy_ci"])
            axes.errorbar(row["accuracy"], at, xerr=bars, fmt="o", color=colour, markersize=5, capsize=2.5, lw=1.4)
        if _leniently_more(row):
            axes.plot(row["accuracy_lenient"], at, "|", color=colour, markersize=8, mew=1.4)
        if row["default_capture"] is not None:
            axes.plot(row["default_capture"], at, "D", color=colour, markersize=4.5, fillstyle="none", mew=1.2)
    percent_axis(axes, "x", 1.02, -0.012)
    axes.set_xlabel("% of episodes")
    axes.plot([], [], "o", color=INK, markersize=5, label="accuracy, 95% interval")
    axes.plot([], [], "D", color=INK, markersize=4.5, fillstyle="none", label="gave the default answer")
    if any(_leniently_more(row) for row in rows):
        axes.plot([], [], "|", color=INK, markersize=8, mew=1.4, label="lenient")
    legend_above(figure, entries_of(axes))
    return figure


def _leniently_more(row: Row) -> bool:
    """Whether answers that name the intended value among others would raise the accuracy by a point or more."""
    lenient = row.get("accuracy_lenient")
    return lenient is not None and row["accuracy"] is not None and lenient - row["accuracy"] >= 0.01


def single_gold_illusion(rows: Sequence[Row]) -> Figure:
    """Accuracy against the intended answer beside accuracy against the default one, as if that were the only gold."""
    shown = [row for row in rows if row["default_capture"] is not None and row["accuracy"] is not None]
    figure, axes = canvas(WIDTH, listed_height(shown))
    for at, row in zip(listed(axes, shown), shown, strict=True):
        intended, default = row["accuracy"], row["default_capture"]
        axes.plot([intended, default], [at, at], color=RULE, lw=2.5, solid_capstyle="round", zorder=1)
        axes.plot(intended, at, "o", color=RIGHT, markersize=6, zorder=2)
        axes.plot(default, at, "o", color=WRONG, markersize=6, zorder=2)
        ratio = row["single_gold_inflation"]
        if ratio and ratio >= 0.1:
            axes.annotate(
                f"×{ratio:.1f}", (max(intended, default), at), (8, 0), textcoords="offset points", va="center"
            )
    top = max((max(row["accuracy"], row["default_capture"]) for row in shown), default=1.0)
    percent_axis(axes, "x", headroom([top], 0.1), -0.006)
    axes.set_xlabel("% of episodes")
    axes.plot([], [], "o", color=RIGHT, label="against the intended answer")
    axes.plot([], [], "o", color=WRONG, label="against the default answer")
    legend_above(figure, entries_of(axes))
    return figure


def accuracy_by_entropy(rows: Sequence[Row]) -> Figure:
    """Accuracy against prior entropy, one line a row; bins are distinct values merged to ten items."""
    figure, axes = canvas(WIDTH, 3.2)
    bins = list(dict.fromkeys(name for row in rows for name in row["by_h0"]))
    bins.sort(key=lambda name: float(name.split("–")[0]))
    for index, (row, name, colour) in enumerate(zip(rows, labels(rows), colours(rows), strict=True)):
        at = [(bins.index(bin_), part) for bin_, part in row["by_h0"].items() if part["accuracy"] is not None]
        shift = (index - (len(rows) - 1) / 2) * 0.06
        for x, part in at:
            bars = whiskers(part["accuracy"], part["accuracy_ci"])
            axes.errorbar(x + shift, part["accuracy"], yerr=bars, color=colour, capsize=2, lw=1)
        axes.plot(
            [x + shift for x, _ in at], [part["accuracy"] for _, part in at], "o-", color=colour, ms=4, label=name
        )
    axes.set_xticks(range(len(bins)), bins)
    axes.set_xlabel("prior entropy h0, bits")
    axes.set_ylabel("accuracy, %")
    parts = [part for row in rows for part in row["by_h0"].values()]
    percent_axis(axes, "y", headroom(part["accuracy_ci"][1] for part in parts if part["accuracy_ci"]), -0.012)
    legend_above(figure, entries_of(axes))
    return figure
