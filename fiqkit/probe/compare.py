"""Two probe results side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fiqkit.errors import UserError
from fiqkit.probe.output import write_csv

Result = Mapping[str, Any]


def compare(first: Result, second: Result) -> dict[str, Any]:
    """The main numbers of two results with their differences, and the claims on which they part.

    Raises:
        UserError: the two were not made on the same items and folds, so that their numbers do not compare.
    """
    for name in ("instances", "folds", "seed"):
        if first["manifest"][name] != second["manifest"][name]:
            raise UserError(
                f"{first['model']} and {second['model']} were probed with different {name}; probe both with the same "
                f"--instances, --limit, --folds and --seed"
            )
    one, two = _numbers(first), _numbers(second)
    return {
        "first": first["model"],
        "second": second["model"],
        "rows": [
            {"measure": name, "first": one[name], "second": two[name], "difference": two[name] - one[name]}
            for name in one
            if name in two
        ],
        "claims": [
            {"claim": a["claim"], "first": a["verdict"], "second": b["verdict"]}
            for a in first["claims"]
            for b in second["claims"]
            if a["claim"] == b["claim"]
        ],
    }


def _numbers(result: Result) -> dict[str, float]:
    direction, category, controls = result["direction"], result["category"], result["controls"]
    found = {
        "layers": result["layers"],
        "peak_layer": direction["peak_layer"],
        "peak_depth": direction["peak_depth"],
        "separation": direction["separation"],
        "nested_separation": direction["nested_separation"],
        "retained_neutral": controls["neutral"]["retained"],
        "retained_mismatched": controls["mismatched"]["retained"],
        "retained_paraphrase": controls["paraphrase"]["retained"],
        "category_accuracy": category["accuracy"],
        "category_baseline": category["baseline"],
        "bag_of_words_accuracy": controls["bag_of_words"]["accuracy"],
        "length_accuracy": controls["length"]["accuracy"],
    }
    return found | {f"auroc_{name}": values["auroc"] for name, values in category["one_vs_rest"].items()}


def write_comparison(compared: Mapping[str, Any], results: tuple[Result, Result], folder: Path) -> list[Path]:
    """Write the table and the overlay of both depth profiles; returns the paths."""
    from fiqkit.figures.probe import depth_overlay
    from fiqkit.figures.style import save

    folder.mkdir(parents=True, exist_ok=True)
    return [write_csv(folder / "compare.csv", compared["rows"]), *save(depth_overlay(results), folder, "compare")]


def write_overlay(results: Sequence[Result], published: Mapping[str, Sequence[float]], folder: Path) -> list[Path]:
    """Draw the raw profiles of some results over published ones; returns the paths."""
    from fiqkit.figures.probe import raw_overlay
    from fiqkit.figures.style import save

    folder.mkdir(parents=True, exist_ok=True)
    return save(raw_overlay(results, published), folder, "published")


def table(compared: Mapping[str, Any]) -> str:
    """The comparison for people."""
    width = max(len(compared["first"]), len(compared["second"]), 10)
    lines = [f"{'':<24} {compared['first']:>{width}} {compared['second']:>{width}} {'difference':>10}"]
    for row in compared["rows"]:
        lines.append(
            f"{row['measure']:<24} {row['first']:>{width}.3g} {row['second']:>{width}.3g} {row['difference']:>+10.3g}"
        )
    parted = [claim for claim in compared["claims"] if claim["first"] != claim["second"]]
    lines += ["", "claims on which they part:" if parted else "every claim has the same verdict in both"]
    lines += [f"  {claim['claim']}\n    {claim['first']} | {claim['second']}" for claim in parted]
    return "\n".join(lines)
