"""Grading with a model takes hours: what was graded survives Ctrl-C and kill -9, and the same command goes on."""

from __future__ import annotations

import asyncio
import json
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest

from fiqkit.run.evaluation import Settings, evaluate
from fiqkit.run.lineup import Lineup

# `fiqkit` with one more engine: a model that takes a twentieth of a second an answer, and writes down each.
LAUNCHER = """
import json, sys
import fiqkit.models as models
from fiqkit.models.engine import Capabilities
from fiqkit.models.scripted import ScriptedEngine

def open_engine(card):
    def reply(request):
        with open("asked.txt", "a") as log:
            log.write("x")
        return json.dumps({"value": "", "verdict": "other", "named": []})
    engine = ScriptedEngine(reply, name=card.name, seconds=0.05)
    engine.can = Capabilities(structured=True, parallel=4)
    return engine

if __name__ == "__main__":
    models.ENGINES["slow"] = models.EngineEntry("slow_model:open_engine", "json", "")
    from fiqkit.cli import main
    main(sys.argv[1:])
"""
CARD = '[slow]\nengine = "slow"\nweights = "http://nowhere"\nroles = ["grader"]\n'
ANSWERS = 124


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("long")
    (folder / "slow_model.py").write_text(LAUNCHER)
    (folder / "cards.toml").write_text(CARD)
    lineup = Lineup(agent=("default-reader",), modes=("answer", "interact"))
    asyncio.run(evaluate(Settings(lineup=lineup, store=folder / "s.db", limit=62)))
    return folder


def start(folder: Path, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "slow_model.py", "grade", "--grader", "slow", "--cards", "cards.toml"]
    command += ["--store", "s.db", "--json", *options]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_until_begun(process: subprocess.Popen[str]) -> None:
    assert process.stderr is not None
    while not (line := process.stderr.readline()).startswith("grader llm slow@"):
        assert line, "the grading ended before it began"


def given(folder: Path) -> int:
    conn = sqlite3.connect(folder / "s.db")
    count = conn.execute("SELECT count(*), count(DISTINCT episode) FROM verdicts WHERE given_by LIKE 'llm slow@%'")
    rows, episodes = count.fetchone()
    conn.close()
    assert rows == episodes
    return rows


def forget(folder: Path) -> None:
    with sqlite3.connect(folder / "s.db") as conn:
        conn.execute("DELETE FROM verdicts WHERE given_by LIKE 'llm slow@%'")
    (folder / "asked.txt").unlink(missing_ok=True)


@pytest.mark.slow
def test_ctrl_c_keeps_what_was_graded_and_the_same_command_goes_on(played: Path) -> None:
    forget(played)
    process = start(played)
    wait_until_begun(process)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == 130, err
    first = json.loads(out)
    assert 0 < first["graded"] < ANSWERS
    assert not first["complete"]
    assert given(played) == first["graded"]
    assert "verdicts given are kept, the same command goes on" in err
    out, err = start(played).communicate()
    second = json.loads(out)
    assert (second["graded"], second["kept"], second["complete"]) == (ANSWERS - first["graded"], first["graded"], True)
    assert given(played) == ANSWERS
    assert len((played / "asked.txt").read_text()) == ANSWERS  # a drained Ctrl-C asks for nothing twice
    assert second["against"] == ["rules"]
    out, _ = start(played, "--again").communicate()
    assert json.loads(out)["graded"] == ANSWERS


def killed(folder: Path, kills: int, seed: int) -> None:
    forget(folder)
    draw, counts = Random(seed), [0]
    for _ in range(kills):
        process = start(folder)
        wait_until_begun(process)
        time.sleep(draw.uniform(0, 0.3))
        process.kill()
        process.communicate()
        counts.append(given(folder))
    out, err = start(folder).communicate()
    assert json.loads(out)["kept"] == counts[-1], err
    assert counts == sorted(counts)
    assert given(folder) == ANSWERS
    # What a kill costs is what was in flight or not written yet: a few requests, not the work.
    assert len((folder / "asked.txt").read_text()) <= ANSWERS + 40 * kills


def test_a_killed_grading_repeats_and_loses_nothing(played: Path) -> None:
    killed(played, kills=2, seed=1)


@pytest.mark.slow
def test_forty_kills_at_random_moments(played: Path) -> None:
    killed(played, kills=40, seed=2)
