"""A real Chromium without a window, driven over its DevTools protocol by the kit's own HTTP client."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import aiohttp

_FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run")


def chromium() -> str | None:
    """The browser's program, or None where there is none."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)


class Browser:
    """One tab; every call waits until it is done. Events of interest are kept: `errors`, and `asked` for addresses."""

    def __init__(self, profile: Path) -> None:
        program = chromium()
        assert program is not None
        flags = (*_FLAGS, f"--user-data-dir={profile}", "--remote-debugging-port=0")
        self._process = subprocess.Popen([program, *flags, "about:blank"], stderr=subprocess.DEVNULL)
        self._loop = asyncio.new_event_loop()
        self._numbers = itertools.count(1)
        self.errors: list[str] = []
        self.asked: list[str] = []
        self._loop.run_until_complete(self._connect(profile / "DevToolsActivePort"))
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    async def _connect(self, file: Path) -> None:
        until = time.monotonic() + 60
        while not (file.exists() and "\n" in file.read_text()):
            assert time.monotonic() < until, "Chromium does not start"
            await asyncio.sleep(0.1)
        port = file.read_text().split()[0]
        self._session = aiohttp.ClientSession()
        async with self._session.get(f"http://127.0.0.1:{port}/json/list") as reply:
            [tab] = [tab for tab in await reply.json() if tab["type"] == "page"]
        self._socket = await self._session.ws_connect(tab["webSocketDebuggerUrl"], max_msg_size=0)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """One command of the protocol and its result."""
        return self._loop.run_until_complete(asyncio.wait_for(self._call(method, params), 60))

    async def _call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        number = next(self._numbers)
        await self._socket.send_str(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            told = json.loads((await self._socket.receive()).data)
            if told.get("id") == number:
                assert "error" not in told, told
                result: dict[str, Any] = told["result"]
                return result
            self._event(told)

    def _event(self, told: dict[str, Any]) -> None:
        params = told["params"]
        if told["method"] == "Log.entryAdded":
            self.errors.append(params["entry"]["text"])
        elif told["method"] == "Runtime.exceptionThrown":
            self.errors.append(str(params["exceptionDetails"]))
        elif told["method"] == "Network.requestWillBeSent":
            self.asked.append(params["request"]["url"])

    def run(self, expression: str) -> Any:
        """The value of an expression in the page, waited for where it is a promise."""
        found = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def wait(self, expression: str, seconds: float = 30) -> None:
        """Until an expression holds in the page."""
        until = time.monotonic() + seconds
        while not self.run(f"Boolean({expression})"):
            assert time.monotonic() < until, f"never came true: {expression}"
            time.sleep(0.05)

    def open(self, url: str) -> None:
        """Load a page anew."""
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=url)
        self.wait("document.readyState === 'complete' && location.href !== 'about:blank'")

    def look(self, width: int, height: int = 900, *, scheme: str = "light", media: str = "screen") -> None:
        """The window's size, and what the page is told of its medium."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", media=media, features=features)

    def shoot(self, path: Path, *, whole: bool = False) -> None:
        """A picture of the window, or of the whole page."""
        taken = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(taken["data"]))

    def close(self) -> None:
        """End the browser."""
        self._loop.run_until_complete(self._session.close())
        self._loop.close()
        self._process.terminate()
        self._process.wait()
