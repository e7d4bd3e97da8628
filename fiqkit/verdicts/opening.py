"""A role opened for one piece of work on recorded runs or ruled files, and closed after it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from fiqkit.errors import UserError
from fiqkit.run.lineup import Lineup
from fiqkit.run.players import THINKING, Cast, played_by
from fiqkit.run.watch import NOBODY, Watch
from fiqkit.store.load import find_giver
from fiqkit.store.store import Store
from fiqkit.verdicts.again import Given, give_verdicts
from fiqkit.verdicts.agreement import grader_agreement, judge_agreement

Result = TypeVar("Result")


def with_role(
    role: str,
    name: str,
    cards: Path | None,
    work: Callable[[Any], Awaitable[Result]],
    watch: Watch = NOBODY,
) -> Result:
    """Open the grader, judge or simulator `name`, do the work with it, and free its model.

    Raises:
        UserError: no such role, or its model does not fit in memory.
    """

    async def do() -> Result:
        async with _opened(role, name, cards, watch) as (player, _):
            return await work(player)

    return asyncio.run(do())


@asynccontextmanager
async def _opened(
    role: str,
    name: str,
    cards: Path | None,
    watch: Watch,
    under_test: Mapping[str, str] = MappingProxyType({}),
) -> AsyncIterator[tuple[Any, int]]:
    """The player of a role, and how many episodes to have in flight for it.

    Args:
        under_test: the models whose answers it will see, by name and by the hash of their weights.
    """
    cast = Cast(Lineup(agent=(), **{role: name}), cards=cards)  # type: ignore[arg-type]
    if played_by(role, name)[1]:
        plan = cast.plan()
        for line in plan.lines():
            watch.said(line)
        plan.check()
    try:
        for line in await cast.open():
            watch.said(line)
        player = getattr(cast, role)()
        _refuse(role, name, under_test, cast.hashes())
        yield player, cast.verdicts_in_flight()
    finally:
        await cast.close()


def grade_runs(
    store_file: Path,
    runs: Sequence[str],
    grader: str,
    against: str | None = None,
    cards: Path | None = None,
    *,
    again: bool = False,
    allow_self_grading: bool = False,
    watch: Watch = NOBODY,
) -> dict[str, Any]:
    """Grade some runs of a store, or all, and hold the verdicts against another grader's.

    Args:
        again: give also those verdicts anew that this model gave before; rules always do.

    Raises:
        UserError: no such run or grader; the grader is a model under test, or does not fit in memory.
    """

    def agree(store: Store, chosen: Sequence[str], name: str) -> dict[str, Any]:
        return grader_agreement(store, chosen, name, against)

    if against:  # before anything is graded or written
        with closing(Store(store_file)) as there:
            for run in _chosen(there, runs):
                find_giver(there, run, "answer", against)
    given, found = _on_runs(store_file, runs, "grader", grader, agree, cards, again, allow_self_grading, watch)
    return {"graded": given.verdicts, **_counts(given), **found}


def judge_runs(
    store_file: Path,
    runs: Sequence[str],
    judge: str,
    cards: Path | None = None,
    *,
    again: bool = False,
    allow_self_grading: bool = False,
    watch: Watch = NOBODY,
) -> dict[str, Any]:
    """Judge the questions of some runs of a store, or all, and hold the verdicts against the recorded judge's.

    Args:
        again: give also those verdicts anew that this model gave before; rules always do.

    Raises:
        UserError: no such run or judge; the judge is a model under test, or does not fit in memory.
    """
    given, found = _on_runs(store_file, runs, "judge", judge, judge_agreement, cards, again, allow_self_grading, watch)
    return {"judged": given.verdicts, **_counts(given), **found}


def _counts(given: Given) -> dict[str, Any]:
    return {"unscored": given.unscored, "kept": given.kept, "complete": given.complete}


def _on_runs(
    store_file: Path,
    runs: Sequence[str],
    role: str,
    setting: str,
    agree: Callable[[Store, Sequence[str], str], dict[str, Any]],
    cards: Path | None,
    again: bool,
    allow_self_grading: bool,
    watch: Watch,
) -> tuple[Given, dict[str, Any]]:
    """Give the verdicts; what came of it, and how they agree with others'."""
    card = played_by(role, setting)[1]
    with closing(Store(store_file)) as there:
        chosen = _chosen(there, runs)
        under_test = {} if allow_self_grading else _under_test(there, chosen)
    _refuse(role, setting, under_test, (card, f"{card}{THINKING}"))
    Cast(Lineup(agent=(), **{role: setting}), cards=cards).members()  # type: ignore[arg-type]
    store = Store(store_file, write=True)
    try:
        anew = again or card is None

        async def give() -> tuple[Given, str]:
            async with _opened(role, setting, cards, watch, under_test) as (player, in_flight):
                given = await give_verdicts(store, chosen, role, player, again=anew, in_flight=in_flight, watch=watch)
                return given, player.name

        given, name = asyncio.run(give())
        return given, agree(store, chosen, name)
    finally:
        store.close()


def _chosen(store: Store, runs: Sequence[str]) -> list[str]:
    """The ids of the runs that were named, or of all."""
    return [store.resolve(run)["run"] for run in runs] or [run["run"] for run in store.runs()]


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
