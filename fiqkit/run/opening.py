"""A grader or a judge opened for one piece of work on recorded runs, and closed after it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from fiqkit.errors import UserError
from fiqkit.run.cast import THINKING, Cast, played_by
from fiqkit.run.lineup import Lineup
from fiqkit.run.regrading import grader_agreement, judge_agreement, regrade, rejudge
from fiqkit.run.store import Store

Result = TypeVar("Result")


def with_role(role: str, name: str, cards: Path | None, work: Callable[[Any], Awaitable[Result]]) -> Result:
    """Open the grader or judge `name`, do the work with it, and free its model."""

    async def do() -> Result:
        cast = Cast(Lineup(agent=(), **{role: name}), cards=cards)  # type: ignore[arg-type]
        try:
            return await work(getattr(cast, role)())
        finally:
            await cast.close()

    return asyncio.run(do())


def grade_runs(
    store_file: Path,
    runs: Sequence[str],
    grader: str,
    against: str | None = None,
    cards: Path | None = None,
    *,
    allow_self_grading: bool = False,
) -> dict[str, Any]:
    """Grade some runs of a store, or all, and hold the verdicts against another grader's.

    Raises:
        UserError: no such run or grader; the grader is a model under test.
    """
    store = Store(store_file)
    try:
        names = _chosen(store, runs)
        if not allow_self_grading:
            _check_not_itself(store, names, "grader", grader)

        async def work(role: Any) -> dict[str, Any]:
            graded = await regrade(store, names, role)
            return {"graded": graded, **grader_agreement(store, names, role.name, against)}

        return with_role("grader", grader, cards, work)
    finally:
        store.close()


def judge_runs(
    store_file: Path, runs: Sequence[str], judge: str, cards: Path | None = None, *, allow_self_grading: bool = False
) -> dict[str, Any]:
    """Judge the questions of some runs of a store, or all, and hold the verdicts against the recorded judge's.

    Raises:
        UserError: no such run or judge; the judge is a model under test.
    """
    store = Store(store_file)
    try:
        names = _chosen(store, runs)
        if not allow_self_grading:
            _check_not_itself(store, names, "judge", judge)

        async def work(role: Any) -> dict[str, Any]:
            judged = await rejudge(store, names, role)
            return {"judged": judged, **judge_agreement(store, names, role.name)}

        return with_role("judge", judge, cards, work)
    finally:
        store.close()


def _chosen(store: Store, runs: Sequence[str]) -> list[str]:
    return [store.resolve(run)["run"] for run in runs] or [run["run"] for run in store.runs()]


def _check_not_itself(store: Store, runs: Sequence[str], role: str, name: str) -> None:
    card = played_by(role, name)[1]
    models = {
        row[0] for run in runs for row in store.conn.execute("SELECT DISTINCT model FROM episodes WHERE run=?", (run,))
    }
    if card in models or f"{card}{THINKING}" in models:
        raise UserError(
            f"{card} would be its own {role}; choose another --{role}, or allow it with --allow-self-grading"
        )
