"""Askers that learned nothing, and what a stage is held against item by item."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fiqkit.figures.style import svg
from fiqkit.figures.training import learning_curves, rewards_by_seed
from fiqkit.metrics.scored import Scored
from fiqkit.records import Instance
from fiqkit.taxonomy import CATEGORIES
from fiqkit.train.baselines import baselines, by_words
from fiqkit.train.compared import comparisons
from fiqkit.train.logs import read_log
from fiqkit.train.watch import LOG


@pytest.fixture
def telling(make_instance: Callable[..., Instance]) -> list[Instance]:
    """Eight instances whose question betrays the category: "sales" entity, "profit" temporal."""
    kinds = [("sales", "entity_scope"), ("profit", "temporal_scope")] * 4
    return [
        make_instance(
            instance_id=f"i{n}",
            question=f"What were the {word} of firm {n}?",
            categories=(name,),
            company=f"C{n}",
            ticker=None,
        )
        for n, (word, name) in enumerate(kinds)
    ]


def test_a_bag_of_words_asks_for_what_the_question_betrays(telling: list[Instance]) -> None:
    asked = by_words(telling[:4], telling[4:])
    assert asked == {i.instance_id: CATEGORIES[i.primary].template["en"] for i in telling[4:]}
    found = baselines(telling[4:], telling[:4])
    assert found["words"]["primary"] == found["words"]["macro"] == found["ceiling"] == 1.0
    assert found["constant"]["primary"] == found["constant"]["macro"] == 0.5
    assert found["compound"]["named"] == 1.0
    assert "words" not in baselines(telling)


def test_stages_are_paired_by_item_over_companies(
    telling: list[Instance], played: Callable[[list[Instance], Callable[[Instance], bool]], list[Scored]]
) -> None:
    sides = {"base": played(telling, lambda i: False), "sft": played(telling, lambda i: True)}
    found = {(c["measure"], c["first"], c["second"]): c for c in comparisons(sides, telling, ())}
    assert found["primary", "base", "sft"]["difference"] == found["accuracy", "base", "sft"]["difference"] == 1.0
    assert found["primary", "base", "sft"]["p"] == 2 / 2**8  # eight companies, all in one direction
    assert found["primary", "constant", "sft"]["difference"] == 0.5
    assert found["primary", "constant", "sft"]["p"] == 2 / 2**4
    assert ("primary", "constant", "base") not in found


def test_a_log_that_was_resumed_keeps_the_last_of_each_step(tmp_path: Path) -> None:
    lines = [
        '{"step": 1, "loss": 3}',
        '{"step": 2, "loss": 9}',
        '{"step": 2, "loss": 2}',
        '{"step": 2, "eval_loss": 1}',
    ]
    end = '{"step": 2, "train_runtime": 5, "train_loss": 2.5}'
    (tmp_path / LOG).write_text("\n".join([*lines, end]))
    log = read_log(tmp_path / LOG)
    assert log == [
        {"step": 1, "loss": 3},
        {"step": 2, "loss": 2, "eval_loss": 1, "train_runtime": 5, "train_loss": 2.5},
    ]
    drawn = svg(learning_curves({"sft": log, "grpo": [{"step": 1, "reward": 0.1}, {"step": 2, "reward": 0.4}]}))
    assert "sft: loss" in drawn
    assert "grpo: reward" in drawn
    assert svg(rewards_by_seed({"seed 0": [{"step": 1, "reward": 0.1}, {"step": 2, "reward": 0.4}]})).startswith("<svg")
