"""What the engine sends, how it reads replies, and what it says of servers that cannot be right."""

import asyncio
import json
import socket
from collections.abc import Mapping
from typing import Any

import pytest
from aiohttp import web
from faulty_server import FaultyServer
from hypothesis import given
from hypothesis import strategies as st

from fiqkit.errors import UserError
from fiqkit.models import open_engine
from fiqkit.models.cards.cards import Card
from fiqkit.models.checks.determinism import flip_rate
from fiqkit.models.checks.startup import startup_probe
from fiqkit.models.constraints.structured import breach
from fiqkit.models.engine import Completion, ContextOverflow, EngineError, Request, Sampling
from fiqkit.models.served.dialects import DIALECTS
from fiqkit.models.served.faults import Fault, Patience
from fiqkit.models.served.openai import OpenAIEngine, estimate_tokens
from fiqkit.models.served.reply import read_reply

ASK = Request(messages=[{"role": "user", "content": "Hello"}])
QUICK = Patience(attempts=2, first=0.001, timeout=5)


def card(url: str, model: str = "", **settings: Any) -> Card:
    return Card("mine", "openai", url, model, settings=settings)


class Routes:
    """A server whose every reply is given: path → (status, text, content type) or a JSON value."""

    def __init__(self, routes: Mapping[str, Any]) -> None:
        self.routes = routes
        self.asked: list[tuple[str, Any]] = []

    async def __aenter__(self) -> str:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._reply)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        return f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def _reply(self, request: web.Request) -> web.Response:
        self.asked.append((request.path, await request.json() if request.can_read_body else None))
        value = self.routes.get(request.path, (404, "not found", "text/plain"))
        if isinstance(value, tuple):
            status, text, kind = value
            return web.Response(status=status, text=text, content_type=kind)
        return web.json_response(value)


def completion(text: str, reason: str = "stop", **more: Any) -> dict[str, Any]:
    message = {"content": text, **more.pop("message", {})}
    return {"choices": [{"message": message, "finish_reason": reason, **more}], "usage": {"completion_tokens": 3}}


def models(*names: str, owned_by: str = "x", **more: Any) -> dict[str, Any]:
    return {"data": [{"id": name, "owned_by": owned_by, **more} for name in names]}


def through(
    routes: Mapping[str, Any], request: Request = ASK, **settings: Any
) -> tuple[Completion, list, OpenAIEngine]:
    """One request through an engine opened as a user would; the completion and what the server was asked."""

    async def scenario() -> tuple[Completion, list, OpenAIEngine]:
        server = Routes(routes)
        async with server as url:
            engine = open_engine(card(url), **{"attempts": 2, **settings})
            try:
                return await engine.complete(request), server.asked, engine
            finally:
                await engine.close()

    return asyncio.run(scenario())


# --- start ----------------------------------------------------------------------------------------------------------

PAGE = (200, "<!DOCTYPE html><html><body>Login</body></html>", "text/html")


@pytest.mark.parametrize(
    ("routes", "model", "line"),
    [
        ({"/v1/models": PAGE}, "", "answers an HTML page, not JSON; the URL must be the API's base, for example http"),
        ({"/v1/models": (404, PAGE[1], "text/html")}, "m", "HTTP 404: an HTML page; check the URL"),
        ({"/v1/models": models("a", "b")}, "c", "does not serve 'c'; it serves a, b$"),
        ({"/v1/models": models("a", "b")}, "", "say which model to use .*#MODEL.; it serves a, b$"),
        (
            {"/v1/models": (401, '{"error": {"message": "bad key"}}', "text/plain")},
            "",
            "refuses the API key; put it into FIQKIT_API_KEY",
        ),
        ({"/v1/models": {"models": []}}, "", "is no list of models"),
        ({"/v1/models": [1, 2]}, "", "say which model"),
        ({"/v1/models": (200, "", "text/plain")}, "", "an empty reply"),
        (
            {
                "/v1/models": models("m", owned_by="vllm"),
                "/version": {"version": "1"},
                "/tokenize": (400, '{"message": "no chat template is defined"}', "text/plain"),
            },
            "m",
            "m has no chat template; give the server one",
        ),
        (
            {
                "/v1/models": models("m", owned_by="vllm"),
                "/version": {"version": "1"},
                "/tokenize": {"tokens": [1, 1, 5]},
            },
            "m",
            r"begins a chat with token 1 twice \(a double BOS\)",
        ),
    ],
)
def test_what_cannot_be_right_is_said_in_one_line(routes: dict, model: str, line: str) -> None:
    async def scenario() -> None:
        async with Routes(routes) as url:
            engine = open_engine(card(url, model))
            with pytest.raises(UserError, match=line) as caught:
                await engine.complete(ASK)
            assert "\n" not in str(caught.value)
            assert url.removesuffix("/v1") in str(caught.value)
            await engine.close()

    asyncio.run(scenario())


def test_nobody_there() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
    engine = open_engine(card(url))
    with pytest.raises(UserError, match=r"cannot connect .*; start the server or correct the URL$"):
        asyncio.run(engine.complete(ASK))


@pytest.mark.parametrize(
    ("url", "settings", "line"),
    [
        ("ftp://a/v1", {}, "'ftp://a/v1' is not the URL of a server"),
        ("http://a/v1,b:80", {}, "'b:80' is not the URL"),
        ("http://a/v1", {"dialect": "klingon"}, "unknown dialect 'klingon'; the dialects are auto, vllm"),
        ("http://a/v1", {"api_key_env": "NO_SUCH_KEY"}, "environment variable NO_SUCH_KEY .* is not set"),
        ("http://a/v1", {"parallel": 0}, "must be positive"),
    ],
)
def test_settings_that_cannot_be_right(url: str, settings: dict, line: str) -> None:
    with pytest.raises(UserError, match=line):
        open_engine(card(url), **settings)


def test_a_pool_needs_one_model() -> None:
    async def scenario() -> None:
        async with Routes({"/v1/models": models("a")}) as one, Routes({"/v1/models": models("b")}) as two:
            engine = open_engine(card(f"{one},{two}"))
            with pytest.raises(UserError, match=r"serves b .*, but .* serves a .*; a pool needs one model"):
                await engine.complete(ASK)
            await engine.close()

    asyncio.run(scenario())


def test_probe_finds_a_server_that_ignores_constraints() -> None:
    async def scenario() -> None:
        async with FaultyServer(reply=lambda body: "Hello there!") as server:
            engine = OpenAIEngine("deaf", [server.url], patience=QUICK)
            assert engine.can.structured and engine.can.choices
            found = await startup_probe(engine, [None])
            assert found["thinking=default"]["plain"] == "ok"
            assert "none of the choices" in found["thinking=default"]["choices"]
            assert "not JSON" in found["thinking=default"]["schema"]
            assert not engine.can.structured and not engine.can.choices
            assert [line.partition(" (")[0] for line in found["said"]] == [
                "deaf: holds no reply to a schema with thinking default"
            ]
            await engine.close()

    asyncio.run(scenario())


def test_probe_passes_a_server_that_keeps_them_and_says_what_it_cannot() -> None:
    async def scenario() -> None:
        async with FaultyServer() as server:
            engine = OpenAIEngine("good", [server.url], patience=QUICK)
            found = await startup_probe(engine, [True, False])
            assert engine.can.structured and engine.can.structured_thinking and engine.can.choices
            await engine.close()
        assert list(found) == ["thinking=on", "thinking=off", "said"]
        assert found["thinking=on"]["schema"] == found["thinking=off"]["choices"] == "ok"

    asyncio.run(scenario())


# --- what is sent ---------------------------------------------------------------------------------------------------

VLLM = {
    "/v1/models": models("m", owned_by="vllm", max_model_len=900),
    "/version": {"version": "0.32.0"},
    "/tokenize": {"tokens": [1, 4093, 198]},
}


def sent(routes: Mapping[str, Any], request: Request, **settings: Any) -> dict[str, Any]:
    _, asked, _ = through(routes, request, **settings)
    return next(body for path, body in asked if path.endswith("completions"))


def test_request_fields_by_dialect() -> None:
    choices = Request(
        messages=ASK.messages, choices=("yes", "no"), thinking=False, sampling=Sampling(9, 0.5, 0.9, 7, ("\n",))
    )
    body = sent(VLLM | {"/v1/chat/completions": completion("no")}, choices)
    assert body == {
        "model": "m",
        "max_tokens": 9,
        "temperature": 0.5,
        "top_p": 0.9,
        "seed": 7,
        "stop": ["\n"],
        "messages": [{"role": "user", "content": "Hello"}],
        "structured_outputs": {"choice": ["yes", "no"]},
        "chat_template_kwargs": {"enable_thinking": False, "thinking": False},
    }
    llama = {"/v1/models": models("m", owned_by="llamacpp"), "/v1/chat/completions": completion("no")}
    assert sent(llama, choices)["grammar"] == 'root ::= "yes" | "no"'
    openai = {"/v1/models": models("m", owned_by="openai"), "/v1/chat/completions": completion('{"reply": "no"}')}
    body = sent(openai, choices, extra={"temperature": None, "reasoning_effort": "low"})
    assert body["max_completion_tokens"] == 9
    assert body["response_format"]["json_schema"]["schema"]["properties"]["reply"]["enum"] == ["yes", "no"]
    assert body["reasoning_effort"] == "low"
    assert not {"max_tokens", "temperature", "chat_template_kwargs"} & set(body)


def test_choice_comes_out_of_its_wrapping() -> None:
    request = Request(messages=ASK.messages, choices=("是", "否"))
    found, _, _ = through({"/v1/models": models("m"), "/v1/chat/completions": completion('{"reply": "否"}')}, request)
    assert found.text == "否"


def test_a_schema_that_is_no_object_is_wrapped_where_it_must_be() -> None:
    union = {"anyOf": [SCHEMA, {"type": "object", "properties": {"b": {"const": 1}}, "required": ["b"]}]}
    routes = {
        "/v1/models": models("m", owned_by="openai"),
        "/v1/chat/completions": completion('{"reply": {"a": "数"}}'),
    }
    found, asked, _ = through(routes, Request(messages=ASK.messages, schema=union))
    assert asked[-1][1]["response_format"]["json_schema"]["schema"]["properties"] == {"reply": union}
    assert json.loads(found.text) == {"a": "数"}


def test_prompt_ids_go_to_completions_as_they_are() -> None:
    reply = {
        "choices": [
            {
                "text": "hi",
                "finish_reason": "stop",
                "prompt_token_ids": [1, 2, 3],
                "token_ids": [9, 8],
                "logprobs": {"token_logprobs": [-0.5, -0.25]},
            }
        ],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2},
    }
    request = Request(prompt_ids=(1, 2, 3), logprobs=True)
    found, asked, _ = through(VLLM | {"/v1/completions": reply}, request)
    body = asked[-1][1]
    assert (body["prompt"], body["return_token_ids"], body["logprobs"]) == ([1, 2, 3], True, 1)
    assert found == Completion(
        "hi", "stop", "", (1, 2, 3), (9, 8), (-0.5, -0.25), 3, 2, seconds=found.seconds, queued=found.queued
    )


def test_survey_of_vllm_and_llama_cpp() -> None:
    _, _, engine = through(VLLM | {"/v1/chat/completions": completion("hi")})
    described = engine.describe()
    assert engine.context == 900
    assert (described["server"], described["dialect"], described["first_ids"]) == (
        "vllm 0.32.0",
        "vllm",
        [1, 4093, 198],
    )
    llama = {
        "/v1/models": models("m", owned_by="llamacpp"),
        "/props": {"default_generation_settings": {"n_ctx": 512}, "build_info": "b1"},
        "/apply-template": {"prompt": "<s>Hello"},
        "/tokenize": {"tokens": [1, 2]},
        "/v1/chat/completions": completion("hi"),
    }
    _, asked, engine = through(llama)
    assert (engine.context, engine.describe()["server"]) == (512, "llama.cpp b1")
    assert asked[3][1]["content"] == "<s>Hello"


def test_key_is_sent_and_never_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-secret")
    engine = open_engine(card("http://user:pass@host:9/v1?token=t"), api_key_env="MY_KEY")
    told = json.dumps(engine.describe())
    assert not any(secret in told for secret in ("sk-secret", "pass", "token"))


# --- what comes back ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "text", "finish", "reasoning"),
    [
        (completion("hi"), "hi", "stop", ""),
        (completion("cut", "length"), "cut", "length", ""),
        (completion("", "length", message={"reasoning_content": "hm"}), "", "length", "hm"),
        (completion("4", message={"reasoning": "2+2"}), "4", "stop", "2+2"),
        (completion("<think>a</think>b"), "<think>a</think>b", "stop", ""),
        (completion(""), "", "stop", ""),  # the model ended at once: three tokens are counted
        (completion("hi", message={"content": None}), "", "stop", ""),
    ],
)
def test_replies(reply: dict, text: str, finish: str, reasoning: str) -> None:
    found = read_reply(reply, ASK, DIALECTS["vllm"])
    assert (found.text, found.finish, found.reasoning) == (text, finish, reasoning)


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        ([], "bad_reply"),
        ("text", "bad_reply"),
        ({}, "bad_reply"),
        ({"choices": []}, "bad_reply"),
        ({"choices": [None]}, "bad_reply"),
        ({"error": {"message": "overloaded"}}, "server_error"),
        (completion("", None), "bad_reply"),
        (completion("hi", "abort"), "bad_reply"),
        (completion("hi", "content_filter"), "rejected"),
        (completion({"hi": 1}), "bad_reply"),
        (completion([{"type": "image_url", "image_url": "x"}]), "rejected"),
        ({"choices": [{"message": {"content": ""}, "finish_reason": "stop"}]}, "empty"),
    ],
)
def test_what_is_no_reply(reply: Any, kind: str) -> None:
    with pytest.raises(Fault) as caught:
        read_reply(reply, ASK, DIALECTS["generic"])
    assert caught.value.kind == kind
    assert "\n" not in str(caught.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["choices", "message", "content", "usage", "error", "text"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_any_json_is_a_completion_or_a_fault(reply: Any) -> None:
    try:
        read_reply(reply, ASK, DIALECTS["vllm"])
    except Fault as fault:
        assert fault.kind in ("bad_reply", "server_error", "empty", "rejected")


SCHEMA = {"type": "object", "properties": {"a": {"type": "string", "maxLength": 3}}, "required": ["a"]}


@pytest.mark.parametrize(
    ("constraint", "text", "wrong"),
    [
        ({"schema": SCHEMA}, '{"a": "abc"}', None),
        ({"schema": SCHEMA}, ' \n{"a": "abc"}\n', None),
        ({"schema": SCHEMA}, '<think>{"a": 1}</think>\n{"a": "x"}', None),
        ({"schema": SCHEMA}, '{"a": "abcd"}', "not in the schema: $.a"),
        ({"schema": SCHEMA}, "{}", "not in the schema: $"),
        ({"schema": SCHEMA}, 'Sure: {"a": "x"}', "not JSON"),
        ({"schema": SCHEMA}, '```json\n{"a": "x"}\n```', None),
        ({"schema": SCHEMA}, '{"a": "\\ud83d"}', None),
        ({"schema": SCHEMA}, '{"a": "x"}<|im_end|>', None),
        ({"schema": SCHEMA}, "[" * 100_000, "not JSON"),
        ({"choices": ("yes", "no")}, "no", None),
        ({"choices": ("yes", "no")}, " no\n", None),
        ({"choices": ("yes", "no")}, "No", "none of the choices"),
        ({"choices": ("yes", "no")}, "no.", "none of the choices"),
        ({}, "anything", None),
    ],
)
def test_breaches(constraint: dict, text: str, wrong: str | None) -> None:
    found = breach(Request(messages=ASK.messages, **constraint), text)
    assert (found is None) if wrong is None else (found is not None and found.startswith(wrong) and "\n" not in found)


@pytest.mark.parametrize(
    ("constraint", "line"),
    [
        ({"schema": {"type": "no such"}}, "not a JSON schema"),
        ({"choices": ("a", "")}, "choices must be non-empty"),
    ],
)
def test_constraints_that_are_none_are_refused_before_anything_is_sent(constraint: dict, line: str) -> None:
    engine = open_engine(card("http://127.0.0.1:9/v1"))
    with pytest.raises(UserError, match=line):
        asyncio.run(engine.complete(Request(messages=ASK.messages, **constraint)))


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (400, "This model's maximum context length is 1024 tokens. However, you requested 1200 tokens"),
        (400, "the request exceeds the available context size, try increasing it"),
        (400, "The decoder prompt (length 2000) is longer than the maximum model length of 1024."),
        (413, "prompt is too long: 210000 tokens > 200000 maximum"),
    ],
)
def test_overflow_is_told_apart_and_not_retried(status: int, said: str) -> None:
    body = (status, json.dumps({"error": {"message": said}}), "application/json")
    with pytest.raises(ContextOverflow, match=said[:19]):
        through({"/v1/models": models("m"), "/v1/chat/completions": body})


def test_a_rejected_request_is_not_retried() -> None:
    body = (400, json.dumps({"error": {"message": "Invalid schema:\nno"}}), "application/json")
    with pytest.raises(EngineError, match=r"HTTP 400: Invalid schema: no$"):
        through({"/v1/models": models("m"), "/v1/chat/completions": body})


def test_estimate_is_an_upper_one() -> None:
    table = "Revenue 2023: 1,234,567.89 (USD millions)\n" * 20
    chinese = "公司实现营业收入１２３．４５亿元，同比增长8.9%。" * 20
    for text in (table, chinese, "plain words of a sentence that goes on " * 20):
        estimate = estimate_tokens([{"role": "user", "content": text}])
        assert len(text) / 4 <= estimate <= 2 * len(text)


def test_flip_rate_counts_what_differs() -> None:
    calls = 0

    def reply(body: Mapping[str, Any]) -> str:
        nonlocal calls
        calls += 1
        return f"answer {calls}" if "shaky" in body["messages"][0]["content"] else "the same"

    async def scenario() -> dict:
        async with FaultyServer(reply=reply) as server:
            engine = OpenAIEngine("e", [server.url], patience=QUICK)
            texts = ["steady", "shaky", "steady too", "steady again"]
            found = await flip_rate(engine, [Request(messages=[{"role": "user", "content": t}]) for t in texts])
            await engine.close()
            return found

    assert asyncio.run(scenario()) == {"requests": 4, "cold_warm": 0.25, "alone_company": 0.25, "company_company": 0.25}
