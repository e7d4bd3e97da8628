"""Engine for any server that speaks the OpenAI chat protocol: vLLM, llama.cpp's server, a provider's API.

    engine = open_engine(Card(name="mine", engine="openai", weights="http://a:8000/v1,http://b:8000/v1", model="qwen"))

Nothing is asked of a hub and nothing is reported anywhere: the engine talks to the given URLs only.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit, urlunsplit

import orjson

from fiqkit import offline
from fiqkit.errors import UserError
from fiqkit.models.cards.cards import Card
from fiqkit.models.constraints.structured import breach, check_constraint
from fiqkit.models.engine import Capabilities, Completion, Message, Request
from fiqkit.models.served.dialects import DIALECTS, Dialect, unwrap
from fiqkit.models.served.faults import Fault, Patience
from fiqkit.models.served.pace import Pace
from fiqkit.models.served.pool import Pool
from fiqkit.models.served.survey import Served, survey

# Finish reasons as servers spell them → ours. A reason that is not here is no finished reply.
FINISH = {"stop": "stop", "eos": "stop", "stop_sequence": "stop", "length": "length", "max_tokens": "length"}


def open_engine(
    card: Card,
    *,
    context: int | None = None,
    parallel: int = 64,
    dialect: str = "auto",
    api_key_env: str = "",
    requests_per_minute: float = 0,
    tokens_per_minute: float = 0,
    timeout: float = 600.0,
    attempts: int = 8,
    adapters: Mapping[str, str] | None = None,
    extra: Mapping[str, Any] | None = None,
) -> OpenAIEngine:
    """Connect to the server or servers of a card; `ready`, or the first request, surveys them.

    Args:
        card: `weights` is a base URL, or several with commas between; `model` the name that they serve it under, which
            may be left out where they serve one model.
        context: tokens that one request's prompt and reply may hold (default: the card's); never more than the server
            says that it has.
        parallel: the most requests in flight at one server; how many really are follows its latency.
        dialect: a key of `DIALECTS`; "auto" asks the server.
        api_key_env: environment variable that holds the API key.
        requests_per_minute, tokens_per_minute: the provider's limits; 0 for none.
        timeout: seconds for one reply.
        attempts: tries of one request before its episode ends as `engine_error`.
        adapters: path of a LoRA adapter → the name under which the server has it.
        extra: fields added to every request; a null takes a field out.

    Raises:
        UserError: a URL, setting or key that cannot be right.
    """
    urls = [_base_url(url.strip(), card) for url in card.weights.split(",")]
    if dialect != "auto" and dialect not in DIALECTS:
        raise UserError(f"{card.name}: unknown dialect {dialect!r}; the dialects are auto, {', '.join(DIALECTS)}")
    if min(parallel, attempts) < 1 or timeout <= 0:
        raise UserError(f"{card.name}: parallel, attempts and timeout must be positive")
    return OpenAIEngine(
        card.name,
        urls,
        card.model,
        context=context or card.context,
        dialect=None if dialect == "auto" else dialect,
        api_key=_api_key(api_key_env, card),
        parallel=parallel,
        patience=Patience(timeout=timeout, attempts=attempts),
        pace=Pace(requests_per_minute, tokens_per_minute),
        adapters=adapters or {},
        extra=extra or {},
    )


def _base_url(url: str, card: Card) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UserError(f"{card.name}: {url!r} is not the URL of a server; for example http://127.0.0.1:8000/v1")
    offline.allow_server(parts.hostname, card.name)
    return url.rstrip("/").removesuffix("/chat/completions")


def _api_key(variable: str, card: Card) -> str:
    if not variable:
        return ""
    if not os.environ.get(variable):
        raise UserError(f"{card.name}: the environment variable {variable} with the API key is not set")
    return os.environ[variable]


class Child(Protocol):
    """A server that belongs to the engine and stops with it."""

    command: Sequence[str]
    log: Path

    def stop(self) -> None:
        """Stop it and everything that it started."""
        ...


class OpenAIEngine:
    """One model on one or several servers, behind the engine seam.

    Attributes:
        faults: how often each kind of fault was met, those that a later try made good included.
    """

    def __init__(
        self,
        name: str,
        urls: Sequence[str],
        model: str = "",
        *,
        context: int = 32768,
        dialect: str | None = None,
        api_key: str = "",
        parallel: int = 64,
        patience: Patience | None = None,
        pace: Pace | None = None,
        adapters: Mapping[str, str] | None = None,
        extra: Mapping[str, Any] | None = None,
        seed: int = 0,
        child: Child | None = None,
    ) -> None:
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self.name = name
        self.context = context
        self._pace = pace or Pace()
        self._pool = Pool(urls, headers, parallel=parallel, patience=patience or Patience(), pace=self._pace, seed=seed)
        self.can = Capabilities(structured=True, logprobs=True, adapters=bool(adapters), parallel=parallel * len(urls))
        self.faults = self._pool.faults
        self._model = model
        self._dialect_name = dialect
        self._adapters = dict(adapters or {})
        self._extra = dict(extra or {})
        self._settings = {"parallel": parallel, "extra": self._extra}
        self._served: Served | None = None
        self._surveying = asyncio.Lock()
        self._child = child

    async def complete(self, request: Request) -> Completion:
        """Complete one request at the least loaded server.

        Raises:
            ContextOverflow, EngineError: as the seam says.
            UserError: the server, its URL, key or model cannot be right, or the request's schema is none.
        """
        check_constraint(request)
        if self._served is None:
            await self.ready()
        dialect = DIALECTS[self._dialect_name or "generic"]
        chat = request.messages is not None
        body = self._body(request, dialect)
        # The first words that tell one dialogue from another: the system message is the same for many.
        opening = request.messages[:2][-1]["content"] if request.messages else request.prompt_ids
        return await self._pool.complete(
            "/chat/completions" if chat else "/completions",
            orjson.dumps(body),
            lambda reply, seconds, queued: read_reply(reply, request, dialect, seconds, queued),
            prefix=str((opening or ())[:256]),
            tokens=self._estimate(request),
        )

    def _estimate(self, request: Request) -> int:
        """Tokens to book with the provider's limit; nothing where there is none, because counting takes time."""
        if not self._pace.counts_tokens:
            return 0
        prompt = estimate_tokens(request.messages or ()) + len(request.prompt_ids or ())
        return prompt + request.sampling.max_tokens

    def _body(self, request: Request, dialect: Dialect) -> dict[str, Any]:
        sampling = request.sampling
        body: dict[str, Any] = {
            "model": self._model_for(request.adapter),
            dialect.max_tokens: sampling.max_tokens,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "seed": sampling.seed,
        }
        if sampling.stop:
            body["stop"] = list(sampling.stop)
        if request.messages is not None:
            body["messages"] = request.messages
        else:
            body["prompt"] = list(request.prompt_ids or ())
            body["max_tokens"] = body.pop(dialect.max_tokens)
        if request.logprobs:
            body |= {"logprobs": True} if request.messages is not None else {"logprobs": 1}
        if dialect.token_ids and (request.logprobs or request.prompt_ids is not None):
            body["return_token_ids"] = True
        if request.thinking is not None and dialect.thinking:
            body |= dialect.thinking(request.thinking)
        if request.schema is not None:
            body |= dialect.schema(request.schema)
        if request.choices is not None:
            body |= dialect.choices(request.choices)
        return {key: value for key, value in (body | self._extra).items() if value is not None}

    def _model_for(self, adapter: str | None) -> str:
        if adapter is None:
            return self._model
        if adapter not in self._adapters:
            raise UserError(f"{self.name}: the server has no adapter {adapter}; name it under `adapters` in the card")
        return self._adapters[adapter]

    async def ready(self) -> Sequence[str]:
        """Survey the servers once: model, dialect and context are what they say."""
        async with self._surveying:
            if self._served is None:
                await self._survey()
        return ()

    async def _survey(self) -> None:
        served = await survey(self._pool, self.name, self._model)
        self._model = served.model
        self._dialect_name = self._dialect_name or served.dialect
        if served.context:
            self.context = min(self.context, served.context)
        dialect = DIALECTS[self._dialect_name]
        self.can = Capabilities(
            structured=True,
            logprobs=True,
            token_ids=dialect.token_ids,
            adapters=bool(self._adapters),
            parallel=self.can.parallel,
        )
        self._served = served

    async def close(self) -> None:
        """Close the connections, and the server if it is this engine's own."""
        await self._pool.close()
        if self._child:
            await asyncio.to_thread(self._child.stop)

    def describe(self) -> Mapping[str, Any]:
        """Model, server and settings; under `place` what may differ when a run is resumed: URLs (without credentials),
        the child's command and its log. The API key is nowhere.
        """
        served = self._served
        place: dict[str, Any] = {"urls": [_without_credentials(endpoint.url) for endpoint in self._pool.endpoints]}
        if self._child:
            place |= {"command": list(self._child.command), "log": str(self._child.log)}
        return {
            "engine": "openai",
            "model": self._model,
            "dialect": self._dialect_name,
            "server": served.version if served else None,
            "first_ids": list(served.first_ids) if served else [],
            "context": self.context,
            **self._settings,
            "place": place,
        }


def _without_credentials(url: str) -> str:
    parts = urlsplit(url)
    host = parts.hostname or ""
    return urlunsplit(parts._replace(netloc=f"{host}:{parts.port}" if parts.port else host, query=""))


def read_reply(reply: Any, request: Request, dialect: Dialect, seconds: float = 0.0, queued: float = 0.0) -> Completion:
    """The completion in a server's reply.

    Raises:
        Fault: it is an error, lacks a finished completion, is empty, or breaks the request's constraint.
    """
    if not isinstance(reply, dict):
        raise Fault("bad_reply", f"the reply is a JSON {type(reply).__name__}, not an object")
    if "choices" not in reply and "error" in reply:
        raise Fault("server_error", f"the server replied with an error: {reply['error']!r:.200}")
    try:
        choice = reply["choices"][0]
        message = choice.get("message") or {"content": choice.get("text")}
        text, reason = message.get("content") or "", choice.get("finish_reason")
        reasoning = message.get("reasoning_content") or message.get("reasoning") or ""
        usage = reply.get("usage") or {}
        counts = (int(usage.get("prompt_tokens") or 0), int(usage.get("completion_tokens") or 0))
    except (KeyError, IndexError, TypeError, AttributeError, ValueError):
        raise Fault("bad_reply", f"the reply holds no completion: {reply!r:.120}") from None
    if not isinstance(text, str) or not isinstance(reasoning, str):
        raise Fault("bad_reply", f"the reply's content is not text: {text!r:.80}")
    if reason == "content_filter":
        raise Fault("rejected", "the provider's content filter stopped the reply")
    if reason not in FINISH:
        raise Fault("bad_reply", f"the reply is not finished (finish_reason {reason!r:.40})")
    if not text and not reasoning and not counts[1]:
        raise Fault("empty", "the reply holds no text and counts no token")
    finish = FINISH[reason]
    if finish == "stop":
        if dialect.wraps(request):
            text = unwrap(text)
        if wrong := breach(request, text):
            raise Fault("invalid_output", f"the reply is {wrong}")
    return Completion(
        text=text,
        finish=finish,
        reasoning=reasoning,
        prompt_ids=tuple(choice.get("prompt_token_ids") or reply.get("prompt_token_ids") or ()),
        output_ids=tuple(choice.get("token_ids") or ()),
        logprobs=_logprobs(choice.get("logprobs")) if request.logprobs else (),
        prompt_tokens=counts[0],
        output_tokens=counts[1],
        seconds=seconds,
        queued=queued,
    )


def _logprobs(value: Any) -> tuple[float, ...]:
    """Chat replies carry a list of tokens, completions a list of numbers."""
    if not isinstance(value, dict):
        return ()
    if value.get("token_logprobs"):
        return tuple(value["token_logprobs"])
    return tuple(token["logprob"] for token in value.get("content") or ())


_PIECES = re.compile(r"[A-Za-z]{1,3}|\s+|.", re.S)


def estimate_tokens(messages: Sequence[Message]) -> int:
    """An upper estimate of a chat's tokens without its tokenizer.

    Three letters or one run of white space count one token, any other ASCII character (digits: tables are full of
    them) one, a character beyond ASCII one and a half; a message eight on top for the template.
    """
    total = 0
    for message in messages:
        text = message["content"]
        beyond = len(text) - len(text.encode("ascii", "ignore"))
        total += len(_PIECES.findall(text)) + beyond // 2 + 8
    return total
