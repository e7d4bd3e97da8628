"""The same episodes through the servers that people really run, on the embedded weights (`make test-servers`).

The servers live in an environment of their own, whose Python FIQKIT_SERVERS names: their pins are not the kit's.
"""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from fiqkit.models.cards.cards import find_card
from fiqkit.models.cards.weights import locate
from fiqkit.models.vllm.child import free_port
from fiqkit.run.evaluation import Settings, Watch, evaluate
from fiqkit.run.lineup import Lineup

pytestmark = pytest.mark.servers
CONTEXT = 4096
PYTHON = os.environ.get("FIQKIT_SERVERS", sys.executable)
NATIVE = """
import sys, time, xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.port, params.n_ctx, params.n_parallel = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) * 2, 2
params.cpuparams.n_threads = 1
server = xllamacpp.Server(params)
time.sleep(3600)
"""


@contextmanager
def started(command: list[str], port: int, path: str = "/v1/models", **env: str) -> Iterator[str]:
    """A server's base URL, once it answers; it is stopped with the block."""
    process = subprocess.Popen(
        command, env={**os.environ, **env}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        deadline = time.monotonic() + 300
        while True:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5):
                    break
            except (urllib.error.URLError, OSError):
                assert process.poll() is None and time.monotonic() < deadline, f"{command[:4]} did not start"
                time.sleep(0.5)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait(30)


def need(module: str, package: str) -> None:
    """Skip where the servers' Python lacks a module."""
    code = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
    if subprocess.run([PYTHON, "-c", code]).returncode:
        pytest.skip(f"needs {package} in {PYTHON}")


@contextmanager
def llama_cpp_python() -> Iterator[str]:
    need("starlette_context", "llama-cpp-python[server]")
    port, weights = free_port(), str(locate(find_card("smollm2-135m")))
    command = [PYTHON, "-m", "llama_cpp.server", "--model", weights, "--model_alias", "smol"]
    command += ["--port", str(port), "--n_ctx", str(CONTEXT), "--n_threads", "1"]
    with started(command, port) as url:
        yield url


@contextmanager
def llama_cpp_native() -> Iterator[str]:
    need("xllamacpp", "xllamacpp")
    port, weights = free_port(), str(locate(find_card("smollm2-135m")))
    with started([PYTHON, "-c", NATIVE, weights, str(port), str(CONTEXT)], port, "/health") as url:
        yield url


@contextmanager
def litellm() -> Iterator[str]:
    """LiteLLM's proxy before llama-cpp-python's server."""
    need("litellm", "litellm[proxy]")
    with llama_cpp_python() as behind:
        port = free_port()
        model = {"model": "openai/smol", "api_base": behind, "api_key": "none"}
        config = Path(os.environ.get("TMPDIR", "/tmp")) / f"litellm-{port}.json"
        config.write_text(json.dumps({"model_list": [{"model_name": "smol", "litellm_params": model}]}))
        command = [PYTHON, "-c", "from litellm import run_server; run_server()", "--config", str(config)]
        offline = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_TELEMETRY": "False"}
        offline["LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY"] = "true"  # on loopback, for these episodes
        try:
            with started([*command, "--port", str(port), "--host", "127.0.0.1"], port, **offline) as url:
                yield url
        finally:
            config.unlink()


SERVERS = {"llama-cpp-python": llama_cpp_python, "llama.cpp (xllamacpp)": llama_cpp_native, "LiteLLM": litellm}


@pytest.mark.parametrize("name", SERVERS)
def test_the_same_episodes_through_each(tmp_path: Path, name: str) -> None:
    said: list[str] = []
    with SERVERS[name]() as url:
        lineup = Lineup(agent=(f"smol={url}",), modes=("answer", "interact"), turns=3, max_tokens=96)
        settings = Settings(lineup=lineup, store=tmp_path / "r.db", limit=2, engine={"parallel": 2})
        result = asyncio.run(evaluate(settings, Watch(said=said.append)))
    with sqlite3.connect(tmp_path / "r.db") as file:
        rows: list[Any] = file.execute("SELECT mode, ending, error, flags, prompt_tokens FROM episodes").fetchall()
        manifest = json.loads(file.execute("SELECT manifest FROM runs").fetchone()[0])
    engine = manifest["agents"][0]["engine"]
    found = {key: engine[key] for key in ("dialect", "server", "context", "structured", "system_role")}
    print("\n", name, found, manifest["probe"], said, rows)
    assert result.complete and len(rows) == 4
    assert {ending for _, ending, *_ in rows} <= {"answered", "budget", "truncated", "parse_failure"}
    assert all(tokens > 100 for *_, tokens in rows)
