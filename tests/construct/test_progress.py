"""What models said is kept: a construction that was killed goes on, and asks nothing twice."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest
from reports import annual_reports

from fiqkit.construct.funnel import Funnel, Spent
from fiqkit.construct.progress import Progress
from fiqkit.construct.run import construct
from fiqkit.errors import UserError
from fiqkit.models.engine import EngineError
from fiqkit.models.scripted import ScriptedEngine
from fiqkit.roles.asking import NoVerdict

# A process whose constructing model answers so many questions, and then dies as if it was killed from outside.
PROCESS = """
import json, os, re, signal, sys
from pathlib import Path
from fiqkit.construct import modelled, run
from fiqkit.models.scripted import ScriptedEngine

facts, out, lives = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])

def reply(request):
    if len(engine.requests) > lives:
        os.kill(os.getpid(), signal.SIGKILL)
    company = re.search(r"Company: (.*)", request.messages[-1]["content"])[1]
    readings = [{"line": n, "reading": w, "constraint": f"the figure {w}"}
                for n, w in ((1, "of the parent's shareholders"), (2, "of the whole group"))]
    return json.dumps({"viable": True, "question": f"What was the profit of {company}?", "readings": readings})

engine = ScriptedEngine(reply, name="smollm2-135m")
modelled.open_engine = lambda card: engine
built, funnel = run.construct(facts, out, target=60, constructor="smollm2-135m")
print(json.dumps([len(engine.requests), len(built.instances), funnel.row()["spent"]]))
"""


@pytest.fixture
def facts(tmp_path: Path) -> Path:
    """Annual reports of six companies."""
    return annual_reports(tmp_path, ("ALPHA", "BRAVO", "CHARLIE", "DELTA", "ECHO", "FOXTROT"))


def test_a_killed_construction_goes_on_and_makes_the_same_set(facts: Path, tmp_path: Path) -> None:
    def run(out: str, lives: int) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", PROCESS, str(facts), str(tmp_path / out), str(lives)]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)

    killed = run("cut", 4)
    assert killed.returncode == -9
    assert not (tmp_path / "cut" / "instances.jsonl").exists()
    again, whole = run("cut", 1000), run("whole", 1000)
    asked, instances, spent = json.loads(again.stdout)
    asked_whole, instances_whole, spent_whole = json.loads(whole.stdout)
    assert asked == asked_whole - 4
    assert instances == instances_whole > 0
    assert spent == spent_whole
    made = [(tmp_path / out / "instances.jsonl").read_bytes() for out in ("cut", "whole")]
    assert made[0] == made[1]


def test_what_cannot_be_used_is_remembered_and_a_fault_of_the_engine_is_not(tmp_path: Path) -> None:
    engine = ScriptedEngine(["nonsense"])
    progress = Progress(tmp_path / "progress.db")

    async def refused(asker: object) -> str:
        raise NoVerdict("no usable reply")

    async def failed(asker: object) -> str:
        raise EngineError("the server went away")

    async def said(asker: object) -> str:
        return "a reply"

    def ask(shown: str, put: object) -> str:
        return asyncio.run(progress.ask(engine, "verifier", 1.0, 0, [shown], put))  # type: ignore[arg-type]

    with pytest.raises(NoVerdict):
        ask("one", refused)
    with pytest.raises(EngineError):
        ask("two", failed)
    with pytest.raises(NoVerdict, match="no usable reply"):
        ask("one", said)
    assert ask("two", said) == "a reply"
    assert progress.recalled == 1
    progress.close()


def test_another_file_in_its_place_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "progress.db").write_text("notes of mine " * 100)
    with pytest.raises(UserError, match="move it away"):
        Progress(tmp_path / "progress.db")


def test_a_passage_arm_needs_a_model(facts: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="name a card"):
        construct(facts, tmp_path / "out", target=4, passage_arm=True)
    assert not (tmp_path / "out").exists()


def test_dollars_follow_from_the_cards_prices() -> None:
    """40 accepted instances for $2 are 5 cents each, and $30 for 600."""
    funnel = Funnel({"accepted": 40}, seconds=80.0, spent={"verifier big": Spent(10, 1_000_000, 100_000, 2.0)})
    assert funnel.row()["dollars"] == 2.0
    assert "$0.0500 an accepted instance" in list(funnel.lines(600))[-1]
    assert list(funnel.lines(600))[-1].endswith("$30.00")
