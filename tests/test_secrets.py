"""A key that the environment or a file holds is sent to its server and stands nowhere else."""

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

from fiqkit.errors import UserError
from fiqkit.models.cards.cards import Card
from fiqkit.models.served.keys import api_key

KEY = "sk-planted-0123456789abcdef"
FILED = "sk-planted-in-a-file-9876543210"
QUERY = "planted-in-the-query-42"


class Talkative(BaseHTTPRequestHandler):
    """A server that repeats its key: in every completion, and in the error that it answers every third request with."""

    asked: list[str]

    def do_GET(self) -> None:
        self._send(200, {"data": [{"id": "m", "max_model_len": 8192}]})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        key = self.headers.get("Authorization", "").removeprefix("Bearer ")
        self.server.asked.append(key)  # type: ignore[attr-defined]
        if len(self.server.asked) % 3 == 0:  # type: ignore[attr-defined]
            self._send(400, {"error": {"message": f"Incorrect API key provided: {key}"}})
            return
        said = json.dumps({"action": "answer", "response": f"$5 {key}", "confidence": 5})
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
def test_a_planted_key_stands_in_nothing_that_is_written(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, server: ThreadingHTTPServer
) -> None:
    held = tmp_path_factory.mktemp("secret") / "key"
    held.write_text(FILED + "\n")
    held.chmod(0o600)
    url = f"http://127.0.0.1:{server.server_port}/v1?token={QUERY}#m"

    def fiqkit(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, **(variables or {"FIQKIT_API_KEY": KEY})}
        command = [sys.executable, "-m", "fiqkit", *arguments]
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)

    done = fiqkit("run", "--agent", url, "--modes", "answer", "--limit", "6", "--cache", "cache.db", "--json")
    said = [done.stdout, done.stderr]
    done = fiqkit("run", "--agent", url, "--modes", "answer", "--limit", "3", FIQKIT_API_KEY_FILE=str(held))
    said += [done.stdout, done.stderr]
    assert set(server.asked) == {KEY, FILED}, said  # type: ignore[attr-defined]
    for arguments in (
        ("capsule", "last", "--out", "capsule.db"),
        ("regrade", "capsule.db", "--json"),
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
    assert {"fiqkit.db", "cache.db", "page.html", "capsule.db"} <= {path.name for path in written}
    for secret in (KEY, FILED, QUERY):
        assert [path.name for path in written if secret.encode() in path.read_bytes()] == []
        assert [text for text in said if secret in text] == []


@pytest.mark.parametrize(
    ("mode", "content", "said"),
    [
        (0o644, FILED, r"others can read the API key in .*key \(mode 644\); chmod 600"),
        (0o640, FILED, "mode 640"),
        (0o600, "\n", "holds no API key"),
        (0o600, f"{FILED}\n{FILED}", "holds a line break"),
        (0o600, "\udcff", "is no text"),
    ],
)
def test_a_file_that_cannot_hold_the_key_is_refused_without_its_words(
    tmp_path: Path, mode: int, content: str, said: str
) -> None:
    (tmp_path / "key").write_bytes(content.encode("utf-8", "surrogateescape"))
    (tmp_path / "key").chmod(mode)
    card = Card("own", "openai", "http://127.0.0.1:9/v1", source=str(tmp_path / "cards.toml"))
    with pytest.raises(UserError, match=said) as error:
        api_key(card, file="key")
    assert FILED not in str(error.value) and "\n" not in str(error.value)


def test_where_a_key_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "key").write_text(FILED)
    (tmp_path / "key").chmod(0o400)
    card = Card("own", "openai", "http://127.0.0.1:9/v1", source=str(tmp_path / "cards.toml"))
    assert (api_key(card), api_key(card, file="key")) == ("", FILED)
    monkeypatch.setenv("OWN_KEY_FILE", str(tmp_path / "key"))
    assert api_key(card, "OWN_KEY") == FILED
    monkeypatch.setenv("OWN_KEY", KEY)
    with pytest.raises(UserError, match="in OWN_KEY and in the file of OWN_KEY_FILE"):
        api_key(card, "OWN_KEY")
    monkeypatch.delenv("OWN_KEY_FILE")
    assert api_key(card, "OWN_KEY") == KEY
    with pytest.raises(UserError, match="name one of them"):
        api_key(card, "OWN_KEY", "key")
    with pytest.raises(UserError, match="nosuch cannot be read: No such file"):
        api_key(card, file="nosuch")
