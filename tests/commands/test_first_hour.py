"""The walk of docs/first-hour.md, command by command: from an installed kit to a report on one's own filings."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.metadata import metadata
from pathlib import Path

import pytest
from click.shell_completion import BashComplete

from fiqkit.cli import fiqkit
from fiqkit.store.store import Store

PAGE = (Path(__file__).parents[2] / "docs" / "first-hour.md").read_text("utf-8")
WALK = PAGE.partition("## From then on")[0]
COMMANDS = [line for block in re.findall(r"^```sh\n(.*?)^```", WALK, re.M | re.S) for line in block.splitlines()]


def test_it_is_under_ten_commands_and_begins_with_extras_that_there_are() -> None:
    assert len(COMMANDS) < 10
    install, *others = COMMANDS
    extras = re.fullmatch(r'pip install "fiqkit\[(.+)\]"', install)
    assert extras and {*extras[1].split(",")} <= {*(metadata("fiqkit").get_all("Provides-Extra") or [])}
    assert all(line.startswith("fiqkit ") for line in others)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_walk_ends_with_a_report_on_own_filings(tmp_path: Path) -> None:
    here = {"cwd": tmp_path, "env": {**os.environ, "COLUMNS": "100"}, "capture_output": True, "text": True}
    [script] = re.findall(r"^```python\n(.*?)^```", WALK, re.M | re.S)
    subprocess.run([sys.executable, "-c", script], check=True, **here)
    for line in COMMANDS[1:]:
        done = subprocess.run(f'"{sys.executable}" -m {line}', shell=True, **here)
        may_lack = line.startswith(("fiqkit doctor", "fiqkit construct"))  # something; both say so with 1
        assert done.returncode in ((0, 1) if may_lack else (0,)), f"{line}\n{done.stdout}{done.stderr}"
        assert "Traceback" not in done.stderr and "Warning" not in done.stderr, done.stderr
    assert "template-asker" in (tmp_path / "report.html").read_text("utf-8")
    store = Store(tmp_path / "fiqkit.db")
    asked = store.conn.execute(
        "SELECT question FROM instances JOIN datasets USING (instance_id, item) JOIN runs r USING (dataset)"
        " WHERE r.run = ?",
        (store.resolve("last")["run"],),
    ).fetchall()
    assert asked and all(any(name in question for name in re.findall(r'"(\w+ \w+)"', script)) for (question,) in asked)


def test_completion_knows_commands_options_and_choices() -> None:
    shell = BashComplete(fiqkit, {}, "fiqkit", "_FIQKIT_COMPLETE")

    def offered(words: list[str], begun: str) -> set[str]:
        return {item.value for item in shell.get_completions(words, begun)}

    assert offered([], "ru") == {"run", "runs"}
    assert offered(["index"], "") == {"build", "search"}
    assert offered(["run"], "--max-") == {"--max-tokens", "--max-minutes", "--max-dollars"}
    assert offered(["report", "--format"], "") == {"csv", "json", "latex", "md"}
