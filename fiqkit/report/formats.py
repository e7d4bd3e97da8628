"""The main table as CSV, LaTeX and Markdown."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence

from fiqkit.report.document import Report
from fiqkit.report.terminal import Row, number, percent, percent_interval

# heading → cell, for the formats that a person reads
_CELLS: Mapping[str, Callable[[Row], str]] = {
    "model": lambda row: row["model"],
    "mode": lambda row: row["mode"],
    "n": lambda row: str(row["n"]),
    "accuracy % [95% CI]": lambda row: percent_interval(row["accuracy"], row.get("accuracy_ci")),
    "default %": lambda row: percent(row.get("default_capture")),
    "asked %": lambda row: percent(row.get("interaction_rate")),
    "asks": lambda row: number(row.get("mean_asks")),
    "AC@1 %": lambda row: percent(row.get("ac1_touch")),
    "DisE+": lambda row: number(row.get("dise_plus_all"), 3),
    "ECE": lambda row: number(row.get("ece"), 3),
}
_LATEX = {"&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "–": "--",
}


def as_csv(report: Report) -> str:
    """One line a row with every plain number, unrounded; intervals as two columns NAME_low and NAME_high."""
    lines = [_flat(row) for row in report.rows]
    names = list(dict.fromkeys(name for line in lines for name in line))
    out = io.StringIO()
    writer = csv.DictWriter(out, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return out.getvalue()


def _flat(row: Row) -> dict[str, object]:
    flat: dict[str, object] = {}
    for name, value in row.items():
        if name.endswith("_ci"):
            flat[f"{name[:-3]}_low"], flat[f"{name[:-3]}_high"] = value or (None, None)
        elif not isinstance(value, dict | list):
            flat[name] = value
    return flat


def as_markdown(report: Report) -> str:
    """The main table as a GitHub table."""
    heads = list(_CELLS)
    aligns = ["---", "---", *["---:"] * (len(heads) - 2)]
    rows = [[cell(row).replace("|", r"\|") for cell in _CELLS.values()] for row in (*report.rows, *report.references)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, aligns, *rows)) + "\n"


def as_latex(report: Report) -> str:
    """The main table for the booktabs package, models apart by a rule."""
    heads = list(_CELLS)
    lines = [rf"\begin{{tabular}}{{ll{'r' * (len(heads) - 2)}}}", r"\toprule", _latex_line(heads), r"\midrule"]
    lines += _latex_body(report.rows)
    if report.references:
        lines += [r"\midrule", *_latex_body(report.references)]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def _latex_body(rows: Sequence[Row]) -> list[str]:
    lines = []
    for above, row in zip([None, *rows], rows, strict=False):
        if above and above["model"] != row["model"] and above["mode"] != "reference":
            lines.append(r"\addlinespace")
        lines.append(_latex_line([cell(row) for cell in _CELLS.values()]))
    return lines


def _latex_line(cells: Sequence[str]) -> str:
    return " & ".join("".join(_LATEX.get(char, char) for char in cell) for cell in cells) + r" \\"


FORMATS: Mapping[str, Callable[[Report], str]] = {"csv": as_csv, "latex": as_latex, "md": as_markdown}
