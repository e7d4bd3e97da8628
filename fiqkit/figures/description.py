"""A set of instances drawn: what it holds, as small bar charts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fiqkit.figures.style import PALETTE, WIDTH, canvas, styled
from fiqkit.taxonomy import CATEGORIES

_MOST = 8  # bars of a panel; what is rarer is summed
_TITLES = {"en": "English", "zh": "Chinese"} | {name: category.title["en"] for name, category in CATEGORIES.items()}
_PANELS = (
    ("primary", "primary category"),
    ("any_category", "any category"),
    ("languages", "language"),
    ("categories_each", "categories each"),
    ("k", "readings (k)"),
    ("forms", "form"),
    ("periods", "year of the period"),
    ("measures", "measure asked for"),
)


def describe_set(found: Mapping[str, Any]) -> Figure:
    """`fiqkit.metrics.describe.describe` drawn: counts by category, language, readings, form, year and measure."""
    with styled():
        shown = [(title, _bars(found, name)) for name, title in _PANELS]
        pairs = [shown[at : at + 2] for at in range(0, len(shown), 2)]
        heights = [max(len(bars) for _, bars in pair) + 1.6 for pair in pairs]
        figure, grid = canvas(
            WIDTH, 0.3 + 0.19 * sum(heights), nrows=len(pairs), ncols=2, height_ratios=heights, squeeze=False
        )
        for axes, (title, bars) in zip(grid.flat, shown, strict=True):
            _panel(axes, title, bars)
        figure.suptitle(f"{found['n']} instances, {found['companies']} companies", fontsize=10)
    return figure


def _bars(found: Mapping[str, Any], name: str) -> dict[str, int]:
    counts = found[name]["all"]["top"] if name == "measures" else found[name]
    shown = dict(list(counts.items())[-_MOST:] if name == "periods" else list(counts.items())[:_MOST])
    total = found["measures"]["all"]["n"] if name == "measures" else sum(counts.values())
    rest = total - sum(shown.values())
    return shown | ({"others": rest} if rest else {})


def _panel(axes: Axes, title: str, bars: Mapping[str, int]) -> None:
    names = [_TITLES.get(name, name if len(name) <= 22 else f"{name[:21]}…") for name in bars]
    drawn = axes.barh(range(len(bars)), list(bars.values()), 0.68, color=PALETTE[0])
    axes.bar_label(drawn, [str(count) for count in bars.values()], padding=3, fontsize=7.5)
    axes.set_yticks(range(len(bars)), names, fontsize=7.5)
    axes.set_ylim(len(bars) - 0.4, -0.6)
    axes.tick_params(length=0)
    axes.xaxis.set_visible(False)
    axes.spines["bottom"].set_visible(False)
    axes.margins(x=0.14)
    axes.set_title(title, fontsize=8.5)
