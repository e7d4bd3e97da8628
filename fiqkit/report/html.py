"""The report as one HTML file that holds everything it shows: tables, figures, and every episode in full."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from fiqkit import __version__
from fiqkit.datasets import instance_row
from fiqkit.metrics.errors import ERRORS, answered_by_template, error_flags, known_forms, primary_error
from fiqkit.metrics.scored import Scored
from fiqkit.records import Ending, Episode, Instance
from fiqkit.report.document import Report
from fiqkit.report.notes import (
    change_name,
    comparison_notes,
    correction_lines,
    cutoff_lines,
    diagnosis_lines,
    notes,
    partial_runs,
)
from fiqkit.report.numbers import Row, number, p_value, percent, percent_interval, points
from fiqkit.report.terminal import tells_apart
from fiqkit.store.store import Store
from fiqkit.taxonomy import CATEGORIES
from fiqkit.whole_file import write_text

_CHUNK = 50  # episodes that are compressed together
_BEGINNING = 160  # characters of an answer that the list of episodes can be searched by
_HERE = Path(__file__).parent

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
_TAGS = {"intended": "intended", "default": "default", "neither": "neither gold", "engine_error": "engine error"}


def write_page(report: Report, store: Store, path: Path, probes: Sequence[Path] = ()) -> None:
    """Write the page; `probes` are folders of `fiqkit probe` to show on it.

    Raises:
        UserError: the file cannot be written.
    """
    write_text(path, page(report, store, probes))


def page(report: Report, store: Store, probes: Sequence[Path] = ()) -> str:
    """The page as text."""
    from jinja2 import Environment, FileSystemLoader
    from markupsafe import Markup

    from fiqkit.figures.gallery import draw_all
    from fiqkit.figures.style import svg
    from fiqkit.probe.output import read_section

    plates = [
        {"name": plate.name, "title": plate.title, "caption": plate.caption, "svg": Markup(svg(figure))}
        for plate, figure in draw_all(report.material())
    ]
    instances = {run["dataset"]: store.instances(run["dataset"]) for run in report.runs}
    chunks, places = _chunks(report, store, instances)
    sections = [("results", "Results"), *((plate["name"], plate["title"]) for plate in plates)]
    sections += [("parts", "By language and category"), ("endings", "Endings")]
    sections += [("comparisons", "Comparisons")] if report.comparisons else []
    sections += [("diagnosis", "Diagnosis")] if report.diagnosis else []
    probed = [
        {"id": f"probe-{n}", "model": model, "body": Markup(body)}
        for n, (model, body) in enumerate(map(read_section, probes))
    ]
    sections += [(probe["id"], f"Probe of {probe['model']}") for probe in probed]
    template = Environment(loader=FileSystemLoader(_HERE), autoescape=True).get_template("page.html")
    return template.render(
        title="Evaluation report",
        standfirst=_standfirst(report),
        probes=probed,
        sections=[*sections, ("episodes", "Episodes")],
        css=Markup((_HERE / "page.css").read_text(encoding="utf-8")),
        js=Markup((_HERE / "page.js").read_text(encoding="utf-8")),
        columns=_columns(report),
        blocks=list(_blocks(report)),
        notes=[
            *notes(report.rows),
            *partial_runs(report.runs),
            *correction_lines(report.rows),
            *cutoff_lines(report.rows, report.cutoff),
        ],
        plates=plates,
        orbits=_has_orbits(report),
        **_parts(report.rows),
        **_endings(report.rows),
        comparisons=[_comparison(found, len(report.runs) > 1) for found in report.comparisons],
        comparison_notes=comparison_notes(report.comparisons),
        diagnosis=diagnosis_lines(report.diagnosis),
        errors=[(label, meaning) for label, meaning in ERRORS.items() if label != "unjudged"],
        runs=report.runs,
        version=__version__,
        index=Markup(_json(_index(report, instances, places))),
        chunks=[Markup(chunk) for chunk in chunks],
    )


# --- tables ---------------------------------------------------------------------------------------------------------


def _standfirst(report: Report) -> str:
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


def _has_orbits(report: Report) -> bool:
    return any(row["intent_resolved"] is not None for row in report.rows)


def _columns(report: Report) -> list[dict[str, Any]]:
    columns = [("mode", "", "text"), ("n", "episodes that count", "")]
    if _has_orbits(report):
        columns += [(heading, title, "") for heading, title, _ in _ORBITS]
    columns.append(("accuracy", "gave the intended answer", "estimate"))
    columns += [(heading, title, "") for heading, title, _ in _CELLS]
    return [{"heading": heading, "title": title, "css": css} for heading, title, css in columns]


def _blocks(report: Report) -> Iterator[dict[str, Any]]:
    told = [name for name in ("run", "retrieval", "grader") if tells_apart(report.rows, name)]
    orbits = _has_orbits(report)
    several = len({row["dataset"] for row in report.rows}) > 1
    for (dataset, model), rows in groupby(report.rows, key=lambda row: (row["dataset"], row["model"])):
        lines = [_line(row, " · ".join([row["mode"], *(row[name] for name in told)]), orbits) for row in rows]
        title = f"{model} · data set {dataset}" if several else model
        yield {"model": title, "rows": lines, "reference": False}
    yield {"rows": [_line(row, row["model"], orbits) for row in report.references], "reference": True}


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


def _parts(rows: Sequence[Row]) -> dict[str, Any]:
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


def _endings(rows: Sequence[Row]) -> dict[str, Any]:
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


def _comparison(found: Row, several_runs: bool) -> dict[str, Any]:
    cells = [str(found["n"]), points(found["difference"])]
    cells += [f"[{points(found['ci'][0])}, {points(found['ci'][1])}]"]
    cells += [p_value(found[name]) for name in ("p", "p_mcnemar", "clustered_p", "p_holm")]
    lenient, detectable = found["difference_lenient"], found["smallest_detectable"]
    cells += ["–" if lenient is None else points(lenient), "none" if detectable is None else percent(detectable)]
    return {"name": change_name(found, runs=several_runs), "cells": cells}


# --- episodes -------------------------------------------------------------------------------------------------------


def _index(
    report: Report, instances: Mapping[str, Mapping[str, Instance]], places: Mapping[int, tuple[int, str]]
) -> dict[str, Any]:
    """What the list of episodes is drawn and filtered from."""
    datasets = {run["run"]: run["dataset"] for run in report.runs}
    by_template = answered_by_template(report.scored)
    known = known_forms(report.scored)
    form = "touch" if "touch" in known else known[0]
    names = (
        _TAGS | {name: category.title["en"] for name, category in CATEGORIES.items()} | {"en": "English", "zh": "中文"}
    )
    return {
        "names": names,
        "questions": {key: i.question for found in instances.values() for key, i in found.items()},
        "episodes": [
            {
                "id": e.episode,
                "chunk": places[e.episode][0],
                "key": f"{datasets[e.run]}/{e.instance_id}",
                "instance": e.instance_id,
                "run": e.run,
                "model": e.model,
                "mode": e.mode,
                "outcome": outcome_name(e),
                "errors": [label for label in (primary_error(e, form), *error_flags(e, by_template)) if label],
                "categories": list(e.categories),
                "language": e.language,
                "asks": e.n_asks,
                "answer": places[e.episode][1],
            }
            for e in report.scored
        ],
    }


def outcome_name(e: Scored) -> str:
    """One word for what an episode came to: its ending where it gave no answer, else what the answer was."""
    if e.ending != Ending.ANSWERED:
        return str(e.ending)
    if e.outcome:
        return e.outcome
    if e.is_intended is None:
        return "unscored"
    return "intended" if e.is_intended else "default" if e.is_default else "neither"


def _chunks(
    report: Report, store: Store, instances: Mapping[str, Mapping[str, Instance]]
) -> tuple[list[str], dict[int, tuple[int, str]]]:
    """Compressed pieces of the page, the instances first; and for each episode its piece and how its answer begins."""
    records = {f"{key}/{name}": instance_row(i) for key, found in instances.items() for name, i in found.items()}
    pieces = [_packed(records)]
    places: dict[int, tuple[int, str]] = {}
    waiting: dict[int, Any] = {}
    for run in report.runs:
        for key, episode in store.episodes(run["run"]):
            places[key] = len(pieces), (episode.answer or "")[:_BEGINNING]
            waiting[key] = _body(episode, store.verdicts(key))
            if len(waiting) == _CHUNK:
                pieces.append(_packed(waiting))
                waiting = {}
    return [*pieces, _packed(waiting)], places


def _body(episode: Episode, verdicts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """An episode in full, with every verdict on it."""
    return {
        "opening": [dict(message) for message in episode.opening],
        "turns": [
            {"action": t.action, "content": dict(t.content), "text": t.text, "reasoning": t.reasoning}
            | {"observation": t.observation, "refused": t.refused}
            for t in episode.turns
        ],
        "ending": str(episode.ending),
        "answer": episode.answer,
        "confidence": episode.confidence,
        "flags": list(episode.flags),
        "error": episode.error,
        "extra": dict(episode.extra),
        "verdicts": [
            {name: verdict[name] for name in ("kind", "turn", "given_by", "outcome", "value", "central", "why")}
            | {name: _truth(verdict[name]) for name in ("is_intended", "is_default")}
            | {"touched": json.loads(verdict["touched"] or "[]") or []}
            for verdict in verdicts
        ],
    }


def _truth(value: int | None) -> bool | None:
    return None if value is None else bool(value)


def _packed(value: Mapping[Any, Any]) -> str:
    """Gzipped JSON in base64; the same value gives the same text."""
    return base64.b64encode(gzip.compress(_json(value).encode(), compresslevel=6, mtime=0)).decode()


def _json(value: Any) -> str:
    """JSON that can stand inside a script element."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
