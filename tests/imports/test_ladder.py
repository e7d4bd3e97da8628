from __future__ import annotations

import json
from pathlib import Path

import pytest

from fiqkit.errors import UserError
from fiqkit.imports.ladder import read_ladder, stage_numbers


def write(path: Path, *rows: dict) -> Path:
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def item(**changes):
    usual = {"model": "m", "stage": "sft", "instance_id": "a", "correct": True, "asks": 1, "first_on_category": True}
    return usual | changes


def test_numbers_by_hand(tmp_path: Path):
    """Right on category at the first question; wrong after three off it; right in silence."""
    rows = [item(), item(correct=False, asks=3, first_on_category=False), item(asks=0, first_on_category=None)]
    (stage,) = read_ladder(write(tmp_path / "l.jsonl", *rows, {"model": "m", "stage": "sft", "aggregate": {"A": 1}}))
    found = stage_numbers(stage)
    assert (found["n"], found["ac1"]) == (3, 0.5)
    assert found["accuracy"] == found["interaction_rate"] == pytest.approx(2 / 3)
    assert found["reward"] == pytest.approx((1.7 - 0.1 + 0.7) / 3)
    assert stage.logged == {"A": 1}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"asks": True}, "field 'asks' is True; a int is needed"),
        ({"first_on_category": None}, "field 'first_on_category' is None; a bool is needed"),
        ({"stage": 3}, "field 'stage' is 3; a str is needed"),
    ],
)
def test_bad_lines_are_named(tmp_path: Path, changes, said):
    with pytest.raises(UserError, match=r"l\.jsonl:2: ") as caught:
        read_ladder(write(tmp_path / "l.jsonl", item(), item(**changes)))
    assert said in str(caught.value)
