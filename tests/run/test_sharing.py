"""Many processes and one store: runs at once into one file, readers that leave no trace, files that are no store."""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from fiqkit.cli import fiqkit
from fiqkit.errors import UserError
from fiqkit.store.store import Store

AT_ONCE = """
import asyncio, os, sys, time
from pathlib import Path
from fiqkit.run.evaluation import Settings, evaluate
from fiqkit.run.lineup import Lineup

begin = time.monotonic() + 0.5
children = []
for seed in range(8):
    child = os.fork()
    if child == 0:
        try:
            time.sleep(max(0, begin - time.monotonic()))
            lineup = Lineup(agent=("default-reader",), modes=("answer",))
            asyncio.run(evaluate(Settings(lineup=lineup, store=Path("s.db"), limit=20, seed=seed)))
            os._exit(0)
        except BaseException as error:
            print(repr(error), file=sys.stderr)
            os._exit(1)
    children.append(child)
sys.exit(max(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children))
"""


def test_eight_runs_at_once_into_one_file_that_is_not_there_yet(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", AT_ONCE], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    store = Store(tmp_path / "s.db")
    runs = store.runs()
    assert [(run["status"], run["episodes"]) for run in runs] == [("done", 20)] * 8
    assert len({run["run"] for run in runs}) == 8
    numbers = [number for run in runs for number, _ in store.episodes(run["run"])]
    assert sorted(numbers) == list(range(1, 161))
    orphans = "SELECT count(*) FROM turns LEFT JOIN episodes USING (episode) WHERE run IS NULL"
    assert store.conn.execute(orphans).fetchone() == (0,)
    store.close()
    assert [path.name for path in tmp_path.iterdir()] == ["s.db"]  # the last to leave left one file


# --- reading --------------------------------------------------------------------------------------------------------

WRITER = """
import os, sys, time
from pathlib import Path
from fiqkit.store.store import Store
store = Store(Path("s.db"), write=True)
store.set_status(store.runs()[0]["run"], "partial")
store.add_to_manifest(store.runs()[0]["run"], {"note": "x" * 5000})
print("open", flush=True)
time.sleep(60 if sys.argv[1] == "live" else 0)
os.kill(os.getpid(), 9)
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    arguments = ["run", "--agent", "default-reader,template-asker", "--modes", "answer,interact", "--limit", "4"]
    done = CliRunner().invoke(fiqkit, [*arguments, "--store", str(folder / "s.db")], catch_exceptions=False)
    assert done.exit_code == 0
    return folder


@pytest.fixture(params=["closed", "killed", "live", "no index of the log"])
def left(request: pytest.FixtureRequest, whole: Path, tmp_path: Path) -> Iterator[Path]:
    """A folder with a store as writers leave it: closed, killed, writing, or copied without the log's index."""
    shutil.copy(whole / "s.db", tmp_path)
    if request.param == "closed":
        yield tmp_path
        return
    how = "live" if request.param == "live" else "killed"
    writer = subprocess.Popen([sys.executable, "-c", WRITER, how], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    assert writer.stdout.readline() == "open\n"
    if how == "killed":
        writer.wait()
    if request.param == "no index of the log":
        (tmp_path / "s.db-shm").unlink()
    assert (tmp_path / "s.db-wal").stat().st_size > 5000
    yield tmp_path
    writer.kill()
    writer.communicate()


def state(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def commands(instance: str) -> list[list[str]]:
    sides = ("last:template-asker:answer", "last:template-asker:interact")
    return [["runs"], ["show", "last", instance], ["report"], ["report", "--json"], ["compare", *sides]]


def test_reading_commands_change_no_byte_of_any_file(left: Path) -> None:
    store = Store(left / "s.db")
    assert store.runs()[0]["status"] == ("partial" if len(state(left)) > 1 else "done")  # the log is read
    instance = next(iter(store.instances(store.runs()[0]["dataset"])))
    store.close()
    before, merged = state(left), left / "merged"
    for arguments in commands(instance):
        done = CliRunner().invoke(fiqkit, [*arguments, "--store", str(left / "s.db")], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        assert state(left) == before, arguments
    merged.mkdir()
    merge = ["runs", "merge", str(left / "s.db"), "--store", str(merged / "all.db")]
    assert CliRunner().invoke(fiqkit, merge, catch_exceptions=False).exit_code == 0
    shutil.rmtree(merged)
    assert state(left) == before


def test_a_store_on_a_read_only_mount(whole: Path, tmp_path: Path) -> None:
    shutil.copy(whole / "s.db", tmp_path)
    inside = f'mount --bind "{tmp_path}" "{tmp_path}" && mount -o remount,ro,bind "{tmp_path}"'
    trial = subprocess.run(["unshare", "-m", "sh", "-c", f'{inside} && ! touch "{tmp_path}/x"'], capture_output=True)
    if trial.returncode != 0:
        pytest.skip("no read-only mount can be made here")
    code = f"""
from pathlib import Path
from fiqkit.store.load import load_scored
from fiqkit.store.store import Store
print(len(load_scored(Store(Path({str(tmp_path / "s.db")!r})), ["last"])))
Store(Path({str(tmp_path / "s.db")!r}), write=True)
"""
    call = ["unshare", "-m", "sh", "-c", f'{inside} && exec "$@"', "sh", sys.executable, "-c", code]
    done = subprocess.run(call, capture_output=True, text=True)
    assert done.stdout == "16\n"
    assert "UserError" in done.stderr.splitlines()[-1]
    assert "cannot be used as a run store (attempt to write a readonly database)" in done.stderr


# --- what is no store -----------------------------------------------------------------------------------------------


def _foreign(path: Path) -> None:
    conn = sqlite3.connect(path)
    conn.execute("CREATE TABLE bookmarks (url TEXT)")
    conn.execute("PRAGMA user_version=2")
    conn.commit()
    conn.close()


def _text(path: Path) -> None:
    path.write_text("instance_id,question\n" * 300)


@pytest.mark.parametrize("make", [_foreign, _text])
@pytest.mark.parametrize("options", [{}, {"write": True}, {"create": True}])
def test_a_file_that_is_no_store_is_named_and_not_touched(
    tmp_path: Path, make: Callable[[Path], None], options: dict[str, bool]
) -> None:
    path = tmp_path / "other.db"
    make(path)
    before, time_before = state(tmp_path), path.stat().st_mtime_ns
    time.sleep(0.01)
    with pytest.raises(UserError, match=r"other\.db: .*run store"):
        Store(path, **options)
    assert (state(tmp_path), path.stat().st_mtime_ns) == (before, time_before)
