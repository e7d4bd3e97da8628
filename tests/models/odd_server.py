"""A server whose every answer is a test's own: a handler for completions, one for the list of models, and other paths.

async with OddServer(lambda body: completed(good(body))) as server:
    … server.url …
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from typing import Any

from aiohttp import web

Body = Mapping[str, Any]
ANSWER = "$1.0 billion"
RIGHT = json.dumps({"action": "answer", "response": ANSWER, "confidence": 50})
DRAFT = '{"action": "answer", "response": "999"}'


def schema_of(body: Body) -> Any:
    form = body.get("response_format") or {}
    return form.get("json_schema", form).get("schema")


def is_probe(body: Body) -> bool:
    """Whether the start-up probe sends it."""
    return body.get("max_tokens", 1) == 1 or "Say hello" in body["messages"][-1]["content"]


def good(body: Body) -> str:
    """What a well-behaved model writes: what its constraint allows, a greeting for the probe, else an answer."""
    schema = schema_of(body)
    if schema is not None and "anyOf" not in schema and "action" not in schema["properties"]:
        return json.dumps({name: part["enum"][0] for name, part in schema["properties"].items()})
    if "structured_outputs" in body:
        return str(body["structured_outputs"]["choice"][0])
    if "grammar" in body:
        return str(body["grammar"].split('"')[1])
    return "Hello there." if "Say hello" in body["messages"][-1]["content"] and schema is None else RIGHT


USAGE = {"prompt_tokens": 400, "completion_tokens": 20, "total_tokens": 420}


def completed(content: Any, finish: Any = "stop", usage: Any = USAGE, **message: Any) -> dict[str, Any]:
    """A chat completion as servers send it."""
    choice = {"index": 0, "message": {"role": "assistant", "content": content, **message}, "finish_reason": finish}
    return {"id": "1", "object": "chat.completion", "choices": [choice], **({} if usage is None else {"usage": usage})}


def listed(*names: str, owned_by: str = "somebody", **more: Any) -> dict[str, Any]:
    return {"object": "list", "data": [{"id": name, "owned_by": owned_by, **more} for name in names or ("m",)]}


class OddServer:
    """Serves at `url` until the block is left. A handler returns JSON, an `aiohttp.web.Response`, or one awaitable.

    Attributes:
        bodies: the completions that were asked for.
    """

    def __init__(
        self,
        complete: Callable[[Body], Any] = lambda body: completed(good(body)),
        models: Any = None,
        paths: Mapping[str, Any] | None = None,
    ) -> None:
        self.complete, self.models, self.paths = complete, listed() if models is None else models, paths or {}
        self.bodies: list[Any] = []
        self.url = ""

    async def __aenter__(self) -> OddServer:
        app = web.Application(client_max_size=2**26)
        app.router.add_route("*", "/{path:.*}", self._serve)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        if request.path_qs in self.paths or request.path in self.paths:
            value = self.paths.get(request.path_qs, self.paths.get(request.path))
        elif request.path == "/v1/models":
            value = self.models
        elif request.path == "/v1/chat/completions" and request.method == "POST":
            body = await request.json()
            self.bodies.append(body)
            value = self.complete(body)
        else:
            value = web.Response(status=404, text="404 page not found")
        if callable(value):
            value = value(request)
        if inspect.isawaitable(value):
            value = await value
        return value if isinstance(value, web.StreamResponse) else web.json_response(value)
