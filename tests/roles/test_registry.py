"""Roles by name."""

import subprocess
import sys

import pytest

from fiqkit import roles
from fiqkit.errors import UserError
from fiqkit.models.scripted import ScriptedEngine


def test_rules_need_no_engine_and_go_by_their_name() -> None:
    for opened in (roles.open_simulator("rules"), roles.open_grader("rules"), roles.open_judge("rules")):
        assert opened.name == "rules"


@pytest.mark.parametrize(
    ("opener", "kinds"),
    [
        (roles.open_simulator, roles.SIMULATORS),
        (roles.open_grader, roles.GRADERS),
        (roles.open_judge, roles.JUDGES),
    ],
)
def test_every_kind_opens_and_describes_itself(opener: object, kinds: dict) -> None:
    engine = ScriptedEngine(["yes"])
    for kind in kinds:
        opened = opener(kind, engine, seed=3)  # type: ignore[operator]
        assert opened.name.partition(" ")[0] == kind
        assert opened.describe()


def test_opening_again_after_the_submodule_is_loaded() -> None:
    import fiqkit.roles.grader.rules
    import fiqkit.roles.judge.rules
    import fiqkit.roles.simulator.rules  # noqa: F401

    assert roles.open_grader("rules").name == "rules"


def test_unknown_kind_names_the_ones_there_are() -> None:
    with pytest.raises(UserError, match=r"no judge named 'gpt'; one of rules, llm is needed"):
        roles.open_judge("gpt")


def test_a_model_kind_without_a_model() -> None:
    with pytest.raises(UserError, match="grader 'cascade' needs a model"):
        roles.open_grader("cascade")


def test_importing_the_registry_loads_no_role() -> None:
    code = "import sys, fiqkit.roles; print([m for m in sys.modules if m.startswith('fiqkit.roles.')])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"
