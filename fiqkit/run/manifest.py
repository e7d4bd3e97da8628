"""What is recorded of a run so that it can be repeated."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from fiqkit import __version__, offline
from fiqkit.agent.prompts import prompt_texts, prompts_hash
from fiqkit.errors import UserError

_PACKAGES = (
    "llama-cpp-python",
    "vllm",
    "transformers",
    "torch",
    "faiss-cpu",
    "bm25s",
    "sentence-transformers",
    "numpy",
)


def versions() -> dict[str, str]:
    """Versions of this kit, Python and the libraries that can change a result."""
    found = {"fiqkit": __version__, "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def manifest(
    settings: Mapping[str, Any],
    agents: Sequence[Mapping[str, Any]],
    roles: Mapping[str, Mapping[str, Any]],
    index: Mapping[str, Any] | None,
    prompts: Path | None = None,
) -> dict[str, Any]:
    """The manifest of a new run. `settings` is what a resumed run must have equal; `prompts` a folder of own ones."""
    return {
        "settings": dict(settings),
        "agents": [dict(agent) for agent in agents],
        "roles": {name: dict(role) for name, role in roles.items()},
        "index": None if index is None else dict(index),
        "prompts": prompts_hash(prompts),
        "prompt_texts": prompt_texts(prompts),
        "versions": versions(),
        "offline": offline.state(),
        "machine": {"system": platform.system(), "processor": platform.machine()},
    }


def check_same(run: str, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Refuse to resume a run under settings, prompts or weights that would make its episodes differ.

    Raises:
        UserError: names the first difference.
    """
    pairs = {f"setting {k}": (before["settings"].get(k), now["settings"][k]) for k in now["settings"]}
    pairs |= {k: (before[k], now[k]) for k in ("prompts", "agents", "roles", "index")}
    for name, (then, today) in pairs.items():
        then, today = _lasting(then), _lasting(today)
        if then != today:
            raise UserError(
                f"run {run} cannot be resumed: its {name} was {_short(then)} and is now {_short(today)}; "
                "repeat the arguments it was started with, or start a new run"
            )


def _lasting(value: Any) -> Any:
    """A described thing as the store gives it back, without what may differ and change no episode: how many threads,
    and the place (URLs, logs) of the same model."""
    if isinstance(value, Mapping):
        return {key: _lasting(item) for key, item in value.items() if key not in ("threads", "place")}
    return [_lasting(item) for item in value] if isinstance(value, list | tuple) else value


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 100 else text[:97] + "..."
