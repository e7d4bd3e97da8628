"""Servers as they are: a run against each kind of oddity ends in the episode, or the one line, that it deserves."""

from __future__ import annotations

import asyncio
import gzip
import json
import sqlite3
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from odd_server import ANSWER, DRAFT, RIGHT, USAGE, Body, OddServer, completed, good, is_probe, listed

from fiqkit.errors import UserError
from fiqkit.run.evaluation import Settings, Watch, evaluate
from fiqkit.run.lineup import Lineup


@dataclass(frozen=True)
class Outcome:
    """What a run came to: its first episode, or the line of a refusal."""

    ending: str = ""
    answer: str | None = None
    error: str = ""
    reasoning: str = ""
    flags: str = ""
    refused: str = ""
    said: str = ""


def played(tmp_path: Path, server: OddServer, agent: str = "{url}#m", cards: str = "", **lineup: Any) -> Outcome:
    """One episode in mode `answer` against a server."""
    said: list[str] = []

    async def scenario() -> None:
        async with server:
            file = None
            if cards:
                file = tmp_path / "cards.toml"
                file.write_text(cards.format(url=server.url))
            named = agent.format(url=server.url, root=server.url.removesuffix("/v1"), host=server.url[7:])
            line = Lineup(**{"agent": (named,), "modes": ("answer",), **lineup})
            settings = Settings(lineup=line, store=tmp_path / "r.db", limit=1, cards=file, engine={"attempts": 2})
            await evaluate(settings, Watch(said=said.append))

    try:
        asyncio.run(scenario())
    except UserError as error:
        assert "\n" not in str(error)
        return Outcome(refused=str(error), said="\n".join(said))
    with sqlite3.connect(tmp_path / "r.db") as file:
        row = file.execute("SELECT ending, answer, coalesce(error, ''), flags, episode FROM episodes").fetchone()
        turns = file.execute("SELECT reasoning FROM turns WHERE episode = ? ORDER BY turn", [row[4]]).fetchall()
    reasoning = "".join(text or "" for (text,) in turns)
    return Outcome(row[0], row[1], row[2], reasoning, str(row[3]), said="\n".join(said))


def after_probe(reply: Callable[[Body], Any]) -> Callable[[Body], Any]:
    """Well-behaved in the start-up probe, odd afterwards."""
    return lambda body: completed(good(body)) if is_probe(body) else reply(body)


# --- the shape of replies -------------------------------------------------------------------------------------------

FENCED = "```json\n{}\n```"
ANSWERED: dict[str, Callable[[Body], Any]] = {
    "reasoning_content": lambda b: completed(good(b), reasoning_content=f"hm {DRAFT}"),
    "reasoning": lambda b: completed(good(b), reasoning=f"hm {DRAFT}"),
    "reasoning repeats the reply": lambda b: completed(good(b), reasoning_content=good(b)),
    "parts": lambda b: completed(
        [{"type": "thinking", "thinking": [{"type": "text", "text": f"hm {DRAFT}"}]}, {"type": "text", "text": good(b)}]
    ),
    "parts of two kinds": lambda b: completed([{"type": "reasoning", "text": "hm"}, {"type": "text", "text": good(b)}]),
    "think": lambda b: completed(f"<think>\nhm {DRAFT}\n</think>\n\n{good(b)}"),
    "think, opened by the template": lambda b: completed(f"hm {DRAFT}\n</think>\n\n{good(b)}"),
    "harmony": lambda b: completed(
        f"<|channel|>analysis<|message|>hm {DRAFT}<|end|><|start|>assistant<|channel|>final<|message|>{good(b)}"
    ),
    "harmony without its special tokens": lambda b: completed(f"analysishm {DRAFT}assistantfinal{good(b)}"),
    "[THINK]": lambda b: completed(f"[THINK]hm, {DRAFT}[/THINK]{good(b)}"),
    "seed": lambda b: completed(f"<seed:think>hm {DRAFT}</seed:think>{good(b)}"),
    "gemma": lambda b: completed(f"<|channel>thought\nhm {DRAFT}<channel|>{good(b)}"),
    "command": lambda b: completed(f"<|START_THINKING|>hm<|END_THINKING|><|START_RESPONSE|>{good(b)}<|END_RESPONSE|>"),
    "granite": lambda b: completed(f"<think>hm {DRAFT}</think><response>{good(b)}</response>"),
    "fenced": lambda b: completed(FENCED.replace("{}", good(b)) if good(b).startswith("{") else good(b)),
    "fenced, choices too": lambda b: completed(FENCED.replace("{}", good(b))),
    "schema ignored": lambda b: completed("Hello there." if is_probe(b) else RIGHT),
    "no usage": lambda b: completed(good(b), usage=None),
    "odd usage": lambda b: completed(good(b), usage={"prompt_tokens": None, "completion_tokens": 12.0}),
    "text for a message": lambda b: {"choices": [{"text": good(b), "finish_reason": "stop"}]},
    "ends with its ending token": lambda b: completed(good(b) + "<|im_end|>"),
    "an error field of null": lambda b: completed(good(b)) | {"error": None},
    "eos_token": lambda b: completed(good(b), "eos_token"),
    "STOP": lambda b: completed(good(b), "STOP"),
    "end_turn": lambda b: completed(good(b), "end_turn"),
    "stop_str": lambda b: completed(good(b), "stop_str"),
    "COMPLETE": lambda b: completed(good(b), "COMPLETE"),
    "no finish reason": lambda b: completed(good(b), None),
    "an empty finish reason": lambda b: completed(good(b), ""),
    "gzip": lambda b: web.Response(
        body=gzip.compress(json.dumps(completed(good(b))).encode()),
        headers={"Content-Encoding": "gzip", "Content-Type": "application/json"},
    ),
    "byte order mark": lambda b: web.Response(body=b"\xef\xbb\xbf" + json.dumps(completed(good(b))).encode()),
    "NaN": lambda b: web.Response(text=json.dumps(completed(good(b)) | {"timings": {"speed": float("nan")}})),
    "text/plain": lambda b: web.Response(text=json.dumps(completed(good(b))), content_type="text/plain"),
    "white space first": lambda b: web.Response(text=" \n\n" + json.dumps(completed(good(b)))),
}


@pytest.mark.parametrize("reply", ANSWERED.values(), ids=ANSWERED)
def test_a_reply_in_any_shape_is_read(tmp_path: Path, reply: Callable[[Body], Any]) -> None:
    found = played(tmp_path, OddServer(reply))
    assert (found.ending, found.answer) == ("answered", ANSWER), found


def test_reasoning_is_kept_and_never_executed(tmp_path: Path) -> None:
    for name in ("reasoning_content", "parts", "think, opened by the template", "harmony", "[THINK]", "seed"):
        (folder := tmp_path / name).mkdir()
        found = played(folder, OddServer(ANSWERED[name]))
        assert DRAFT in found.reasoning and found.answer == ANSWER


@pytest.mark.parametrize(
    "send",
    [
        lambda b: web.Response(text=json.dumps(completed(good(b).replace("billion", "billion \ud83d")))),
        lambda b: completed(good(b).replace("billion", "billion \\ud83d")),
        lambda b: web.Response(
            body=json.dumps(completed(good(b))).encode().replace(b"billion", b"billion \xf0\x9f"),
            content_type="application/json",
        ),
    ],
    ids=["half a character in the reply", "half a character in the model's JSON", "a broken byte"],
)
def test_what_is_no_character_becomes_one_that_says_so(tmp_path: Path, send: Callable[[Body], Any]) -> None:
    found = played(tmp_path, OddServer(after_probe(send)))
    assert found.ending == "answered"
    assert found.answer is not None and found.answer.rstrip("\ufffd") == f"{ANSWER} "


FAILED: dict[str, tuple[Callable[[Body], Any], str, str, int]] = {  # reply, ending, its line, most tries
    "tool calls": (
        lambda b: completed(None, "tool_calls", tool_calls=[{"function": {"name": "search", "arguments": "{}"}}]),
        "engine_error",
        "called a tool .*'search'",
        1,
    ),
    "function_call": (lambda b: completed(good(b), "function_call"), "engine_error", "called a tool", 1),
    "refusal": (lambda b: completed(None, refusal="I can't help."), "engine_error", 'refused: "I can\'t help."', 1),
    "error in the choice": (
        lambda b: {"choices": [completed("", "error")["choices"][0] | {"error": {"code": 502, "message": "GPU fell"}}]},
        "engine_error",
        "GPU fell.*gave up after 2",
        2,
    ),
    "error beside null choices": (
        lambda b: {"choices": None, "error": {"code": 502, "message": "GPU fell"}},
        "engine_error",
        "GPU fell",
        2,
    ),
    "empty": (
        lambda b: completed("", usage={"prompt_tokens": 36000, "completion_tokens": 0}),
        "engine_error",
        "holds no text and counts no token",
        2,
    ),
    "abort": (lambda b: completed(good(b), "abort"), "engine_error", "'abort'.*gave up after 2", 2),
    "no resources": (
        lambda b: completed(good(b), "insufficient_system_resource"),
        "engine_error",
        "insufficient_system_resource",
        2,
    ),
    "sensitive": (lambda b: completed(good(b), "sensitive"), "engine_error", "content filter.*'sensitive'", 1),
    "only reasoning, cut": (
        lambda b: completed(None, "length", reasoning_content="word " * 50),
        "truncated",
        "^$",
        1,
    ),
    "MAX_TOKENS": (lambda b: completed(good(b), "MAX_TOKENS"), "truncated", "^$", 1),
    "ends inside its think block": (lambda b: completed(f"<think>\n{DRAFT}\nwait"), "truncated", "^$", 1),
    "model_length": (lambda b: completed(good(b), "model_length"), "context_overflow", "context is full", 1),
    "model_context_window_exceeded": (
        lambda b: completed(good(b), "model_context_window_exceeded"),
        "context_overflow",
        "context is full",
        1,
    ),
    "no room for a reply": (
        lambda b: completed("", "length", usage={"prompt_tokens": 4095, "completion_tokens": 1}),
        "context_overflow",
        "4,095 tokens and left room for 1",
        1,
    ),
    "error page": (
        lambda b: web.Response(status=502, text="<html><h1>502</h1></html>", content_type="text/html"),
        "engine_error",
        "HTTP 502: an HTML page",
        2,
    ),
    "a quota of the day": (
        lambda b: web.json_response(
            {"error": {"message": "Daily quota"}}, status=429, headers={"Retry-After": "86400"}
        ),
        "engine_error",
        "Daily quota; it asks to stay away for 86,400 s, and at most 300 s are waited",
        1,
    ),
}


@pytest.mark.parametrize(("reply", "ending", "line", "tries"), FAILED.values(), ids=FAILED)
def test_what_is_no_reply_is_never_a_wrong_answer(
    tmp_path: Path, reply: Callable[[Body], Any], ending: str, line: str, tries: int
) -> None:
    import re

    server = OddServer(after_probe(reply))
    found = played(tmp_path, server)
    assert (found.ending, found.answer) == (ending, None)
    assert re.search(line, found.error), found.error
    assert sum(not is_probe(body) for body in server.bodies) == tries


def test_a_first_token_that_is_a_part_of_a_character_is_no_full_context(tmp_path: Path) -> None:
    """llama-cpp-python's reply to the probe of a Chinese opening, which asks for one token."""
    usage = {"prompt_tokens": 409, "completion_tokens": 1}
    server = OddServer(lambda b: completed("", "length", usage=usage) if b["max_tokens"] == 1 else completed(good(b)))
    found = played(tmp_path, server)
    assert (found.ending, found.answer) == ("answered", ANSWER), found


def test_a_block_that_the_template_opened_and_nobody_closed_is_not_executed(tmp_path: Path) -> None:
    draft = f'Let me draft:\n{{"action": "answer", "response": "$999 billion"}}\n{DRAFT}\nNo wait, I must check'
    server = OddServer(lambda b: completed(f"hm\n</think>\n{good(b)}" if is_probe(b) else draft))
    found = played(tmp_path, server)
    assert (found.ending, found.answer) == ("truncated", None)
    assert "$999" in found.reasoning


def test_a_reply_in_the_reasoning_field_is_named(tmp_path: Path) -> None:
    found = played(tmp_path, OddServer(lambda b: completed(None, reasoning_content=good(b))))
    assert "its reply comes in the reasoning field" in found.refused and "reasoning parser" in found.refused
    found = played(tmp_path, OddServer(after_probe(lambda b: completed(None, reasoning_content=good(b)))))
    assert (found.ending, found.answer) == ("engine_error", None)
    assert "came in the reasoning field" in found.error


# --- constraints ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "reply",
    [
        lambda b: completed("Hello there." if is_probe(b) else RIGHT),
        lambda b: (
            web.json_response({"error": {"message": "no response_format"}}, status=400)
            if "response_format" in b
            else completed(good(b))
        ),
    ],
    ids=["schema ignored", "schema refused"],
)
def test_a_server_without_schemas_runs_unconstrained_and_says_so(tmp_path: Path, reply: Callable[[Body], Any]) -> None:
    server = OddServer(reply)
    found = played(tmp_path, server)
    assert (found.ending, found.answer) == ("answered", ANSWER)
    assert "unconstrained" in found.flags
    assert found.said.count("holds no reply to a schema") == 1
    assert "response_format" not in server.bodies[-1]
    with sqlite3.connect(tmp_path / "r.db") as file:
        manifest = json.loads(file.execute("SELECT manifest FROM runs").fetchone()[0])
    assert manifest["agents"][0]["constrained"] is False
    assert manifest["agents"][0]["engine"]["structured"] is False


def test_tables_and_comparisons_say_which_rows_ran_unconstrained(tmp_path: Path) -> None:
    from fiqkit.metrics.table import main_rows
    from fiqkit.report.comparison import compare_sides
    from fiqkit.report.notes import notes
    from fiqkit.store.load import load_scored
    from fiqkit.store.store import Store

    async def scenario() -> None:
        async with OddServer(models=listed("m", "n")) as held, OddServer(lambda b: completed(RIGHT)) as free:
            lineup = Lineup(agent=(f"held={held.url}#m", f"free={free.url}#m"), modes=("answer",))
            await evaluate(Settings(lineup=lineup, store=tmp_path / "r.db", limit=2, engine={"attempts": 2}))

    asyncio.run(scenario())
    store = Store(tmp_path / "r.db")
    rows = {row["model"]: row for row in main_rows(load_scored(store, ["last"]))}
    assert (rows["held"]["unconstrained"], rows["free"]["unconstrained"]) == (0, 2)
    assert [note for note in notes(list(rows.values())) if "unconstrained" in note] == [
        "free answer: 2 of 2 episodes ran unconstrained, no reply of theirs was held to a schema"
    ]
    said = compare_sides(store, "last:held:answer", "last:free:answer")["notes"]
    assert "the second ran unconstrained, the replies of the other were held to a schema" in said
    store.close()


def test_structured_none_forces_it(tmp_path: Path) -> None:
    server = OddServer()
    cards = '[x]\nengine = "openai"\nweights = "{url}"\nmodel = "m"\nsettings = {{structured = "none"}}\n'
    found = played(tmp_path, server, "x", cards)
    assert found.ending == "answered" and "unconstrained" in found.flags
    assert not any("response_format" in body for body in server.bodies)


# --- context overflow -----------------------------------------------------------------------------------------------

OVERFLOWS: dict[str, tuple[int, Any]] = {
    "maximum": (400, {"object": "error", "message": "This model's maximum context length is 4096 tokens. However, 9"}),
    "no room": (400, {"error": {"message": "max_tokens must be at least 1, got -7584. (parameter=max_tokens)"}}),
    "inputs": (422, {"error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: 9"}),
    "n_keep": (400, {"error": "Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)"}),
    "code": (400, {"error": {"message": "Please shorten it.", "code": "context_length_exceeded"}}),
    "nested": (
        400,
        {"error": {"message": "x", "metadata": {"raw": '{"error":{"message":"prompt is too long"}}'}}},
    ),
    "in a 200": (200, {"error": {"message": "The endpoint's maximum context length is 131072 tokens", "code": 400}}),
    "type in a 200": (200, {"error": {"message": "increase it", "type": "exceed_context_size_error"}}),
    "500": (500, {"error": {"code": 500, "message": "Context size has been exceeded."}}),
    "a list": (
        400,
        [{"error": {"message": "The input token count (9) exceeds the maximum number of tokens allowed (8)."}}],
    ),
    "cloudflare": (400, {"errors": [{"message": "AiError: This model's maximum context length is 8192 tokens"}]}),
    "text": (413, "Payload too large: context length exceeded"),
}


@pytest.mark.parametrize(("status", "body"), OVERFLOWS.values(), ids=OVERFLOWS)
def test_a_prompt_that_is_too_long_ends_as_context_overflow(tmp_path: Path, status: int, body: Any) -> None:
    text = body if isinstance(body, str) else json.dumps(body)
    server = OddServer(after_probe(lambda b: web.Response(status=status, text=text)))
    assert played(tmp_path, server).ending == "context_overflow"


def growing(window: int, cached: bool = False) -> Callable[[Body], Any]:
    """An agent that searches for ever; its server keeps `window` tokens, or counts only what it had not cached."""
    seen: list[int] = []

    def reply(body: Body) -> Any:
        count = sum(len(message["content"]) // 4 + 4 for message in body["messages"])
        read = window // 2 if window and count > window else count
        if cached:
            read, before = count - max((n for n in seen if n <= count), default=0) or 5, seen
            before.append(count)
        usage = {"prompt_tokens": read, "completion_tokens": 20}
        shapes = [body] if is_probe(body) else []
        text = good(body) if shapes else json.dumps({"action": "search", "query": f"income {len(body['messages'])}"})
        if not shapes and '"const":"search"' not in json.dumps(body.get("response_format")).replace(" ", ""):
            text = RIGHT
        return completed(text, usage=usage)

    return reply


def test_a_server_that_cuts_prompts_is_found_out(tmp_path: Path) -> None:
    found = played(tmp_path, OddServer(growing(2400)), modes=("search",))
    assert (found.ending, found.answer) == ("context_overflow", None)
    assert "1,200 prompt tokens after 2," in found.error


def test_a_server_that_does_not_count_what_it_cached_is_not_accused(tmp_path: Path) -> None:
    found = played(tmp_path, OddServer(growing(0, cached=True)), modes=("search",))
    assert found.ending == "answered"
    assert "prompt_cut" in found.flags, "both numbers are kept all the same"


def test_a_prompt_cut_from_the_first_turn_on_is_flagged(tmp_path: Path) -> None:
    found = played(tmp_path, OddServer(lambda b: completed(good(b), usage=USAGE | {"prompt_tokens": 51})))
    assert "prompt_cut: 51 of at least" in found.flags
    assert "prompt_cut: 51 of at least" in found.said


# --- thinking -------------------------------------------------------------------------------------------------------

HYBRID = '[h]\nengine = "openai"\nweights = "{url}"\nmodel = "m"\nthinking = ["on", "off"]\n'


@pytest.mark.parametrize("owner", ["vllm", "sglang", "library", "organization_owner", "me", "llamacpp", "openai", "x"])
def test_a_server_that_ignores_the_thinking_switch_is_refused(tmp_path: Path, owner: str) -> None:
    server = OddServer(models=listed(owned_by=owner))
    found = played(tmp_path, server, "h", HYBRID, thinking=("on", "off"))
    assert "thinking on and off are one" in found.refused and "switch = {on" in found.refused


@pytest.mark.parametrize(
    ("owner", "listens"),
    [
        ("vllm", lambda b: (b.get("chat_template_kwargs") or {}).get("enable_thinking")),
        ("sglang", lambda b: (b.get("chat_template_kwargs") or {}).get("thinking")),
        ("library", lambda b: b.get("reasoning_effort", "none") != "none"),
        ("organization_owner", lambda b: b.get("reasoning_effort", "none") != "none"),
        ("llamacpp", lambda b: (b.get("chat_template_kwargs") or {}).get("enable_thinking")),
    ],
)
def test_each_kind_of_server_is_asked_in_its_own_words(
    tmp_path: Path, owner: str, listens: Callable[[Body], Any]
) -> None:
    def reply(body: Body) -> Any:
        return completed(good(body), reasoning_content="hm" if listens(body) else None)

    server = OddServer(reply, listed(owned_by=owner))
    found = played(tmp_path, server, "h", HYBRID, thinking=("on",))
    assert (found.ending, found.reasoning) == ("answered", "hm"), found


def test_a_switch_of_ones_own(tmp_path: Path) -> None:
    cards = HYBRID + "settings = {{switch = {{on = {{effort = 9}}, off = {{effort = 0}}}}}}\n"
    server = OddServer(lambda b: completed(good(b), reasoning_content="hm" * b.get("effort", 0)))
    found = played(tmp_path, server, "h", cards, thinking=("off", "on"))
    assert found.ending == "answered" and {body.get("effort") for body in server.bodies} == {0, 9}
    odd = HYBRID + "settings = {{switch = {{on = 1}}}}\n"
    assert "has the form {on = {…}, off = {…}}" in played(tmp_path, OddServer(), "h", odd).refused


# --- templates behind a server ---------------------------------------------------------------------------------------


def test_a_model_without_a_system_role_is_given_its_text_all_the_same(tmp_path: Path) -> None:
    def reply(body: Body) -> Any:
        if any(message["role"] == "system" for message in body["messages"]):
            return web.json_response({"object": "error", "message": "System role not supported"}, status=400)
        return completed(good(body))

    server = OddServer(reply)
    found = played(tmp_path, server)
    assert found.ending == "answered"
    first = server.bodies[-1]["messages"][0]
    assert first["role"] == "user" and "action" in first["content"]


def test_an_empty_assistant_message_is_never_sent(tmp_path: Path) -> None:
    def reply(body: Body) -> Any:
        if any(message["role"] == "assistant" and not message["content"] for message in body["messages"]):
            return web.json_response({"error": {"message": "assistant content must not be empty"}}, status=400)
        if is_probe(body) or len(body["messages"]) > 2:
            return completed(good(body))
        return completed("", reasoning_content="I thought and said nothing")

    cards = '[x]\nengine = "openai"\nweights = "{url}"\nmodel = "m"\nsettings = {{structured = "none"}}\n'
    found = played(tmp_path, OddServer(reply), "x", cards)
    assert (found.ending, found.answer) == ("answered", ANSWER)
    assert "repaired" in found.flags


REFUSED_FIELDS = {
    "seed": (
        422,
        {"detail": [{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs", "input": 0}]},
    ),
    "temperature": (
        400,
        {"error": {"message": "Unsupported value: 'temperature' does not support 0 with this model."}},
    ),
}


@pytest.mark.parametrize("field", REFUSED_FIELDS)
def test_a_refused_field_is_quoted_with_the_mend(tmp_path: Path, field: str) -> None:
    status, body = REFUSED_FIELDS[field]
    server = OddServer(lambda b: web.json_response(body, status=status) if field in b else completed(good(b)))
    found = played(tmp_path, server)
    assert field in found.refused and f'extra={{"{field}": null}}' in found.refused


def test_another_name_for_the_bound_of_a_reply_is_told(tmp_path: Path) -> None:
    message = "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead."
    server = OddServer(
        lambda b: (
            web.json_response({"error": {"message": message}}, status=400) if "max_tokens" in b else completed("x")
        )
    )
    assert 'dialect = "openai"' in played(tmp_path, server).refused


# --- lists of models, addresses, keys --------------------------------------------------------------------------------

OTHER_LISTS: dict[str, Any] = {
    "a bare list": [{"id": "m"}],
    "no data": {"data": None},
    "404": web.Response,
    "405": lambda _: web.Response(status=405, text="Method Not Allowed"),
    "501": lambda _: web.Response(status=501, text="Not Implemented"),
    "an alias": listed("m:latest", owned_by="library"),
    "max_model_len as a text": listed(owned_by="x", max_model_len="32k"),
    "max_model_len as a float": listed(owned_by="x", max_model_len=4096.0),
    "vLLM behind a gateway": listed(owned_by="vllm", max_model_len=4096),
}
OTHER_LISTS["404"] = lambda _: web.Response(status=404, text="not found")


@pytest.mark.parametrize("models", OTHER_LISTS.values(), ids=OTHER_LISTS)
def test_lists_of_models_of_many_kinds(tmp_path: Path, models: Any) -> None:
    assert played(tmp_path, OddServer(models=models)).ending == "answered"


@pytest.mark.parametrize(
    "props",
    [
        {"system_prompt": "", "total_slots": 1, "chat_template": "x"},
        {"role": "router", "default_generation_settings": {"params": None, "n_ctx": 0}, "build_info": "b1"},
        {"default_generation_settings": None},
    ],
)
def test_llama_cpp_servers_that_describe_themselves_otherwise(tmp_path: Path, props: Mapping[str, Any]) -> None:
    refused = web.json_response({"error": {"message": "model name is missing from the request"}}, status=400)
    paths = {"/props": props, "/apply-template": lambda _: refused}
    assert played(tmp_path, OddServer(models=listed(owned_by="llamacpp"), paths=paths)).ending == "answered"


@pytest.mark.parametrize(
    ("agent", "paths", "said"),
    [
        ("{url}/#m", {}, ""),
        ("{url}/chat/completions#m", {}, ""),
        ("{root}#m", {}, "the API is at"),
        ("HTTP://{host}#m", {}, ""),
        ("{url}?api-version=2024-10-21#m", {}, ""),
        ("{url}", {}, ""),
    ],
)
def test_addresses_as_people_write_them(tmp_path: Path, agent: str, paths: Mapping[str, Any], said: str) -> None:
    found = played(tmp_path, OddServer(paths=paths), agent)
    assert found.ending == "answered", found
    assert said in found.said


@pytest.mark.parametrize(
    ("agent", "line"),
    [
        ("{host}#m", "looks like the address of a server; write http://127"),
        ("http://127.0.0.1:99999/v1#m", "is not the URL of a server"),
        ("http://[::1/v1#m", "is not the URL of a server"),
        ("{url}#other", "does not serve 'other'; it serves m"),
    ],
)
def test_addresses_that_cannot_be_right(tmp_path: Path, agent: str, line: str) -> None:
    assert line in played(tmp_path, OddServer(), agent).refused


def test_a_redirect_that_would_lose_the_request_is_named(tmp_path: Path) -> None:
    moved = {"/v1/chat/completions": lambda _: web.Response(status=301, headers={"Location": "/v2/chat/completions"})}
    found = played(tmp_path, OddServer(paths=moved))
    assert "HTTP 301 redirects to http://127.0.0.1:" in found.refused and "/v2/chat/completions" in found.refused
    away = {"/v1/chat/completions": lambda _: web.Response(status=308, headers={"Location": "http://other.example/v1"})}
    assert "redirects to http://other.example/v1" in played(tmp_path, OddServer(paths=away)).refused


def test_a_redirect_that_keeps_the_request_is_followed(tmp_path: Path) -> None:
    server = OddServer()

    async def target(request: web.Request) -> Any:
        return completed(good(await request.json()))

    server.paths = {
        "/v1/chat/completions": lambda _: web.Response(status=308, headers={"Location": "/elsewhere"}),
        "/elsewhere": target,
    }
    assert played(tmp_path, server).ending == "answered"


def test_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys: list[str | None] = []

    def models(request: web.Request) -> Any:
        keys.append(request.headers.get("Authorization"))
        known = keys[-1] == "Bearer secret"
        return web.json_response(listed() if known else {"error": {"message": "bad key"}}, status=200 if known else 401)

    monkeypatch.delenv("FIQKIT_API_KEY", raising=False)
    refused = played(tmp_path, OddServer(models=models)).refused
    assert "FIQKIT_API_KEY" in refused and "--engine-setting api_key_env=NAME" in refused
    monkeypatch.setenv("FIQKIT_API_KEY", "secret\n")
    assert played(tmp_path, OddServer(models=models)).ending == "answered"
    monkeypatch.setenv("FIQKIT_API_KEY", "two\nlines")
    assert "holds a line break" in played(tmp_path, OddServer(models=models)).refused
    # A card names its own variable, or none: the key of the command line goes to no other server.
    keys.clear()
    monkeypatch.setenv("FIQKIT_API_KEY", "secret")
    cards = '[x]\nengine = "openai"\nweights = "{url}"\nmodel = "m"\n'
    assert "refuses the API key" in played(tmp_path, OddServer(models=models), "x", cards).refused
    assert keys == [None]


def test_a_server_that_streams_is_named(tmp_path: Path) -> None:
    stream = 'data: {"choices":[{"delta":{"content":"hi"}}]}\n\ndata: [DONE]\n\n'
    server = OddServer(lambda b: web.Response(text=stream, content_type="text/event-stream"))
    assert "streams its reply (server-sent events)" in played(tmp_path, server).refused


def test_a_date_to_come_back_at_is_kept(tmp_path: Path) -> None:
    asked: list[float] = []

    def reply(body: Body) -> Any:
        asked.append(time.time())
        if len(asked) > 1:
            return completed(good(body))
        later = formatdate(time.time() + 2, usegmt=True)
        return web.Response(status=429, headers={"Retry-After": later}, text="slow down")

    assert played(tmp_path, OddServer(reply)).ending == "answered"
    assert asked[1] - asked[0] > 0.9  # a date has whole seconds


def test_the_window_of_ollama_is_asked_for_and_said(tmp_path: Path) -> None:
    loaded: list[str] = []

    async def generate(request: web.Request) -> Any:
        loaded.append((await request.json())["model"])
        return {"done": True}

    def running(_: web.Request) -> Any:
        return {"models": [{"model": f"{name}:latest", "context_length": 2048} for name in loaded]}

    paths = {"/api/version": {"version": "0.13.1"}, "/api/ps": running, "/api/generate": generate}
    server = OddServer(models=listed("m:latest", owned_by="library"), paths=paths)
    found = played(tmp_path, server)
    assert loaded == ["m"]
    assert "a window of 2,048 tokens" in found.said and "OLLAMA_CONTEXT_LENGTH" in found.said
    with sqlite3.connect(tmp_path / "r.db") as file:
        engine = json.loads(file.execute("SELECT manifest FROM runs").fetchone()[0])["agents"][0]["engine"]
    assert (engine["context"], engine["server"], engine["dialect"]) == (2048, "ollama 0.13.1", "ollama")


def test_a_proxy_of_the_environment_is_not_used_for_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert played(tmp_path, OddServer()).ending == "answered"
