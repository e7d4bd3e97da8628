"""What a server says about itself before the first request: its model, context, kind and first prompt tokens."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from fiqkit.errors import UserError
from fiqkit.models.engine import Message
from fiqkit.models.served.dialects import OWNERS
from fiqkit.models.served.faults import Fault
from fiqkit.models.served.http import below
from fiqkit.models.served.pool import Endpoint, Pool

_VERSIONED = re.compile(r"/v\d+\w*(?:/|$)")
_OLLAMA_WINDOW = 4096  # its default where nothing says otherwise
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
        notes: lines worth showing to whoever starts a run.
    """

    model: str
    dialect: str
    context: int = 0
    version: str = ""
    first_ids: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()


async def survey(pool: Pool, name: str, model: str) -> Served:
    """Ask every server of a pool for its models and limits.

    Raises:
        UserError: a server that is not there, is no model server, refuses the key, lacks the model, or differs from
            the others; or one whose template begins the prompt twice.
    """
    found = [await _survey_one(pool, endpoint, name, model) for endpoint in pool.endpoints]
    first = found[0]
    for endpoint, other in zip(pool.endpoints, found, strict=True):
        if (other.model, other.dialect) != (first.model, first.dialect):
            raise UserError(
                f"{name}: {endpoint.url} serves {other.model} ({other.dialect}), but {pool.endpoints[0].url} serves "
                f"{first.model} ({first.dialect}); a pool needs one model on one kind of server"
            )
    contexts = [served.context for served in found if served.context]
    notes = tuple(dict.fromkeys(note for served in found for note in served.notes))
    return replace(first, context=min(contexts, default=0), notes=notes)


async def _survey_one(pool: Pool, endpoint: Endpoint, name: str, model: str) -> Served:
    rows, notes = await _models(pool, endpoint, name)
    url = endpoint.url
    chosen = _choose(name, url, model, rows)
    row = rows.get(chosen) or rows.get(f"{chosen}:latest") or {}
    dialect = OWNERS.get(str(row.get("owned_by")), "generic")
    bare = Served(chosen, dialect, _whole_number(row.get("max_model_len")), notes=notes)
    try:
        return await _DETAILS[dialect](pool, url, bare) if dialect in _DETAILS else bare
    except Fault as fault:
        if "chat template" in str(fault).lower():
            raise UserError(f"{name}: {url}: {chosen} has no chat template; give the server one ({fault})") from None
        return bare  # a gateway may pass on the completions alone
    except (KeyError, TypeError, ValueError, AttributeError):
        return bare  # another version of this kind of server, which describes itself in another way


async def _models(pool: Pool, endpoint: Endpoint, name: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The rows of a server's list of models by their ids, and what is worth saying about its address.

    Where there is nothing at the address, and it does not end in a version, the one with /v1 is tried.
    """
    url = endpoint.url
    try:
        return _rows(name, url, await pool.get(below(url, "/models"))), ()
    except Fault as fault:
        if not _VERSIONED.search(urlsplit(url).path) and fault.status in (0, 200, 400, 404, 405) and not fault.down:
            try:
                rows = _rows(name, below(url, "/v1"), await pool.get(below(url, "/v1/models")))
            except (Fault, UserError):
                pass
            else:
                endpoint.url = below(url, "/v1")
                return rows, (f"{name}: the API is at {endpoint.url}; give that address",)
        if fault.status in (404, 405, 501) and "HTML" not in str(fault):
            return {}, ()  # a provider that keeps no list
        raise _startup_error(name, url, fault) from None


def _rows(name: str, url: str, listing: Any) -> dict[str, Any]:
    try:
        served = listing["data"] if isinstance(listing, dict) else None
        return {str(row["id"]): row for row in served} if isinstance(served, list) else {}
    except (KeyError, TypeError):
        raise UserError(
            f"{name}: {below(url, '/models')} is no list of models; is the URL that of an OpenAI-style API?"
        ) from None


def _whole_number(value: Any) -> int:
    """A number of tokens as a server states it; 0 where it is none."""
    try:
        return max(0, int(value or 0))
    except (TypeError, ValueError, OverflowError):
        return 0


def _choose(name: str, url: str, model: str, rows: Mapping[str, Any]) -> str:
    if model and (not rows or model in rows or f"{model}:latest" in rows):
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
        return UserError(
            f"{name}: {url} refuses the API key; put it into FIQKIT_API_KEY, or into another environment variable or "
            f"a file of mode 600 and name that: --engine-setting api_key_env=NAME or api_key_file=FILE, in a card "
            f"settings.api_key_env or settings.api_key_file ({fault})"
        )
    return UserError(f"{name}: {fault}; {mends.get(fault.kind, 'look into the server log')}")


# --- per kind of server ---------------------------------------------------------------------------------------------


async def _ask(pool: Pool, url: str, body: Mapping[str, Any] | None = None) -> Any:
    return await pool.get(url, None if body is None else json.dumps(body, ensure_ascii=False).encode())


def _beside(url: str, path: str) -> str:
    """The address of a server's own API, which lies beside that of OpenAI's."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(path=parts.path.removesuffix("/v1") + path))


async def _vllm_tokens(pool: Pool, url: str, model: str, messages: Sequence[Message]) -> list[int]:
    chat = [dict(message) for message in messages]
    tokens: list[int] = (await _ask(pool, _beside(url, "/tokenize"), {"model": model, "messages": chat}))["tokens"]
    return tokens


async def _llama_cpp_tokens(pool: Pool, url: str, model: str, messages: Sequence[Message]) -> list[int]:
    chat = [dict(message) for message in messages]
    prompt = (await _ask(pool, _beside(url, "/apply-template"), {"messages": chat}))["prompt"]
    body = {"content": prompt, "add_special": True, "parse_special": True}
    tokens: list[int] = (await _ask(pool, _beside(url, "/tokenize"), body))["tokens"]
    return tokens


async def _vllm(pool: Pool, url: str, bare: Served) -> Served:
    version = await _ask(pool, _beside(url, "/version"))
    ids = _one_start(await _vllm_tokens(pool, url, bare.model, _HELLO), url)
    return replace(bare, version=f"vllm {version['version']}", first_ids=ids)


async def _llama_cpp(pool: Pool, url: str, bare: Served) -> Served:
    props = await _ask(pool, _beside(url, "/props"))
    # n_ctx here is that of one slot: the server has already divided its context by the slots.
    context = _whole_number((props.get("default_generation_settings") or {}).get("n_ctx"))
    known = replace(bare, context=context, version=f"llama.cpp {props.get('build_info', '')}".strip())
    try:
        return replace(known, first_ids=_one_start(await _llama_cpp_tokens(pool, url, bare.model, _HELLO), url))
    except Fault as fault:
        if "chat template" in str(fault).lower():
            raise
        return known  # a router, which must be told which of its models is asked


async def _ollama(pool: Pool, url: str, bare: Served) -> Served:
    """Ollama loads a model on demand with a window of its own, and cuts longer prompts without a word.

    GET /api/ps → {"models": [{"model": "qwen3:8b", "context_length": 4096, …}]}
    """
    version = await _ask(pool, _beside(url, "/api/version"))
    names = (bare.model, f"{bare.model}:latest")
    for _ in range(2):
        running = (await _ask(pool, _beside(url, "/api/ps")))["models"]
        loaded = next((row for row in running if row.get("model") in names or row.get("name") in names), None)
        if loaded:
            break
        await _ask(pool, _beside(url, "/api/generate"), {"model": bare.model, "stream": False})  # loads it
    context = _whole_number((loaded or {}).get("context_length"))
    if not context:
        shown = await _ask(pool, _beside(url, "/api/show"), {"model": bare.model})
        stated = re.search(r"^num_ctx\s+(\d+)", str(shown.get("parameters") or ""), re.M)
        context = int(stated.group(1)) if stated else _OLLAMA_WINDOW
    note = (
        f"{bare.model}: Ollama gives it a window of {context:,} tokens and cuts longer prompts without a word; for a "
        "longer one set OLLAMA_CONTEXT_LENGTH, or num_ctx in its Modelfile"
    )
    return replace(bare, context=context, version=f"ollama {version['version']}", notes=(*bare.notes, note))


async def _gateway(pool: Pool, url: str, bare: Served) -> Served:
    """LiteLLM's proxy, which lists every model as OpenAI's; anything else that does so is left what it said it is.

    GET /health/liveliness → "I'm alive!"; GET /health/readiness → {"status": "healthy", "litellm_version": "1.60.0"},
    of newer ones without the version.
    """
    if await _ask(pool, _beside(url, "/health/liveliness")) != "I'm alive!":
        return bare
    known = replace(bare, dialect="litellm", version="litellm")
    try:
        version = (await _ask(pool, _beside(url, "/health/readiness"))).get("litellm_version")
    except (Fault, AttributeError):
        return known
    return replace(known, version=f"litellm {version}") if version else known


def _one_start(ids: Sequence[int], url: str) -> tuple[int, ...]:
    if len(ids) > 1 and ids[0] == ids[1]:
        raise UserError(f"{url}: the server begins a chat with token {ids[0]} twice (a double BOS); mend its template")
    return tuple(ids[:8])


_DETAILS = {"vllm": _vllm, "llama.cpp": _llama_cpp, "ollama": _ollama, "openai": _gateway}
