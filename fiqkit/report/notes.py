"""Sentences beside the numbers: what is outside the rates, what is not known, what hangs on a choice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fiqkit.metrics.significance import FEW_CLUSTERS
from fiqkit.records import Ending
from fiqkit.report.numbers import Row, percent, percent_interval, points


def notes(rows: Sequence[Row]) -> list[str]:
    """One line for each thing that a reader of the main table must know."""
    return [
        *_cut(rows),
        *_left_out(rows),
        *_scaleless(rows),
        *_orbits(rows),
        *_untold(rows),
        *_retrieval(rows),
        *_engines(rows),
    ]


def _name(row: Row) -> str:
    return f"{row['model']} {row['mode']}"


_UNTOLD = {
    Ending.TRUNCATED: "truncated",
    Ending.CONTEXT_OVERFLOW: "context overflows",
    Ending.ENGINE_ERROR: "engine errors",
    Ending.BUG: "bugs",
}  # endings in which the agent was not heard to its end
_MENDS = {
    Ending.TRUNCATED: "the agent was cut off, --max-tokens gives it more",
    Ending.CONTEXT_OVERFLOW: "--context or fewer --result-tokens make room",
}


def no_rate(row: Row) -> str | None:
    """What stands in the place of the rates of a row in which no agent was heard to its end: "3 truncated"."""
    counts = {name: round(share * row["episodes"]) for name, share in row.get("endings", {}).items() if name in _UNTOLD}
    if not counts or sum(counts.values()) < row["episodes"]:
        return None
    return ", ".join(f"{count} {_UNTOLD[Ending(name)]}" for name, count in counts.items())


def _cut(rows: Sequence[Row]) -> list[str]:
    """Rows with episodes that ended for want of room, which say nothing of what the agent would have answered."""
    return [
        f"{_name(row)}: {round(share * row['episodes'])} of {row['episodes']} episodes are {_UNTOLD[ending]}; {mend}"
        for row in rows
        for ending, mend in _MENDS.items()
        if (share := row.get("endings", {}).get(ending))
    ]


def _left_out(rows: Sequence[Row]) -> list[str]:
    said = []
    for row in rows:
        bugs = row.get("bug", 0)
        if row["unscored"] or row["engine_error"] or bugs:
            bug = f" and {bugs} bugs of this kit" if bugs else ""
            said.append(
                f"{_name(row)}: {row['unscored']} unscored and {row['engine_error']} engine errors{bug} are outside "
                f"the rates; accuracy is between {percent(row['accuracy_worst'])} and {percent(row['accuracy_best'])}"
            )
    return said


def _engines(rows: Sequence[Row]) -> list[str]:
    """Episodes whose engine held no reply to a schema, or whose server seems to have cut the prompt."""
    said = [
        f"{_name(row)}: {row['unconstrained']} of {row['episodes']} episodes ran unconstrained, no reply of theirs was "
        "held to a schema"
        for row in rows
        if row.get("unconstrained")
    ]
    return said + [
        f"{_name(row)}: the server seems to have cut the prompt in {row['prompt_cut']} of {row['episodes']} episodes"
        for row in rows
        if row.get("prompt_cut")
    ]


def _scaleless(rows: Sequence[Row]) -> list[str]:
    return [
        f"{_name(row)}: some right answers left the scale out; without them accuracy is "
        f"{percent(row['accuracy_without_scale_missing'])}"
        for row in rows
        if row["accuracy_without_scale_missing"] != row["accuracy"]
    ]


def _orbits(rows: Sequence[Row]) -> list[str]:
    return [
        f"{_name(row)}: {row['orbits_left_out']} orbits have a sibling that was not played or not scored, and are left "
        f"out of intent and bits ({row['orbits']} are in)"
        for row in rows
        if row.get("orbits_left_out")
    ]


def _untold(rows: Sequence[Row]) -> list[str]:
    """Judges that gave one label a question: an import's, or a model's that was asked for no more."""
    judges = {row["judge"] for row in rows if row.get("ac1_central") is not None and row["ac1_touch"] is None}
    return [
        f"judge {judge} gave one label a question: what else a question names or touches is unknown, not nothing "
        f"(fiqkit judge --judge rules adds it)"
        for judge in sorted(judges)
    ]


def _retrieval(rows: Sequence[Row]) -> list[str]:
    said = {
        "own": "a search returned the item's own passage, whatever the query (retrieval own, as in the paper)",
        "own+spans": "a search returned the item's own passage with both evidence spans (retrieval own+spans)",
        "intended-span": "a search returned the intended evidence span alone (retrieval intended-span): a negative "
        "control, no result",
    }
    there = dict.fromkeys(row.get("retrieval") for row in rows)
    return [said[name] for name in there if name in said]


def closed_book_line(rows: Sequence[Row]) -> str:
    """Accuracy in the mode `answer` by model, for a table without room for it; empty where nobody played it."""
    found = {(row["run"], row["model"]): row["accuracy_closed_book"] for row in rows}
    said = [f"{model} {percent(value)}" for (_, model), value in found.items() if value is not None]
    return f"closed book, accuracy in the mode answer: {', '.join(said)}" if said else ""


def cutoff_lines(rows: Sequence[Row], cutoff: str | None) -> list[str]:
    """Each row's accuracy, and closed-book accuracy beside it, on items filed before a date and on it or after."""
    titles = {"before": f"filed before {cutoff}", "after": "on it or after", "undated": "undated"}
    return [
        f"{_name(row)}: "
        + "; ".join(
            f"{titles[when]} {percent_interval(part['accuracy'], part['accuracy_ci'])} (n = {part['n']}, closed book "
            f"{percent(part['accuracy_closed_book'])})"
            for when, part in row["by_cutoff"].items()
        )
        for row in rows
        if row.get("by_cutoff")
    ]


def partial_runs(runs: Sequence[Row]) -> list[str]:
    """A line for each run that did not come to its end."""
    return [
        f"run {run['run']} is {run['status']}: it was not finished, and its numbers are those of the episodes it has"
        for run in runs
        if run["status"] != "done"
    ]


def change_name(found: Row, *, runs: bool = False) -> str:
    """What is compared: "gpt-5: search → interact"; `runs` names the run of each side, where a table has several."""
    first, second = found["first"], found["second"]
    names = [name for name in ("model", "mode", "retrieval", "run") if first[name] != second[name]]
    kept = ["model"] if first["model"] == second["model"] else ["mode"]
    kept += ["run"] if runs and "run" not in names else []
    common = " · ".join(first[name] for name in kept)
    changes = [" · ".join(side[name] for name in names) for side in (first, second)]
    extra = f" in {first['mode']}" if "model" in kept and "mode" not in names else ""
    return f"{common}{extra}: {changes[0]} → {changes[1]}"


def comparison_notes(comparisons: Iterable[Row]) -> list[str]:
    """Where the sign of a difference hangs on how answers are graded, and where a test has too few companies."""
    said = []
    for found in comparisons:
        name, strict, lenient = change_name(found), found["difference"], found.get("difference_lenient")
        if found["kind"] == "mode" and lenient is not None and strict * lenient < 0:
            said.append(
                f"{name}: the sign depends on answers that name both golds; strict {points(strict)}, "
                f"lenient {points(lenient)} points"
            )
    few = {found["clusters"] for found in comparisons if found["few_clusters"]}
    if few:
        said.append(
            f"{min(few)} companies, fewer than {FEW_CLUSTERS}: with whole companies p cannot fall below "
            f"{2 / 2 ** min(few):.3g}"
        )
    return said


def diagnosis_lines(diagnosis: Sequence[Row]) -> list[str]:
    """A line a finding; what the forms of targeting say alike of one model stands once, with the forms that say it."""
    told: dict[tuple[str, ...], list[Row]] = {}
    for found in diagnosis:
        told.setdefault((found["run"], found["model"], found["points_at"], str(found["form"] is None)), []).append(
            found
        )
    lines = []
    for (run, model, points_at, _), same in told.items():
        forms = [f"by {found['form']}, " if found["form"] else "" for found in same]
        grounds = "; ".join(f"{form}{found['grounds']}" for form, found in zip(forms, same, strict=True))
        several = len({found["run"] for found in diagnosis}) > 1
        lines.append(f"{model}{f' · {run}' if several else ''}: {points_at} ({grounds})")
    return lines


def correction_lines(rows: Sequence[Row]) -> list[str]:
    """The rates of each row raw beside corrected, where rulings or a calibration are at hand; what a correction cannot
    carry."""
    lines = []
    for role, what, key in (("grader", "accuracy", "corrected"), ("judge", "ac1_touch", "corrected_ac1_touch")):
        found = [(row, row[key]) for row in rows if row.get(key)]
        for giver in dict.fromkeys(row[role] for row, _ in found):
            one = next(numbers for row, numbers in found if row[role] == giver)
            lines.append(
                f"{role} {giver} against {one['held_against']}: sensitivity {percent(one['sensitivity'])}, specificity "
                f"{percent(one['specificity'])}"
            )
            lines += [one["doubt"]] if one["doubt"] else []
        lines += [_corrected_line(row, numbers, what) for row, numbers in found]
    return lines


def _corrected_line(row: Row, numbers: Row, what: str) -> str:
    rates = percent_interval(numbers["rogan_gladen"], numbers["rogan_gladen_ci"])
    why = f" ({numbers['refused']})" if numbers["refused"] else ""
    title = "accuracy" if what == "accuracy" else f"AC@1 by touch, {numbers['n']} items of one category,"
    line = f"{_name(row)}: {title} {percent(numbers[what])}, by Rogan and Gladen {rates}{why}"
    if not numbers.get("rulings"):
        return line
    rulings = percent_interval(numbers["prediction_powered"], numbers["prediction_powered_ci"])
    return f"{line}, prediction-powered {rulings} from {numbers['rulings']} rulings"
