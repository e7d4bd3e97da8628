"""Real model servers on the embedded weights, each started for the length of a block.

A start may take minutes on a busy machine; one that fails says what the server wrote.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fiqkit.models.cards.cards import find_card
from fiqkit.models.cards.weights import locate, to_transformers
from fiqkit.models.vllm.child import free_port

CONTEXT = 4096
START = 1200.0  # seconds
PYTHON = os.environ.get("FIQKIT_SERVERS") or sys.executable
VLLM = os.environ.get("FIQKIT_VLLM", "")
# SmolLM2's own template, and a thinking mode for servers whose template can be given.
CHAT = (
    "{%- if messages[0]['role'] != 'system' %}{{ '<|im_start|>system\nYou are a helpful AI assistant named SmolLM, "
    "trained by Hugging Face<|im_end|>\n' }}{% endif %}{%- for message in messages %}{{ '<|im_start|>' + "
    "message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}{% endfor %}{%- if add_generation_prompt %}"
    "{{ '<|im_start|>assistant\n' }}{%- if thinking is defined %}{{ '<think>\n' if thinking else "
    "'<think>\n\n</think>\n\n' }}{% endif %}{% endif %}"
)
NATIVE = """
import sys, time, xllamacpp
path, port, context, template = sys.argv[1:]
params = xllamacpp.CommonParams()
params.model.path, params.port, params.chat_template = path, int(port), open(template).read()
params.n_ctx, params.n_parallel = int(context) * 2, 2
params.cpuparams.n_threads = 1
server = xllamacpp.Server(params)
time.sleep(36000)
"""


@contextmanager
def started(command: list[str], port: int, log: Path, path: str = "/v1/models", **env: str) -> Iterator[str]:
    """A server's base URL, once it answers; it is stopped with the block."""
    own = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    with log.open("wb") as out:
        process = subprocess.Popen(command, env={**own, **env}, stdout=out, stderr=out, start_new_session=True)
    try:
        began = time.monotonic()
        while not _answers(f"http://127.0.0.1:{port}{path}"):
            ended, late = process.poll() is not None, time.monotonic() - began > START
            assert not ended and not late, f"{command[:4]} did not start:\n{log.read_text(errors='replace')[-3000:]}"
            time.sleep(0.5)
        print(f"\nstarted in {time.monotonic() - began:.0f} s")
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as reply:
            return bool(reply.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _need(python: str, module: str, package: str) -> None:
    """Skip where the servers' Python lacks a module."""
    code = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
    if not python or subprocess.run([python, "-c", code]).returncode:
        pytest.skip(f"needs {package} in {python or 'the Python that FIQKIT_VLLM names'}")


@contextmanager
def llama_cpp_python(folder: Path) -> Iterator[str]:
    _need(PYTHON, "starlette_context", "llama-cpp-python[server]")
    port, weights = free_port(), str(locate(find_card("smollm2-135m")))
    command = [PYTHON, "-m", "llama_cpp.server", "--model", weights, "--model_alias", "smol"]
    command += ["--port", str(port), "--n_ctx", str(CONTEXT), "--n_threads", "1"]
    with started(command, port, folder / "log") as url:
        yield url


@contextmanager
def llama_cpp_native(folder: Path) -> Iterator[str]:
    _need(PYTHON, "xllamacpp", "xllamacpp")
    port, weights = free_port(), str(locate(find_card("smollm2-135m")))
    (template := folder / "template").write_text(CHAT)
    command = [PYTHON, "-c", NATIVE, weights, str(port), str(CONTEXT), str(template)]
    with started(command, port, folder / "log", "/health") as url:
        yield url


@contextmanager
def vllm(folder: Path) -> Iterator[str]:
    _need(VLLM, "vllm", "vLLM")
    port = free_port()
    (template := folder / "template").write_text(CHAT)
    command = [VLLM, "-m", "vllm.entrypoints.openai.api_server", "--host", "127.0.0.1", "--port", str(port)]
    command += ["--model", str(to_transformers(find_card("smollm2-135m"))), "--served-model-name", "smol"]
    command += ["--max-model-len", str(CONTEXT), "--max-num-seqs", "2", "--enforce-eager", "--dtype", "float32"]
    command += ["--chat-template", str(template)]
    env = {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind", "VLLM_HOST_IP": "127.0.0.1"}
    with started(command, port, folder / "log", **env) as url:
        yield url


@contextmanager
def litellm(folder: Path, behind: str) -> Iterator[str]:
    """LiteLLM's proxy before another server, which it calls OpenAI-compatible."""
    _need(PYTHON, "litellm", "litellm[proxy]")
    port = free_port()
    model = {"model": "openai/smol", "api_base": behind, "api_key": "none"}
    (config := folder / "config.json").write_text(
        json.dumps({"model_list": [{"model_name": "smol", "litellm_params": model}]})
    )
    command = [PYTHON, "-c", "from litellm import run_server; run_server()", "--config", str(config)]
    offline = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_TELEMETRY": "False"}
    offline["LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY"] = "true"  # on loopback, for these episodes
    with started([*command, "--port", str(port), "--host", "127.0.0.1"], port, folder / "log", **offline) as url:
        yield url
