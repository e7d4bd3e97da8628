"""`fiqkit run` as a person or a script calls it: limits, gates, going on, and what it says at the end."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from types import SimpleNamespace

import pytest

from fiqkit.agent.reference import POLICIES
from fiqkit.cli import main
from fiqkit.errors import UserError
from fiqkit.models.cards.cards import Card
from fiqkit.models.engine import Usage
from fiqkit.records import Ending, Episode
from fiqkit.report.gate import failures, parse_gate
from fiqkit.report.notes import no_rate
from fiqkit.run.limits import Limits, Spending
from fiqkit.run.watch import Seen, Watch
from fiqkit.store.store import Store

OWN = """
import json
class Guess:
    def act(self, dialogue):
        return json.dumps({"action": "answer", "response": "$1", "confidence": 50})
def factory(seed):
    return Guess()
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    Path("guessing.py").write_text(OWN)
    return tmp_path


def call(line: str) -> int:
    """The exit code of a command."""
    try:
        main(shlex.split(line))
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def test_a_limit_leaves_a_run_that_goes_on_with_its_own_arguments(here: Path, capsys) -> None:
    own = "--agent default-reader,template-asker --modes answer,interact --limit 3 --seed 7 --turns 5 --samples 2"
    assert call(f"run {own} --max-minutes 0.0000001") == 1
    said = capsys.readouterr().err
    [run] = Store(here / "fiqkit.db").runs()
    assert (run["status"], run["episodes"]) == ("partial", 0)
    [go_on] = re.findall(
        r"stopped by --max-minutes 1e-07; go on: (?:\S*/)?fiqkit (run --resume \S+ --store \S+),", said
    )
    assert call(go_on) == 0
    [run] = Store(here / "fiqkit.db").runs()
    assert (run["status"], run["episodes"]) == ("done", 2 * 2 * 3 * 2)
    assert (run["manifest"]["settings"]["seed"], run["manifest"]["settings"]["turns"]) == (7, 5)
    assert call("run --resume last --seed 0") == 2  # said again, an argument is held to
    assert "setting seed was 7 and is now 0" in capsys.readouterr().err


def test_what_is_kept_of_the_arguments_holds_in_another_folder_and_has_no_credentials(here: Path, monkeypatch) -> None:
    from fiqkit.run.evaluation import Settings, _arguments
    from fiqkit.run.lineup import Lineup

    lineup = Lineup(agent=("http://user:secret@localhost:1/v1#m",), retrieval="own")
    kept = json.loads(json.dumps(_arguments(Settings(lineup=lineup, passages=Path("p.jsonl"), engine={"threads": 1}))))
    assert "secret" not in json.dumps(kept)
    assert kept["passages"] == str(here / "p.jsonl")


@pytest.mark.parametrize(
    ("gate", "code"),
    [
        ("accuracy=0", 0),
        ("accuracy=1%", 3),
        ("answer:interaction_rate=0.5", 3),
        ("interact:accuracy=0", 3),  # not played: a gate that nothing is held to would pass for ever
        ("mean_asks=0", 0),
    ],
)
def test_fail_under_has_an_exit_code_of_its_own(gate: str, code: int, capsys) -> None:
    run = "run --agent guessing:factory,template-asker --modes answer --limit 2"
    assert call(f"{run} --fail-under {gate}") == code
    assert call(f"report last --fail-under {gate}") == code
    told = [line for line in capsys.readouterr().err.splitlines() if line.startswith("--fail-under")]
    assert len(told) == (2 if code else 0)


def test_a_gate_holds_models_alone_and_fails_where_nothing_was_scored() -> None:
    rows = [{"model": "m", "mode": "search", "n": 4, "accuracy": 0.5}, {"model": "m", "mode": "answer", "n": 0}]
    rows += [{"model": policy, "mode": "search", "n": 4, "accuracy": 0.0} for policy in POLICIES]
    assert failures([parse_gate("search:accuracy=50%")], rows) == []
    assert failures([parse_gate("accuracy=0.1")], rows) == ["m answer: no episode was scored"]
    assert failures([parse_gate("search:accuracy=0.51")], rows) == ["m search: accuracy is 0.5, below 0.51"]
    for text in ("accuracy", "accuracy=", "accuracy=nan", "accuracy=60", "acc=0.5", "nowhere:accuracy=0.5", "=1"):
        with pytest.raises(UserError, match=r"--fail-under|unknown mode"):
            parse_gate(text)


def test_dollars_are_counted_over_agents_and_roles_and_end_the_jobs() -> None:
    card = Card(name="m", engine="openai", weights="http://x", price_in=1.0, price_out=2.0)
    judge = Usage(requests=1, prompt_tokens=500_000)
    spending = Spending(before=0.25, agents={"m": card}, roles=[(judge, card)])
    limits = Limits(minutes=None, dollars=2.0, spent=spending.total)
    turn = SimpleNamespace(prompt_tokens=250_000, output_tokens=125_000)
    begun = []
    for job in limits.within(range(10)):
        begun.append(job)
        spending.add([SimpleNamespace(model="m", turns=[turn]), SimpleNamespace(model="reference", turns=[turn])])
    assert begun == [0, 1, 2]  # 0.75, 1.25, 1.75, and then 2.25
    assert limits.reached == "--max-dollars 2 ($2.25 were spent)"


def test_dollars_of_models_without_a_price_are_refused(capsys) -> None:
    assert call("run --agent default-reader --max-dollars 5") == 2
    assert "no model of this run has a price" in capsys.readouterr().err
    assert not Path("fiqkit.db").exists()


def test_failures_are_said_once_while_they_happen() -> None:
    said: list[str] = []
    counts: list[dict[str, int]] = []
    seen = Seen(Watch(ended=lambda found: counts.append(dict(found)), said=said.append))

    def episode(ending: Ending, error: str | None = None) -> tuple[Episode, tuple]:
        return Episode("i", "m", "search", ending=ending, error=error, turns=()), ()

    failed = episode(Ending.ENGINE_ERROR, "Traceback\nEngineError: HTTP 500")
    seen.add([failed, failed, episode(Ending.ANSWERED), episode(Ending.TRUNCATED)])
    seen.add([failed])
    assert said == ["m search i: engine error: EngineError: HTTP 500"]
    assert counts == [{"engine_error": 2, "answered": 1, "truncated": 1}, {"engine_error": 1}]


def test_truncated_throughout_is_no_rate() -> None:
    row = {"model": "m", "mode": "search", "episodes": 3, "endings": {"truncated": 1.0}}
    assert no_rate(row) == "3 truncated"
    assert no_rate(row | {"endings": {"truncated": 2 / 3, "engine_error": 1 / 3}}) == "2 truncated, 1 engine errors"
    assert no_rate(row | {"endings": {"truncated": 2 / 3, "budget": 1 / 3}}) is None
    assert no_rate(row | {"endings": {"answered": 1.0}}) is None


def test_the_last_lines_lead_on(here: Path, capsys) -> None:
    assert call("run --agent guessing:factory,default-reader --modes answer --limit 2 --store other.db") == 0
    out = capsys.readouterr().out
    lines = dict(re.findall(r"^(read one|what missed|the page): +(?:\S*/)?fiqkit (.+)$", out, re.M))
    assert re.search(r"run \S+: 4 episodes in \S+other\.db, \d+\.\d s", out)
    assert call(lines["read one"]) == 0
    assert "guessing:factory" in capsys.readouterr().out
    assert call(lines["what missed"]) == 0
    assert lines["the page"].endswith("--html report.html --store other.db")
