"""What a server says about itself before the first request: its model, context, kind and first prompt tokens."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fiqkit.errors import UserError
from fiqkit.models.engine import Message
from fiqkit.models.served.dialects import OWNERS
from fiqkit.models.served.faults import Fault
from fiqkit.models.served.pool import Pool

_HELLO: Sequence[Message] = ({"role": "user", "content": "Hello"},)


@dataclass(frozen=True, slots=True)
class Served:
    """Findings of a survey.

    Attributes:
        model: the name under which the servers have the model.
        dialect: a key of `DIALECTS`.
        context: tokens of prompt and reply together for one request, the smallest of the servers'; 0 if not told.
        version: what the first server calls itself.
        first_ids: the first eight token ids of a short chat, where the server can tell.
    """

    model: str
    dialect: str
    context: int = 0
    version: str = ""
    first_ids: tuple[int, ...] = ()


async def survey(pool: Pool, name: str, model: str) -> Served:
    """Ask every server of a pool for its models and limits.

    Raises:
        UserError: a server that is not there, is no model server, refuses the key, lacks the model, or differs from
            the others; or one whose template begins the prompt twice.
    """
    found = [await _survey_one(pool, endpoint.url, name, model) for endpoint in pool.endpoints]
    first = found[0]
    for endpoint, other in zip(pool.endpoints, found, strict=True):
        if (other.model, other.dialect) != (first.model, first.dialect):
            raise UserError(
                f"{name}: {endpoint.url} serves {other.model} ({other.dialect}), but {pool.endpoints[0].url} serves "
                f"{first.model} ({first.dialect}); a pool needs one model on one kind of server"
            )
    contexts = [served.context for served in found if served.context]
    return Served(first.model, first.dialect, min(contexts, default=0), first.version, first.first_ids)


async def _survey_one(pool: Pool, url: str, name: str, model: str) -> Served:
    try:
        listing = await pool.get(f"{url}/models")
        served = listing["data"] if isinstance(listing, dict) else None
        rows = {str(row["id"]): row for row in served} if isinstance(served, list) else {}
    except Fault as fault:
        if fault.status != 404 or "HTML" in str(fault):
            raise _startup_error(name, url, fault) from None
        rows = {}  # a provider that keeps no list
    except (KeyError, TypeError):
        raise UserError(f"{name}: {url}/models is no list of models; is the URL that of an OpenAI-style API?") from None
    chosen = _choose(name, url, model, rows)
    row = rows.get(chosen, {})
    dialect = OWNERS.get(str(row.get("owned_by")), "generic")
    bare = Served(chosen, dialect, int(row.get("max_model_len") or 0))
    try:
        return await _DETAILS[dialect](pool, url, bare) if dialect in _DETAILS else bare
    except Fault as fault:
        if "chat template" in str(fault).lower():
            raise UserError(f"{name}: {url}: {chosen} has no chat template; give the server one ({fault})") from None
        return bare  # a gateway may pass on the completions alone


def _choose(name: str, url: str, model: str, rows: Mapping[str, Any]) -> str:
    if model and (not rows or model in rows):
        return model
    if not model and len(rows) == 1:
        return next(iter(rows))
    names = ", ".join(sorted(rows)[:8]) + (", …" if len(rows) > 8 else "")
    if model:
        raise UserError(f"{name}: {url} does not serve {model!r}; it serves {names}")
    raise UserError(f"{name}: say which model to use at {url} ({url}#MODEL)" + (f"; it serves {names}" if rows else ""))


def _startup_error(name: str, url: str, fault: Fault) -> UserError:
    mends = {
        "unreachable": "start the server or correct the URL",
        "timeout": "is it overloaded, or is something else listening there?",
        "reset": "something else than a model server may be listening there",
        "bad_json": "the URL must be the API's base, for example http://127.0.0.1:8000/v1",
        "rejected": "check the URL",
    }
    if fault.status in (401, 403):
        return UserError(f"{name}: {url} refuses the API key; name its environment variable as api_key_env ({fault})")
    return UserError(f"{name}: {fault}; {mends.get(fault.kind, 'look into the server log')}")


# --- per kind of server ---------------------------------------------------------------------------------------------


async def _ask(pool: Pool, url: str, body: Mapping[str, Any] | None = None) -> Any:
    return await pool.get(url, None if body is None else json.dumps(body, ensure_ascii=False).encode())


def _root(url: str) -> str:
    return url.removesuffix("/v1")


async def _vllm_tokens(pool: Pool, url: str, model: str, messages: Sequence[Message]) -> list[int]:
    chat = [dict(message) for message in messages]
    tokens: list[int] = (await _ask(pool, f"{_root(url)}/tokenize", {"model": model, "messages": chat}))["tokens"]
    return tokens


async def _llama_cpp_tokens(pool: Pool, url: str, model: str, messages: Sequence[Message]) -> list[int]:
    chat = [dict(message) for message in messages]
    prompt = (await _ask(pool, f"{_root(url)}/apply-template", {"messages": chat}))["prompt"]
    body = {"content": prompt, "add_special": True, "parse_special": True}
    tokens: list[int] = (await _ask(pool, f"{_root(url)}/tokenize", body))["tokens"]
    return tokens


async def _vllm(pool: Pool, url: str, bare: Served) -> Served:
    version = await _ask(pool, f"{_root(url)}/version")
    ids = _one_start(await _vllm_tokens(pool, url, bare.model, _HELLO), url)
    return replace(bare, version=f"vllm {version['version']}", first_ids=ids)


async def _llama_cpp(pool: Pool, url: str, bare: Served) -> Served:
    props = await _ask(pool, f"{_root(url)}/props")
    # n_ctx here is that of one slot: the server has already divided its context by the slots.
    context = int(props["default_generation_settings"]["n_ctx"])
    ids = _one_start(await _llama_cpp_tokens(pool, url, bare.model, _HELLO), url)
    return replace(bare, context=context, version=f"llama.cpp {props.get('build_info', '')}".strip(), first_ids=ids)


def _one_start(ids: Sequence[int], url: str) -> tuple[int, ...]:
    if len(ids) > 1 and ids[0] == ids[1]:
        raise UserError(f"{url}: the server begins a chat with token {ids[0]} twice (a double BOS); mend its template")
    return tuple(ids[:8])


_DETAILS = {"vllm": _vllm, "llama.cpp": _llama_cpp}
