"""The main table as CSV, LaTeX and Markdown."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence

from fiqkit.report.document import Report
from fiqkit.report.numbers import Row, number, percent, percent_interval

# heading → cell, for the formats that a person reads; those of _OPTIONAL where some row has a value of that name
_CELLS: Mapping[str, Callable[[Row], str]] = {
    "model": lambda row: row["model"],
    "mode": lambda row: row["mode"],
    "n": lambda row: str(row["n"]),
    "intent % [95% CI]": lambda row: percent_interval(row.get("intent_resolved"), row.get("intent_resolved_ci")),
    "bits": lambda row: number(row.get("bits_resolved")),
    "accuracy % [95% CI]": lambda row: percent_interval(row["accuracy"], row.get("accuracy_ci")),
    "lenient %": lambda row: percent(row.get("accuracy_lenient")),
    "both %": lambda row: percent(row.get("both_mentioned")),
    "closed %": lambda row: percent(row.get("accuracy_closed_book")),
    "default %": lambda row: percent(row.get("default_capture")),
    "asked %": lambda row: percent(row.get("interaction_rate")),
    "asks": lambda row: number(row.get("mean_asks")),
    "AC@1 named %": lambda row: percent(row.get("ac1_named")),
    "AC@1 touch %": lambda row: percent(row.get("ac1_touch")),
    "AC@1 central %": lambda row: percent(row.get("ac1_central")),
    "DisE+": lambda row: number(row.get("dise_plus_all"), 3),
    "ECE": lambda row: number(row.get("ece"), 3),
}
_OPTIONAL = {
    "intent % [95% CI]": "intent_resolved",
    "bits": "bits_resolved",
    "lenient %": "accuracy_lenient",
    "both %": "both_mentioned",
    "closed %": "accuracy_closed_book",
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


def _cells(report: Report) -> dict[str, Callable[[Row], str]]:
    """The columns of this report; run and retrieval among them where they tell rows apart."""
    found: dict[str, Callable[[Row], str]] = {
        name: lambda row, name=name: row.get(name, "")  # type: ignore[misc]
        for name in ("run", "retrieval")
        if len({row[name] for row in report.rows}) > 1
    }
    there = {name for name in _OPTIONAL.values() if any(row.get(name) is not None for row in report.rows)}
    return found | {head: cell for head, cell in _CELLS.items() if _OPTIONAL.get(head) in {None, *there}}


def as_markdown(report: Report) -> str:
    """The main table as a GitHub table."""
    cells = _cells(report)
    heads = list(cells)
    aligns = ["---:" if _is_number(head) else "---" for head in heads]
    rows = [[cell(row).replace("|", r"\|") for cell in cells.values()] for row in (*report.rows, *report.references)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, aligns, *rows)) + "\n"


def _is_number(head: str) -> bool:
    return head not in ("run", "retrieval", "model", "mode")


def as_latex(report: Report) -> str:
    """The main table for the booktabs package, models apart by a rule."""
    cells = _cells(report)
    aligns = "".join("r" if _is_number(head) else "l" for head in cells)
    lines = [rf"\begin{{tabular}}{{{aligns}}}", r"\toprule", _latex_line(list(cells)), r"\midrule"]
    lines += _latex_body(report.rows, cells)
    if report.references:
        lines += [r"\midrule", *_latex_body(report.references, cells)]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def _latex_body(rows: Sequence[Row], cells: Mapping[str, Callable[[Row], str]]) -> list[str]:
    lines = []
    for above, row in zip([None, *rows], rows, strict=False):
        if above and above["model"] != row["model"] and above["mode"] != "reference":
            lines.append(r"\addlinespace")
        lines.append(_latex_line([cell(row) for cell in cells.values()]))
    return lines


def _latex_line(cells: Sequence[str]) -> str:
    return " & ".join("".join(_LATEX.get(char, char) for char in cell) for cell in cells) + r" \\"


FORMATS: Mapping[str, Callable[[Report], str]] = {"csv": as_csv, "latex": as_latex, "md": as_markdown}
