"""How every figure looks, and how it is written: the same input gives the same bytes."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager

from fiqkit.taxonomy import CATEGORIES, FORMS
from fiqkit.whole_file import written_whole

Row = Mapping[str, Any]

INK, RULE, FAINT = "#14233b", "#c9cfd8", "#eef1f5"
# Okabe and Ito's colours, told apart by colour-blind readers too; darkened a little for paper.
PALETTE = ("#0b5c8f", "#c8641b", "#1b8a6b", "#9c4a7c", "#7a6a12", "#4c9bc9", "#5a5f6b", "#b23a3a")
RIGHT, WRONG = "#1b8a6b", "#b23a3a"
MARKERS = "osD^vPX*"
ON_LIGHT = "#14233a"  # text on a mark of light colour, dark on a dark page too
THEMED = frozenset({INK, RULE, FAINT, RIGHT, WRONG, *PALETTE})

_LEGEND, _LABEL = 74, 40  # characters of a legend's line, and of a row's name
WIDTH = 5.6  # inches of a report's figures: legible in a column of print and on a phone

_STYLE: Any = {
    "font.size": 9,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": RULE,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.major.width": 0.8,
    "ytick.major.width": 0.8,
    "grid.color": FAINT,
    "grid.linewidth": 0.9,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "text.parse_math": False,  # a model's name may hold a dollar sign
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "svg.fonttype": "none",
    "svg.hashsalt": "fiqkit",
    "pdf.fonttype": 42,
}


# Chinese labels need one of these; an SVG holds its text as text, so that a reader's own font draws it.
_CHINESE = ("Noto Sans CJK SC", "Source Han Sans SC", "Noto Sans SC", "WenQuanYi Micro Hei", "PingFang SC", "SimHei")


@contextmanager
def styled() -> Iterator[None]:
    """The kit's look for whatever is drawn or written inside."""
    with rc_context(_STYLE | {"font.family": ["DejaVu Sans", *chinese_fonts()[:1]]}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


def chinese_fonts() -> list[str]:
    """The fonts of this machine that have Chinese characters, of those that figures look for."""
    there = {font.name for font in fontManager.ttflist}
    return [name for name in _CHINESE if name in there]


def canvas(width: float, height: float, **grid: Any) -> tuple[Figure, Any]:
    """A figure of this size in inches with its axes, on an Agg canvas."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(**grid)


def svg(figure: Figure, *, clear: bool = False) -> str:
    """The figure as SVG text, without date or XML prolog, so that it can stand inside a page; `clear`: with no
    background of its own."""
    buffer = BytesIO()
    with styled():
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None}, transparent=clear)
    text = buffer.getvalue().decode()
    return text[text.index("<svg") :]


def themed(figure: Figure) -> str:
    """As `svg`, for a page that has a light and a dark face: a clear background, and every colour of the kit a CSS
    variable (`--c-14233b`) with the colour itself where the page sets none."""
    return theme(svg(figure, clear=True))


def theme(text: str) -> str:
    """The kit's colours in an SVG as CSS variables; without ids of groups and the style of all elements, which would
    be the page's."""
    text = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", text, flags=re.DOTALL)
    text = re.sub(r'<g id="[^"]*"', "<g", text)
    return re.sub(r"#([0-9a-f]{6})\b(?=[;\"])", lambda m: f"var(--c-{m[1]}, {m[0]})" if m[0] in THEMED else m[0], text)


def save(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write NAME.svg and NAME.png (200 dpi) into a folder; returns both paths."""
    svg_file, png_file = folder / f"{name}.svg", folder / f"{name}.png"
    with styled(), written_whole(svg_file) as scratch:
        figure.savefig(scratch, format="svg", metadata={"Date": None, "Creator": None})
    with styled(), written_whole(png_file) as scratch:
        figure.savefig(scratch, format="png", dpi=200, metadata={"Software": None})
    return [svg_file, png_file]


def labels(rows: Sequence[Row]) -> list[str]:
    """A name for each row, as short as tells them apart: model, then mode, then run."""
    for parts in (("model",), ("model", "mode"), ("model", "mode", "run")):
        names = [shortened(" · ".join(str(row[part]) for part in parts), _LABEL) for row in rows]
        if len(set(names)) == len(names):
            return names
    return [f"{name} · {row['grader']}" for name, row in zip(names, rows, strict=True)]


def listed(axes: Axes, rows: Sequence[Row]) -> list[float]:
    """Lay rows out down the y axis under a heading for each model; returns the place of each row."""
    repeat = len({(row["model"], row["mode"]) for row in rows}) < len(rows)
    names = [shortened(f"{row['mode']} · {row['run']}" if repeat else row["mode"], _LABEL) for row in rows]
    places: list[float] = []
    ticks: list[tuple[float, str, str]] = []
    at = 0.0
    for above, row, name in zip([None, *rows], rows, names, strict=False):
        if above is None or above["model"] != row["model"]:
            at += 0.35 if above else 0.0
            ticks.append((at, shortened(row["model"], _LABEL), "bold"))
            at += 1
        ticks.append((at, name, "normal"))
        places.append(at)
        at += 1
    axes.set_yticks([place for place, _, _ in ticks], [text for _, text, _ in ticks])
    for label, (_, _, weight) in zip(axes.get_yticklabels(), ticks, strict=True):
        label.set_fontweight(weight)
    axes.set_ylim(at - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    return places


def listed_height(rows: Sequence[Row]) -> float:
    """Inches that `listed` rows need, with room for an axis and a legend."""
    return 0.95 + 0.235 * (len(rows) + 1.35 * len({row["model"] for row in rows}))


def legend_above(figure: Figure, entries: Mapping[str, Any]) -> None:
    """A legend over the figure, label → handle, in as many columns as its widest label leaves room for.

    The figure grows by the legend's height beyond its first line, and a label that is wider than the figure loses its
    middle, so that nothing is clipped or squeezed however many runs there are.
    """
    names = [shortened(name, _LEGEND) for name in entries]
    columns = max(1, min(4, len(names), _LEGEND // (max(map(len, names), default=1) + 6)))
    lines = -(-len(names) // columns)
    figure.set_figheight(figure.get_figheight() + 0.17 * max(0, lines - 1))
    figure.legend(
        list(entries.values()),
        names,
        loc="outside upper center",
        ncols=columns,
        columnspacing=1.2,
        handlelength=1.4,
    )


def shortened(name: str, most: int) -> str:
    """A name of at most so many characters: a longer one loses its middle, since models differ at both ends."""
    return name if len(name) <= most else f"{name[: most // 2]}…{name[len(name) - (most - 1) // 2 :]}"


def entries_of(axes: Axes) -> dict[str, Any]:
    """Label → handle of what is drawn on some axes."""
    handles, names = axes.get_legend_handles_labels()
    return dict(zip(names, handles, strict=True))


def in_mode(rows: Iterable[Row], mode: str) -> list[Row]:
    """The rows of one mode."""
    return [row for row in rows if row["mode"] == mode]


def asking(rows: Sequence[Row]) -> list[Row]:
    """The rows on which targeting can be shown: those of the mode `interact`, else every row with questions."""
    asked = [row for row in rows if any(row.get(f"ac1_{form}") is not None for form in FORMS)]
    return in_mode(asked, "interact") or asked


def present_categories(rows: Iterable[Row]) -> list[str]:
    """The categories that occur as primary in any row, in the taxonomy's order."""
    there = {name for row in rows for name in row["by_category"]}
    return [name for name in CATEGORIES if name in there]


def category_title(name: str) -> str:
    """A category's English title, broken over two lines."""
    return CATEGORIES[name].title["en"].replace(" ", "\n")


def colours(rows: Sequence[Row]) -> list[str]:
    """A colour for each row, the same for the rows of one model."""
    models = list(dict.fromkeys(row["model"] for row in rows))
    return [PALETTE[models.index(row["model"]) % len(PALETTE)] for row in rows]


def headroom(values: Iterable[float | None], least: float = 0.4) -> float:
    """The top of an axis of fractions that shows all values and some room above, never more than all of it."""
    return min(1.02, max(least, 1.15 * max((value for value in values if value is not None), default=1.0)))


def percent_axis(axes: Axes, which: str, top: float = 1.0, bottom: float = 0.0) -> None:
    """Percentages on one axis, from `bottom` to `top`, with a light grid."""
    axis, limits = (axes.xaxis, axes.set_xlim) if which == "x" else (axes.yaxis, axes.set_ylim)
    limits(bottom, top)
    axis.set_major_formatter(_as_percent)
    axis.grid(visible=True)
    axis.set_tick_params(length=0)


_as_percent: Callable[[float, float], str] = lambda value, _: f"{100 * value:g}"  # noqa: E731


def whiskers(estimate: float, interval: Sequence[float] | None) -> list[list[float]] | None:
    """Error-bar lengths of an interval, for `xerr` and `yerr`."""
    if interval is None:
        return None
    return [[max(0.0, estimate - interval[0])], [max(0.0, interval[1] - estimate)]]
