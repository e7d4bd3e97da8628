"""Erasing the direction: LEACE as its authors have it, the hook, and the experiment on a tiny model."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from test_steering import _long_context

from fiqkit.probe import erasure as room
from fiqkit.probe import steering
from fiqkit.probe.capture import capture
from fiqkit.probe.checkpoint import find_checkpoint, load_model
from fiqkit.probe.claims import _about_use
from fiqkit.probe.edits import edited
from fiqkit.probe.folds import Floats
from fiqkit.probe.output import write
from fiqkit.probe.study import Settings, probe
from fiqkit.records import Instance


def planted(n: int, width: int, seed: int = 0) -> tuple[Floats, Any]:
    """States with correlated dimensions, of which a direction tells a concept."""
    rng = np.random.default_rng(seed)
    concept = np.arange(n) % 2 == 0
    states = rng.standard_normal((n, width)) @ rng.standard_normal((width, width)) + 3
    return states + 2 * concept[:, None] * rng.standard_normal(width), concept


def test_the_eraser_is_leace() -> None:
    oracle = pytest.importorskip("concept_erasure")
    states, concept = planted(200, 12)
    eraser = oracle.LeaceEraser.fit(
        torch.from_numpy(states),
        torch.from_numpy(concept.astype(np.float64)),
        shrinkage=False,
        constrain_cov_trace=False,
        svd_tol=1e-9,
    )
    fresh = planted(50, 12, seed=1)[0]
    expected = eraser(torch.from_numpy(fresh)).numpy()
    np.testing.assert_allclose(room.leace(states, concept, shrinkage=0.0)(fresh), expected, atol=1e-8)


@settings(max_examples=20, deadline=None)
@given(
    n=st.integers(6, 40), width=st.integers(2, 60), shrinkage=st.none() | st.floats(0.01, 1), seed=st.integers(0, 99)
)
def test_nothing_linear_is_left_of_the_concept(n: int, width: int, shrinkage: float | None, seed: int) -> None:
    """Whatever the shrinkage, and with fewer states than dimensions: the two means meet, and only one rank is gone."""
    states, concept = planted(n, width, seed)
    eraser = room.leace(states, concept, shrinkage)
    erased = eraser(states)
    gap = lambda x: x[concept].mean(axis=0) - x[~concept].mean(axis=0)  # noqa: E731
    assert np.abs(gap(erased)).max() < 1e-6 * max(1.0, np.abs(gap(states)).max())
    assert np.linalg.matrix_rank(states - erased, tol=1e-6) == 1
    np.testing.assert_allclose(eraser(erased), erased, atol=1e-6)
    other = room.Spread.of(states, shrinkage).eraser(np.random.default_rng(seed).standard_normal(width))
    assert np.abs(gap(other(states))).max() > 0  # a random direction leaves it


def test_random_directions_lie_as_the_states_do() -> None:
    spread = room.Spread.of(planted(30, 4)[0], shrinkage=0.3)
    rng = np.random.default_rng(0)
    drawn = np.stack([spread.draw(rng) for _ in range(20_000)])
    sample = spread.centred.T @ spread.centred / 30
    expected = 0.7 * sample + 0.3 * np.trace(sample) / 4 * np.eye(4)
    np.testing.assert_allclose(drawn.T @ drawn / len(drawn), expected, atol=0.04 * np.trace(expected))
    vector = rng.standard_normal(4)
    np.testing.assert_allclose(expected @ spread.solve(vector), vector, atol=1e-9)


def test_a_model_runs_without_the_direction_and_with_it_again_afterwards(checkpoint: Callable[[str], Path]) -> None:
    model = load_model(find_checkpoint(str(checkpoint("qwen3"))), "f32")
    ids = [[5, 6, 7, 8], [9, 10], [11, 12, 13]]
    still = capture(model, ids)
    eraser = room.leace(still[2].numpy(), np.array([True, False, True]))
    with edited(model, {2: eraser.edit()}):
        erased = capture(model, ids)
    torch.testing.assert_close(erased[:2], still[:2])
    np.testing.assert_allclose(erased[2], eraser(still[2].numpy()), atol=1e-4)
    assert not torch.allclose(erased[-1], still[-1])
    torch.testing.assert_close(capture(model, ids), still)


@pytest.mark.slow
def test_the_experiment_plays_question_and_twin_under_every_eraser(
    checkpoint: Callable[[str], Path], instances: list[Instance], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = probe(
        instances,
        Settings(str(checkpoint("qwen3")), tmp_path, folds=3, permutations=19, layers=[2, 3]),
        lambda _: None,
        lambda *_: None,
    )
    monkeypatch.setattr(steering, "MAX_TOKENS", 4)
    _long_context(monkeypatch)
    in_fold = int((study.items.folds == 0).sum())
    plan = room.Plan(items=in_fold + 1, randoms=2)
    monkeypatch.setattr(room, "load_model", steering.load_model)
    before = len(study.result["claims"])
    study.add("erasure", room.erase(study, plan, "f32", lambda *_: None))
    found = study.result["erasure"]
    assert len({study.items.clusters[i] for i in room._by_turns(study, np.arange(7))[:3]}) == 3
    assert found["items"] == in_fold + 1 and set(found["points"]) <= {2, 3}
    nothing, direction, random = found["rows"]
    assert [row["kind"] for row in found["rows"]] == ["nothing", "direction", "random"]
    assert nothing["moved"] == 0 < direction["moved"] and random["moved"] < 1
    assert abs(direction["separation_left"]) < abs(nothing["separation_left"])
    assert len(study.result["claims"]) == before + 2 and study.result["claims"][-1]["verdict"] == "not tested"
    json.dumps(study.result, allow_nan=False)
    assert {"erasure.csv", "erasure.svg"} <= {path.name for path in write(study.result, tmp_path)}


def verdicts(still: float, asked: tuple[float, float, float], right: tuple[float, float, float]) -> list[str]:
    """The verdicts on use for (difference, lower end, p) of asking and of the twin."""
    row = {"interaction_rate": still, "twin_accuracy": still}
    sides = {
        name: {"difference": d, "ci": [low, d + 0.2], "p": p}
        for name, (d, low, p) in (("asked", asked), ("twin_right", right))
    }
    result = {"erasure": {"rows": [row], "items": 20, "companies": 12, "against_random": sides}}
    return [claim.verdict for claim in _about_use(result)]


def test_a_direction_is_used_when_asking_falls_beyond_chance_and_answers_stay() -> None:
    assert verdicts(0.6, (-0.5, -0.7, 0.01), (0.0, -0.05, 1.0)) == ["survives", "survives"]
    assert verdicts(0.6, (-0.1, -0.4, 0.5), (-0.1, -0.3, 0.4)) == ["does not survive", "weakened"]
    assert verdicts(0.6, (0.5, 0.3, 0.01), (-0.4, -0.6, 0.01)) == ["does not survive", "does not survive"]
    assert verdicts(0.0, (0.0, -0.1, 1.0), (0.0, -0.1, 1.0)) == ["not tested", "not tested"]
