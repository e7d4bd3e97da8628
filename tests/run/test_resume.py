"""Runs that are killed or interrupted go on without repeating or losing an episode. Real processes, real signals."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from random import Random
from typing import Any

import pytest

FIQKIT = (sys.executable, "-m", "fiqkit")
SCRIPTED = ("--agent", "template-asker,random-reading", "--modes", "answer,interact", "--limit", "30")
SCRIPTED += ("--seed", "5", "--samples", "3", "--simulator", "noisy")


def start(store: Path, *options: str) -> subprocess.Popen[str]:
    command = [*FIQKIT, "run", "--store", str(store), "--json", *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for_the_first_episode(process: subprocess.Popen[str]) -> None:
    assert process.stderr is not None
    while not (line := process.stderr.readline()).startswith("run "):
        assert line, "the run ended before it began"


def content(store: Path) -> dict[str, list[Any]]:
    """All that a store says of its episodes, but for their numbers and timings."""
    conn = sqlite3.connect(store)
    key = "model, mode, instance_id, item, sample"
    episodes = f"SELECT {key}, ending, answer, confidence, n_turns, n_asks, flags, opening, extra FROM episodes"
    turns = f"SELECT {key}, turn, action, content, text, observation, refused FROM turns JOIN episodes USING (episode)"
    labels = "kind, turn, given_by, outcome, value, touched, central"
    verdicts = f"SELECT {key}, {labels} FROM verdicts JOIN episodes USING (episode)"
    return {query: sorted(conn.execute(query).fetchall(), key=repr) for query in (episodes, turns, verdicts)}


def killed_and_resumed(tmp_path: Path, kills: int, seed: int) -> None:
    whole = tmp_path / "whole.db"
    process = start(whole, *SCRIPTED)
    _, err = process.communicate()
    assert process.returncode == 0, err
    broken = tmp_path / "broken.db"
    draw = Random(seed)
    stored = [0]
    for _ in range(kills):
        process = start(broken, *SCRIPTED, "--resume", "last", "--in-flight", "1")
        # Wait for the run to begin, then let it live for a random moment: start-up is most of its life.
        wait_for_the_first_episode(process)
        time.sleep(draw.uniform(0, 0.15))
        process.kill()
        process.communicate()
        stored.append(len(next(iter(content(broken).values()))))
    assert stored == sorted(stored)
    process = start(broken, *SCRIPTED, "--resume", "last")
    out, _ = process.communicate()
    assert process.returncode == 0
    assert json.loads(out)["complete"]
    assert content(broken) == content(whole)
    assert sqlite3.connect(broken).execute("SELECT count(*), min(status) FROM runs").fetchone() == (1, "done")


def test_a_killed_run_resumes_to_the_same_store(tmp_path: Path) -> None:
    killed_and_resumed(tmp_path, kills=2, seed=1)


# One process that has imported everything forks those that are killed: a run begins at once, not after its imports.
KILLED = """
import asyncio, json, os, random, signal, sys, time
from pathlib import Path
from fiqkit.report.document import make_report
from fiqkit.run.evaluation import Settings, evaluate
from fiqkit.run.lineup import Lineup
from fiqkit.run.watch import NOBODY, Watch
from fiqkit.store.store import Store

def play(path, resume, watch=NOBODY):
    agents, modes = ("template-asker", "random-reading"), ("answer", "interact")
    lineup = Lineup(agent=agents, modes=modes, simulator="noisy", in_flight=2)
    return asyncio.run(evaluate(Settings(lineup=lineup, store=path, limit=30, samples=3, seed=5, resume=resume), watch))

def told(path):
    store = Store(path)
    [run] = store.runs()
    numbers = make_report(store).numbers()
    numbers["runs"][0]["created"] = ""
    store.close()
    return run["status"], json.dumps(numbers).replace(run["run"], "RUN")

draw, signals = random.Random(int(sys.argv[1])), [int(s) for s in sys.argv[2].split(",")]
for number in signals:
    begun, begins = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            play(Path("broken.db"), "last", Watch(started=lambda *said: os.write(begins, b"!")))
        except KeyboardInterrupt:
            pass
        os._exit(0)
    os.close(begins)
    if draw.random() < 0.7:  # most of them in the middle of the run, the others anywhere
        os.read(begun, 1)
    time.sleep(draw.uniform(0, float(sys.argv[3])))
    os.kill(child, number)
    os.waitpid(child, 0)
    os.close(begun)
store = Store(Path("broken.db"))
kept = store.count(store.runs()[0]["run"])
store.close()
play(Path("broken.db"), "last")
play(Path("whole.db"), None)
print(json.dumps([told(Path("broken.db")) == told(Path("whole.db")), told(Path("broken.db"))[0], kept]))
"""


def killed(folder: Path, kills: int, interrupts: int, longest: float) -> None:
    signals = [signal.SIGKILL] * kills + [signal.SIGINT] * interrupts
    Random(3).shuffle(signals)
    command = [sys.executable, "-c", KILLED, "2", ",".join(str(int(number)) for number in signals), str(longest)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    equal, status, kept = json.loads(done.stdout.splitlines()[-1])
    assert (equal, status) == (True, "done")
    assert kept > 0, "no run was killed in its middle"


@pytest.mark.slow
def test_kills_and_ctrl_cs_in_the_middle_of_a_run_with_samples(tmp_path: Path) -> None:
    """At random moments of a run with three samples; in the end its report is that of a whole run, to the byte."""
    killed(tmp_path, kills=24, interrupts=6, longest=0.15)


@pytest.mark.slow
def test_ctrl_c_exits_130_with_what_was_finished_and_can_be_resumed(tmp_path: Path) -> None:
    """On the real embedded model: the episodes in flight are finished, the report is marked, the run goes on later."""
    store = tmp_path / "runs.db"
    options = ("--agent", "smollm2-135m", "--limit", "6", "--modes", "answer", "--max-tokens", "40")
    process = start(store, *options, "--in-flight", "1")
    wait_for_the_first_episode(process)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == 130, err
    partial = json.loads(out)
    assert not partial["complete"]
    assert 1 <= partial["episodes"] < 6
    assert "--resume" in err
    assert sqlite3.connect(store).execute("SELECT status FROM runs").fetchone() == ("partial",)
    resumed = start(store, *options, "--in-flight", "1", "--resume", "last")
    out, err = resumed.communicate()
    assert resumed.returncode == 0, err
    assert json.loads(out)["episodes"] == 6


def test_a_run_is_not_resumed_under_other_settings(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    first = start(store, "--agent", "default-reader", "--modes", "answer", "--limit", "2")
    first.communicate()
    assert first.returncode == 0
    other = start(store, "--agent", "default-reader", "--modes", "answer", "--limit", "3", "--resume", "last")
    _, err = other.communicate()
    assert other.returncode == 2
    assert "cannot be resumed" in err
    assert len(err.strip().splitlines()) == 1


@pytest.mark.slow
def test_a_full_disk_is_one_line_and_the_store_stays_whole(tmp_path: Path) -> None:
    """The process may write files of 400 kB at most: enough to begin the run, too little to finish it."""
    import resource

    def small_disk() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))

    store = tmp_path / "runs.db"
    command = [*FIQKIT, "run", "--store", str(store), *SCRIPTED]
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=small_disk, env={**os.environ})
    assert done.returncode == 2, done.stderr
    assert "cannot be written" in done.stderr
    assert "Traceback" not in done.stderr
    resumed = start(store, *SCRIPTED, "--resume", "last")
    out, err = resumed.communicate()
    assert resumed.returncode == 0, err
    assert json.loads(out)["complete"]
