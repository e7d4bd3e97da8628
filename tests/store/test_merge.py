"""Stores of several machines into one."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from fiqkit.errors import UserError
from fiqkit.run.evaluation import Settings, evaluate
from fiqkit.run.lineup import Lineup
from fiqkit.store.load import load_scored
from fiqkit.store.merge import merge
from fiqkit.store.store import Store


def played(path: Path, agent: str, limit: int = 3, seed: int = 0) -> str:
    lineup = Lineup(agent=(agent,), modes=("interact",))
    return asyncio.run(evaluate(Settings(lineup=lineup, store=path, limit=limit, seed=seed))).run


def test_runs_keep_their_episodes_turns_and_verdicts(tmp_path: Path) -> None:
    first = played(tmp_path / "a.db", "template-asker")
    second = played(tmp_path / "b.db", "always-asks")
    assert merge([tmp_path / "a.db", tmp_path / "b.db"], tmp_path / "all.db") == [first, second]
    merged = Store(tmp_path / "all.db")
    for name, run in (("a.db", first), ("b.db", second)):
        alone = Store(tmp_path / name)
        assert [e for _, e in merged.episodes(run)] == [e for _, e in alone.episodes(run)]
        scored = [[replace(s, episode=0) for s in load_scored(store, [run])] for store in (merged, alone)]
        assert scored[0] == scored[1]


def test_parts_of_one_experiment_become_one_run(tmp_path: Path) -> None:
    for name, agent in (("a.db", "template-asker"), ("b.db", "always-asks")):
        played(tmp_path / name, agent)
    assert merge([tmp_path / "a.db", tmp_path / "b.db"], tmp_path / "all.db", "both") == ["both"]
    [run] = Store(tmp_path / "all.db").runs()
    assert (run["run"], run["kind"], run["status"], run["episodes"]) == ("both", "merge", "done", 6)


def test_what_does_not_belong_together_is_refused_and_nothing_is_copied(tmp_path: Path) -> None:
    for name, agent, seed in (("a.db", "always-asks", 0), ("b.db", "always-asks", 0), ("c.db", "contrarian", 1)):
        played(tmp_path / name, agent, seed=seed)
    a, b, c, target = (tmp_path / name for name in ("a.db", "b.db", "c.db", "all.db"))
    with pytest.raises(UserError, match="played the same episode"):
        merge([a, b], target, "one")
    with pytest.raises(UserError, match="differ in 'seed'"):
        merge([a, c], target, "one")
    assert Store(target).runs() == []
    merge([a], target)
    with pytest.raises(UserError, match="already there"):
        merge([a], target)
    with pytest.raises(UserError, match="is the store to merge into"):
        merge([a], a)
    with pytest.raises(UserError, match="no run store there"):
        merge([tmp_path / "none.db"], target)
