"""Models: engines that complete prompts, and the cards that say which model runs on which engine.

    engine = open_engine("smollm2-135m")          # a card, a path of a GGUF file or model folder, or an http URL
    completion = await engine.complete(Request(messages=[{"role": "user", "content": "Hello"}]))

Adding an engine is one file with an `open_engine(card, **settings)` and one line in `ENGINES`.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fiqkit.errors import UserError
from fiqkit.models.cards.cards import Card, find_card
from fiqkit.models.engine import Engine


@dataclass(frozen=True, slots=True)
class EngineEntry:
    """Where an engine's opener is, the module it cannot do without, and the command that installs that module."""

    target: str  # "module:function"; the function takes the card and keyword settings and returns an Engine
    requires: str
    install: str

    def installed(self) -> bool:
        """Whether the module that the engine needs can be found. Imports nothing."""
        return importlib.util.find_spec(self.requires) is not None


ENGINES = {
    "llama_cpp": EngineEntry("fiqkit.models.local.llama_cpp:open_engine", "llama_cpp", 'pip install "fiqkit[local]"'),
    "transformers": EngineEntry(
        "fiqkit.models.local.transformers:open_engine", "transformers", 'pip install "fiqkit[probe]"'
    ),
    "vllm": EngineEntry("fiqkit.models.vllm.in_process:open_engine", "vllm", 'pip install "fiqkit[vllm]"'),
    "vllm-server": EngineEntry("fiqkit.models.vllm.child:open_engine", "aiohttp", "pip install aiohttp"),
    "openai": EngineEntry("fiqkit.models.served.openai:open_engine", "aiohttp", "pip install aiohttp"),
}


def open_engine(model: str | Card, *, cards: Path | None = None, engine: str | None = None, **settings: Any) -> Engine:
    """Open a model: load its weights, start its server or connect to it. Blocks until the model can complete.

    Args:
        model: a card, the name of one, the path of a GGUF file or model folder, or the http URL of a server
            (`http://host:8000/v1#model`).
        cards: a TOML file of the user's own cards (default: the FIQKIT_CARDS variable).
        engine: run the card on another engine than the one it names.
        settings: override the card's settings; each engine's `open_engine` lists its own.

    Raises:
        UserError: unknown card, engine or setting; a package, weights or server that is missing.
    """
    card = model if isinstance(model, Card) else find_card(model, cards)
    name = engine or card.engine
    entry = ENGINES.get(name)
    if entry is None:
        raise UserError(f"{card.name}: unknown engine {name!r}; the engines are {', '.join(ENGINES)}")
    if not entry.installed():
        raise UserError(f"{card.name}: engine {name} needs the package {entry.requires}: {entry.install}")
    module, function = entry.target.split(":")
    opener = getattr(importlib.import_module(module), function)
    merged = {**card.settings, **settings}
    _check_settings(opener, card, name, merged)
    opened: Engine = opener(card, **merged)
    return opened


# Annotation of a setting → the types that a value may have, and how a person would call them.
_PLAIN: dict[str, tuple[tuple[type, ...], str]] = {
    "int": ((int,), "int"),
    "float": ((int, float), "float"),
    "bool": ((bool,), "bool"),
    "str": ((str,), "str"),
    "Sequence[str]": ((list, tuple), "a list of texts"),
    "Mapping[str, Any]": ((dict,), "a table"),
    "Mapping[str, str]": ((dict,), "a table of texts"),
}


def _check_settings(opener: Any, card: Card, engine: str, settings: dict[str, Any]) -> None:
    parameters = inspect.signature(opener).parameters
    known = list(parameters)[1:]
    for setting, value in settings.items():
        if setting not in known:
            raise UserError(
                f"{card.name}: engine {engine} has no setting {setting!r}; its settings are {', '.join(known)}"
            )
        kinds, called = _PLAIN.get(str(parameters[setting].annotation).removesuffix(" | None"), ((), ""))
        parts = list(value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ())
        loose = "texts" in called and not all(isinstance(part, str) for part in parts)
        if kinds and value is not None and (type(value) not in kinds or loose):
            raise UserError(f"{card.name}: the setting {setting} of engine {engine} is {value!r}; give it as {called}")
