"""Simulator, grader and judge by name: `rules` and its variants, or a model behind an engine. Imported on use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from fiqkit.errors import UserError

if TYPE_CHECKING:
    from fiqkit.models.engine import Engine
    from fiqkit.roles.interfaces import Grader, Judge, Simulator

# kind → (module, class, what its constructor takes of (engine, seed))
SIMULATORS: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    "rules": ("simulator.rules", "RulesSimulator", ()),
    "noisy": ("simulator.rules", "NoisySimulator", ("seed",)),
    "free-form": ("simulator.rules", "FreeFormSimulator", ()),
    "llm": ("simulator.llm", "LlmSimulator", ("engine", "seed")),
}
GRADERS: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    "rules": ("grader.rules", "RulesGrader", ()),
    "llm": ("grader.llm", "LlmGrader", ("engine", "seed")),
    "cascade": ("grader.cascade", "CascadeGrader", ("engine", "seed")),
}
JUDGES: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    "rules": ("judge.rules", "RulesJudge", ()),
    "llm": ("judge.llm", "LlmJudge", ("engine", "seed")),
}


def open_simulator(name: str, engine: Engine | None = None, seed: int = 0) -> Simulator:
    """The user simulator of this kind: rules, noisy, free-form or llm.

    Raises:
        UserError: no such kind, or a kind that needs an engine came without one.
    """
    return _build("simulator", SIMULATORS, name, engine, seed)


def open_grader(name: str, engine: Engine | None = None, seed: int = 0) -> Grader:
    """The grader of this kind: rules, llm or cascade (rules first, the model where rules are unsure).

    Raises:
        UserError: no such kind, or a kind that needs an engine came without one.
    """
    return _build("grader", GRADERS, name, engine, seed)


def open_judge(name: str, engine: Engine | None = None, seed: int = 0) -> Judge:
    """The judge of this kind: rules or llm.

    Raises:
        UserError: no such kind, or a kind that needs an engine came without one.
    """
    return _build("judge", JUDGES, name, engine, seed)


def _build(
    role: str, kinds: Mapping[str, tuple[str, str, tuple[str, ...]]], name: str, engine: Engine | None, seed: int
) -> Any:
    if name not in kinds:
        raise UserError(f"no {role} named {name!r}; one of {', '.join(kinds)} is needed, or a model card's name")
    module, cls, takes = kinds[name]
    if "engine" in takes and engine is None:
        raise UserError(f"the {role} {name!r} needs a model: name a model card for it")
    make: Callable[..., Any] = getattr(import_module(f"fiqkit.roles.{module}"), cls)
    return make(**{key: value for key, value in (("engine", engine), ("seed", seed)) if key in takes})
