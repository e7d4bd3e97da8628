"""One odd answer, or one model that cannot run, does not end a run: it goes on, counts what failed, and exits 1."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FIQKIT = (sys.executable, "-m", "fiqkit")

# An agent of the user's own that has a fault on some instances, as long as the file `broken` is there.
AGENT = """
import json, pathlib

class Odd:
    def act(self, dialogue):
        text = dialogue.messages[-1]["content"]
        if pathlib.Path({folder!r}, "broken").exists() and len(text) % 3 == 0:
            raise ZeroDivisionError("an odd answer")
        return json.dumps({{"action": "answer", "response": "$1", "confidence": 5}})

def odd(seed):
    return Odd()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "odd_agent.py").write_text(AGENT.format(folder=str(tmp_path)))
    (tmp_path / "broken").touch()
    return tmp_path


def run(folder: Path, *options: str) -> tuple[int, str, str]:
    command = [*FIQKIT, "run", "--store", "s.db", "--modes", "answer", *options]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    return done.returncode, done.stdout, done.stderr


def found(out: str) -> dict[str, Any]:
    return json.loads(out)


def test_a_bug_costs_its_episode_and_is_tried_again(folder: Path) -> None:
    agents = ("--agent", "odd_agent:odd,default-reader", "--limit", "62")
    code, out, err = run(folder, *agents, "--json")
    assert code == 1, err
    first = found(out)
    assert first["complete"]
    assert first["episodes"] == 124
    assert 0 < first["bugs"] < 62
    assert first["fault"] == "ZeroDivisionError: an odd answer"
    odd = next(row for row in first["rows"] if row["model"] == "odd_agent:odd")
    assert (odd["bug"], odd["n"], odd["episodes"]) == (first["bugs"], 62 - first["bugs"], 62)
    code, out, _ = run(folder, *agents, "--resume", "last")
    assert code == 1
    assert f"124 episodes ({first['bugs']} bugs; --resume tries them again)" in out
    (folder / "broken").unlink()
    code, out, _ = run(folder, *agents, "--resume", "last", "--json")
    assert (code, found(out)["bugs"], found(out)["episodes"]) == (0, 0, 124)


def test_one_model_that_cannot_run_does_not_end_the_others(folder: Path) -> None:
    agents = ("--agent", "gone=http://127.0.0.1:9/v1#m,default-reader")
    code, out, err = run(folder, *agents, "--json", "--limit", "3")
    assert code == 1, err
    result = found(out)
    assert (result["episodes"], list(result["left_out"])) == (3, ["gone"])
    assert "gone could not run:" in err
    assert "Traceback" not in err
    code, out, err = run(folder, *agents, "--json", "--limit", "3", "--resume", "last")
    assert (code, found(out)["episodes"]) == (1, 3)


def test_alone_it_is_bad_input(folder: Path) -> None:
    (folder / "none.gguf").write_bytes(b"not weights")
    code, _, err = run(folder, "--agent", "none.gguf")
    assert code == 2
    assert len([line for line in err.splitlines() if line.startswith("fiqkit: ")]) == 1


def test_agents_of_one_name_are_refused_and_a_name_can_be_given(folder: Path) -> None:
    code, _, err = run(folder, "--agent", "default-reader,default-reader")
    assert (code, "two agents are named 'default-reader'" in err) == (2, True)
    code, _, err = run(folder, "--agent", "a/m.gguf,b/m.gguf")
    assert (code, "give one another name: NAME=b/m.gguf" in err) == (2, True)


def test_a_run_in_which_every_episode_failed_is_no_result(folder: Path) -> None:
    """A simulator that never replies: each episode that asks ends in an engine error, and the exit code says so."""
    (folder / "mute.py").write_text(
        "import asyncio, sys\n"
        "from fiqkit.models.engine import EngineError\n"
        "from fiqkit.roles.simulator.rules import RulesSimulator\n"
        "async def reply(self, question, view):\n    raise EngineError('nobody there')\n"
        "RulesSimulator.reply = reply\n"
        "from fiqkit.cli import main\nmain(sys.argv[1:])\n"
    )
    command = ["mute.py", "run", "--store", "s.db", "--agent", "intended-oracle", "--modes", "interact", "--limit", "3"]
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, cwd=folder)
    assert done.returncode == 2
    assert "no episode could be played: nobody there" in done.stderr
