"""What agents ask and what they make of the reply: the paper's Figures 5 to 8 and 10."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from fiqkit.figures.style import (
    INK,
    MARKERS,
    ON_LIGHT,
    PALETTE,
    RIGHT,
    RULE,
    WIDTH,
    WRONG,
    Row,
    canvas,
    category_title,
    colours,
    entries_of,
    headroom,
    labels,
    legend_above,
    listed,
    listed_height,
    percent_axis,
    present_categories,
    whiskers,
)
from fiqkit.taxonomy import FORMS

FORM_MEANS = {"named": "names its matter", "touch": "raises it", "central": "is mainly about it"}

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


def told_forms(rows: Sequence[Row]) -> list[str]:
    """The forms of targeting in which some row has an AC@1."""
    return [form for form in FORMS if any(row.get(f"ac1_{form}") is not None for row in rows)]


def targeting_by_category(rows: Sequence[Row]) -> Figure:
    """Figure 5: AC@1 per primary category with its exact interval, one bar a model, one panel a form of targeting.

    Under each category stands what its bars divide by: the fewest and the most judged first questions of a model.
    """
    names, forms = present_categories(rows), told_forms(rows)
    figure, panels = canvas(WIDTH, 0.9 + 1.75 * len(forms), nrows=len(forms), sharex=True, squeeze=False)
    width = 0.8 / max(len(rows), 1)
    for axes, form in zip(panels.flat, forms, strict=True):
        for index, (row, label) in enumerate(zip(rows, labels(rows), strict=True)):
            parts = [row["by_category"].get(name, {}) for name in names]
            at = [x - 0.4 + width * (index + 0.5) for x in range(len(names))]
            values = [part.get(f"ac1_{form}") for part in parts]
            axes.bar(at, [v or 0 for v in values], width * 0.9, color=PALETTE[index % len(PALETTE)], label=label)
            for x, value, part in zip(at, values, parts, strict=True):
                if value is not None:
                    axes.errorbar(
                        x, value, yerr=whiskers(value, part[f"ac1_{form}_ci"]), color=INK, lw=0.8, capsize=1.5
                    )
        percent_axis(axes, "y", 1.04)
        axes.set_title(f"AC@1, {FORM_MEANS[form]}, %")
    ticks = [f"{category_title(name)}\n{_judged(rows, name, forms)}" for name in names]
    panels.flat[-1].set_xticks(range(len(names)), ticks)
    for axes in panels.flat:
        axes.tick_params(axis="x", length=0)
    legend_above(figure, entries_of(panels.flat[0]))
    return figure


def _judged(rows: Sequence[Row], category: str, forms: Sequence[str]) -> str:
    sizes = [row["by_category"].get(category, {}).get(f"ac1_{form}_n", 0) for row in rows for form in forms]
    low, high = min(sizes, default=0), max(sizes, default=0)
    return f"n = {low}" if low == high else f"n = {low}–{high}"


def targeting_and_resolution(rows: Sequence[Row]) -> Figure:
    """Figure 6: heat maps of targeting (AC@1, one a form) and resolution (accuracy), per model and primary category."""
    names = present_categories(rows)
    measures = [(f"ac1_{form}", f"targeting ({form})") for form in told_forms(rows)] + [("accuracy", "resolution")]
    figure, maps = canvas(WIDTH, 0.7 + len(measures) * (0.3 + 0.31 * len(rows)), nrows=len(measures), sharex=True)
    for axes, (measure, title) in zip(maps, measures, strict=True):
        table = np.array([[_cell(row, name, measure) for name in names] for row in rows], dtype=float)
        cells = np.ma.masked_invalid(table)
        axes.pcolormesh(cells, cmap="GnBu", vmin=0, vmax=1, edgecolors="white", linewidth=1.5)
        axes.invert_yaxis()
        for (y, x), value in np.ndenumerate(table):
            n = rows[y]["by_category"].get(names[x], {}).get(f"{measure}_n", 0)
            text, colour = (
                ("–", INK) if np.isnan(value) else (f"{100 * value:.0f}", "white" if value > 0.6 else ON_LIGHT)
            )
            axes.text(x + 0.5, y + 0.5, text, ha="center", va="center", color=colour, fontsize=9)
            axes.text(x + 0.97, y + 0.93, f"{n}" if n else "", ha="right", va="bottom", color=colour, fontsize=5.5)
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
    """Figure 8: AC@1 against accuracy, a panel a form, a point a model; people where they were measured."""
    forms = told_forms(rows)
    figure, panels = canvas(WIDTH, 3.5, ncols=len(forms), sharey=True, squeeze=False)
    tops = [row["accuracy_ci"][1] for row in rows if row["accuracy_ci"]]
    for axes, form in zip(panels.flat, forms, strict=True):
        name = f"ac1_{form}"
        for index, (row, label, colour) in enumerate(zip(rows, labels(rows), colours(rows), strict=True)):
            if row[name] is None or row["accuracy"] is None:
                continue
            axes.errorbar(
                row[name],
                row["accuracy"],
                xerr=whiskers(row[name], row[f"{name}_ci"]),
                yerr=whiskers(row["accuracy"], row["accuracy_ci"]),
                fmt=MARKERS[index % len(MARKERS)],
                color=colour,
                markersize=6,
                capsize=2,
                lw=1,
                label=f"{label} (n = {row['n']})",
            )
        if human and name in human:
            axes.plot(human[name], human["accuracy"], "*", color=INK, markersize=12, label=human["label"], ls="none")
        axes.plot([0, 1], [0, 1], color=RULE, lw=0.9, ls=(0, (4, 3)), zorder=0)
        percent_axis(axes, "x", 1.02)
        percent_axis(axes, "y", headroom([*tops, human["accuracy"] if human else None], 0.5), -0.012)
        axes.set_title(form)
    legend_above(figure, {name: handle for axes in panels.flat for name, handle in entries_of(axes).items()})
    figure.supxlabel("targeting: first question on a true category (AC@1), %", fontsize=9)
    panels.flat[0].set_ylabel("resolution: accuracy, %")
    return figure


def error_budget(rows: Sequence[Row]) -> Figure:
    """Figure 10: what every episode of a row came to, stacked: right, or one primary error; a line a form of targeting.

    A row whose budget is the same in every form has one line.
    """
    lines = [line for row in rows for line in _budgets(row)]
    figure, axes = canvas(WIDTH, listed_height(lines) + 0.35)
    places = listed(axes, lines)
    left = np.zeros(len(lines))
    for name, (colour, legend) in BUDGET.items():
        shares = np.array([line["budget"][name] for line in lines])
        if not shares.any():
            continue
        bars = axes.barh(places, shares, 0.72, left=left, color=colour, label=legend, edgecolor="white", lw=0.6)
        texts = [f"{100 * share:.0f}" if share >= 0.06 else "" for share in shares]
        dark = name in ("right", "E1", "E2", "E5")
        axes.bar_label(bars, texts, label_type="center", fontsize=7.5, color="white" if dark else ON_LIGHT)
        left += shares
    percent_axis(axes, "x", 1.0)
    axes.set_xlabel("% of episodes")
    legend_above(figure, entries_of(axes))
    return figure


def _budgets(row: Row) -> list[Row]:
    budgets = row.get("errors_by_form") or {"": row["errors"]}
    if len({tuple(budget.values()) for budget in budgets.values()}) == 1:
        return [{**row, "budget": row["errors"]}]
    return [{**row, "mode": f"{row['mode']}, {form}", "budget": budget} for form, budget in budgets.items()]
