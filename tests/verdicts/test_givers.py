"""Whoever gives verdicts is known by kind, model and weights: nobody overwrites what another one said."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from fiqkit.errors import UserError
from fiqkit.models.scripted import ScriptedEngine
from fiqkit.records import Ending, Episode, Instance, giver_name, giver_setting
from fiqkit.roles import open_grader
from fiqkit.roles.grader.cascade import CascadeGrader
from fiqkit.roles.grader.llm import LlmGrader
from fiqkit.roles.judge.llm import LlmJudge
from fiqkit.roles.simulator.llm import LlmSimulator
from fiqkit.store.load import find_giver, load_scored, verdict_givers
from fiqkit.store.store import Store
from fiqkit.verdicts.again import give_verdicts
from fiqkit.verdicts.agreement import grader_agreement

ANSWERS = ("$46.75B", "$62.87B", "$1.23B", "I cannot tell.")


class Weights(ScriptedEngine):
    """A model that gives one verdict on everything, and tells the hash of its weights, or where its server is."""

    def __init__(self, name: str, verdict: str = "other", **described: Any) -> None:
        reply = json.dumps({"value": "", "verdict": verdict, "named": []})
        super().__init__(lambda request: reply, name=name)
        self._described = described

    def describe(self) -> Mapping[str, Any]:
        return {"engine": "test", "model": self.name, **self._described}


@pytest.fixture
def store(tmp_path: Path, make_instance: Callable[..., Instance]) -> Store:
    store = Store(tmp_path / "s.db", create=True)
    instances = [make_instance(instance_id=f"t{i}") for i in range(len(ANSWERS))]
    store.begin_run("r", "run", "d", instances, {})
    store.write("r", [(Episode(f"t{i}", "m", "answer", Ending.ANSWERED, text), []) for i, text in enumerate(ANSWERS)])
    return store


def test_two_models_a_cascade_and_the_rules_are_four_graders(store: Store) -> None:
    one, other = Weights("same-name", "other", sha256="a" * 64), Weights("same-name", "refusal", sha256="b" * 64)
    graders = [LlmGrader(one), LlmGrader(other), CascadeGrader(one), open_grader("rules")]
    for grader in graders:
        assert asyncio.run(give_verdicts(store, ["r"], "grader", grader)).verdicts == len(ANSWERS)
    names = ["cascade same-name@aaaaaaaa", "llm same-name@aaaaaaaa", "llm same-name@bbbbbbbb", "rules"]
    assert verdict_givers(store, "r", "answer") == names
    outcomes = {name: [e.outcome for e in load_scored(store, ["r"], name)] for name in names}
    assert outcomes["llm same-name@aaaaaaaa"] == ["other"] * 4
    assert outcomes["llm same-name@bbbbbbbb"] == ["refusal"] * 4
    assert outcomes["rules"] == ["intended", "default", "other", "refusal"]
    for mine, theirs in combinations(names, 2):
        found = grader_agreement(store, ["r"], mine, theirs)
        assert (found["against"], found["agreement"]["intended"]["n"]) == ([theirs], 4)


def test_a_giver_is_found_by_the_setting_that_made_it(store: Store) -> None:
    for grader in (LlmGrader(Weights("m1", sha256="a" * 64)), CascadeGrader(Weights("m1", sha256="a" * 64))):
        asyncio.run(give_verdicts(store, ["r"], "grader", grader))
    assert find_giver(store, "r", "answer", "m1") == "llm m1@aaaaaaaa"
    assert load_scored(store, ["r"], "cascade:m1")[0].grader == "cascade m1@aaaaaaaa"
    asyncio.run(give_verdicts(store, ["r"], "grader", LlmGrader(Weights("m1", sha256="b" * 64))))
    with pytest.raises(UserError, match="llm m1@aaaaaaaa and of llm m1@bbbbbbbb; name one of them in full"):
        load_scored(store, ["r"], "m1")


def test_a_server_is_known_by_where_it_is_and_one_of_the_kits_own_by_its_model() -> None:
    def name(**described: Any) -> str:
        return LlmJudge(Weights("m", **described)).name

    here, there = ({"urls": [f"http://{host}:8000/v1"]} for host in ("a", "b"))
    assert name(place=here) == name(place=here)
    assert name(place=here) != name(place=there)
    assert name(place=here | {"command": ["x"]}) == name(place=there | {"command": ["y"]})


def test_names_and_settings() -> None:
    engine = Weights("qwen", sha256="9f3c21d0ffff")
    assert LlmSimulator(engine).name == LlmJudge(engine).name == giver_name("llm", "qwen", "9f3c21d0ffff")
    for name, setting in {
        "rules": "rules",
        "llm": "llm",  # as the first version filed every model's
        "llm qwen@9f3c21d0": "qwen",
        "cascade a@b@9f3c21d0": "cascade:a@b",
    }.items():
        assert giver_setting(name) == setting
