"""What agents ask and what they make of the reply: the paper's Figures 5 to 8 and 10."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from fiqkit.figures.style import (
    INK,
    MARKERS,
    PALETTE,
    RIGHT,
    RULE,
    WIDTH,
    WRONG,
    Row,
    canvas,
    category_title,
    colours,
    headroom,
    labels,
    listed,
    listed_height,
    percent_axis,
    present_categories,
    whiskers,
)

# label of the error budget → (colour, what a reader is told)
BUDGET = {
    "right": (RIGHT, "right"),
    "E1": ("#5a5f6b", "E1 no question, no search"),
    "E4": ("#9aa3b2", "E4 searched, never asked"),
    "E3": ("#d9b44a", "E3 asked generically"),
    "E2": ("#c8641b", "E2 asked on a wrong category"),
    "E5": ("#b23a3a", "E5 asked on category, still wrong"),
    "unjudged": ("#dfe3e9", "asked, not judged"),
}


def targeting_by_category(rows: Sequence[Row]) -> Figure:
    """Figure 5: AC@1 (touch) per primary category, one bar a model."""
    names = present_categories(rows)
    figure, axes = canvas(WIDTH, 3.2)
    width = 0.8 / max(len(rows), 1)
    for index, (row, label) in enumerate(zip(rows, labels(rows), strict=True)):
        at = [x - 0.4 + width * (index + 0.5) for x in range(len(names))]
        values = [row["by_category"].get(name, {}).get("ac1_touch") for name in names]
        bars = axes.bar(at, [v or 0 for v in values], width * 0.9, color=PALETTE[index % len(PALETTE)], label=label)
        texts = ["–" if v is None else f"{100 * v:.0f}" for v in values]
        axes.bar_label(bars, texts, padding=2, fontsize=7.5)
    sizes = [max((row["by_category"].get(name, {}).get("n", 0) for row in rows), default=0) for name in names]
    axes.set_xticks(
        range(len(names)),
        [f"{category_title(name)}\nn = {size}" for name, size in zip(names, sizes, strict=True)],
    )
    axes.tick_params(axis="x", length=0)
    percent_axis(axes, "y", 1.08)
    axes.set_ylabel("first question on a true\ncategory (AC@1), %")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=min(4, max(len(rows), 1)))
    return figure


def targeting_and_resolution(rows: Sequence[Row]) -> Figure:
    """Figure 6: a pair of heat maps, targeting (AC@1) and resolution (accuracy), per model and primary category."""
    names = present_categories(rows)
    figure, pair = canvas(WIDTH, 1.3 + 0.62 * len(rows), nrows=2, sharex=True)
    for axes, (measure, title) in zip(pair, (("ac1_touch", "targeting"), ("accuracy", "resolution")), strict=True):
        table = np.array([[_cell(row, name, measure) for name in names] for row in rows], dtype=float)
        cells = np.ma.masked_invalid(table)
        axes.pcolormesh(cells, cmap="GnBu", vmin=0, vmax=1, edgecolors="white", linewidth=1.5)
        axes.invert_yaxis()
        for (y, x), value in np.ndenumerate(table):
            text, colour = ("–", INK) if np.isnan(value) else (f"{100 * value:.0f}", "white" if value > 0.6 else INK)
            axes.text(x + 0.5, y + 0.5, text, ha="center", va="center", color=colour, fontsize=9)
        axes.set_xticks(np.arange(len(names)) + 0.5, [category_title(name) for name in names], fontsize=8)
        axes.set_yticks(np.arange(len(rows)) + 0.5, labels(rows))
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        axes.set_title(f"{title}, %")
    return figure


def _cell(row: Row, category: str, measure: str) -> float:
    value = row["by_category"].get(category, {}).get(measure)
    return float("nan") if value is None else value


def interaction_lever(comparisons: Sequence[Mapping[str, Any]]) -> Figure:
    """Figure 7: accuracy of interact minus search, by model, with the paired 95% interval."""
    levers = [c for c in comparisons if (c["first"]["mode"], c["second"]["mode"]) == ("search", "interact")]
    levers.sort(key=lambda c: c["difference"], reverse=True)
    figure, axes = canvas(WIDTH, 0.8 + 0.36 * max(len(levers), 1))
    for at, lever in enumerate(levers):
        colour = RIGHT if lever["ci"][0] > 0 else WRONG if lever["ci"][1] < 0 else "#8a93a3"
        axes.barh(at, lever["difference"], 0.6, color=colour)
        axes.errorbar(
            lever["difference"], at, xerr=whiskers(lever["difference"], lever["ci"]), color=INK, capsize=3, lw=1.1
        )
        edge = max(lever["ci"][1], 0)
        axes.annotate(_signed(lever["difference"]), (edge, at), (6, 0), textcoords="offset points", va="center")
    axes.axvline(0, color=INK, lw=0.8)
    sides = [
        {"model": c["second"]["model"], "mode": "interact", "run": c["second"]["run"], "grader": ""} for c in levers
    ]
    axes.set_yticks(range(len(levers)), labels(sides))
    axes.invert_yaxis()
    axes.tick_params(axis="y", length=0)
    axes.xaxis.set_major_formatter(lambda value, _: _signed(value, "g") if value else "0")
    axes.grid(axis="x")
    axes.margins(x=0.12)
    axes.set_xlabel("accuracy of interact minus search, points")
    return figure


def _signed(difference: float, form: str = ".1f") -> str:
    """Points with their sign, a true minus."""
    return f"{100 * difference:+{form}}".replace("-", "−")


def targeting_against_resolution(rows: Sequence[Row], human: Mapping[str, Any] | None = None) -> Figure:
    """Figure 8: AC@1 against accuracy, one point a model; the human baseline where the data set has one."""
    figure, axes = canvas(WIDTH, 3.7)
    for index, (row, label, colour) in enumerate(zip(rows, labels(rows), colours(rows), strict=True)):
        if row["ac1_touch"] is None or row["accuracy"] is None:
            continue
        axes.errorbar(
            row["ac1_touch"],
            row["accuracy"],
            xerr=whiskers(row["ac1_touch"], row["ac1_touch_ci"]),
            yerr=whiskers(row["accuracy"], row["accuracy_ci"]),
            fmt=MARKERS[index % len(MARKERS)],
            color=colour,
            markersize=7,
            capsize=2,
            lw=1,
            label=label,
        )
    if human:
        axes.plot(human["ac1_touch"], human["accuracy"], "*", color=INK, markersize=13, label=human["label"], ls="none")
    axes.plot([0, 1], [0, 1], color=RULE, lw=0.9, ls=(0, (4, 3)), zorder=0)
    tops = [row["accuracy_ci"][1] for row in rows if row["accuracy_ci"]]
    percent_axis(axes, "x", 1.02)
    percent_axis(axes, "y", headroom([*tops, human["accuracy"] if human else None], 0.5), -0.012)
    axes.set_xlabel("targeting: first question on a true category (AC@1), %")
    axes.set_ylabel("resolution: accuracy, %")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    return figure


def error_budget(rows: Sequence[Row]) -> Figure:
    """Figure 10: what every episode of a row came to, stacked: right, or one primary error."""
    figure, axes = canvas(WIDTH, listed_height(rows) + 0.35)
    places = listed(axes, rows)
    left = np.zeros(len(rows))
    for name, (colour, legend) in BUDGET.items():
        shares = np.array([row["errors"][name] for row in rows])
        if not shares.any():
            continue
        bars = axes.barh(places, shares, 0.72, left=left, color=colour, label=legend, edgecolor="white", lw=0.6)
        texts = [f"{100 * share:.0f}" if share >= 0.06 else "" for share in shares]
        dark = name in ("right", "E1", "E2", "E5")
        axes.bar_label(bars, texts, label_type="center", fontsize=7.5, color="white" if dark else INK)
        left += shares
    percent_axis(axes, "x", 1.0)
    axes.set_xlabel("% of episodes")
    axes.legend(loc="lower center", bbox_to_anchor=(0.36, 1.0), ncols=2, columnspacing=1.2, handlelength=1.2)
    return figure
