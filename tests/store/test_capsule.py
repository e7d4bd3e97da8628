"""A capsule: one run in one file, whose every change is found, graded again to the same text."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner, Result

from fiqkit.cli import fiqkit
from fiqkit.errors import UserError
from fiqkit.store.capsule import verify_capsule
from fiqkit.store.load import load_scored
from fiqkit.store.store import Store
from fiqkit.verdicts.regrade import regrade


def call(*arguments: str) -> Result:
    return CliRunner().invoke(fiqkit, list(arguments), catch_exceptions=False)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("capsule")
    for agent in ("default-reader", "template-asker"):  # two runs in the store; the last is put into the capsule
        done = call("run", "--agent", agent, "--modes", "interact", "--limit", "5", "--store", str(folder / "s.db"))
        assert done.exit_code == 0
    done = call("capsule", "last", "--out", str(folder / "c.db"), "--store", str(folder / "s.db"), "--json")
    assert done.exit_code == 0
    return folder


def test_it_is_a_store_with_that_run_alone(written: Path) -> None:
    whole, capsule = Store(written / "s.db"), Store(written / "c.db")
    [run] = capsule.runs()
    assert run == whole.resolve("last")
    assert [e.place for e in load_scored(capsule, ["last"])] == [e.place for e in load_scored(whole, ["last"])]
    named = {i.passage_id for i in capsule.instances(run["dataset"]).values()}
    assert {key for (key,) in capsule.conn.execute("SELECT passage_id FROM passages")} == named
    assert call("report", "--store", str(written / "c.db")).exit_code == 0
    assert call("verify", str(written / "c.db")).exit_code == 0


def test_two_capsules_of_one_run_say_the_same_and_none_is_overwritten(written: Path, tmp_path: Path) -> None:
    store = ("--store", str(written / "s.db"))
    told = [call("capsule", "last", "--out", str(tmp_path / f"{n}.db"), *store, "--json").stdout for n in range(2)]
    assert json.loads(told[0])["hash"] == json.loads(told[1])["hash"]
    canonical = [json.dumps(regrade(tmp_path / f"{n}.db")["canonical"]) for n in range(2)]
    assert canonical[0] == canonical[1]
    with pytest.raises(UserError, match="is there already"):
        call("capsule", "last", "--out", str(tmp_path / "0.db"), *store)
    bare = json.loads(
        call("capsule", "last", "--out", str(tmp_path / "b.db"), *store, "--without-passages", "--json").stdout
    )
    assert bare["rows passages"].startswith("0 ")
    assert not list(tmp_path.glob("*.part"))


def test_it_is_graded_again_without_being_changed(written: Path) -> None:
    before = (written / "c.db").read_bytes()
    found = json.loads(call("regrade", str(written / "c.db"), "--json").stdout)
    assert (found["same_rules"], found["changed"]) == (True, [])
    assert sum(found["canonical"]["outcomes"].values()) == 5
    assert sum("central" in verdict for verdict in found["canonical"]["verdicts"]) == 5
    assert (written / "c.db").read_bytes() == before


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("UPDATE episodes SET answer = '$1' WHERE episode = 1", "table episodes"),
        ("UPDATE verdicts SET outcome = 'intended'", "table verdicts"),
        ("DELETE FROM turns WHERE episode = 2", "table turns"),
        ('UPDATE instances SET record = replace(record, \'"answer": "$\', \'"answer": "$9\')', "instance "),
        ("UPDATE capsule SET value = '9.9' WHERE name = 'fiqkit'", "the capsule's own hash"),
    ],
)
def test_a_change_is_found_and_not_graded(written: Path, tmp_path: Path, change: str, said: str) -> None:
    path = tmp_path / "c.db"
    path.write_bytes((written / "c.db").read_bytes())
    with sqlite3.connect(path) as conn:
        assert conn.execute(change).rowcount > 0
    conn.close()
    assert any(fault.startswith(said) for fault in verify_capsule(path))
    done = call("verify", str(path), "--json")
    assert (done.exit_code, bool(json.loads(done.stdout)["faults"])) == (1, True)
    with pytest.raises(UserError, match="a changed capsule"):
        regrade(path)


def test_damaged_files_are_one_line(written: Path, tmp_path: Path) -> None:
    whole, draw = (written / "c.db").read_bytes(), Random(4)
    path = tmp_path / "c.db"
    for _ in range(150):
        bytes_ = bytearray(whole[: draw.randrange(1, len(whole))] if draw.random() < 0.3 else whole)
        for _ in range(draw.randrange(1, 40)):
            bytes_[draw.randrange(len(bytes_))] = draw.randrange(256)
        path.write_bytes(bytes_)
        try:
            verify_capsule(path)
        except UserError as error:
            assert "\n" not in str(error)


def test_what_is_no_capsule(written: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="a run store, but no capsule; make one with: fiqkit capsule"):
        verify_capsule(written / "s.db")
