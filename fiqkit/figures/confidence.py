"""Stated confidence against correctness."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from fiqkit.figures.style import FAINT, INK, RULE, WIDTH, Row, canvas, colours, percent_axis, shortened


def stating(rows: Sequence[Row]) -> list[Row]:
    """The rows that have a calibration error: those in which confidence was stated."""
    return [row for row in rows if row["ece"] is not None]


def calibration(rows: Sequence[Row], among: Sequence[Row]) -> Figure:
    """A small reliability diagram for each row, all of which stated confidence: five bins, area ∝ episodes.

    The colour of a model is the one that it has `among` all rows.
    """
    models = dict(zip((row["model"] for row in among), colours(among), strict=True))
    shown = [(row, models[row["model"]]) for row in rows]
    columns = min(3, max(len(shown), 1))
    lines = -(-len(shown) // columns) or 1
    figure, grid = canvas(WIDTH, 2.3 * lines, nrows=lines, ncols=columns, sharex=True, sharey=True, squeeze=False)
    for axes in grid.flat[len(shown) :]:
        axes.set_visible(False)
    for axes, (row, colour) in zip(grid.flat, shown, strict=False):
        bins = [part for part in row["reliability"] if part["n"]]
        total = sum(part["n"] for part in bins)
        axes.fill_between([0, 1], [0, 1], 0, color=FAINT, zorder=0)
        axes.plot([0, 1], [0, 1], color=RULE, lw=1)
        axes.scatter(
            [part["confidence"] for part in bins],
            [part["accuracy"] for part in bins],
            s=[16 + 260 * part["n"] / total for part in bins],
            color=colour,
            alpha=0.85,
            lw=0,
            clip_on=False,
            zorder=3,
        )
        axes.set_title(f"{shortened(row['model'], 22)}\n{shortened(row['mode'], 22)}", fontsize=8.5)
        axes.text(0.04, 0.95, f"ECE {row['ece']:.3f}", transform=axes.transAxes, va="top", fontsize=8, color=INK)
        percent_axis(axes, "x", 1.0)
        percent_axis(axes, "y", 1.0)
        axes.grid(visible=False)
        axes.set_aspect("equal")
        axes.set_xticks([0, 0.5, 1])
        axes.set_yticks([0, 0.5, 1])
    figure.supxlabel("stated confidence, %", fontsize=9)
    figure.supylabel("accuracy, %", fontsize=9)
    return figure
