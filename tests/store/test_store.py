"""The run store: what is written comes back, and nothing half-written is ever seen."""

import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fiqkit.datasets import record_hash
from fiqkit.errors import UserError
from fiqkit.records import AnswerVerdict, Ending, Episode, Grade, Instance, Judgement, Outcome, QuestionVerdict, Turn
from fiqkit.store.store import Store

ASKED = Turn("interact", {"question": "GAAP?"}, '{"action": …}', "because", "Yes.", None, 700, 30, 1.5, (1, 7), (2,))
REFUSED = Turn("search", {"query": "净利润"}, "{}", "", "no such action", "no such action", 710, 20, 0.5)


def episode(key: str, ending: Ending = Ending.ANSWERED, mode: str = "interact", **fields: Any) -> Episode:
    return Episode(
        key,
        "m",
        mode,
        ending,
        answer="9.34亿元",
        confidence=80.0,
        turns=(ASKED, REFUSED),
        opening=({"role": "user", "content": "Q"},),
        flags=("repaired",),
        error="gone" if ending == Ending.ENGINE_ERROR else None,
        seconds=2.0,
        **fields,
    )


def done(store: Store) -> list[str]:
    return sorted(instance_id for _, _, instance_id, _, _ in store.done("r1"))


@pytest.fixture
def store(tmp_path: Path, make_instance: Callable[..., Instance]) -> Store:
    store = Store(tmp_path / "runs.db", create=True)
    store.begin_run("r1", "run", "d1", [make_instance(instance_id=f"t{i}") for i in range(3)], {"seed": 7})
    return store


def test_what_is_written_comes_back(store: Store, make_instance: Callable[..., Instance]) -> None:
    grade = Grade(Outcome.INTENDED, "9.34亿元", True, ("scale_missing",), "equal")
    judgement = Judgement(("entity_scope",), "entity_scope", "consolidated")
    store.write("r1", [(episode("t0"), [AnswerVerdict.of("rules", grade), QuestionVerdict("rules", 0, judgement)])])
    [(number, back)] = store.episodes("r1")
    assert back == episode("t0", item=record_hash(make_instance(instance_id="t0")))
    question, answer = store.verdicts(number)
    assert (question["central"], question["turn"]) == ("entity_scope", 0)
    assert (answer["outcome"], answer["is_intended"], answer["is_default"]) == ("intended", 1, 0)
    assert store.resolve("last")["manifest"] == {"seed": 7}
    assert store.instances("d1")["t2"] == make_instance(instance_id="t2")


def test_columns_count_what_the_turns_say(store: Store) -> None:
    store.write("r1", [(episode("t0"), [])])
    columns = "n_turns, n_asks, n_searches, n_refused, prompt_tokens, output_tokens"
    assert store.conn.execute(f"SELECT {columns} FROM episodes").fetchone() == (2, 1, 0, 1, 1410, 50)


def test_an_unscored_answer_is_neither_right_nor_wrong(store: Store) -> None:
    store.write("r1", [(episode("t0"), [AnswerVerdict.of("llm", Grade(Outcome.UNSCORED, why="no JSON"))])])
    [verdict] = store.verdicts(1)
    assert (verdict["outcome"], verdict["is_intended"], verdict["is_default"]) == ("unscored", None, None)


def test_an_episode_is_stored_once_and_a_batch_whole_or_not_at_all(store: Store) -> None:
    store.write("r1", [(episode("t0"), [])])
    with pytest.raises(sqlite3.IntegrityError):
        store.write("r1", [(episode("t1"), []), (episode("t0"), [])])
    assert done(store) == ["t0"]
    store.write("r1", [(episode("t1"), [])])
    assert [number for number, _ in store.episodes("r1")] == [1, 2]


@pytest.mark.parametrize("ending", [Ending.ENGINE_ERROR, Ending.BUG])
def test_failed_episodes_are_not_done_and_make_way_for_a_second_try(store: Store, ending: Ending) -> None:
    store.write("r1", [(episode("t0"), []), (episode("t1", ending), [])])
    assert done(store) == ["t0"]
    assert store.drop_failed("r1") == 1
    assert store.conn.execute("SELECT count(*) FROM turns").fetchone() == (2,)
    store.write("r1", [(episode("t1"), [])])


def test_samples_and_records_of_one_id_are_episodes_of_their_own(store: Store) -> None:
    """The same instance drawn twice, and another record under its id, stand side by side; the same draw does not."""
    again = [episode("t0"), episode("t0", sample=1), episode("t0", item="another record")]
    store.write("r1", [(e, []) for e in again])
    assert len(store.done("r1")) == 3
    with pytest.raises(sqlite3.IntegrityError):
        store.write("r1", [(episode("t0", sample=1), [])])
    fork = {"parent": "1", "fork_turn": 0}
    store.write("r1", [(episode("t0", **fork), [])])
    assert len(store.done("r1")) == 3  # a fork is no draw of the run's own
    with pytest.raises(sqlite3.IntegrityError):
        store.write("r1", [(episode("t0", **fork), [])])


def test_a_full_disk_loses_nothing_that_was_written(store: Store) -> None:
    store.write("r1", [(episode("t0"), [])])
    pages = store.conn.execute("PRAGMA page_count").fetchone()[0]
    store.conn.execute(f"PRAGMA max_page_count={pages}")
    with pytest.raises(UserError, match="full"):
        store.write("r1", [(episode(f"x{i}", item="x"), []) for i in range(1000)])
    store.conn.execute("PRAGMA max_page_count=1000000")
    assert done(store) == ["t0"]
    store.write("r1", [(episode("t1"), [])])


_KILLED_WRITERS = """
import json, os, signal, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from test_store import counts, episode
from fiqkit.records import AnswerVerdict
from fiqkit.store.store import Store
from fiqkit.records import Grade, Outcome

def write_and_die(point):
    store = Store(Path({path!r}), write=True)
    left = point
    def count(statement):
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
    store.conn.set_trace_callback(count)
    for key in ("t0", "t1"):
        store.write("r1", [(episode(key), [AnswerVerdict.of("rules", Grade(Outcome.OTHER))])])
    os._exit(0)

found = []
for point in range(1, 99):
    child = os.fork()
    if child == 0:
        write_and_die(point)
    if os.WIFEXITED(os.waitpid(child, 0)[1]):
        break
    store = Store(Path({path!r}), write=True)
    found.append(counts(store))
    for table in ("verdicts", "turns", "episodes"):
        store.conn.execute("DELETE FROM " + table)
    store.close()
print(json.dumps(found))
"""


def counts(store: Store) -> list[int]:
    tables = ("episodes", "turns", "verdicts")
    return [store.conn.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables]


def test_a_kill_at_any_write_point_leaves_whole_episodes_only(store: Store) -> None:
    """SIGKILL before each SQL statement of two writes: an episode is there with all its turns and verdicts, or not."""
    store.close()
    script = _KILLED_WRITERS.format(tests=str(Path(__file__).parent), path=str(store.path))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found) >= 10
    assert all(count in ([0, 0, 0], [1, 2, 1]) for count in found)
    assert [0, 0, 0] in found
    assert [1, 2, 1] in found


@pytest.mark.parametrize("content", [b"", b"not a database at all, but long enough to look like one" * 50])
def test_what_is_no_store_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.db"
    path.write_bytes(content)
    with pytest.raises(UserError, match="store") as raised:
        Store(path)
    assert "\n" not in str(raised.value)


def test_a_missing_or_unwritable_store_is_one_line(tmp_path: Path, store: Store) -> None:
    with pytest.raises(UserError, match="no run store there"):
        Store(tmp_path / "none.db")
    with pytest.raises(UserError, match="cannot be used as a run store"):
        Store(tmp_path / "no" / "folder.db", create=True)
    with pytest.raises(UserError, match="no run 'r9'; the latest are: r1"):
        store.resolve("r9")
