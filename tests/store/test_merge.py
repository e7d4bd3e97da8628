"""Stores of several machines into one."""

import asyncio
import json
import lzma
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fiqkit.datasets import dataset_hash
from fiqkit.errors import UserError
from fiqkit.records import AnswerVerdict, Ending, Episode, Instance
from fiqkit.run.evaluation import Settings, evaluate
from fiqkit.run.lineup import Lineup
from fiqkit.store.load import load_scored
from fiqkit.store.merge import merge
from fiqkit.store.store import Store

MANIFEST: dict[str, Any] = {
    "settings": {"seed": 0, "modes": ["answer"], "agent": ["m"], "samples": 1},
    "prompts": "p1",
    "roles": {"grader": {"kind": "rules"}},
    "index": {"hash": "i1"},
    "agents": [{"name": "m", "engine": {"sha256": "aa", "place": {"urls": ["here"]}, "threads": 2}, "temperature": 0}],
}


def played(path: Path, agent: str, limit: int = 3, seed: int = 0) -> str:
    lineup = Lineup(agent=(agent,), modes=("interact",))
    return asyncio.run(evaluate(Settings(lineup=lineup, store=path, limit=limit, seed=seed))).run


@pytest.fixture
def shard(tmp_path: Path, make_instance: Callable[..., Instance]) -> Callable[..., Path]:
    """Makes a store with one run over one instance, as a machine that took that shard would leave it."""

    def make(number: int, model: str = "m", instance: dict[str, Any] | None = None, **changes: Any) -> Path:
        path = tmp_path / f"shard{number}.db"
        store = Store(path, create=True)
        instances = [make_instance(**{"instance_id": f"t{number}", **(instance or {})})]
        agents = [{**agent, "name": model} for agent in MANIFEST["agents"]]
        manifest = {**MANIFEST, "agents": agents, **changes}
        store.begin_run(f"r{number}", "run", dataset_hash(instances), instances, manifest)
        episode = Episode(instances[0].instance_id, model, "answer", Ending.ANSWERED, "$46.75B")
        store.write(f"r{number}", [(episode, [AnswerVerdict("rules", "intended", True, False)])])
        store.set_status(f"r{number}", "done")
        store.close()
        return path

    return make


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


def test_sixty_shards_become_one_run(tmp_path: Path, shard: Callable[..., Path]) -> None:
    """More than the ten files that SQLite attaches to one."""
    shards = [shard(number) for number in range(60)]
    assert merge(shards, tmp_path / "all.db", "whole") == ["whole"]
    store = Store(tmp_path / "all.db")
    [run] = store.runs()
    assert (run["kind"], run["status"], run["episodes"]) == ("merge", "done", 60)
    assert sorted(run["manifest"]["merged_from"]) == sorted(f"r{number}" for number in range(60))
    assert len(store.instances(run["dataset"])) == 60
    assert [s.instance_id for s in load_scored(store, ["whole"])] == [f"t{number}" for number in range(60)]
    with pytest.raises(UserError, match="run r7 is already there"):
        merge([shards[7]], tmp_path / "all.db", "again")
    with pytest.raises(UserError, match="has a run 'whole' already"):
        merge([shards[7]], tmp_path / "all.db", "whole")


def test_a_store_of_the_first_version_is_merged_as_it_is(tmp_path: Path) -> None:
    old = tmp_path / "old.db"
    old.write_bytes(lzma.decompress((Path(__file__).parent / "schema_1" / "runs.db.xz").read_bytes()))
    before = old.read_bytes()
    runs = merge([old], tmp_path / "all.db")
    assert old.read_bytes() == before
    for run in runs:
        one, other = (
            [replace(s, episode=0) for s in load_scored(Store(path), [run])] for path in (old, tmp_path / "all.db")
        )
        assert one == other


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"settings": MANIFEST["settings"] | {"seed": 1}}, "differ in 'seed'"),
        ({"settings": MANIFEST["settings"] | {"samples": 2}}, "differ in 'samples'"),
        ({"prompts": "p2"}, "differ in 'prompts'"),
        ({"roles": {"grader": {"kind": "llm"}}}, "differ in 'roles'"),
        ({"index": {"hash": "i2"}}, "differ in 'index'"),
        ({"agents": [{"name": "m", "engine": {"sha256": "bb"}, "temperature": 0}]}, "each have an agent 'm'"),
    ],
)
def test_parts_are_held_to_what_resuming_is_held_to(
    tmp_path: Path, shard: Callable[..., Path], changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(UserError, match=said):
        merge([shard(0), shard(1, **changes)], tmp_path / "all.db", "one")
    assert Store(tmp_path / "all.db").runs() == []


def test_parts_may_differ_in_agents_and_in_where_a_model_was(tmp_path: Path, shard: Callable[..., Path]) -> None:
    [agent] = MANIFEST["agents"]
    elsewhere = agent | {"engine": agent["engine"] | {"place": {"urls": ["there"]}, "threads": 8}}
    parts = [shard(0), shard(1, agents=[elsewhere]), shard(2, model="other")]
    assert merge(parts, tmp_path / "all.db", "one") == ["one"]
    [run] = Store(tmp_path / "all.db").runs()
    assert [found["name"] for found in run["manifest"]["agents"]] == ["m", "other"]
    left_out = {"agents": [{"name": "m", "left_out": "no such file"}]}
    assert merge([*parts, shard(3, **left_out)], tmp_path / "all2.db", "one") == ["one"]


def test_two_records_under_one_id_are_not_one_run(tmp_path: Path, shard: Callable[..., Path]) -> None:
    parts = [shard(0), shard(1, instance={"instance_id": "t0", "answer": "$47B"})]
    with pytest.raises(UserError, match="two records stand under the id 't0'"):
        merge(parts, tmp_path / "all.db", "one")
    assert merge(parts, tmp_path / "all.db") == ["r0", "r1"]  # side by side they are two items
    items = {s.record for s in load_scored(Store(tmp_path / "all.db"), ["r0", "r1"])}
    assert len(items) == 2


def test_the_order_in_which_stores_are_named_makes_no_difference(tmp_path: Path, shard: Callable[..., Path]) -> None:
    parts = [shard(number, model=f"m{number % 3}") for number in range(5)]
    dumps = []
    for name, order in (("a.db", parts), ("b.db", parts[::-1])):
        merge(order, tmp_path / name, "one")
        [run] = Store(tmp_path / name).runs()
        del run["finished"]
        dumps.append(json.dumps(run))
    assert dumps[0] == dumps[1]


def test_what_does_not_belong_together_is_refused_and_nothing_is_copied(tmp_path: Path) -> None:
    a, b, target = (tmp_path / name for name in ("a.db", "b.db", "all.db"))
    played(a, "always-asks")
    played(b, "always-asks")
    with pytest.raises(UserError, match="played the same episode"):
        merge([a, b], target, "one")
    assert Store(target).runs() == []
    link, same = tmp_path / "link.db", tmp_path / "same.db"
    link.symlink_to(a)
    os.link(a, same)
    shutil.copy(a, tmp_path / "copy.db")
    for again in (a, link, same, tmp_path / "copy.db"):
        with pytest.raises(UserError, match="already there"):
            merge([a, again], target)
    for target_too in (a, link, same):
        with pytest.raises(UserError, match="is the store to merge into"):
            merge([target_too], a)
    with pytest.raises(UserError, match="no run store there"):
        merge([tmp_path / "none.db"], target)
    assert Store(target).runs() == []
