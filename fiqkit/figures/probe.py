"""Figures of the hidden-state probe: depth, categories by layer, controls, steering."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from fiqkit.figures.style import INK, PALETTE, RULE, canvas, percent_axis, styled, whiskers
from fiqkit.taxonomy import CATEGORIES

Result = Mapping[str, Any]

_RETAINED = {
    "neutral": "neutral text\nof C's length",
    "mismatched": "C of another\ninstance",
    "paraphrase": "Q reworded,\nwith its C",
}


def depth_overlay(results: Sequence[Result]) -> Figure:
    """Separation of Q from Q + C against relative depth, one line a model, with its bootstrap band and peak."""
    with styled():
        figure, axes = canvas(7.2, 3.4)
        for index, result in enumerate(results):
            colour = PALETTE[index % len(PALETTE)]
            rows = result["direction"]["profile"]
            depth, middle = [row["depth"] for row in rows], [row["separation"] for row in rows]
            axes.fill_between(
                depth, [r["low"] for r in rows], [r["high"] for r in rows], color=colour, alpha=0.16, lw=0
            )
            axes.plot(depth, middle, color=colour, lw=1.7, label=f"{result['model']} ({result['layers']} layers)")
            peak = result["direction"]
            axes.plot(peak["peak_depth"], peak["separation"], "o", color=colour, markersize=6)
            axes.annotate(
                f"layer {peak['peak_layer']}",
                (peak["peak_depth"], peak["separation"]),
                (0, 7),
                textcoords="offset points",
                ha="center",
                fontsize=8,
                color=colour,
            )
        axes.axhline(0, color=RULE, lw=0.9)
        axes.set_xlim(0, 1.02)
        axes.grid(axis="y")
        axes.margins(y=0.14)
        axes.set_xlabel("depth (0: embedding, 1: last layer, before the final norm)")
        axes.set_ylabel("separation of Q from Q + C,\nheld-out companies (SD)")
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=min(3, len(results)))
    return figure


def raw_overlay(results: Sequence[Result], published: Mapping[str, Sequence[float]]) -> Figure:
    """Raw separation against depth, each in units of its own maximum, beside published profiles; and the same over the
    states' norm, which the published ones do not have.

    Args:
        published: model → raw separation by point, the embedding first.
    """
    with styled():
        figure, axes = canvas(7.2, 3.4)
        for (model, raw), style in zip(published.items(), cycle(("-", "--", "-.", ":")), strict=False):
            depths, top = np.linspace(0, 1, len(raw)), max(raw) or 1.0
            shares = [value / top for value in raw]
            axes.plot(depths, shares, style, color="#8a93a3", lw=1.2, label=f"{model} (published)")
        for index, result in enumerate(results):
            rows, colour = result["direction"]["profile"], PALETTE[index % len(PALETTE)]
            for measure, style, title in (("raw", "-", "raw"), ("raw_over_norm", ":", "raw ÷ norm")):
                top = max(row[measure] for row in rows) or 1.0
                shares = [row[measure] / top for row in rows]
                label = f"{result['model']}, {title}"
                axes.plot([row["depth"] for row in rows], shares, style, color=colour, lw=1.7, label=label)
        axes.set_xlim(0, 1.02)
        axes.set_ylim(min(0, axes.get_ylim()[0]), 1.05)
        axes.grid(axis="y")
        axes.set_xlabel("depth (0: embedding, 1: last layer)")
        axes.set_ylabel("separation of Q from Q + C,\nshare of its maximum")
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, fontsize=7)
    return figure


def category_map(result: Result) -> Figure:
    """Layer × category heat map of held-out AUROC from Q alone; the layer chosen for each category is framed."""
    rows = result["category"]["profile"]
    found = result["category"]["one_vs_rest"]
    table = np.array([[row[name] for row in rows] for name in found], dtype=float)
    layers = [row["layer"] for row in rows]
    with styled():
        figure, axes = canvas(7.2, 1.3 + 0.42 * len(found))
        image = axes.imshow(table, cmap="RdBu", vmin=0, vmax=1, aspect="auto", interpolation="nearest")
        for y, values in enumerate(found.values()):
            x = layers.index(values["layer"])
            for edge, width in (("white", 3.0), (INK, 1.3)):
                axes.plot(x, y, "s", ms=11, markerfacecolor="none", markeredgecolor=edge, markeredgewidth=width)
        step = max(1, len(layers) // 10)
        axes.set_xticks(range(0, len(layers), step), layers[::step])
        titles = [f"{CATEGORIES[name].title['en']}  (n = {values['items']})" for name, values in found.items()]
        axes.set_yticks(range(len(found)), titles)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        axes.set_xlabel("layer (0: embedding); framed: chosen on other companies")
        bar = figure.colorbar(image, ax=axes, pad=0.02)
        bar.outline.set_visible(False)
        bar.set_label("AUROC against the rest")
    return figure


def controls(result: Result) -> Figure:
    """Left: what of the direction is left under each control. Right: the category decoder beside its controls."""
    with styled():
        figure, (left, right) = canvas(7.2, 3.3, ncols=2, width_ratios=(1, 1.15))
        names = [name for name in _RETAINED if name in result["controls"]]
        for at, name in enumerate(names):
            control = result["controls"][name]
            left.bar(at, control["retained"], 0.6, color=PALETTE[0] if name == "paraphrase" else PALETTE[1])
            spread = whiskers(control["retained"], control["retained_band"])
            left.errorbar(at, control["retained"], yerr=spread, color=INK, capsize=3, lw=1.1)
        left.axhline(1, color=RULE, lw=0.9, ls=(0, (4, 3)))
        left.axhline(0, color=INK, lw=0.8)
        left.set_xticks(range(len(names)), [_RETAINED[name] for name in names], fontsize=7.5)
        left.tick_params(axis="x", length=0)
        left.grid(axis="y")
        left.set_title("direction: share of the gap\nQ to Q + C that is left")
        _decoders(right, result)
    return figure


def _decoders(axes: Any, result: Result) -> None:
    category, checks = result["category"], result["controls"]
    bars = {
        "hidden states": (category["accuracy"], PALETTE[0]),
        "logistic, same layers": (category["logistic_accuracy"], PALETTE[5]),
        "words of Q": (checks["bag_of_words"]["accuracy"], PALETTE[1]),
        "length of Q": (checks["length"]["accuracy"], PALETTE[1]),
        "on companies already seen": (checks["cross_company"]["known_companies"], PALETTE[6]),
    }
    for language, found in (checks["cross_language"] or {}).items():
        bars[f"on {language}, learned on the rest"] = (found["category"]["accuracy"], PALETTE[6])
    bars["shuffled labels"] = (category["shuffled"], RULE)
    drawn = axes.barh(range(len(bars)), [v for v, _ in bars.values()], 0.62, color=[c for _, c in bars.values()])
    for bar, (value, colour) in zip(drawn, bars.values(), strict=True):
        ink = INK if colour == RULE else "white"
        at = (0.015, bar.get_y() + bar.get_height() / 2)
        axes.annotate(f"{100 * value:.0f}", at, va="center", fontsize=8, color=ink)
    for value, text in ((category["baseline"], "majority"), (category["ceiling"], "ceiling")):
        axes.axvline(value, color=INK, lw=0.9, ls=(0, (4, 3)))
        axes.annotate(text, (value, -0.62), (2, 0), textcoords="offset points", fontsize=7, va="center")
    axes.set_yticks(range(len(bars)), list(bars))
    axes.set_ylim(len(bars) - 0.5, -0.9)
    axes.tick_params(axis="y", length=0)
    percent_axis(axes, "x", 1.0)
    first, second = (CATEGORIES[name].title["en"].lower() for name in category["pair"])
    axes.set_title(f"{first} or {second}:\nheld-out accuracy, %")


def steering(result: Result) -> Figure:
    """Interaction rate and AC@1 over the steering strength, beside random directions of equal norm."""
    steered = result["steering"]
    measures = {"interaction_rate": "first action is a question, %", "ac1_touch": "of those: on a true category, %"}
    with styled():
        figure, pair = canvas(7.2, 3.1, ncols=2, sharex=True)
        for axes, (measure, title) in zip(pair, measures.items(), strict=True):
            for kind, colour, label in (
                ("random", "#8a93a3", "random, equal norm"),
                ("direction", PALETTE[0], "ambiguity direction"),
            ):
                rows = [row for row in steered["rows"] if row["kind"] == kind and row[measure] is not None]
                axes.plot(
                    [r["alpha"] for r in rows],
                    [r[measure] for r in rows],
                    "o-",
                    ms=4,
                    lw=1.5,
                    color=colour,
                    label=label,
                )
                low = [r[f"{measure}_ci"][0] for r in rows]
                high = [r[f"{measure}_ci"][1] for r in rows]
                axes.fill_between([r["alpha"] for r in rows], low, high, color=colour, alpha=0.15, lw=0)
            axes.axvline(0, color=RULE, lw=0.9)
            percent_axis(axes, "y", 1.03)
            axes.set_xlabel("α, in gaps from Q + C to Q")
            axes.set_title(title)
        pair[0].legend(loc="best")
    return figure


def erasure(result: Result) -> Figure:
    """Share of first actions that are questions, and of twins answered right, with nothing, the direction and random
    directions erased."""
    rows = {row["kind"]: row for row in result["erasure"]["rows"]}
    kinds = {"nothing": "nothing\nerased", "direction": "ambiguity\ndirection", "random": "random,\nequal rank"}
    measures = {"interaction_rate": "question: first action asks, %", "twin_accuracy": "resolved twin: right, %"}
    with styled():
        figure, pair = canvas(7.2, 2.9, ncols=2)
        for axes, (measure, title) in zip(pair, measures.items(), strict=True):
            for at, (kind, colour) in enumerate(zip(kinds, (PALETTE[1], PALETTE[0], "#8a93a3"), strict=True)):
                row = rows[kind]
                axes.bar(at, row[measure], 0.6, color=colour)
                spread = whiskers(row[measure], row[f"{measure}_ci"])
                axes.errorbar(at, row[measure], yerr=spread, color=INK, capsize=3, lw=1.1)
            axes.set_xticks(range(len(kinds)), list(kinds.values()))
            axes.tick_params(axis="x", length=0)
            percent_axis(axes, "y", 1.03)
            axes.set_title(title)
    return figure
