"""All numbers of a report, computed once; every format is a view of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from fiqkit.errors import UserError
from fiqkit.metrics.compare import table_comparisons
from fiqkit.metrics.errors import answered_by_template, diagnose, error_budget
from fiqkit.metrics.items import item_difficulty, reference_rows
from fiqkit.metrics.scored import Scored
from fiqkit.metrics.table import group, main_rows
from fiqkit.store.load import load_scored
from fiqkit.store.store import Store

if TYPE_CHECKING:
    from fiqkit.figures.gallery import Material


@dataclass(frozen=True, slots=True)
class Report:
    """The numbers of some runs.

    Attributes:
        rows: the main table, each row with its `errors` (shares by error label).
        references: analytic rows that frame it.
        comparisons: paired differences with p corrected over all of them.
        diagnosis: findings per run and model.
        difficulty: share of right episodes by instance, hard ones first.
        scored: the episodes behind it all.
        runs: the store's rows of the runs.
    """

    rows: list[dict[str, Any]]
    references: list[dict[str, Any]]
    comparisons: list[dict[str, Any]]
    diagnosis: list[dict[str, Any]]
    difficulty: dict[str, float]
    scored: list[Scored]
    runs: list[dict[str, Any]]

    def numbers(self) -> dict[str, Any]:
        """What `--json` prints."""
        return {
            "rows": self.rows,
            "runs": [
                {name: run[name] for name in ("run", "kind", "status", "created", "episodes")} for run in self.runs
            ],
            "references": self.references,
            "comparisons": self.comparisons,
            "diagnosis": self.diagnosis,
            "difficulty": self.difficulty,
        }

    def material(self) -> Material:
        """What the figures are drawn from; people were measured on the released instances, which imported runs use."""
        from fiqkit.figures.gallery import HUMAN, Material

        released = any(run["kind"] == "import" for run in self.runs)
        return Material(self.rows, self.comparisons, HUMAN if released else None)


def make_report(
    store: Store, runs: Sequence[str] = (), grader: str | None = None, judge: str | None = None, *, seed: int = 0
) -> Report:
    """The report of some runs of a store, or of all.

    Raises:
        UserError: no run at all, no such run, or no verdict of the grader or judge that was named.
    """
    chosen = [store.resolve(name) for name in dict.fromkeys(runs)] or store.runs()
    if not chosen:
        raise UserError(f"{store.path}: holds no run yet; start one with fiqkit run, or import one")
    scored = load_scored(store, [run["run"] for run in chosen], grader, judge)
    by_template = answered_by_template(scored)
    parts = group(scored, lambda e: (e.run, e.model, e.mode))
    rows = main_rows(scored, seed=seed)
    for row in rows:
        row["errors"] = error_budget(parts[row["run"], row["model"], row["mode"]], by_template)
    return Report(
        rows=rows,
        references=reference_rows(scored),
        comparisons=table_comparisons(scored, seed=seed),
        diagnosis=[
            {"run": run, "model": model, **asdict(finding)}
            for (run, model), episodes in group(scored, lambda e: (e.run, e.model)).items()
            for finding in diagnose(episodes, seed=seed)
        ],
        difficulty=item_difficulty(scored),
        scored=scored,
        runs=chosen,
    )
