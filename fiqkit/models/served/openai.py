"""Engine for any server that speaks the OpenAI chat protocol: vLLM, llama.cpp's server, a provider's API.

    engine = open_engine(Card(name="mine", engine="openai", weights="http://a:8000/v1,http://b:8000/v1", model="qwen"))

Nothing is asked of a hub and nothing is reported anywhere: the engine talks to the given URLs only.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit, urlunsplit

import orjson

from fiqkit import offline
from fiqkit.errors import UserError
from fiqkit.models.cards.cards import Card, without_credentials
from fiqkit.models.constraints.structured import check_request
from fiqkit.models.engine import Capabilities, Completion, Message, Request
from fiqkit.models.messages import sendable, wants_folding
from fiqkit.models.reasoning import begins_inside
from fiqkit.models.served.dialects import DIALECTS, Dialect
from fiqkit.models.served.faults import Patience, Rejected, mend
from fiqkit.models.served.keys import api_key as read_key
from fiqkit.models.served.pace import Pace
from fiqkit.models.served.pool import Pool
from fiqkit.models.served.reply import read_reply
from fiqkit.models.served.survey import Served, survey
from fiqkit.models.template import checked_switch
from fiqkit.taxonomy import PROMPT_CUT


def open_engine(
    card: Card,
    *,
    context: int | None = None,
    parallel: int = 64,
    dialect: str = "auto",
    api_key_env: str = "",
    api_key_file: str = "",
    requests_per_minute: float = 0,
    tokens_per_minute: float = 0,
    timeout: float = 600.0,
    attempts: int = 8,
    adapters: Mapping[str, str] | None = None,
    extra: Mapping[str, Any] | None = None,
    switch: Mapping[str, Any] | None = None,
    structured: str = "auto",
) -> OpenAIEngine:
    """Connect to the server or servers of a card; `ready`, or the first request, surveys them.

    Args:
        card: `weights` is a base URL, or several with commas between; `model` the name that they serve it under, which
            may be left out where they serve one model.
        context: tokens that one request's prompt and reply may hold (default: the card's); never more than the server
            says that it has.
        parallel: the most requests in flight at one server; how many really are follows its latency.
        dialect: a key of `DIALECTS`; "auto" asks the server.
        api_key_env: environment variable that holds the API key; NAME_FILE may name a file with it instead.
        api_key_file: file that holds the API key and that its owner alone can read (mode 600).
        requests_per_minute, tokens_per_minute: the provider's limits; 0 for none.
        timeout: seconds for one reply.
        attempts: tries of one request before its episode ends as `engine_error`.
        adapters: path of a LoRA adapter → the name under which the server has it.
        extra: fields added to every request; a null takes a field out.
        switch: {on: fields, off: fields} of a request that asks for thinking, or for none (default: the dialect's).
        structured: "none" holds no reply to a schema; "auto" does what the start-up probe finds to work.

    Raises:
        UserError: a URL, setting or key that cannot be right.
    """
    urls = [_base_url(url.strip(), card) for url in card.weights.split(",")]
    if dialect != "auto" and dialect not in DIALECTS:
        raise UserError(f"{card.name}: unknown dialect {dialect!r}; the dialects are auto, {', '.join(DIALECTS)}")
    if min(parallel, attempts) < 1 or not 0 < timeout < math.inf:
        raise UserError(f"{card.name}: parallel, attempts and timeout must be positive numbers")
    if structured not in ("auto", "none"):
        raise UserError(f"{card.name}: structured is {structured!r}; it is auto or none")
    return OpenAIEngine(
        card.name,
        urls,
        card.model,
        context=context or card.context,
        dialect=None if dialect == "auto" else dialect,
        api_key=read_key(card, api_key_env, api_key_file),
        parallel=parallel,
        patience=Patience(timeout=timeout, attempts=attempts),
        pace=Pace(requests_per_minute, tokens_per_minute),
        adapters=adapters or {},
        extra=extra or {},
        switch=checked_switch(card, switch),
        structured=structured != "none",
    )


def _base_url(url: str, card: Card) -> str:
    """The base URL of an API, without what is below it; a query stays.

    Raises:
        UserError: it is none.
    """
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # a port beyond 65,535, a bracket that is not closed
        usable = False
    if not usable:
        raise UserError(f"{card.name}: {url!r} is not the URL of a server; for example http://127.0.0.1:8000/v1")
    offline.allow_server(parts.hostname or "", card.name)
    path = parts.path.rstrip("/").removesuffix("/chat/completions")
    return urlunsplit(parts._replace(path=path, fragment=""))


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
        switch: Mapping[str, Any] | None = None,
        structured: bool = True,
        seed: int = 0,
        child: Child | None = None,
    ) -> None:
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self.name = name
        self.context = context
        self._pace = pace or Pace()
        self._pool = Pool(urls, headers, parallel=parallel, patience=patience or Patience(), pace=self._pace, seed=seed)
        self.can = Capabilities(
            structured=structured,
            structured_thinking=structured,
            choices=structured,
            logprobs=True,
            adapters=bool(adapters),
            counts_prompt=None,
            parallel=parallel * len(urls),
        )
        self.faults = self._pool.faults
        self._model = model
        self._dialect_name = dialect
        self._adapters = dict(adapters or {})
        self._extra = dict(extra or {})
        self._switch = dict(switch or {})
        self._folds = False  # whether the model has no system role
        self._settings = {"parallel": parallel, "extra": self._extra}
        self._served: Served | None = None
        self._opened: dict[bool | None, str] = {}  # thinking mode → what the server's template opens a reply with
        self._surveying = asyncio.Lock()
        self._child = child

    async def complete(self, request: Request) -> Completion:
        """Complete one request at the least loaded server.

        Raises:
            ContextOverflow, EngineError: as the seam says.
            UserError: the server, its URL, key or model cannot be right, or the request's schema is none.
        """
        check_request(request)
        if self._served is None:
            await self.ready()
        dialect, opened = DIALECTS[self._dialect_name or "generic"], self._opened.get(request.thinking, "")
        body = self._body(request, dialect)
        try:
            completion = await self._send(body, request, dialect, opened)
        except Rejected as error:
            if not self._folds and wants_folding(str(error), request.messages or ()):
                self._folds = True
                return await self.complete(request)
            raise Rejected(f"{error}{mend(str(error), body)}") from None
        if begins_inside(completion.text):
            self._opened[request.thinking] = "<think>\n"
        return self._with_flags(completion, request)

    async def _send(self, body: Mapping[str, Any], request: Request, dialect: Dialect, opened: str) -> Completion:
        # The first words that tell one dialogue from another: the system message is the same for many.
        opening = request.messages[:2][-1]["content"] if request.messages else request.prompt_ids
        return await self._pool.complete(
            "/chat/completions" if "messages" in body else "/completions",
            orjson.dumps(body),
            lambda reply, seconds, queued: read_reply(reply, request, dialect, seconds, queued, opened),
            prefix=str((opening or ())[:256]),
            tokens=self._estimate(request),
        )

    def _with_flags(self, completion: Completion, request: Request) -> Completion:
        """The completion, marked where the server read fewer tokens than its prompt can have."""
        least = least_tokens(request.messages or ())
        if self.can.counts_prompt is False or not 0 < completion.prompt_tokens < least:
            return completion
        return replace(completion, flags=(f"{PROMPT_CUT}: {completion.prompt_tokens} of at least {least} tokens",))

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
            body["messages"] = sendable(request.messages, fold=self._folds)
        else:
            body["prompt"] = list(request.prompt_ids or ())
            body["max_tokens"] = body.pop(dialect.max_tokens)
        if request.logprobs:
            body |= {"logprobs": True} if request.messages is not None else {"logprobs": 1}
        if dialect.token_ids and (request.logprobs or request.prompt_ids is not None):
            body["return_token_ids"] = True
        if request.thinking is not None:
            own = self._switch.get("on" if request.thinking else "off")
            body |= dialect.thinking(request.thinking) if own is None else own
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
        assert self._served is not None
        return self._served.notes

    async def _survey(self) -> None:
        served = await survey(self._pool, self.name, self._model)
        self._model = served.model
        self._dialect_name = self._dialect_name or served.dialect
        if served.context:
            self.context = min(self.context, served.context)
        dialect = DIALECTS[self._dialect_name]
        self.can = replace(self.can, token_ids=dialect.token_ids)
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
        place: dict[str, Any] = {"urls": [without_credentials(endpoint.url) for endpoint in self._pool.endpoints]}
        if self._child:
            place |= {"command": list(self._child.command), "log": str(self._child.log)}
        return {
            "engine": "openai",
            "model": self._model,
            "dialect": self._dialect_name,
            "server": served.version if served else None,
            "first_ids": list(served.first_ids) if served else [],
            "context": self.context,
            "structured": self.can.structured,
            "system_role": not self._folds,
            **self._settings,
            **({"switch": self._switch} if self._switch else {}),
            "place": place,
        }


def least_tokens(messages: Sequence[Message]) -> int:
    """A lower bound of a chat's tokens: no tokenizer writes two words, or four characters beyond ASCII, as one."""
    texts = [message["content"] for message in messages]
    beyond = sum(len(text) - len(text.encode("ascii", "ignore")) for text in texts)
    return sum(len(text.split()) for text in texts) // 2 + beyond // 4


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
