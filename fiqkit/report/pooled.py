"""The rows of a report's main table, and those of repeated runs taken together."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from fiqkit.metrics.errors import answered_by_template, error_numbers
from fiqkit.metrics.scored import Scored, group
from fiqkit.metrics.table import main_rows

_POOLED = ("dataset", "model", "mode", "retrieval", "grader", "judge")
# Settings in which repeated runs may differ: none of them changes what an episode of one agent may come to.
_FREE = ("seed", "samples", "agent", "modes", "instances", "dataset")


def table_rows(scored: Sequence[Scored], cutoff: str | None, seed: int) -> list[dict[str, Any]]:
    """Rows of the main table, each with its errors."""
    by_template = answered_by_template(scored)
    sides = group(scored, lambda e: (e.dataset, e.run, e.model, e.mode, e.retrieval))
    rows = main_rows(scored, cutoff=cutoff, seed=seed)
    for row in rows:
        side = tuple(row[name] for name in ("dataset", "run", "model", "mode", "retrieval"))
        row |= error_numbers(sides[side], by_template)
    return rows


def in_pool(row: Mapping[str, Any], pool: Mapping[str, Any]) -> bool:
    """Whether a row is of one of the runs that a pooled row is made of."""
    return row["run"] in pool["runs"] and all(row[name] == pool[name] for name in _POOLED)


def pooled_rows(
    scored: Sequence[Scored], runs: Sequence[Mapping[str, Any]], cutoff: str | None, seed: int
) -> list[dict[str, Any]]:
    """Rows over repeated runs. A run's episodes become samples of their own, so that intervals and pass^k hold."""
    # An import's settings are not known.
    manifests = {run["run"]: run["manifest"] for run in runs if run["kind"] == "run"}
    played = [e for e in scored if e.run in manifests]
    sides = group(played, lambda e: (*(getattr(e, name) for name in _POOLED), _setting(manifests[e.run], e.model)))
    found: list[dict[str, Any]] = []
    for side in sides.values():
        names = list(dict.fromkeys(e.run for e in side))
        if len(names) > 1:
            draws = {draw: n for n, draw in enumerate(sorted({(names.index(e.run), e.sample) for e in side}))}
            name = f"{len(names)} runs"
            pool = [replace(e, run=name, sample=draws[names.index(e.run), e.sample]) for e in side]
            found += [row | {"runs": names} for row in table_rows(pool, cutoff, seed)]
    return found


def _setting(manifest: Mapping[str, Any], model: str) -> str:
    """Everything that two runs of one agent must have in common."""
    given = {name: value for name, value in manifest.get("settings", {}).items() if name not in _FREE}
    agents = [agent for agent in manifest.get("agents", ()) if agent["name"] == model]
    return json.dumps([given, agents, manifest.get("prompts")], sort_keys=True, default=str)
