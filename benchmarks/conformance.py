"""Everything that the FinInteract release's recorded data gives, as docs/conformance.md shows it.

    python benchmarks/conformance.py DATA       # DATA holds fininteract/, fininteract_open/, release_extras/, ruled/

Imports the release into stores in a temporary folder, adds the verdicts of `rules` beside the recorded ones, and prints
each table in Markdown. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from fiqkit.imports.fininteract import import_fininteract
from fiqkit.imports.ladder import read_ladder, stage_numbers
from fiqkit.metrics.agreement import agreement
from fiqkit.metrics.intervals import share_interval
from fiqkit.metrics.scored import Scored
from fiqkit.probe.flow import read_flow
from fiqkit.report.document import Report, make_report
from fiqkit.report.numbers import percent, percent_interval
from fiqkit.store.load import load_scored
from fiqkit.store.store import Store
from fiqkit.taxonomy import FORMS
from fiqkit.verdicts.opening import grade_runs, judge_runs

LADDER = ("answer", "search", "interact")


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    print(f"| {' | '.join(heads)} |")
    print(f"| {' | '.join(['---', *['---:'] * (len(heads) - 1)])} |")
    for row in rows:
        print(f"| {' | '.join(str(cell) for cell in row)} |")
    print()


def rows_of(report: Report) -> dict[tuple[str, str, str], dict[str, Any]]:
    return {(row["run"], row["model"], row["mode"]): row for row in report.rows}


def ladder_table(report: Report) -> None:
    """Accuracy in the three primary modes, asked, default-capture and ceilings, by run and model."""
    rows = rows_of(report)
    ceilings = {model: row for (_, model, mode), row in rows.items() if mode == "context-oracle"}
    sides = [(run, model) for run, model, mode in rows if mode == "interact"]
    lines = []
    for run, model in sides:
        three = [rows.get((run, model, mode)) for mode in LADDER]
        ceiling = ceilings.get(model)
        lines.append(
            [
                model,
                *(percent_interval(row["accuracy"], row["accuracy_ci"]) if row else "–" for row in three),
                percent(three[2]["interaction_rate"]),
                " / ".join(percent(row["default_capture"]) if row else "–" for row in three),
                percent(ceiling["accuracy"]) if ceiling else "–",
            ]
        )
    table(["model", *LADDER, "asked", "default-capture, the three", "context-oracle"], lines)


def targeting_table(report: Report) -> None:
    """AC@1 in its three forms, and what the first question's form makes of the episodes."""
    lines = []
    for row in report.rows:
        if row["mode"] != "interact" or row["ac1_touch"] is None:
            continue
        budgets = row["errors_first_question"]
        lines.append(
            [
                row["model"],
                *(percent_interval(row[f"ac1_{form}"], row[f"ac1_{form}_ci"]) for form in FORMS),
                *(
                    f"{percent(budgets[form]['E5'])} / {percent(budgets[form]['E2'])} / {percent(budgets[form]['E3'])}"
                    for form in FORMS
                ),
            ]
        )
    table(
        ["model", *(f"AC@1 {form}" for form in FORMS), *(f"E5 / E2 / E3, {form}" for form in FORMS)],
        lines,
    )


def lenient_table(report: Report) -> None:
    lines = [
        [row["model"], row["mode"], *(percent(row[n]) for n in ("accuracy", "accuracy_lenient", "both_mentioned"))]
        for row in report.rows
        if row["mode"] in ("search", "interact")
    ]
    table(["model", "mode", "accuracy", "lenient", "names both golds"], lines)
    levers = [
        found
        for found in report.comparisons
        if found["kind"] == "mode" and found["second"]["mode"] == "interact" and found["difference_lenient"] is not None
    ]
    table(
        ["interact − search", "strict", "lenient"],
        [
            [f["second"]["model"], f"{100 * f['difference']:+.1f}", f"{100 * f['difference_lenient']:+.1f}"]
            for f in levers
        ],
    )


def validation_table(path: Path) -> dict[str, float]:
    """Every table of counts that gives the published agreement and kappa gives the published AC1, too."""
    published = json.loads(path.read_text("utf-8"))
    lines, found = [], {}
    for name, item in published["items"].items():
        counts = next(counts_behind(item["n"], item["pct_agree"], item["kappa"], item["ac1"]))
        coded = agreement(*coders(counts), resamples=2_000)
        found[name] = coded["gwet_ac1"]
        lines.append(
            [
                name,
                "/".join(map(str, counts)),
                percent_interval(coded["raw"], coded["raw_ci"]),
                f"{coded['gwet_ac1']:.3f} [{coded['gwet_ac1_ci'][0]:.2f}, {coded['gwet_ac1_ci'][1]:.2f}]",
                "–" if coded["kappa"] is None else f"{coded['kappa']:.3f}",
                f"{item['ac1']:.3f}",
            ]
        )
    table(["item", "yes-yes / yes-no / no-yes / no-no", "raw", "AC1", "κ", "published AC1"], lines)
    mean = sum(value for name, value in found.items() if not name.startswith("H7")) / 6
    print(f"mean AC1 of H1 to H6: {mean:.3f} (published {published['mean_ac1_H1_H6']:.3f})\n")
    return found


def counts_behind(n: int, raw: float, kappa: float, ac1: float) -> Iterable[tuple[int, int, int, int]]:
    """The two-by-two tables with these coefficients, the one that says yes most often first."""
    apart = round(n * (1 - raw))
    for no, one in product(range(n - apart + 1), range(apart + 1)):
        counts = (n - apart - no, one, apart - one, no)
        found = agreement(*coders(counts))
        same_kappa = abs((1.0 if found["kappa"] is None else found["kappa"]) - kappa) < 1e-9
        if same_kappa and abs(found["gwet_ac1"] - ac1) < 1e-9:
            yield counts


def coders(counts: tuple[int, int, int, int]) -> tuple[list[bool], list[bool]]:
    cells = ((True, True), (True, False), (False, True), (False, False))
    pairs = [cell for cell, count in zip(cells, counts, strict=True) for _ in range(count)]
    return [a for a, _ in pairs], [b for _, b in pairs]


def stages_table(path: Path) -> None:
    lines = []
    for stage in read_ladder(path):
        found = stage_numbers(stage)
        logged = stage.logged
        lines.append(
            [
                f"{stage.model} {stage.stage}",
                found["n"],
                f"{percent(found['accuracy'])} ({logged['Accuracy']})",
                f"{percent(found['interaction_rate'])} ({logged['Interaction']})",
                f"{percent(found['ac1'])} ({logged['AxisHit@1']})",
                f"{found['reward']:.3f} ({logged['Mean reward']})",
            ]
        )
    table(["stage", "n", "accuracy (logged)", "asked", "AC@1", "reward by our formula (logged)"], lines)


def probe_table(folder: Path) -> None:
    """Where the published profiles of raw separation peak, and the best published decoding of entity from metric."""
    lines = []
    for path in sorted((folder / "flow").glob("*.json")):
        model, raw = read_flow(path)
        last, peak = len(raw) - 1, raw.index(max(raw))
        half = next(point for point, value in enumerate(raw) if value >= max(raw) / 2)
        lines.append(
            [model, len(raw), f"{peak} ({peak / len(raw):.0%})", f"{raw[1]:.2f} → {max(raw):.1f}", f"{half / last:.0%}"]
        )
    table(["model", "points", "peak (of the points)", "raw separation, point 1 → peak", "half of it by depth"], lines)
    lines = []
    for path in sorted(folder.glob("probe_*.json")):
        found = json.loads(path.read_text("utf-8"))
        best, baseline = found["base"]["peak_acc"], found["majority_baseline"]
        lines.append(
            [
                path.stem.removeprefix("probe_"),
                found["n"],
                percent(baseline),
                percent(best),
                found["base"]["peak_layer"],
            ]
        )
    table(["entity or metric from Q", "n", "majority", "best of all layers", "layer"], lines)


def unsolved(episodes: Sequence[Scored]) -> int:
    right: dict[tuple[str, str], bool] = defaultdict(bool)
    for e in episodes:
        right[e.record] |= bool(e.is_intended)
    return sum(not hit for hit in right.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    data: Path = parser.parse_args().data
    with tempfile.TemporaryDirectory() as name:
        files = {part: Path(name) / f"{part}.db" for part in ("fininteract", "fininteract_open")}
        for part, file in files.items():
            import_fininteract(data / part, file)
            grade_runs(file, (), "rules")
            judge_runs(file, (), "rules")
        stores = [Store(file) for file in files.values()]
        closed, opened = (make_report(store) for store in stores)
        print("## Recorded labels: closed models\n")
        ladder_table(closed)
        print("## Recorded labels: open models, valid re-runs\n")
        ladder_table(opened)
        print("## Targeting in three forms (recorded grades, questions judged by rules)\n")
        for store in stores:
            targeting_table(make_report(store, judge="rules"))
        print("## Answers that name both golds (graded by rules)\n")
        for store in stores:
            lenient_table(make_report(store, grader="rules", judge="rules"))
        print("## Annotation statistics\n")
        ac1 = validation_table(data / "fininteract" / "validation_stats.json")
        human = json.loads((data / "fininteract" / "baseline_stats.json").read_text("utf-8"))
        right = round(human["n"] * human["interact"]["accuracy"] / 100)
        print(f"people: {percent_interval(right / human['n'], share_interval(right, human['n']))} of {human['n']}\n")
        print("## Training ladder\n")
        stages_table(data / "release_extras" / "ladder.jsonl")
        print("## Probe profiles\n")
        probe_table(data / "release_extras")
        print("## Numbers that do not fit together\n")
        three = [
            [e for e in load_scored(store, [run["run"] for run in store.runs()]) if e.mode in LADDER]
            for store in stores
        ]
        in_interact = [[e for e in part if e.mode == "interact"] for part in three]
        sets = {
            "closed models, interact": in_interact[0],
            "closed models, three modes": three[0],
            "open models, interact": in_interact[1],
            "open models, three modes": three[1],
            "all, interact": [e for part in in_interact for e in part],
            "all, three modes": [e for part in three for e in part],
        }
        counts = {name: unsolved(found) for name, found in sets.items()}
        table(["set of runs", "items that none got right"], counts.items())
        entropy = {
            row["model"]: {h0: percent(part["accuracy"]) for h0, part in row["by_h0"].items()}
            for report in (closed, opened)
            for row in report.rows
            if row["mode"] == "interact"
        }
        bins = list(dict.fromkeys(h0 for found in entropy.values() for h0 in found))
        table(["accuracy by h0, interact", *bins], [[m, *(f.get(b, "–") for b in bins)] for m, f in entropy.items()])
        print(json.dumps({"unsolved": counts, "gwet_ac1": {k: round(v, 4) for k, v in ac1.items()}}))


if __name__ == "__main__":
    main()
