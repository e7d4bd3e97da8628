"""Every figure of a report, with its title and caption, drawn where there is something to draw."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from fiqkit.figures import accuracy, asking, confidence
from fiqkit.figures.accuracy import with_orbits
from fiqkit.figures.style import Row, in_mode, save, styled
from fiqkit.figures.style import asking as asking_rows

# People on 50 instances of the FinInteract release, question and passage in hand (published with it).
HUMAN = {"accuracy": 0.30, "ac1_named": 0.68, "label": "people (n = 50)"}

_PANELS = 12  # reliability diagrams that are still read one by one


@dataclass(frozen=True, slots=True)
class Material:
    """What figures are drawn from: rows of the main table with `errors`, its comparisons, a human point or None."""

    rows: Sequence[Row]
    comparisons: Sequence[Mapping[str, Any]]
    human: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Plate:
    """One figure of the gallery: its file name, title and caption; `draw` gives None where there is nothing to show."""

    name: str
    title: str
    caption: str
    draw: Callable[[Material], Figure | None]


def _asking(draw: Callable[[list[Row]], Figure]) -> Callable[[Material], Figure | None]:
    return lambda material: draw(rows) if (rows := asking_rows(material.rows)) else None


def _interaction(material: Material) -> list[Row]:
    """Rows for a line chart: one mode, the one that asks where there is one."""
    return in_mode(material.rows, "interact") or list(material.rows)[:8]


def _stating(rows: Sequence[Row]) -> list[Row]:
    """Rows with a calibration error; of many, only those of the mode `interact`."""
    found = confidence.stating(rows)
    return found if len(found) <= _PANELS else in_mode(found, "interact") or found[:_PANELS]


def _lever(material: Material) -> Figure | None:
    sides = [(c["first"]["mode"], c["second"]["mode"]) for c in material.comparisons]
    return asking.interaction_lever(material.comparisons) if ("search", "interact") in sides else None


ORBITS = Plate(
    "orbits",
    "Intent resolved",
    "Orbits: every reading of a question is meant once. At most 0 in expectation for whoever does not ask, 1 where "
    "every reading is reached; intervals over companies.",
    lambda material: accuracy.intent_resolved(rows) if (rows := with_orbits(material.rows)) else None,
)  # it leads where the data has orbits

PLATES = (
    Plate(
        "accuracy",
        "Accuracy and default-capture",
        "Every model in every mode. Filled: the intended answer; hollow: the default answer instead; a stroke: the "
        "intended answer is among the values given.",
        lambda material: accuracy.accuracy_by_mode(material.rows),
    ),
    Plate(
        "single_gold",
        "The single-gold illusion",
        "The same answers held against either gold. Where red lies right of green, a benchmark that kept only the "
        "default answer would have called the model better by that factor.",
        lambda material: accuracy.single_gold_illusion(material.rows),
    ),
    Plate(
        "targeting",
        "Targeting by category",
        "Share of judged first questions on a true category, by primary category, with exact intervals, in each form "
        "of targeting (after the paper's Figure 5, which shows the first).",
        _asking(asking.targeting_by_category),
    ),
    Plate(
        "skills",
        "Targeting and resolution",
        "Does the first question aim at the right category, and does the answer come out right? Small: what a cell "
        "divides by. (Figure 6)",
        _asking(asking.targeting_and_resolution),
    ),
    Plate(
        "lever",
        "Interaction lever",
        "What being allowed to ask adds to search, on the same instances (Figure 7).",
        _lever,
    ),
    Plate(
        "tradeoff",
        "Targeting against resolution",
        "Right of the diagonal a good question did not become a right answer (Figure 8).",
        lambda material: (
            asking.targeting_against_resolution(rows, material.human) if (rows := asking_rows(material.rows)) else None
        ),
    ),
    Plate(
        "errors",
        "Error budget",
        "What every scored episode came to, under each form of targeting where they differ (Figure 10).",
        lambda material: asking.error_budget(rows) if (rows := [r for r in material.rows if r["n"]]) else None,
    ),
    Plate(
        "calibration",
        "Calibration",
        "Stated confidence against accuracy in five bins; the larger the mark, the more episodes. Below the line: "
        "over-confident.",
        lambda material: confidence.calibration(rows, material.rows) if (rows := _stating(material.rows)) else None,
    ),
    Plate(
        "entropy",
        "Accuracy against prior entropy",
        "The more readings a question admits, the harder it should be.",
        lambda material: accuracy.accuracy_by_entropy(_interaction(material)),
    ),
)


def draw_all(material: Material) -> list[tuple[Plate, Figure]]:
    """Every figure that has something to show."""
    with styled():
        drawn = [(plate, plate.draw(material)) for plate in (ORBITS, *PLATES) if material.rows]
    return [(plate, figure) for plate, figure in drawn if figure is not None]


def save_all(material: Material, folder: Path) -> list[Path]:
    """Write every figure as SVG and PNG into a folder; returns the paths."""
    return [path for plate, figure in draw_all(material) for path in save(figure, folder, plate.name)]
