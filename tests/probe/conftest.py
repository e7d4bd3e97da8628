"""Fixtures of the probe's tests; what they are made of stands in `tiny_models`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tiny_models import make_checkpoint, make_instances

from fiqkit.records import Instance


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Path of a tiny checkpoint by architecture, made once."""
    made: dict[str, Path] = {}

    def get(architecture: str) -> Path:
        if architecture not in made:
            made[architecture] = make_checkpoint(tmp_path_factory.mktemp("model") / architecture, architecture)
        return made[architecture]

    return get


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIQKIT_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="session")
def instances() -> list[Instance]:
    """The small set."""
    return make_instances()


@pytest.fixture
def instances_file(tmp_path: Path, instances: list[Instance]) -> Path:
    """The small set as a file."""
    from fiqkit.datasets import instance_row, write_jsonl

    write_jsonl(tmp_path / "instances.jsonl", (instance_row(i) for i in instances))
    return tmp_path / "instances.jsonl"
