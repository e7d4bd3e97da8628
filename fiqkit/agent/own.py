"""An agent of the user's own: `--agent module:factory`, or `module:factory@CARD` for one that asks a model.

The factory is called once an episode, as `factory(seed=…)` or `factory(seed=…, engine=…)`, and gives a policy: an
object with `act(dialogue)`, which returns the next reply, a JSON action as text or a `Completion`; `act` may be async.
What it says is held to the same rules as what a model says. docs/own-agent.md has an example.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from fiqkit.agent.dialogue import Dialogue
from fiqkit.errors import UserError
from fiqkit.models.engine import Completion, Engine
from fiqkit.roles.draws import seed_of

_NAME = re.compile(r"([A-Za-z_][\w.]*):([A-Za-z_]\w*)(?:@(.+))?")


def names_factory(name: str) -> bool:
    """Whether an agent's name is a factory's."""
    return _NAME.fullmatch(name) is not None


def card_of(name: str) -> str | None:
    """The model card that a factory's policies ask, or None."""
    found = _NAME.fullmatch(name)
    return found[3] if found else None


def check(agents: Iterable[str]) -> None:
    """Import the factories among some agents' names.

    Raises:
        UserError: as `OwnAgent`.
    """
    for name in filter(names_factory, agents):
        _import(name)


class OwnAgent:
    """An agent whose policies a factory of the user's own makes."""

    def __init__(self, name: str, engine: Engine | None = None, seed: int = 0) -> None:
        """Import the factory; the working directory is searched first.

        Raises:
            UserError: no such module or name in it, or it cannot be called.
        """
        self.name = name
        self.engine = engine
        self._seed = seed
        self._factory, self._file = _import(name)

    def begin(self, instance_id: str, mode: str, sample: int = 0) -> _OwnPolicy:
        """A policy with a seed of its own for this episode; the instance's id is not handed on."""
        given: dict[str, Any] = {"seed": seed_of(self._seed, instance_id, mode, sample)}
        if self.engine is not None:
            given["engine"] = self.engine
        return _OwnPolicy(self._factory(**given))

    def describe(self) -> Mapping[str, Any]:
        """The factory, the hash of the file it stands in, and the engine that it asks."""
        source = hashlib.sha256(self._file.read_bytes()).hexdigest()[:16] if self._file else None
        engine = dict(self.engine.describe()) if self.engine else {"engine": "own policy"}
        return {"name": self.name, "source": source, "engine": engine}


class _OwnPolicy:
    def __init__(self, policy: Any) -> None:
        self._policy = policy

    async def act(self, dialogue: Dialogue) -> Completion:
        reply = self._policy.act(dialogue)
        if inspect.isawaitable(reply):
            reply = await reply
        if isinstance(reply, str):
            return Completion(reply)
        if not isinstance(reply, Completion):
            raise TypeError(f"act() gave {type(reply).__name__}; a JSON action as text, or a Completion, is needed")
        return reply


def _import(name: str) -> tuple[Callable[..., Any], Path | None]:
    found = _NAME.fullmatch(name)
    if found is None:
        raise UserError(f"agent {name!r}: not module:factory")
    module_name, factory_name, _ = found.groups()
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise UserError(f"agent {name!r}: {module_name} needs {error.name!r}, which is not installed") from error
        raise UserError(
            f"agent {name!r}: there is no module {module_name!r} in {Path.cwd()} or among the installed ones"
        ) from error
    except Exception as error:
        raise UserError(
            f"agent {name!r}: {module_name} cannot be imported ({type(error).__name__}: {error})"
        ) from error
    factory = getattr(module, factory_name, None)
    if not callable(factory):
        raise UserError(f"agent {name!r}: {module_name} has nothing named {factory_name!r} that can be called")
    return factory, Path(module.__file__) if module.__file__ else None
