"""Shared fixtures: the published data where it is at hand, and a network that is not there."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fiqkit.records import Instance, Interpretation

os.environ.update(OMP_NUM_THREADS="1", HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1", TOKENIZERS_PARALLELISM="false")

ROOT = Path(__file__).parent.parent
SHARED = Path(os.environ.get("FIQKIT_SHARED", ROOT.parent / "shared"))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of the published data that conformance tests hold the kit against."""
    data = SHARED / "data"
    if not data.is_dir():
        pytest.skip(f"published data not at hand: {data} (set FIQKIT_SHARED)")
    return data


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse every connection that leaves this machine."""
    connect = socket.socket.connect

    def local_only(sock: socket.socket, address: object) -> None:
        host = address[0] if isinstance(address, tuple) else ""
        if sock.family in (socket.AF_INET, socket.AF_INET6) and host not in ("127.0.0.1", "::1", "localhost"):
            raise OSError(f"a test tried to reach {host}")
        connect(sock, address)  # type: ignore[arg-type]

    monkeypatch.setattr(socket.socket, "connect", local_only)


@pytest.fixture
def make_instance() -> Callable[..., Instance]:
    """Makes an instance about an invented company; any field can be replaced."""

    def make(**fields: Any) -> Instance:
        usual: dict[str, Any] = {
            "instance_id": "t1",
            "question": "What was Quillmark's operating income?",
            "context": "Total company, consolidated, for the fiscal year 2023.",
            "answer": "$46.75B",
            "default_answer": "$62.87B",
            "intended_interpretation": Interpretation("Quillmark consolidated", "FY2023", "operating income", "GAAP"),
            "default_interpretation": Interpretation("Pottery segment", "FY2023", "operating income", "GAAP"),
            "categories": ("entity_scope",),
            "h0": 1.585,
            "language": "en",
            "intended_evidence_span": "Income from operations for 2023 was $46.75 billion.",
            "default_evidence_span": "Pottery: income from operations $62,871 million.",
            "company": "Quillmark",
            "ticker": "QUIL",
        }
        return Instance(**usual | fields)

    return make
