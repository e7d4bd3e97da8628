"""Steering: the hooks push by exactly so much, leave nothing behind, and the agent's first action is measured."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fiqkit.commands.probe import numbers
from fiqkit.errors import UserError
from fiqkit.models.engine import Capabilities, Completion, Request
from fiqkit.probe import steering as room
from fiqkit.probe.capture import capture, decoder_of
from fiqkit.probe.checkpoint import find_checkpoint, load_model, load_tokenizer
from fiqkit.probe.output import gate_line, tables
from fiqkit.probe.study import Settings, Study, probe
from fiqkit.records import Instance

IDS = [[5, 6, 7, 8], [9, 10]]


@pytest.mark.parametrize("architecture", ["qwen3", "qwen3_next"])
def test_a_push_moves_its_own_point_by_exactly_so_much_and_is_gone_afterwards(
    architecture: str, checkpoint: Callable[[str], Path]
) -> None:
    model = load_model(find_checkpoint(str(checkpoint(architecture))), "f32")
    vector = np.random.default_rng(0).standard_normal(32).astype(np.float32)
    still = capture(model, IDS)
    for point in (0, 2, 4):
        with room.pushed(model, {point: vector}, -1.5):
            moved = capture(model, IDS)
        torch.testing.assert_close(moved[:point], still[:point])
        if point:  # point 0 is read by the capture's own hook before the push
            expected = still[point] + torch.from_numpy(-1.5 * vector)
            torch.testing.assert_close(moved[point], expected, atol=1e-4, rtol=1e-4)
        assert not torch.allclose(moved[-1], still[-1])
    torch.testing.assert_close(capture(model, IDS), still)
    assert not any(layer._forward_hooks or layer._forward_pre_hooks for layer in decoder_of(model).layers)


def test_random_directions_have_the_lengths_of_the_direction() -> None:
    vectors = {3: np.array([3.0, 4.0], np.float32), 5: np.ones(16, np.float32)}
    drawn = room.random_like(vectors, seed=1)
    assert np.linalg.norm(drawn[3]) == pytest.approx(5) and np.linalg.norm(drawn[5]) == pytest.approx(4)
    assert not np.allclose(drawn[5], vectors[5])


class Scripted:
    """An engine that replies by what the prompt holds."""

    name, context, can = "scripted", 4096, Capabilities()

    def __init__(self, replies: Mapping[str, str]) -> None:
        self.replies = replies

    async def complete(self, request: Request) -> Completion:
        prompt = str(request.messages)
        return Completion(next((text for key, text in self.replies.items() if key in prompt), "no action"))


def test_rates_count_valid_questions_and_true_categories(instances: list[Instance]) -> None:
    ask = '{"action": "interact", "question": "Do you mean net income attributable to shareholders of the parent?"}'
    answer = '{"action": "answer", "response": "1", "confidence": 80}'
    four = instances[:4]
    assert [i.primary for i in four] == ["entity_scope", "metric_definition", "temporal_scope", "entity_scope"]
    engine = Scripted({four[0].question: ask, four[1].question: ask, four[2].question: answer})
    turns = asyncio.run(room.first_turns(four, "interact", engine))  # type: ignore[arg-type]
    assert [turn.action for turn in turns] == ["interact", "interact", "answer", "invalid"]
    measured = asyncio.run(room.measured(four, turns))
    assert measured.tolist() == [[1, 1, 1], [1, 1, 0], [1, 0, 0], [0, 0, 0]]
    row = room._rates(four, [measured, measured * [1, 0, 0]], seed=0)
    assert row["interaction_rate"] == 0.25 and row["valid_rate"] == 0.75 and row["ac1_touch"] == 0.5
    assert room._rates(four, [measured * 0], seed=0)["ac1_touch"] is None


def test_a_reply_begins_as_every_action_does(checkpoint: Callable[[str], Path], instances: list[Instance]) -> None:
    """What the model is given to go on from, and what the environment reads, are one JSON object."""
    found = find_checkpoint(str(checkpoint("qwen3")))
    tokenizer = load_tokenizer(found)
    seen: list[Request] = []

    class Ending(Scripted):
        ready = close = describe = None

        async def complete(self, request: Request) -> Completion:
            seen.append(request)
            return Completion('search", "query": "revenue"', finish="stop")

    engine = room.BegunReply(Ending({}), tokenizer)  # type: ignore[arg-type]
    (turn,) = asyncio.run(room.first_turns(instances[:1], "interact", engine))
    assert (turn.action, turn.content) == ("search", {"query": "revenue"})
    assert tokenizer.decode(seen[0].prompt_ids).endswith('{"action": "')
    assert seen[0].sampling.stop == ("}",)


def test_the_table_has_one_set_of_columns_whether_or_not_anybody_asked(instances: list[Instance]) -> None:
    measured = np.array([[1.0, 1, 1], [1, 1, 0], [1, 0, 0], [0, 0, 0]])
    rows = [
        {"kind": "direction", "alpha": alpha, **room._rates(instances[:4], [found], seed=0)}
        for alpha, found in ((-1.0, measured * 0), (1.0, measured))
    ]
    result = {"direction": {"profile": []}, "category": {"profile": []}, "controls": {}, "claims": []}
    silent, asked = tables({**result, "steering": {"rows": rows}})["steering"]
    assert list(silent) == list(asked)
    assert (silent["ac1_touch_ci_low"], silent["interaction_rate_ci_low"]) == (None, 0.0)
    assert 0.5 < silent["interaction_rate_ci_high"] < 1  # none of four is no certainty
    assert asked["ac1_touch_ci_low"] <= asked["ac1_touch"] == 0.5 <= asked["ac1_touch_ci_high"]


def test_the_gate_says_on_how_many_items_either_measure_rests() -> None:
    gate = {"items": 8, "items_with_confidence": 3, "direction_auroc": 1.0, "direction_auroc_same_items": 0.75}
    line = gate_line({**gate, "confidence_auroc": 0.5})
    assert "1.00 on 8 items" in line and "on the 3 whose" in line and line.endswith("0.75, of stated confidence 0.50")
    assert gate_line({**gate, "confidence_auroc": None}).endswith("no confidence was stated twice")


def test_stated_confidence_gates_as_well_as_it_orders(instances: list[Instance]) -> None:
    assert room._ask_auroc(np.array([[-20.0, -30.0], [-90.0, -80.0]])) == 1.0
    assert room._ask_auroc(np.array([[-50.0, -50.0], [-50.0, -50.0]])) == 0.5


@pytest.fixture
def study(checkpoint: Callable[[str], Path], instances: list[Instance], tmp_path: Path) -> Study:
    settings = Settings(str(checkpoint("qwen3")), tmp_path, folds=3, permutations=19, layers=[2, 3])
    return probe(instances, settings, lambda _: None, lambda *_: None)


@pytest.mark.slow
def test_steering_measures_every_strength_for_the_direction_and_for_random_ones(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "MAX_TOKENS", 4)
    _long_context(monkeypatch)
    found = room.steer(study, room.Plan(alphas=(-2, 0, 2), points=(2, 4), items=3, randoms=1), "f32", lambda *_: None)
    assert [(row["kind"], row["alpha"]) for row in found["rows"]] == [
        (kind, alpha) for kind in ("direction", "random") for alpha in (-2, 0, 2)
    ]
    assert found["points"] == [2, 4] and found["items"] == 3
    assert found["gate"]["items"] == 3 and found["gate"]["confidence_auroc"] is None
    assert 0 <= found["gate"]["direction_auroc"] <= 1


def test_the_steering_direction_has_not_seen_the_steered_items(study: Study) -> None:
    states = study.states.layer(3)
    others = study.items.folds != room.FOLD
    expected = (states["plain"][others] - states["context"][others]).mean(axis=0)
    np.testing.assert_allclose(room.directions(study, [3])[3], expected, rtol=1e-6)


def test_points_and_strengths_out_of_range_are_one_line(study: Study) -> None:
    with pytest.raises(UserError, match="--steer-layers 9 is out of range; this model has 0 to 4"):
        room.steer(study, room.Plan(points=(9,)), "f32", lambda *_: None)
    assert numbers("-4,0,1.5") == (-4, 0, 1.5)
    for wrong in ("", "a", "1,nan", "1,,2"):
        with pytest.raises(UserError, match="--alphas"):
            numbers(wrong)


def _long_context(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tiny tokenizer spends a token on each byte, so the agent's opening needs a long context."""
    load = room.load_model

    def longer(*arguments: Any) -> Any:
        model = load(*arguments)
        model.config.max_position_embeddings = 32768
        return model

    monkeypatch.setattr(room, "load_model", longer)
    from fiqkit.models.local.transformers import TransformersEngine

    wrap = TransformersEngine.wrap
    monkeypatch.setattr(TransformersEngine, "wrap", lambda *a, **k: wrap(*a, **{**k, "context": 16384}))
