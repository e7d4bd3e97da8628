"""A gateway hands requests on: what it calls itself, and the names of fields that the server behind it knows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from odd_server import ANSWER, Body, OddServer, completed, good, is_probe, listed
from test_servers import after_probe, played

ALIVE = {"/health/liveliness": "I'm alive!", "/health/readiness": {"status": "healthy", "db": "Not connected"}}


def played_through(tmp_path: Path, paths: dict[str, Any]) -> tuple[Any, list[Body]]:
    server = OddServer(models=listed(owned_by="openai", created=1677610602), paths=paths)
    return played(tmp_path, server), server.bodies


def test_litellm_is_told_by_its_health_and_bounds_replies_by_the_older_name(tmp_path: Path) -> None:
    found, bodies = played_through(tmp_path, ALIVE)
    assert (found.ending, found.answer) == ("answered", ANSWER)
    assert all("max_tokens" in body and "max_completion_tokens" not in body for body in bodies)
    assert {body["response_format"]["type"] for body in bodies if "response_format" in body} == {"json_schema"}


@pytest.mark.parametrize("health", [{}, {"/health/liveliness": {"status": "up"}}], ids=["none", "another's"])
def test_what_only_lists_models_as_openais_is_asked_as_openai(tmp_path: Path, health: dict[str, Any]) -> None:
    found, bodies = played_through(tmp_path, health)
    assert found.ending == "answered"
    assert all("max_completion_tokens" in body and "max_tokens" not in body for body in bodies)


def test_a_server_that_does_not_know_the_bound_is_named(tmp_path: Path) -> None:
    def rambles(body: Body) -> Any:
        written = 900 if "max_completion_tokens" not in body else 5
        return completed(good(body), usage={"prompt_tokens": 400, "completion_tokens": written})

    found = played(tmp_path, OddServer(rambles))
    assert "wrote 900 tokens where 1 was asked for" in found.said and 'dialect = "generic"' in found.said
    assert "was asked for" not in played(tmp_path, OddServer(rambles, listed(owned_by="openai"))).said


INVALID = (
    "litellm.InternalServerError: InternalServerError: OpenAIException - 1 validation error:\n  {'type': "
    "'literal_error', 'loc': ('body', 'response_format', 'type'), 'msg': \"Input should be 'text' or 'json_object'\"}"
)


@pytest.mark.parametrize(
    ("said", "tries"), [(INVALID, 1), ("the GPU fell off the bus", 2)], ids=["its form", "its GPU"]
)
def test_a_request_whose_form_is_refused_under_500_is_tried_once(tmp_path: Path, said: str, tries: int) -> None:
    refusal = {"error": {"message": said, "type": "internal_server_error", "param": None, "code": "500"}}
    server = OddServer(after_probe(lambda _: web.json_response(refusal, status=500)))
    found = played(tmp_path, server)
    assert found.ending == "engine_error" and said[:20] in found.error
    assert sum(not is_probe(body) for body in server.bodies) == tries
