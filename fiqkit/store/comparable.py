"""Whether episodes of two sessions, or of two machines, belong to one run: all that could change one must be equal."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from fiqkit.errors import UserError

_OF_A_PART = ("dataset", "instances", "agent")  # settings in which the parts of one experiment may differ
_DESCRIBED = ("prompts", "roles", "index")


def check_same(run: str, before: Mapping[str, Any], now: Mapping[str, Any], defaults: Mapping[str, Any]) -> None:
    """Refuse to resume a run under settings, prompts or weights that would make its episodes differ.

    Args:
        before, now: two manifests.
        defaults: of settings that a manifest written by an earlier version does not have.

    Raises:
        UserError: names the first difference.
    """
    then = {**defaults, **before["settings"]}
    pairs = {f"setting {key}": (then.get(key), value) for key, value in now["settings"].items()}
    pairs |= {key: (before.get(key), now.get(key)) for key in _DESCRIBED}
    there, here = _agents(before), _agents(now)
    pairs |= {f"agent {name}": (there[name], agent) for name, agent in here.items() if name in there}
    for name, one, other in _differences(pairs):
        raise UserError(
            f"run {run} cannot be resumed: its {name} was {_short(one)} and is now {_short(other)}; "
            "repeat the arguments it was started with, or start a new run"
        )


def check_parts(manifests: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse to make one run of several that differ in more than their agents and instances.

    An agent that two of them have must be the same one in both: model, weights, sampling.

    Raises:
        UserError: names the two runs and the first difference.
    """
    (first, model), *others = manifests.items()
    for run, manifest in others:
        settings, other = model.get("settings", {}), manifest.get("settings", {})
        pairs = {key: (settings.get(key), other.get(key)) for key in {**settings, **other} if key not in _OF_A_PART}
        pairs |= {key: (model.get(key), manifest.get(key)) for key in _DESCRIBED}
        for name, *_ in _differences(pairs):
            raise UserError(f"runs {first} and {run} differ in {name!r}; they are not parts of one run")
    known: dict[str, tuple[str, Any]] = {}
    for run, manifest in manifests.items():
        for name, agent in _agents(manifest).items():
            there, described = known.setdefault(name, (run, agent))
            for _ in _differences({name: (described, agent)}):
                raise UserError(
                    f"runs {there} and {run} each have an agent {name!r}, and the two are not the same; they "
                    "are not parts of one run"
                )


def _agents(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The agents of a manifest by name, but for those whose model could not run: it was never asked what it is."""
    return {agent["name"]: agent for agent in manifest.get("agents", ()) if "left_out" not in agent}


def _differences(pairs: Mapping[str, tuple[Any, Any]]) -> Iterator[tuple[str, Any, Any]]:
    for name, both in pairs.items():
        one, other = map(_lasting, both)
        if one != other:
            yield name, one, other


def _lasting(value: Any) -> Any:
    """A described thing as the store gives it back, without what may differ and change no episode: how many threads,
    and the place (URLs, logs) of the same model."""
    if isinstance(value, Mapping):
        return {key: _lasting(item) for key, item in value.items() if key not in ("threads", "place")}
    return [_lasting(item) for item in value] if isinstance(value, list | tuple) else value


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 100 else text[:97] + "..."
