"""Rulings of people on answers, found again among the episodes of a report.

A line is one ruling; `run`, `model`, `mode` and `sample` narrow it down where one answer stands in several episodes:

    {"instance_id": "fininteract_0041", "final_answer": "净利润为73.62亿元。", "outcome": "default", "model": "gpt-4o"}
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fiqkit.datasets import read_jsonl
from fiqkit.errors import UserError
from fiqkit.metrics.scored import Scored
from fiqkit.records import Outcome
from fiqkit.store.store import Store

_NARROWING = ("run", "model", "mode", "sample")


def read_rulings(path: Path, store: Store, scored: Sequence[Scored]) -> dict[int, bool]:
    """Episode number → ruled to be the intended answer. Answers nobody ruled on, or ruled undecided, are left out.

    Raises:
        UserError: names the file, the line and the field of the first fault; or no ruling is of an answer here.
    """
    by_answer: dict[tuple[str, str], list[Scored]] = defaultdict(list)
    answers = _answers(store, {e.run for e in scored})
    for e in scored:
        if e.counts and e.episode in answers:
            by_answer[e.instance_id, answers[e.episode].strip()].append(e)
    found: dict[int, bool] = {}
    rulings = 0
    for number, row in read_jsonl(path):
        instance_id, answer, outcome = _ruling(row, f"{path}:{number}")
        if outcome is None:
            continue
        rulings += 1
        for e in by_answer.get((instance_id, answer.strip()), ()):
            if all(getattr(e, name) == row[name] for name in _NARROWING if name in row):
                found[e.episode] = outcome == Outcome.INTENDED
    if not found:
        raise UserError(
            f"{path}: none of its {rulings} rulings is of an answer in these runs; a ruling is found by instance_id "
            "and the whole text of final_answer"
        )
    return found


def _ruling(row: Mapping[str, Any], where: str) -> tuple[str, str, str | None]:
    for name in ("instance_id", "final_answer"):
        if not isinstance(row.get(name), str):
            raise UserError(f"{where}: field {name!r} is {row.get(name)!r:.40}; a string is needed")
    outcome = row.get("outcome")
    if outcome is not None and outcome not in list(Outcome):
        raise UserError(f"{where}: outcome {outcome!r:.40} is none of {', '.join(Outcome)}, and not null")
    return row["instance_id"], row["final_answer"], outcome


def _answers(store: Store, runs: set[str]) -> dict[int, str]:
    marks = ",".join("?" * len(runs))
    rows = store.conn.execute(
        f"SELECT episode, answer FROM episodes WHERE run IN ({marks}) AND answer IS NOT NULL", sorted(runs)
    )
    return dict(rows)
