"""The tables of the page, as what its template fills in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from fiqkit.records import Ending
from fiqkit.report.document import Report
from fiqkit.report.notes import change_name
from fiqkit.report.numbers import Row, number, p_value, percent, percent_interval, points
from fiqkit.report.pooled import in_pool
from fiqkit.report.terminal import tells_apart
from fiqkit.taxonomy import CATEGORIES

# heading, what it means, how a row fills it; before accuracy, which the template draws itself, where there are orbits
_ORBITS = (
    (
        "intent resolved",
        "(k · share of siblings right − 1) / (k − 1), mean over orbits, interval over companies",
        lambda row: percent_interval(row.get("intent_resolved"), row.get("intent_resolved_ci")),
    ),
    ("bits", "intent resolved times log2 k", lambda row: number(row.get("bits_resolved"))),
)
# … and after it
_CELLS = (
    ("lenient", "the intended value is among those given", lambda row: percent(row.get("accuracy_lenient"))),
    ("both", "the answer names both golds", lambda row: percent(row.get("both_mentioned"))),
    ("closed", "right in the mode answer, closed book", lambda row: percent(row.get("accuracy_closed_book"))),
    ("default", "gave the default answer instead", lambda row: percent(row.get("default_capture"))),
    ("asked", "asked at least one question", lambda row: percent(row.get("interaction_rate"))),
    ("asks", "mean questions", lambda row: number(row.get("mean_asks"))),
    ("turns", "mean turns", lambda row: number(row.get("mean_turns"))),
    ("named", "first question names a true category's matter", lambda row: percent(row.get("ac1_named"))),
    ("touch", "first question raises a true category for a choice", lambda row: percent(row.get("ac1_touch"))),
    ("central", "first question's most central category is a true one", lambda row: percent(row.get("ac1_central"))),
    ("DisE+", "bits resolved a question, 0 when wrong", lambda row: number(row.get("dise_plus_all"), 3)),
    ("ECE", "expected calibration error, five bins", lambda row: number(row.get("ece"), 3)),
    ("commit", "ended with one committed value", lambda row: percent(row.get("commitment"))),
)


def standfirst(report: Report) -> str:
    """How much there is, and who graded and judged it."""
    counts = {
        "model": {row["model"] for row in report.rows},
        "mode": {row["mode"] for row in report.rows},
        "instance": {e.instance_id for e in report.scored},
        "episode": report.scored,
    }
    said = [f"{len(found):,} {name}{'' if len(found) == 1 else 's'}" for name, found in counts.items()]
    graders = ", ".join(dict.fromkeys(row["grader"] for row in report.rows))
    judges = ", ".join(dict.fromkeys(row["judge"] for row in report.rows))
    return f"{', '.join(said)}. Graded by: {graders}. Questions judged by: {judges}."


def has_orbits(report: Report) -> bool:
    """Whether any row has orbits."""
    return any(row["intent_resolved"] is not None for row in report.rows)


def columns(report: Report) -> list[dict[str, Any]]:
    """The headings of the main table."""
    shown = [("mode", "", "text"), ("n", "episodes that count", "")]
    if has_orbits(report):
        shown += [(heading, title, "") for heading, title, _ in _ORBITS]
    shown.append(("accuracy", "gave the intended answer", "estimate"))
    shown += [(heading, title, "") for heading, title, _ in _CELLS]
    return [{"heading": heading, "title": title, "css": css} for heading, title, css in shown]


def blocks(report: Report) -> Iterator[dict[str, Any]]:
    """The main table's rows under their model; repeated runs as one row with theirs under it; the references last."""
    told = [name for name in ("run", "retrieval", "grader") if tells_apart(report.rows, name)]
    orbits = has_orbits(report)
    several = len({row["dataset"] for row in report.rows}) > 1
    rows = [(row, False) for row in report.rows]
    for pool in report.pooled:
        at = next(n for n, (row, _) in enumerate(rows) if in_pool(row, pool))
        members = [(row, True) for row, _ in rows if in_pool(row, pool)]
        rows = [kept for kept in rows if not in_pool(kept[0], pool)]
        rows[at:at] = [(pool, False), *members]
    for (dataset, model), found in groupby(rows, key=lambda row: (row[0]["dataset"], row[0]["model"])):
        lines = [
            _line(row, " · ".join([row["mode"], *(row[name] for name in told)]), orbits) | {"member": member}
            for row, member in found
        ]
        title = f"{model} · data set {dataset}" if several else model
        members_ = sum(line["member"] for line in lines)
        yield {"model": title, "rows": lines, "reference": False, "members": members_}
    references = [_line(row, row["model"], orbits) | {"member": False} for row in report.references]
    yield {"rows": references, "reference": True, "members": 0}


def _line(row: Row, name: str, orbits: bool) -> dict[str, Any]:
    accuracy, capture, interval = row["accuracy"], row.get("default_capture"), row.get("accuracy_ci")
    low, high = interval or (accuracy, accuracy)
    bar = {
        "at": _place(accuracy),
        "low": _place(low),
        "width": _place(high - low if interval else 0),
        "default": _place(capture),
    }
    return {
        "name": name,
        "n": row["n"],
        "accuracy": percent(accuracy),
        "ci": f"[{percent(low)}, {percent(high)}]" if interval else "",
        "bar": bar if interval else None,
        "orbits": [cell(row) for _, _, cell in _ORBITS] if orbits else [],
        "cells": [cell(row) for _, _, cell in _CELLS],
    }


def _place(value: float | None) -> str | None:
    """Where a fraction lies on a bar, as CSS percentage."""
    return None if value is None else f"{100 * value:.2f}"


def _name(row: Row) -> str:
    return f"{row['model']} · {row['mode']}"


def parts(rows: Sequence[Row]) -> dict[str, Any]:
    """Accuracy by language and by primary category."""
    languages = list(dict.fromkeys(name for row in rows for name in row["by_language"]))
    categories = [name for name in CATEGORIES if any(name in row["by_category"] for row in rows)]
    titles = {"en": "English", "zh": "Chinese"} | {name: CATEGORIES[name].title["en"] for name in categories}
    return {
        "parts": [titles[name] for name in (*languages, *categories)],
        "part_rows": [
            {
                "name": _name(row),
                "cells": [
                    _part((row["by_language"] | row["by_category"]).get(part)) for part in (*languages, *categories)
                ],
            }
            for row in rows
        ],
    }


def _part(part: Row | None) -> dict[str, str]:
    if not part or part["accuracy"] is None:
        return {"text": "–", "title": ""}
    low, high = part["accuracy_ci"]
    return {"text": percent(part["accuracy"]), "title": f"n = {part['n']}, [{percent(low)}, {percent(high)}]"}


def endings(rows: Sequence[Row]) -> dict[str, Any]:
    """How episodes ended, and what their answers were."""
    names = [str(ending) for ending in Ending if any(ending in row["endings"] for row in rows)]
    outcomes = list(dict.fromkeys(name for row in rows for name in row["outcomes"]))
    return {
        "endings": [*(n.replace("_", " ") for n in names), *(f"answer: {n}" for n in outcomes)],
        "ending_rows": [
            {
                "name": _name(row),
                "cells": [
                    *(percent(row["endings"].get(name, 0.0)) for name in names),
                    *(percent(row["outcomes"].get(name, 0.0)) for name in outcomes),
                ],
            }
            for row in rows
        ],
    }


def comparison(found: Row, several_runs: bool) -> dict[str, Any]:
    """A paired difference as a line."""
    cells = [str(found["n"]), points(found["difference"])]
    cells += [f"[{points(found['ci'][0])}, {points(found['ci'][1])}]"]
    cells += [p_value(found[name]) for name in ("p", "p_mcnemar", "clustered_p", "p_holm")]
    lenient, detectable = found["difference_lenient"], found["smallest_detectable"]
    cells += ["–" if lenient is None else points(lenient), "none" if detectable is None else percent(detectable)]
    return {"name": change_name(found, runs=several_runs), "cells": cells}
