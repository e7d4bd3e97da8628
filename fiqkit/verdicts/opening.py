"""A role opened for one piece of work on recorded runs or ruled files, and closed after it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from fiqkit.errors import UserError
from fiqkit.run.lineup import Lineup
from fiqkit.run.players import THINKING, Cast, played_by
from fiqkit.store.store import Store
from fiqkit.verdicts.again import grader_agreement, judge_agreement, regrade, rejudge

Result = TypeVar("Result")


def with_role(
    role: str,
    name: str,
    cards: Path | None,
    work: Callable[[Any], Awaitable[Result]],
    under_test: Mapping[str, str] = MappingProxyType({}),
) -> Result:
    """Open the grader, judge or simulator `name`, do the work with it, and free its model.

    Args:
        under_test: the models whose answers it will see, by name and by the hash of their weights.

    Raises:
        UserError: no such role; it is a model under test.
    """

    async def do() -> Result:
        cast = Cast(Lineup(agent=(), **{role: name}), cards=cards)  # type: ignore[arg-type]
        try:
            card = played_by(role, name)[1]
            _refuse(role, name, under_test, (card, f"{card}{THINKING}"))
            await cast.open()
            player = getattr(cast, role)()
            _refuse(role, name, under_test, cast.hashes())
            return await work(player)
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

    async def work(store: Store, names: Sequence[str], player: Any) -> dict[str, Any]:
        graded = await regrade(store, names, player)
        return {"graded": graded, **grader_agreement(store, names, player.name, against)}

    return _on_runs(store_file, runs, "grader", grader, cards, work, allow_self_grading)


def judge_runs(
    store_file: Path, runs: Sequence[str], judge: str, cards: Path | None = None, *, allow_self_grading: bool = False
) -> dict[str, Any]:
    """Judge the questions of some runs of a store, or all, and hold the verdicts against the recorded judge's.

    Raises:
        UserError: no such run or judge; the judge is a model under test.
    """

    async def work(store: Store, names: Sequence[str], player: Any) -> dict[str, Any]:
        judged = await rejudge(store, names, player)
        return {"judged": judged, **judge_agreement(store, names, player.name)}

    return _on_runs(store_file, runs, "judge", judge, cards, work, allow_self_grading)


def _on_runs(
    store_file: Path,
    runs: Sequence[str],
    role: str,
    name: str,
    cards: Path | None,
    work: Callable[[Store, Sequence[str], Any], Awaitable[Result]],
    allow_self_grading: bool,
) -> Result:
    store = Store(store_file, write=True)
    try:
        chosen = [store.resolve(run)["run"] for run in runs] or [run["run"] for run in store.runs()]
        under_test = {} if allow_self_grading else _under_test(store, chosen)
        return with_role(role, name, cards, lambda player: work(store, chosen, player), under_test)
    finally:
        store.close()


def _refuse(role: str, name: str, under_test: Mapping[str, str], known_as: Iterable[str | None]) -> None:
    for key in under_test.keys() & set(known_as):
        raise UserError(
            f"{under_test[key]} would be its own {role} ({name}); choose another --{role}, or allow it with "
            "--allow-self-grading"
        )


def _under_test(store: Store, runs: Sequence[str]) -> dict[str, str]:
    """The models of some runs, by name and by the hash of their weights where the manifest has it."""
    found: dict[str, str] = {}
    for run in runs:
        found |= {model: model for model in store.models(run)}
        for agent in store.resolve(run)["manifest"].get("agents", ()):
            found[agent.get("engine", {}).get("sha256") or agent["name"]] = agent["name"]
    return found
