"""Shared fixtures: the published data where it is at hand, and a network that is not there."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

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
