"""All numbers of a report, computed once; every format is a view of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fiqkit.errors import UserError
from fiqkit.metrics.compare import table_comparisons
from fiqkit.metrics.diagnosis import depends_on_form, diagnose
from fiqkit.metrics.errors import known_forms
from fiqkit.metrics.items import item_difficulty, reference_rows
from fiqkit.metrics.scored import Scored, group
from fiqkit.report.correction import correct_rows
from fiqkit.report.labels import read_rulings
from fiqkit.report.pooled import in_pool, pooled_rows, table_rows
from fiqkit.store.load import load_scored
from fiqkit.store.store import Store

if TYPE_CHECKING:
    from fiqkit.figures.gallery import Material


DEPENDS = "depends on the form"  # what a diagnosis points at that the three forms of targeting do not share


@dataclass(frozen=True, slots=True)
class Report:
    """The numbers of some runs.

    Attributes:
        rows: the main table, each row with its `errors` (shares by error label).
        pooled: a row for each model and mode that several runs of equal settings played on the same data, their
            episodes taken as samples of one run; `runs` names them.
        references: analytic rows that frame it.
        comparisons: paired differences with p corrected over all of them.
        diagnosis: findings per run and model.
        difficulty: share of right episodes by instance, hard ones first.
        scored: the episodes behind it all.
        runs: the store's rows of the runs.
        cutoff: the date that rows are parted at.
    """

    rows: list[dict[str, Any]]
    references: list[dict[str, Any]]
    comparisons: list[dict[str, Any]]
    diagnosis: list[dict[str, Any]]
    difficulty: dict[str, float]
    scored: list[Scored]
    runs: list[dict[str, Any]]
    cutoff: str | None = None
    pooled: list[dict[str, Any]] = field(default_factory=list)

    def numbers(self) -> dict[str, Any]:
        """What `--json` prints."""
        return {
            "rows": self.rows,
            "pooled": self.pooled,
            "runs": [
                {name: run[name] for name in ("run", "kind", "status", "created", "episodes")} for run in self.runs
            ],
            "references": self.references,
            "comparisons": self.comparisons,
            "diagnosis": self.diagnosis,
            "difficulty": self.difficulty,
        }

    def shown(self) -> list[dict[str, Any]]:
        """The rows of the main table, repeated runs as one row."""
        rows = list(self.rows)
        for pool in self.pooled:
            at = next(n for n, row in enumerate(rows) if in_pool(row, pool))
            rows[at:] = [pool, *(row for row in rows[at:] if not in_pool(row, pool))]
        return rows

    def material(self) -> Material:
        """What the figures are drawn from; people were measured on the released instances, which imported runs use."""
        from fiqkit.figures.gallery import HUMAN, Material

        released = any(run["kind"] == "import" for run in self.runs)
        return Material(self.shown(), self.comparisons, HUMAN if released else None)


def make_report(
    store: Store,
    runs: Sequence[str] = (),
    grader: str | None = None,
    judge: str | None = None,
    *,
    cutoff: str | None = None,
    labels: Path | None = None,
    calibrations: Path | None = None,
    seed: int = 0,
) -> Report:
    """The report of some runs of a store: by default of the last one, with the files that were imported with it.

    Args:
        runs: ids, "last", or "all".
        cutoff: an ISO date; rows then tell items filed before it from later ones.
        labels: JSONL of rulings on answers (`fiqkit.report.labels`); rows then have their accuracy `corrected`.
        calibrations: file of kept calibrations, which correct the rates of those whom no label is about; None for none.

    Raises:
        UserError: a cutoff that is no date; no run at all, no such run, or no verdict of the grader or judge that is
            named.
    """
    if cutoff:
        _check_date(cutoff)
    chosen = chosen_runs(store, runs)
    scored = load_scored(store, [run["run"] for run in chosen], grader, judge)
    rows = table_rows(scored, cutoff, seed)
    rulings = read_rulings(labels, store, scored) if labels else {}
    correct_rows(rows, scored, rulings, calibrations, seed)
    return Report(
        rows=rows,
        references=reference_rows(scored),
        comparisons=table_comparisons(scored, seed=seed),
        diagnosis=_diagnosis(scored, seed),
        difficulty=item_difficulty(scored),
        scored=scored,
        runs=chosen,
        cutoff=cutoff,
        pooled=pooled_rows(scored, chosen, cutoff, seed),
    )


def _check_date(text: str) -> None:
    try:
        date.fromisoformat(text)
    except ValueError as error:
        raise UserError(f"--cutoff {text!r} is no date; give it as YYYY-MM-DD") from error


def chosen_runs(store: Store, names: Sequence[str]) -> list[dict[str, Any]]:
    """The runs that were named; without a name the last one, and of an import all files of that release."""
    there = store.runs()
    if not there:
        raise UserError(f"{store.path}: holds no run yet; start one with fiqkit run, or import one")
    if "all" in names:
        return there
    if names:
        return [store.resolve(name) for name in dict.fromkeys(names)]
    last = there[-1]
    return [run for run in there if run is last or (last["kind"] == "import" and _together(run, last))]


def _together(run: dict[str, Any], last: dict[str, Any]) -> bool:
    return all(a == b for a, b in ((run[k], last[k]) for k in ("kind", "dataset"))) and (
        run["manifest"].get("release") == last["manifest"].get("release")
    )


def _diagnosis(scored: Sequence[Scored], seed: int) -> list[dict[str, Any]]:
    """Findings of each run and model, closed by a sentence where they depend on the form of targeting."""
    said = []
    for (run, model), episodes in group(scored, lambda e: (e.run, e.model)).items():
        findings = diagnose(episodes, seed=seed)
        said += [{"run": run, "model": model, **asdict(finding)} for finding in findings]
        depends = depends_on_form(findings, known_forms(e for e in episodes if e.mode == "interact"))
        if depends:
            said.append({"run": run, "model": model, "points_at": DEPENDS, "grounds": depends, "form": None, "n": 0})
    return said
