"""What is recorded of a run so that it can be repeated."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from fiqkit import __version__, offline
from fiqkit.agent.prompts import prompt_texts, prompts_hash

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
