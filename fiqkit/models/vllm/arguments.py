"""Arguments of vLLM that no card may give: with them it would read a pickle, or run code that comes with a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fiqkit.errors import UserError

SAFE_FORMAT = "safetensors"  # vLLM's own default falls back to pickles
_PICKLED = ("pt", "npcache")
_HIDDEN = "config"  # a file of further arguments, which would have to be read to be believed
_FORMAT, _CODE = "load-format", "trust-remote-code"
_SHORTEST = 3  # letters to which its command line takes a name to be cut


def check_arguments(who: str, arguments: Mapping[str, Any] | Sequence[str]) -> None:
    """Refuse arguments of a card by which vLLM reads a pickle or runs a model's own code.

    Args:
        arguments: fields of EngineArgs, such as {"load_format": "pt"}, or words of its command line, such as
            ["--load-format", "pt"].

    Raises:
        UserError: names the argument.
    """
    for name, value in _named(arguments):
        if _means(name, _FORMAT) and str(value).lower() in _PICKLED:
            raise UserError(f"{who}: vLLM's load format {value} reads pickles, which could run code; leave it out")
        if _means(name, _CODE) and value is not False:
            raise UserError(f"{who}: {_CODE} runs code that comes with a model, which is never done; leave it out")
        if _means(name, _HIDDEN) and not isinstance(arguments, Mapping):
            raise UserError(f"{who}: give vLLM's arguments themselves, not a file of them (--{_HIDDEN})")


def _named(arguments: Mapping[str, Any] | Sequence[str]) -> list[tuple[str, Any]]:
    """Name, in dashes, and value; on a command line the value may be the next word."""
    if isinstance(arguments, Mapping):
        return [(name.replace("_", "-"), value) for name, value in arguments.items()]
    found = []
    for word, following in zip(arguments, [*arguments, ""][1:], strict=True):
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            found.append((name.replace("_", "-"), value if equals else following))
    return found


def _means(name: str, whole: str) -> bool:
    return len(name) >= _SHORTEST and whole.startswith(name)
