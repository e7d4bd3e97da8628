"""What a probe leaves behind: JSON, CSV tables, figures, one self-contained page, and the lines on the terminal."""

from __future__ import annotations

import csv
import html
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fiqkit.errors import UserError
from fiqkit.whole_file import write_text, written_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Result = Mapping[str, Any]

RESULT = "probe.json"


def write(result: Result, folder: Path) -> list[Path]:
    """Write everything into a folder; returns the paths."""
    from fiqkit.figures.style import save, svg

    folder.mkdir(parents=True, exist_ok=True)
    figures = draw_all(result)
    written = [folder / RESULT]
    write_text(written[0], json.dumps(result, ensure_ascii=False, indent=1) + "\n")
    written += [write_csv(folder / f"{name}.csv", rows) for name, rows in tables(result).items()]
    for name, figure in figures.items():
        written += save(figure, folder, name)
    page = folder / "probe.html"
    write_text(page, _page(result, {name: svg(figure) for name, figure in figures.items()}))
    return [*written, page]


def draw_all(result: Result) -> dict[str, Figure]:
    """Every figure of a result, by name."""
    from fiqkit.figures import probe as draw

    figures = {
        "depth": draw.depth_overlay([result]),
        "categories": draw.category_map(result),
        "controls": draw.controls(result),
    }
    for name, drawn in (("steering", draw.steering), ("erasure", draw.erasure)):
        if name in result:
            figures[name] = drawn(result)
    return figures


def read_result(path: Path) -> dict[str, Any]:
    """The result of a probe from its folder, or from its JSON file.

    Raises:
        UserError: nothing there, or not a probe's result.
    """
    file = path / RESULT if path.is_dir() else path
    try:
        result = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{file}: no probe result can be read; make one with `fiqkit probe --out {path}`") from error
    if not isinstance(result, dict) or not {"model", "layers", "direction", "category", "controls"} <= result.keys():
        raise UserError(f"{file}: not the result of a probe; give the folder that `fiqkit probe --out` wrote")
    return result


# --- tables ---------------------------------------------------------------------------------------------------------


def tables(result: Result) -> dict[str, list[dict[str, Any]]]:
    """Every table by file name."""
    found = {
        "direction": list(result["direction"]["profile"]),
        "categories": list(result["category"]["profile"]),
        "controls": list(_flat(result["controls"], ())),
        "claims": list(result["claims"]),
    }
    if "steering" in result:
        found["steering"] = [_with_bounds(row) for row in result["steering"]["rows"]]
    if "erasure" in result:
        found["erasure"] = [_with_bounds(row) for row in result["erasure"]["rows"]]
    return found


def _with_bounds(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row whose intervals, also those that could not be had, are two columns each."""
    columns: dict[str, Any] = {}
    for name, value in row.items():
        if name.endswith("_ci"):
            columns[f"{name}_low"], columns[f"{name}_high"] = value or (None, None)
        else:
            columns[name] = value
    return columns


def _flat(value: Any, path: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _flat(inner, (*path, name))
    elif isinstance(value, list):
        for name, inner in zip(("low", "high"), value, strict=True):
            yield from _flat(inner, (*path, name))
    elif value is not None:
        yield {"control": path[0], "measure": ".".join(path[1:]), "value": value}


def write_csv(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    """Write rows that share their columns."""
    with written_whole(path) as scratch, scratch.open("w", encoding="utf-8", newline="") as out:
        table = csv.DictWriter(out, fieldnames=list(rows[0]))
        table.writeheader()
        table.writerows(rows)
    return path


# --- words ----------------------------------------------------------------------------------------------------------


def summary(result: Result) -> str:
    """The result for people, a screen long."""
    direction, category = result["direction"], result["category"]
    first, second = category["pair"]
    lines = [
        f"{result['model']}: {result['layers']} layers, {result['items']} items of {result['companies']} companies",
        "",
        f"direction   peak at layer {direction['peak_layer']} (depth {direction['peak_depth']:.0%}, 95% layers "
        f"{direction['peak_band'][0]} to {direction['peak_band'][1]}), separation {direction['separation']:.2f} SD, "
        f"p = {direction['p_holm']:.3f} (Holm)",
        f"category    {first} or {second}: accuracy {category['accuracy']:.2f}, majority {category['baseline']:.2f}, "
        f"shuffled {category['shuffled']:.2f}, ceiling {category['ceiling']:.2f}, p = {category['p']:.3f}, layer "
        f"{category['layer']}",
    ]
    if result.get("adapter"):
        change = result["adapter"]
        lines.append(
            f"adapter     separation {change['separation_change']:+.2f} SD, accuracy {change['accuracy_change']:+.2f}, "
            f"peak now at layer {change['direction']['peak_layer']}"
        )
    lines += ["", *(_claim_line(claim) for claim in result["claims"])]
    if "gate" in result.get("steering", {}):
        lines += ["", gate_line(result["steering"]["gate"])]
    return "\n".join(lines)


def _claim_line(claim: Mapping[str, str]) -> str:
    return f"{claim['verdict']:<16} {claim['claim']}\n{'':<16} {claim['because']}"


def gate_line(gate: Mapping[str, Any]) -> str:
    """The direction as an ask gate beside stated confidence, in one sentence."""
    head = f"ask gate    telling Q (ask) from Q + C (answer): AUROC of the direction {gate['direction_auroc']:.2f}"
    if gate["confidence_auroc"] is None:
        return f"{head} on {gate['items']} items; no confidence was stated twice"
    direction, stated = gate["direction_auroc_same_items"], gate["confidence_auroc"]
    return (
        f"{head} on {gate['items']} items; on the {gate['items_with_confidence']} whose confidence was stated twice, "
        f"of the direction {direction:.2f}, of stated confidence {stated:.2f}"
    )


_TITLES = {
    "depth": "Where the direction lives",
    "categories": "The category, layer by layer",
    "controls": "What the controls leave",
    "steering": "Steering the first action",
    "erasure": "Without the direction",
}

_STYLE = """
body{font:16px/1.5 system-ui,sans-serif;color:#14233b;max-width:52rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.6rem}h2{font-size:1.15rem;margin-top:2.2rem}svg{max-width:100%;height:auto}
table{border-collapse:collapse;width:100%}td,th{padding:.45rem .6rem;border-top:1px solid #c9cfd8;text-align:left;
vertical-align:top}.v{white-space:nowrap;font-weight:600}.survives{color:#1b8a6b}.does{color:#b23a3a}.weakened{color:#a5761a}
small{color:#5a5f6b}"""


def section(result: Result, drawings: Mapping[str, str]) -> str:
    """The probe as a fragment of a page: claims, then every figure (SVG text by name)."""
    rows = "".join(
        f'<tr><td class="v {claim["verdict"].split()[0]}">{claim["verdict"]}</td><td>{html.escape(claim["claim"])}<br>'
        f"<small>{html.escape(claim['because'])}</small></td></tr>"
        for claim in result["claims"]
    )
    plates = "".join(f"<h2>{_TITLES[name]}</h2>{drawing}" for name, drawing in drawings.items())
    return f"<h2>Which claims survive</h2><table>{rows}</table>{plates}"


def read_section(path: Path) -> tuple[str, str]:
    """The model of a probe and its fragment for another page, from its folder or its JSON file.

    Raises:
        UserError: no probe's result there.
    """
    from fiqkit.figures.style import themed

    result = read_result(path)
    try:
        return result["model"], section(result, {name: themed(figure) for name, figure in draw_all(result).items()})
    except (KeyError, TypeError, IndexError, ValueError) as error:
        raise UserError(
            f"{path}: a probe's result that lacks {error}; write it again with `fiqkit probe --out {path}`"
        ) from error


def _page(result: Result, drawings: Mapping[str, str]) -> str:
    model = html.escape(result["model"])
    head = f"{result['layers']} layers, {result['items']} items of {result['companies']} companies"
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>Probe of {model}</title><style>{_STYLE}</style><h1>Probe of {model}</h1><p>{head}</p>"
        f"{section(result, drawings)}</html>\n"
    )
