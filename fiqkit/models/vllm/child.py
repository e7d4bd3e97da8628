"""A model server as a child process: started, watched until it is healthy, stopped with the run, its log kept."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from fiqkit import offline
from fiqkit.errors import UserError
from fiqkit.models.cards.cards import Card
from fiqkit.models.cards.formats import check_adapter
from fiqkit.models.cards.memory import describe_weights
from fiqkit.models.cards.weights import cache_folder, locate, to_transformers
from fiqkit.models.opening import abandoned
from fiqkit.models.served.openai import OpenAIEngine
from fiqkit.models.vllm.arguments import SAFE_FORMAT, check_arguments

GRACE = 10.0  # seconds between the polite and the final signal


class Server:
    """A running model server, owned by this process: it ends with it, even when that is killed.

    Attributes:
        url: base URL of its API, ending in /v1.
        log: file with everything that it wrote.
        command: how it was started.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        port: int,
        *,
        log: Path,
        health: str = "/health",
        wait: float = 600.0,
        env: Mapping[str, str] | None = None,
    ) -> None:
        """Start `command`, which must listen on 127.0.0.1:`port`, and wait until `health` answers 200.

        Raises:
            UserError: the port is taken, the program is missing, or it ended or was not healthy within `wait` seconds.
                Nothing is left running.
        """
        if shutil.which(command[0]) is None:
            raise UserError(f"{name}: no program {command[0]}; install it, or give its path as `program`")
        _check_free(name, port)
        self.name, self.log = name, log
        self.command: Sequence[str] = tuple(command)
        self.url = f"http://127.0.0.1:{port}/v1"
        watchdog = Path(__file__).with_name("watchdog.py")
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as out:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(watchdog), str(os.getpid()), str(GRACE), *command],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**os.environ, **offline.VARIABLES, **(env or {})},
            )
        try:
            self._await_health(f"http://127.0.0.1:{port}{health}", wait)
        except BaseException:
            self.stop()
            raise

    def _await_health(self, url: str, wait: float) -> None:
        deadline = time.monotonic() + wait
        while not _healthy(url):
            if (code := self._process.poll()) is not None:
                raise UserError(f"{self.name}: the server ended at the start (exit code {code}): {self._last_words()}")
            if time.monotonic() > deadline:
                raise UserError(f"{self.name}: the server was not ready within {wait:g} s; its log is {self.log}")
            if abandoned():
                raise UserError(f"{self.name}: nobody waits for the server any more")
            time.sleep(0.1)

    @property
    def pid(self) -> int:
        """Process id of the watchdog, which is the parent of the server."""
        return self._process.pid

    def _last_words(self) -> str:
        """The log's last line that names an error, else its last line, and where the rest is."""
        lines = [line.strip() for line in self.log.read_text("utf-8", "replace").splitlines() if line.strip()]
        errors = [line for line in lines if "Error" in line or "error:" in line]
        return f"{(errors or lines or ['it wrote nothing'])[-1]:.300}; its log is {self.log}"

    def stop(self) -> None:
        """Stop the server and everything that it started. Safe to call twice."""
        if self._process.poll() is not None:
            return
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(GRACE + 10)


def _check_free(name: str, port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise UserError(
                f"{name}: cannot listen on port {port} ({error.strerror}); choose another, or leave `port` out"
            ) from None


def _healthy(url: str) -> bool:
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=5) as reply:
            return bool(reply.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def free_port() -> int:
    """A port of this machine that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def vllm_command(
    python: str,
    weights: Path,
    name: str,
    port: int,
    *,
    context: int,
    adapters: Mapping[str, str],
    tensor_parallel: int = 1,
    reasoning_parser: str = "",
    arguments: Sequence[str] = (),
) -> list[str]:
    """The command of vLLM's server. `adapters`: path → name."""
    command = [python, "-m", "vllm.entrypoints.openai.api_server", "--host", "127.0.0.1", "--port", str(port)]
    command += ["--model", str(weights), "--served-model-name", name, "--max-model-len", str(context), "--seed", "0"]
    command += ["--load-format", SAFE_FORMAT, "--enable-prefix-caching", "--tensor-parallel-size", str(tensor_parallel)]
    if reasoning_parser:
        command += ["--reasoning-parser", reasoning_parser]
    if adapters:
        command += ["--enable-lora", "--lora-modules", *(f"{alias}={path}" for path, alias in adapters.items())]
    return [*command, *arguments]


def llama_server_command(
    binary: str, weights: Path, name: str, port: int, *, context: int, slots: int, arguments: Sequence[str] = ()
) -> list[str]:
    """The command of llama.cpp's own server. It divides its context among its slots, so it is given the product."""
    command = [binary, "--host", "127.0.0.1", "--port", str(port), "--model", str(weights), "--alias", name, "--jinja"]
    return [*command, "--ctx-size", str(context * slots), "--parallel", str(slots), *arguments]


def open_engine(
    card: Card,
    *,
    context: int | None = None,
    kind: str = "vllm",
    program: str = "",
    port: int = 0,
    parallel: int = 64,
    tensor_parallel: int = 1,
    reasoning_parser: str = "",
    adapters: Sequence[str] = (),
    arguments: Sequence[str] = (),
    log: str = "",
    wait: float = 900.0,
) -> OpenAIEngine:
    """Start a server for the card's weights and connect to it; closing the engine stops the server.

    Args:
        context: tokens that one request's prompt and reply may hold (default: the card's).
        kind: "vllm", or "llama.cpp" for its native server, which gets one slot for each of `parallel` requests.
        program: the Python that has vLLM (default: this one), or the `llama-server` binary.
        port: where it listens on 127.0.0.1; 0 for any free one.
        reasoning_parser: vLLM's name for the way in which the model marks its thinking, for example "qwen3".
        adapters: paths of LoRA adapters to serve.
        arguments: further arguments of the server.
        log: file for its output; by default one in the cache folder.
        wait: seconds until it must be healthy.

    Raises:
        UserError: as `Server`; or weights that are not there or are a pickle, or an argument that would run foreign
            code.
    """
    if kind not in ("vllm", "llama.cpp"):
        raise UserError(f"{card.name}: unknown kind of server {kind!r}; the kinds are vllm and llama.cpp")
    if kind == "vllm":
        check_arguments(card.name, arguments)
    if kind == "vllm" and not program and find_spec("vllm") is None:
        raise UserError(
            f'{card.name}: no vLLM in this Python: pip install "fiqkit[vllm]", or name one that has it as `program`'
        )
    port = port or free_port()
    length = context or card.context or describe_weights(card).context
    for path in adapters:
        check_adapter(Path(path))
    names = {path: f"adapter-{number}" for number, path in enumerate(adapters)}
    if kind == "vllm":
        command = vllm_command(
            program or sys.executable,
            to_transformers(card),
            card.name,
            port,
            context=length,
            adapters=names,
            tensor_parallel=tensor_parallel,
            reasoning_parser=reasoning_parser,
            arguments=arguments,
        )
    else:
        command = llama_server_command(
            program or "llama-server",
            locate(card),
            card.name,
            port,
            context=length,
            slots=parallel,
            arguments=arguments,
        )
    server = Server(card.name, command, port, log=Path(log) if log else _log_file(card.name), wait=wait)
    return OpenAIEngine(
        card.name,
        [server.url],
        card.name,
        context=length,
        dialect=kind,
        parallel=parallel,
        adapters=names,
        child=server,
    )


def _log_file(name: str) -> Path:
    folder = cache_folder() / "logs"
    folder.mkdir(parents=True, exist_ok=True)
    safe = "".join(c if c.isalnum() or c in "-._" else "_" for c in name)
    handle, path = tempfile.mkstemp(prefix=f"{time.strftime('%Y%m%d-%H%M%S')}-{safe}-", suffix=".log", dir=folder)
    os.close(handle)
    return Path(path)
