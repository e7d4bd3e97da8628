"""A key that the environment holds is sent to its server and stands nowhere else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

KEY = "sk-planted-0123456789abcdef"
QUERY = "planted-in-the-query-42"


class Talkative(BaseHTTPRequestHandler):
    """A server that repeats the key: in every completion, and in the error that it answers every third request with."""

    asked: list[str]

    def do_GET(self) -> None:
        self._send(200, {"data": [{"id": "m", "max_model_len": 8192}]})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.append(self.headers.get("Authorization", ""))  # type: ignore[attr-defined]
        if len(self.server.asked) % 3 == 0:  # type: ignore[attr-defined]
            self._send(400, {"error": {"message": f"Incorrect API key provided: {KEY}"}})
            return
        said = json.dumps({"action": "answer", "response": f"$5 {KEY}", "confidence": 5})
        choice = {"message": {"role": "assistant", "content": said}, "finish_reason": "stop", "index": 0}
        self._send(200, {"model": "m", "choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 9}})

    def _send(self, status: int, value: object) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    serving = ThreadingHTTPServer(("127.0.0.1", 0), Talkative)
    serving.asked = []  # type: ignore[attr-defined]
    threading.Thread(target=serving.serve_forever, daemon=True).start()
    yield serving
    serving.shutdown()


@pytest.mark.slow
def test_a_planted_key_stands_in_nothing_that_is_written(tmp_path: Path, server: ThreadingHTTPServer) -> None:
    url = f"http://127.0.0.1:{server.server_port}/v1?token={QUERY}#m"

    def fiqkit(*arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "FIQKIT_API_KEY": KEY}
        command = [sys.executable, "-m", "fiqkit", *arguments]
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)

    done = fiqkit("run", "--agent", url, "--modes", "answer", "--limit", "6", "--cache", "cache.db", "--json")
    assert any(KEY in header for header in server.asked), done.stderr  # type: ignore[attr-defined]
    said = [done.stdout, done.stderr]
    for arguments in (
        ("report", "--html", "page.html"),
        ("report", "--json"),
        ("runs", "--json"),
        ("episodes", "--json"),
        ("show", "--json"),
        ("doctor", "--json"),
    ):
        more = fiqkit(*arguments)
        said += [more.stdout, more.stderr]
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {"fiqkit.db", "cache.db", "page.html"} <= {path.name for path in written}
    for secret in (KEY, QUERY):
        assert [path.name for path in written if secret.encode() in path.read_bytes()] == []
        assert [text for text in said if secret in text] == []
