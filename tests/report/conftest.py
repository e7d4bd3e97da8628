from __future__ import annotations

from pathlib import Path

import pytest
from invented import invented_episode, invented_instance

from fiqkit.store.store import Store


@pytest.fixture(scope="session")
def store_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models in two modes over eight instances in two languages; one engine error, one unscored, one budget."""
    path = tmp_path_factory.mktemp("store") / "runs.db"
    store = Store(path, create=True)
    instances = [invented_instance(i) for i in range(8)]
    store.begin_run("r1", "run", "d", instances, {})
    for model in ("alpha", "beta & co"):
        for mode in ("search", "interact"):
            for i in range(8):
                store.write("r1", [invented_episode(model, mode, i)])
    store.set_status("r1", "partial")
    store.close()
    return path
