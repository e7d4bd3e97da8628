"""Line-ups from files and options."""

from pathlib import Path

import pytest

from fiqkit.errors import UserError
from fiqkit.run.lineup import Lineup, load, names
from fiqkit.run.players import Cast, choose_lineup, played_by


@pytest.mark.parametrize("name", names())
def test_every_bundled_lineup_names_cards_that_exist(name: str) -> None:
    members = Cast(load(name)).members()
    assert members["agent"]


def test_a_card_that_measures_nothing_gets_the_demos_budgets_and_others_the_protocols() -> None:
    assert choose_lineup(None, {}).turns == load("demo").turns == 3
    assert choose_lineup(None, {"agent": ("default-reader",)}).turns == 12
    assert choose_lineup(None, {"agent": ("smollm2-135m",), "turns": 9}).turns == 9


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ("agent = 3", "agent is 3"),
        ("turns = 0", "turns is 0; it is too small"),
        ("turns = true", "turns is True"),
        ("turms = 3", "unknown key 'turms'"),
        ('thinking = ["maybe"]', "thinking is 'maybe'"),
        ("turns = ", "not a TOML file"),
    ],
)
def test_a_bad_file_is_one_line(tmp_path: Path, toml: str, message: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(toml)
    with pytest.raises(UserError, match=message) as raised:
        load(str(path))
    assert "\n" not in str(raised.value)


def test_an_unknown_name_lists_the_bundled_ones() -> None:
    with pytest.raises(UserError, match="demo"):
        load("demmo")


@pytest.mark.parametrize(
    ("role", "setting", "expected"),
    [
        ("grader", "rules", ("rules", None)),
        ("grader", "cascade:qwen2.5-7b", ("cascade", "qwen2.5-7b")),
        ("simulator", "qwen2.5-7b", ("llm", "qwen2.5-7b")),
        ("judge", "http://localhost:8000/v1", ("llm", "http://localhost:8000/v1")),
    ],
)
def test_a_role_is_a_kind_a_card_or_both(role: str, setting: str, expected: tuple[str, str | None]) -> None:
    assert played_by(role, setting) == expected


def test_a_model_does_not_grade_itself_unnoticed() -> None:
    with pytest.raises(UserError, match="its own grader"):
        Cast(Lineup(agent=("smollm2-135m",), grader="cascade:smollm2-135m-hf")).check_self_grading()
    Cast(Lineup(agent=("smollm2-135m",), simulator="smollm2-135m")).check_self_grading()
