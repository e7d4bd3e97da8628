"""Order never shows: the same episodes give the same report to the byte, however they ended or were merged."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from fiqkit.report.document import make_report
from fiqkit.run.evaluation import Settings, evaluate
from fiqkit.run.lineup import Lineup
from fiqkit.store.merge import merge
from fiqkit.store.store import Store

AGENTS = ("template-asker", "random-reading")
MODES = ("answer", "template-oracle")


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with two samples over instances of many entropies, on which sums of fractions do not come out even."""
    folder = tmp_path_factory.mktemp("order")
    lineup = Lineup(agent=AGENTS, modes=MODES, simulator="noisy")
    settings = Settings(lineup=lineup, store=folder / "whole.db", sample=12, samples=2, seed=1)
    asyncio.run(evaluate(settings))
    for agent in AGENTS:
        part = Lineup(agent=(agent,), modes=MODES, simulator="noisy")
        asyncio.run(evaluate(Settings(lineup=part, store=folder / f"{agent}.db", sample=12, samples=2, seed=1)))
    return folder


def told(path: Path) -> str:
    """What `report --json` prints, but for what names the run and says when it was."""
    store = Store(path)
    [run] = store.runs()
    numbers = make_report(store).numbers()
    store.close()
    assert len(numbers.pop("runs")) == 1
    return json.dumps(numbers, ensure_ascii=False).replace(run["run"], "RUN")


def shuffled(source: Path, target: Path, seed: int) -> None:
    """The same run, its episodes written in another order."""
    old, new = Store(source), Store(target, create=True)
    [run] = old.runs()
    new.begin_run(run["run"], run["kind"], run["dataset"], old.instances(run["dataset"]).values(), run["manifest"])
    numbers = [number for number, _ in old.episodes(run["run"])]
    Random(seed).shuffle(numbers)
    for number in numbers:
        new.write(run["run"], [(old.episode(number), [])])
    new.conn.execute("ATTACH ? AS old", (str(source),))
    key = "run, model, mode, instance_id, item, sample"
    columns = ", ".join(f"v.{name}" for name in _columns(new))
    new.conn.execute(
        f"INSERT INTO verdicts SELECT n.episode, {columns} FROM old.verdicts v "
        f"JOIN old.episodes o USING (episode) JOIN main.episodes n USING ({key}) ORDER BY random()"
    )
    new.set_status(run["run"], "done")
    old.close()
    new.close()


def _columns(store: Store) -> list[str]:
    return [row[1] for row in store.conn.execute("PRAGMA table_info(verdicts)")][1:]


def test_the_order_in_which_episodes_ended(played: Path, tmp_path: Path) -> None:
    expected = told(played / "whole.db")
    for seed in range(2):
        shuffled(played / "whole.db", tmp_path / f"{seed}.db", seed)
        assert told(tmp_path / f"{seed}.db") == expected


def test_one_run_or_merged_from_its_parts_in_any_order(played: Path, tmp_path: Path) -> None:
    expected = told(played / "whole.db")
    parts = [played / f"{agent}.db" for agent in AGENTS]
    for name, order in (("a.db", parts), ("b.db", parts[::-1])):
        merge(order, tmp_path / name, "united-run")
        assert told(tmp_path / name) == expected


def test_the_hash_seed(played: Path) -> None:
    outputs = set()
    for seed in ("1", "4242"):
        command = [sys.executable, "-m", "fiqkit", "report", "--json", "--store", str(played / "whole.db")]
        done = subprocess.run(command, capture_output=True, env={**os.environ, "PYTHONHASHSEED": seed})
        assert done.returncode == 0
        outputs.add(done.stdout)
    assert len(outputs) == 1
