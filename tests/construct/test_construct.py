"""`fiqkit construct` from a store to a folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from reports import annual_reports

from fiqkit.cli import fiqkit
from fiqkit.construct.audit import audit, read_cases
from fiqkit.construct.run import construct
from fiqkit.datasets import read_instances, read_passages
from fiqkit.errors import UserError


@pytest.fixture
def facts(tmp_path: Path) -> Path:
    """The annual reports of eight companies; one of two that share a name cannot be asked about."""
    return annual_reports(tmp_path, ("ALPHA", "BRAVO", "CHARLIE", "DELTA", "ECHO", "FOXTROT", "GOLF", "GOLF"))


def test_a_set_from_ones_own_filings_passes_its_own_audit(facts: Path, tmp_path: Path) -> None:
    out = tmp_path / "mine"
    run = CliRunner()
    made = run.invoke(fiqkit, ["construct", "--facts", str(facts), "--out", str(out), "--target", "20", "--json"])
    told = json.loads(made.stdout)
    assert made.exit_code == 1  # three of the categories cannot be had from annual reports of one year
    assert told["short"]["temporal_scope / en"] == {"wanted": 5, "had": 0}
    assert told["instances"] == len(read_instances(out / "instances.jsonl")) >= 8
    assert set(told["funnel"]["passed"]) >= {"companies", "mined", "eligible", "accepted"}
    found = audit(read_cases(out / "instances.jsonl", out / "passages.jsonl"))
    assert found["passed"] == found["n"]
    assert found["checks"]["orbits"]["incomplete"] == []
    assert not any("Golf" in i.question for i in read_instances(out / "instances.jsonl"))
    verified = run.invoke(fiqkit, ["verify", str(out / "instances.jsonl"), "--facts", str(facts), "--json"])
    assert json.loads(verified.stdout)["failed"] == {}
    assert set(json.loads((out / "splits.json").read_text())) == {"train", "validation", "test"}


def test_the_same_seed_makes_the_same_files_and_another_one_others(facts: Path, tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        construct(facts, tmp_path / name, target=20, seed=seed)
    first, again, other = ((tmp_path / name / "instances.jsonl").read_bytes() for name in "abc")
    assert first == again != other


def test_another_sets_orbits_and_older_filings_stay_out(facts: Path, tmp_path: Path) -> None:
    built, _ = construct(facts, tmp_path / "a", target=20)
    taken = {orbit.key for orbit in built.orbits}
    other, _ = construct(facts, tmp_path / "b", target=20, exclude=[tmp_path / "a" / "instances.jsonl"])
    assert other.orbits
    assert not taken & {orbit.key for orbit in other.orbits}
    late, _ = construct(facts, tmp_path / "c", target=20, filed_after="2024-04-01")
    assert {orbit.source.company for orbit in late.orbits} <= {"Echo", "Foxtrot"}


def test_the_corpus_is_filled_with_other_reports(facts: Path, tmp_path: Path) -> None:
    construct(facts, tmp_path / "a", target=4, passages=6)
    found = read_passages(tmp_path / "a" / "passages.jsonl")
    assert len(found) >= 6
    assert len({passage.passage_id for passage in found}) == len(found)


@pytest.mark.parametrize(
    ("more", "says"),
    [({"filed_after": "last year"}, "YYYY-MM-DD"), ({"filed_after": "2030-01-01"}, "no orbit can be mined")],
)
def test_bad_input_is_one_line(facts: Path, tmp_path: Path, more: dict[str, str], says: str) -> None:
    with pytest.raises(UserError, match=says) as error:
        construct(facts, tmp_path / "a", target=4, **more)  # type: ignore[arg-type]
    assert "\n" not in str(error.value)
    assert not (tmp_path / "a").exists()


def test_an_empty_store_says_so(tmp_path: Path) -> None:
    from fiqkit.filings.store import FactStore

    FactStore(tmp_path / "empty.db", create=True).close()
    with pytest.raises(UserError, match="no orbit can be mined from its 0 companies"):
        construct(tmp_path / "empty.db", tmp_path / "a", target=4)
