"""An engine without a model: it answers at once from a function or a list. For tests and for measuring the harness."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fiqkit.models.engine import Capabilities, Completion, Request


class ScriptedEngine:
    """Answers each request with `reply(request)`, or with the strings of a list in turn, over and over.

    Token counts are words; `seconds` is what the reply waits first.
    """

    def __init__(
        self,
        reply: Callable[[Request], str] | Sequence[str],
        *,
        name: str = "scripted",
        context: int = 1_000_000,
        seconds: float = 0.0,
    ) -> None:
        self.name = name
        self.context = context
        self.can = Capabilities(structured=True, choices=True, deterministic=True, parallel=1024)
        self.requests: list[Request] = []
        self._seconds = seconds
        turns = itertools.cycle(reply) if not callable(reply) else None
        self._reply = reply if callable(reply) else lambda _: next(turns)  # type: ignore[arg-type]

    async def complete(self, request: Request) -> Completion:
        """The scripted reply; the request is kept in `requests`."""
        if self._seconds:
            await asyncio.sleep(self._seconds)
        self.requests.append(request)
        text = self._reply(request)
        prompt = sum(len(message["content"].split()) for message in request.messages or ())
        return Completion(text=text, prompt_tokens=prompt, output_tokens=len(text.split()), seconds=self._seconds)

    async def ready(self) -> Sequence[str]:
        """Nothing to ask."""
        return ()

    async def close(self) -> None:
        """Nothing to free."""

    def describe(self) -> Mapping[str, Any]:
        """What the manifest records."""
        return {"engine": "scripted", "name": self.name}
