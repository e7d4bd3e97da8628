"""The transformers engine: a checkpoint, an adapter on one, or a live module, for what the faster engines do not know.

Requests that are in flight together run as one batch. It constrains a reply to choices (exactly: only tokens that lead
to one can be drawn), not to a schema. Output ids include the token that ended the reply, the text does not.
"""

from __future__ import annotations

import asyncio
import importlib.util
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import transformers

from fiqkit.errors import MissingExtra, UserError
from fiqkit.models.cards.cards import Card
from fiqkit.models.cards.formats import check_adapter
from fiqkit.models.cards.weights import DEFAULT_CONTEXT, fingerprint, to_transformers
from fiqkit.models.checkpoint import load_model, load_tokenizer
from fiqkit.models.checks.adapters import check_base, template_of
from fiqkit.models.constraints.structured import check_request
from fiqkit.models.engine import Capabilities, Completion, ContextOverflow, Request
from fiqkit.models.local.hf_batch import HfBatch, Job, Vocabulary
from fiqkit.models.local.threads import Threads
from fiqkit.models.local.worker import Pending, Worker
from fiqkit.models.reasoning import is_mark, opener, read_on
from fiqkit.models.template import ChatTemplate, check_thinking, checked_switch


def open_engine(
    card: Card,
    *,
    context: int | None = None,
    parallel: int = 8,
    threads: int | None = None,
    dtype: str = "auto",
    device: str = "auto",
    switch: Mapping[str, Any] | None = None,
) -> TransformersEngine:
    """Load the model of a card: a folder, a repository in the Hugging Face cache, or a GGUF (converted once).

    Args:
        context: tokens that one request's prompt and reply may hold (default: the card's).
        parallel: requests in one batch.
        threads: CPU threads (default: those that are idle, looked at again during the run; see `Threads`).
        dtype: "float32", "bfloat16", "float16"; "auto" is float32 on a CPU and the checkpoint's own on a GPU.
        device: "cpu", "cuda", "cuda:1"; "auto" spreads over the GPUs that are there.
        switch: {on: variables, off: variables} by which the chat template turns thinking on and off (default: found).

    Raises:
        UserError: weights that are missing, cut or of an unknown architecture; no chat template.
    """
    if not 1 <= parallel <= 1024 or (threads is not None and not 1 <= threads <= 512):
        raise UserError(f"{card.name}: parallel is {parallel} and threads {threads}; both are at least 1")
    folder = to_transformers(card)
    on_gpu = device != "cpu" and torch.cuda.is_available()
    used = Threads(threads, fixed=parallel == 1)
    torch.set_num_threads(used.now())
    kind = ("auto" if on_gpu else "float32") if dtype == "auto" else dtype
    tokenizer = load_tokenizer(card.name, folder)
    model = load_model(
        card.name, folder, dtype=kind, device_map=device if device != "auto" else ("auto" if on_gpu else None)
    )
    return TransformersEngine(
        model,
        tokenizer,
        card,
        context=context or card.context or 0,
        parallel=parallel,
        folder=folder,
        threads=used,
        switch=checked_switch(card, switch),
    )


class TransformersEngine:
    """An `Engine` over a module and its tokenizer. `open_engine` loads one, `wrap` takes a live one."""

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        card: Card,
        *,
        context: int,
        parallel: int,
        folder: Path | None = None,
        threads: Threads | None = None,
        switch: Mapping[str, Any] | None = None,
    ) -> None:
        longest = model.config.get_text_config().max_position_embeddings
        if context > longest:
            raise UserError(f"{card.name}: a context of {context} tokens was asked of a model made for {longest}")
        self._template = ChatTemplate.of_tokenizer(card.name, tokenizer, switch)
        self.name = card.name
        self.context = context or min(longest, DEFAULT_CONTEXT)
        self.can = Capabilities(
            choices=True, logprobs=True, token_ids=True, adapters=True, deterministic=parallel == 1, parallel=parallel
        )
        self._card, self._tokenizer, self._folder = card, tokenizer, folder
        self._templates: dict[str | None, ChatTemplate] = {None: self._template}  # by adapter
        parameter = next(model.parameters())
        self._kind = {"dtype": str(parameter.dtype).removeprefix("torch."), "device": str(parameter.device)}
        self._worker = Worker("transformers", HfBatch(model, _vocabulary(model, tokenizer), parallel, threads))
        self._stop = weakref.finalize(self, self._worker.stop)

    @classmethod
    def wrap(
        cls, model: Any, tokenizer: Any, *, name: str = "live", context: int = 0, parallel: int = 8
    ) -> TransformersEngine:
        """An engine on a module that somebody else owns, such as a trainer: its weights of the moment are used, its
        training mode is put back after each batch, and `close` leaves it alone.

        The owner must not change the module while a request is in flight.
        """
        card = Card(name=name, engine="transformers", weights="live module")
        return cls(model, tokenizer, card, context=context, parallel=parallel)

    async def complete(self, request: Request) -> Completion:
        """Complete one request; see `fiqkit.models.engine.Engine`.

        Raises:
            ContextOverflow: prompt and reply do not fit the context.
            EngineError: the engine is closed or failed.
            UserError: a schema, or a thinking mode that the model cannot serve.
        """
        if request.schema is not None:
            raise UserError(f"{self.name}: the transformers engine cannot hold a reply to a schema")
        if request.choices and request.thinking:
            raise UserError(f"{self.name}: the transformers engine cannot let a model think and hold it to choices")
        check_request(request)
        prompt, opened = self._prompt(request, self._template_with(request.adapter))
        length = len(prompt) + request.sampling.max_tokens
        if length > self.context:
            raise ContextOverflow(
                f"{self.name}: {len(prompt)} prompt tokens and {request.sampling.max_tokens} for the reply exceed the "
                f"context of {self.context}"
            )
        choices = tuple(tuple(self._encode(choice)) for choice in request.choices or ())
        job = Job(prompt, request.sampling, Pending(), choices, request.adapter, request.logprobs)
        self._worker.submit(job)
        return read_on(await job.pending.wait(), opened)

    async def ready(self) -> Sequence[str]:
        """Nothing to ask: all is known since the model was loaded."""
        return ()

    async def close(self) -> None:
        """Fail what is under way and let go of the model. Safe to call twice."""
        await asyncio.to_thread(self._stop)

    def describe(self) -> Mapping[str, Any]:
        """What the manifest records."""
        return {
            "engine": "transformers",
            "version": transformers.__version__,
            "torch": torch.__version__,
            "model": self.name,
            "weights": str(self._folder or "live module"),
            "sha256": fingerprint(self._folder) if self._folder else None,
            **self._template.describe(),
            "deterministic": self.can.deterministic,
            "context": self.context,
            "parallel": self.can.parallel,
            **self._kind,
        }

    def _template_with(self, path: str | None) -> ChatTemplate:
        """The template that goes with an adapter; the adapter is looked at when it is first asked for.

        Raises:
            UserError: no adapter, or one for another base.
        """
        if path in self._templates or path is None:
            return self._templates[path]
        if self._folder is None:
            raise UserError(f"{self.name}: a live module takes no adapters of others; its owner sets its own")
        if importlib.util.find_spec("peft") is None:
            raise MissingExtra("a LoRA adapter", "train")
        check_adapter(Path(path))
        check_base(Path(path), self.name, self._folder)
        self._templates[path] = self._template.like(template_of(Path(path)))
        return self._templates[path]

    def _prompt(self, request: Request, template: ChatTemplate) -> tuple[list[int], str]:
        """Prompt ids, and the mark of a think block that the template leaves open."""
        if request.prompt_ids is not None:
            return self._checked_ids(request.prompt_ids), ""
        check_thinking(self._card, request.thinking, template.switchable)
        text = template.render(request.messages or (), request.thinking)
        return self._encode(text), opener(text)

    def _encode(self, text: str) -> list[int]:
        """Token ids of a text as it stands: the template has written the special tokens, so none is added."""
        ids: list[int] = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids

    def _checked_ids(self, ids: Sequence[int]) -> list[int]:
        top = len(self._tokenizer)
        if not ids or not all(0 <= token < top for token in ids):
            raise UserError(f"{self.name}: prompt_ids must be token ids from 0 to {top - 1}, at least one")
        return list(ids)


def _vocabulary(model: Any, tokenizer: Any) -> Vocabulary:
    stated = getattr(model.generation_config, "eos_token_id", None)
    ends = {*(stated if isinstance(stated, list) else [stated]), tokenizer.eos_token_id} - {None}
    pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else min(ends, default=0)

    # Special tokens are no part of the text, but for the marks of a think block.
    hidden = {i for i in tokenizer.all_special_ids if not is_mark(tokenizer.convert_ids_to_tokens(i))}

    def decode(ids: Sequence[int]) -> str:
        shown = [i for i in ids if i not in hidden]
        return str(tokenizer.decode(shown, skip_special_tokens=False, clean_up_tokenization_spaces=False))

    return Vocabulary(decode, frozenset(ends), pad)
