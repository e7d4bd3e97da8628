"""Episodes are found by how they ended and what was said, and nothing that they hold acts on a terminal."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from fiqkit.bench_data import INSTANCES
from fiqkit.cli import fiqkit
from fiqkit.datasets import read_instances
from fiqkit.errors import UserError
from fiqkit.records import AnswerVerdict, Ending, Episode, Grade, Outcome, Turn
from fiqkit.store.browse import Wanted, find, neighbours
from fiqkit.store.store import Store
from fiqkit.store.transcript import visible

ASK = Turn(
    "interact", {"question": "The consolidated total?", "reply": "yes"}, text="ask", observation="The user: yes."
)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Right; default after a question; over budget; an engine's fault; one that writes to the terminal."""
    path = tmp_path_factory.mktemp("browse") / "fiqkit.db"
    items = read_instances(INSTANCES)[:5]
    store = Store(path, create=True)
    store.begin_run("r", "run", "d", items, {})
    played = [
        (Ending.ANSWERED, items[0].answer, (), Outcome.INTENDED),
        (Ending.ANSWERED, items[1].default_answer, (ASK,), Outcome.DEFAULT),
        (Ending.BUDGET, None, (ASK,), None),
        (Ending.ENGINE_ERROR, None, (), None),
        (Ending.ANSWERED, "\x1b[2J\x1b]0;owned\x07Needle \u202e5", (), Outcome.OTHER),
    ]
    from fiqkit.datasets import record_hash

    for item, (ending, answer, turns, outcome) in zip(items, played, strict=True):
        done = (*turns, Turn("answer", {"response": answer}, text=answer)) if answer else turns
        episode = Episode(item.instance_id, "m", "interact", ending, answer, turns=done, item=record_hash(item))
        store.write("r", [(episode, [AnswerVerdict.of("rules", Grade(outcome))] if outcome else [])])
    store.close()
    return path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(fiqkit, arguments)


@pytest.mark.parametrize(
    ("wanted", "numbers"),
    [
        (Wanted(), [1, 2, 3, 4, 5]),
        (Wanted(wrong=True), [2, 3, 5]),  # an engine's fault is no wrong answer
        (Wanted(asked=True), [2, 3]),
        (Wanted(asked=True, wrong=True, ending="budget"), [3]),
        (Wanted(outcome="default"), [2]),
        (Wanted(ending="engine_error"), [4]),
        (Wanted(text="NEEDLE"), [5]),
        (Wanted(text="the user: YES"), [2, 3]),
        (Wanted(text="%"), []),
    ],
)
def test_filters(path: Path, wanted: Wanted, numbers: list[int]) -> None:
    assert [row["episode"] for row in find(Store(path), "last", wanted)] == numbers


def test_neighbours_are_those_that_the_filter_lets_through(path: Path) -> None:
    assert neighbours(Store(path), "r", 3, Wanted(wrong=True)) == (2, 5)
    assert neighbours(Store(path), "r", 1) == (None, 2)


@pytest.mark.parametrize("field", ["outcome", "ending", "category"])
def test_a_filter_that_cannot_match_names_what_can(field: str) -> None:
    with pytest.raises(UserError, match=f"--{field} 'nosuch' is none of"):
        Wanted(**{field: "nosuch"})


def test_episodes_as_json(path: Path) -> None:
    done = run("episodes", "last", "--wrong", "--limit", "2", "--store", str(path), "--json")
    rows = json.loads(done.stdout)["episodes"]
    assert [(row["episode"], row["ending"], row["outcome"]) for row in rows] == [
        (2, "answered", "default"),
        (3, "budget", None),
    ]


def test_show_picks_and_leads_to_the_next(path: Path) -> None:
    done = run("show", "last", "--wrong", "--store", str(path))
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("── episode 2 ·")
    assert f"next: fiqkit show r --episode 3 --store {path}" in done.stdout
    assert run("show", "last", "--episode", "3", "--store", str(path)).stdout.startswith("── episode 3 ·")


@pytest.mark.parametrize("arguments", [("episodes", "last"), ("show", "last", "--outcome", "other")])
def test_nothing_acts_on_the_terminal(path: Path, arguments: tuple[str, ...]) -> None:
    text = run(*arguments, "--store", str(path)).stdout
    assert "␛[2J␛]0;owned␇Needle <U+202E>5" in text
    assert "\x1b" not in text and "\u202e" not in text


@given(st.text())
def test_what_is_printed_holds_no_character_that_acts_and_all_that_does_not(text: str) -> None:
    acts = {char for char in text if char != "\n" and unicodedata.category(char)[0] == "C" and char.isascii()}
    shown = visible(text)
    assert not acts & set(shown)
    assert all(unicodedata.category(char) not in ("Cc", "Cf", "Cs") for char in shown if char != "\n")
    plain = "".join(char for char in text if unicodedata.category(char)[0] != "C" or char == "\n")
    assert visible(plain) == plain


def test_an_episode_that_is_not_there_is_one_line(path: Path) -> None:
    with pytest.raises(UserError, match="no episode 99; `fiqkit episodes` lists them"):
        CliRunner().invoke(
            fiqkit, ["show", "--episode", "99", "--store", str(path)], catch_exceptions=False, standalone_mode=False
        )
    with pytest.raises(UserError, match="--instance 'nosuch' is none of "):
        CliRunner().invoke(
            fiqkit, ["show", "last", "nosuch", "--store", str(path)], catch_exceptions=False, standalone_mode=False
        )
