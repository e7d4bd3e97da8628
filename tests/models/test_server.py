"""The managed server child: it starts, it stops with all that it started, and it does not outlive a killed parent."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from fiqkit.errors import UserError
from fiqkit.models import open_engine
from fiqkit.models.cards.cards import Card
from fiqkit.models.engine import Request
from fiqkit.models.served.openai import OpenAIEngine
from fiqkit.models.vllm import child as module
from fiqkit.models.vllm.child import Server, free_port, llama_server_command, vllm_command

# A model server in miniature. It starts a process of its own, as the real ones do, and writes both pids to a file.
FAKE = """
import json, os, signal, subprocess, sys
from http.server import BaseHTTPRequestHandler, HTTPServer

class Handler(BaseHTTPRequestHandler):
    def reply(self, value):
        body = json.dumps(value).encode()
        self.send_response(200); self.send_header("Content-Length", str(len(body))); self.end_headers()
        self.wfile.write(body)
    def do_GET(self):
        self.reply({"data": [{"id": "tiny", "owned_by": "nobody"}]})
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.reply({"choices": [{"message": {"content": "hello"}, "finish_reason": "stop"}],
                    "usage": {"completion_tokens": 1}})

if "deaf" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
helper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open(sys.argv[2], "w").write(f"{os.getpid()} {helper.pid}")
print("ready soon", flush=True)
HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""

# A run that is killed: it starts a server, says so, and waits.
PARENT = """
import sys, time
from pathlib import Path
from fiqkit.models.vllm.child import Server
Server("tiny", sys.argv[3:], int(sys.argv[1]), log=Path(sys.argv[2]))
print("up", flush=True)
time.sleep(600)
"""


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def eventually(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 60
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
    return condition()


def pids(path: Path) -> list[int]:
    return [int(pid) for pid in path.read_text().split()]


def fake(tmp_path: Path, port: int, *more: str) -> list[str]:
    script = tmp_path / "fake.py"
    script.write_text(FAKE)
    return [sys.executable, str(script), str(port), str(tmp_path / "pids"), *more]


def test_serves_and_stops_with_all_that_it_started(tmp_path: Path) -> None:
    port = free_port()
    server = Server("tiny", fake(tmp_path, port), port, log=tmp_path / "log", health="/v1/models")
    engine = OpenAIEngine("tiny", [server.url], child=server)

    async def scenario() -> str:
        completion = await engine.complete(Request(messages=[{"role": "user", "content": "Hello"}]))
        await engine.close()
        await engine.close()
        return completion.text

    assert asyncio.run(scenario()) == "hello"
    assert not any(alive(pid) for pid in [server.pid, *pids(tmp_path / "pids")])
    assert "ready soon" in (tmp_path / "log").read_text()
    assert engine.describe()["place"]["command"] == fake(tmp_path, port)


def test_a_server_that_ignores_the_polite_signal_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "GRACE", 0.2)
    port = free_port()
    server = Server("tiny", fake(tmp_path, port, "deaf"), port, log=tmp_path / "log")
    server.stop()
    assert not any(alive(pid) for pid in [server.pid, *pids(tmp_path / "pids")])


def test_does_not_outlive_a_parent_that_is_killed(tmp_path: Path) -> None:
    port = free_port()
    command = [sys.executable, "-c", PARENT, str(port), str(tmp_path / "log"), *fake(tmp_path, port)]
    parent = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None and parent.stdout.readline() == "up\n"
    children = pids(tmp_path / "pids")
    assert all(alive(pid) for pid in children)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    assert eventually(lambda: not any(alive(pid) for pid in children))


def test_port_in_use(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(UserError, match=rf"^tiny: cannot listen on port {port} \(Address already in use\); choose"):
            Server("tiny", fake(tmp_path, port), port, log=tmp_path / "log")
    assert not (tmp_path / "pids").exists(), "nothing was started"


def test_program_missing(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no program /no/such/llama-server"):
        Server("tiny", ["/no/such/llama-server"], free_port(), log=tmp_path / "log")


def test_a_server_that_ends_at_the_start_is_quoted(tmp_path: Path) -> None:
    port = free_port()
    command = [sys.executable, "-c", "raise ValueError('no such weights')"]
    with pytest.raises(UserError, match=r"exit code 1\): ValueError: no such weights; its log is .*log$") as caught:
        Server("tiny", command, port, log=tmp_path / "log")
    assert "\n" not in str(caught.value)


def test_a_server_that_never_gets_healthy_is_stopped(tmp_path: Path) -> None:
    port = free_port()
    script = f"import os, time; open({str(tmp_path / 'pids')!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    with pytest.raises(UserError, match=r"not ready within 2 s"):
        Server("tiny", [sys.executable, "-c", script], port, log=tmp_path / "log", wait=2)
    assert not any(alive(pid) for pid in pids(tmp_path / "pids"))


def test_children_are_kept_from_the_hub(tmp_path: Path) -> None:
    port = free_port()
    script = "import os; raise SystemExit('Error ' + os.environ['HF_HUB_OFFLINE'] + os.environ['VLLM_NO_USAGE_STATS'])"
    with pytest.raises(UserError, match="Error 11"):
        Server("tiny", [sys.executable, "-c", script], port, log=tmp_path / "log")


def test_context_is_per_slot() -> None:
    command = llama_server_command("llama-server", Path("m.gguf"), "m", 8000, context=4096, slots=8)
    assert command[command.index("--ctx-size") + 1] == "32768"
    assert command[command.index("--parallel") + 1] == "8"


def test_vllm_command_names_adapters() -> None:
    command = vllm_command("python", Path("/w"), "m", 8000, context=2048, adapters={"/a": "adapter-0"})
    assert command[command.index("--lora-modules") + 1] == "adapter-0=/a"
    assert "--enable-lora" in command
    assert "--enable-lora" not in vllm_command("python", Path("/w"), "m", 8000, context=2048, adapters={})
    assert os.sep not in command[command.index("--served-model-name") + 1]


def test_the_python_that_has_vllm_is_asked_for() -> None:
    if find_spec("vllm"):
        pytest.skip("vLLM is installed here")
    with pytest.raises(UserError, match=r"^m: no vLLM in this Python: .* name one that has it as `program`$"):
        open_engine(Card("m", "vllm-server", "nowhere"))
    with pytest.raises(UserError, match=r"^m: unknown kind of server 'tgi'; the kinds are vllm and llama.cpp$"):
        open_engine(Card("m", "vllm-server", "nowhere"), kind="tgi")
