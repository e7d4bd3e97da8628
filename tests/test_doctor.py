"""The doctor sees what is there, what is missing and what would crash."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fiqkit import doctor
from fiqkit.doctor import Finding, constraints, examine, overall


def diagnose(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **variables}
    return subprocess.run(
        [sys.executable, "-m", "fiqkit", "doctor", *arguments], capture_output=True, text=True, env=environment
    )


@pytest.mark.parametrize(
    ("states", "worst"),
    [("ready ready", "ready"), ("ready absent", "ready"), ("absent usable", "usable"), ("usable not ready", "not")],
)
def test_a_machine_is_as_well_as_its_worst_finding(states: str, worst: str) -> None:
    assert overall([Finding("x", state, "") for state in states.split()]) == worst


def test_this_machine_as_json() -> None:
    done = diagnose("--json")
    report = json.loads(done.stdout)
    assert done.returncode == {"ready": 0, "usable": 1, "not": 2}[report["state"]] < 2
    found = {finding["what"]: finding for finding in report["findings"]}
    assert {"python", "processor", "llama_cpp runs", "model smollm2-135m", "disk", "memory", "offline"} <= set(found)
    assert found["python"]["found"].startswith(sys.version.split()[0])
    # The digest of the weights in the package, as sha256sum prints it.
    assert "sha256 b179c9523d0e6a0f" in found["model smollm2-135m"]["found"]
    assert all(finding["mend"] for finding in report["findings"] if finding["state"] in ("usable", "not"))


def test_an_illegal_instruction_kills_the_child_alone_and_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import os, signal; os.kill(os.getpid(), signal.SIGILL)"
    monkeypatch.setattr(doctor, "_NATIVE", {"llama_cpp": code})
    finding = next(finding for finding in examine() if finding.what == "llama_cpp runs")
    assert finding.state == "not"
    assert "illegal instruction" in finding.found
    assert finding.mend == "pip install --force-reinstall --no-binary :all: llama-cpp-python"


def test_a_version_that_was_never_tried_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "constraints", lambda: {"faiss-cpu": "0.0.1"})
    finding = next(finding for finding in examine() if finding.what == "faiss-cpu")
    assert finding.state == "usable"
    assert "0.0.1 was tried with this kit" in finding.found


def test_the_constraints_travel_with_the_package() -> None:
    assert constraints()["torch"] == "2.13.0"
    assert (Path(doctor.__file__).parent / "constraints.txt").read_text() == (
        Path(doctor.__file__).parents[1] / "constraints.txt"
    ).read_text()


def test_bad_cards_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "cards.toml").write_text("[broken")
    done = diagnose("--cards", str(tmp_path / "cards.toml"))
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert "cards.toml" in done.stderr
