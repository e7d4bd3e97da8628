"""Engine: vLLM in this process, for one machine's GPUs (its CPU build serves the tests).

Requests in flight are batched continuously and share the cache of their common prefixes. The chat template is applied
here, once, and the token ids are what vLLM gets, so nothing can add a second beginning to the prompt.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fiqkit import offline
from fiqkit.errors import UserError
from fiqkit.models.cards.cards import Card
from fiqkit.models.cards.formats import check_adapter
from fiqkit.models.cards.memory import describe_weights
from fiqkit.models.cards.weights import fingerprint, to_transformers
from fiqkit.models.constraints.structured import breach, check_request
from fiqkit.models.engine import Capabilities, Completion, ContextOverflow, EngineError, Request
from fiqkit.models.reasoning import opener, read_on
from fiqkit.models.template import ChatTemplate
from fiqkit.models.vllm.arguments import SAFE_FORMAT, check_arguments


def open_engine(
    card: Card,
    *,
    context: int | None = None,
    parallel: int = 64,
    tensor_parallel: int = 1,
    gpu_memory: float = 0.9,
    adapters: bool = False,
    adapter_rank: int = 64,
    reasoning_parser: str = "",
    seed: int = 0,
    arguments: Mapping[str, Any] | None = None,
) -> VllmEngine:
    """Load a card's weights into vLLM.

    Args:
        context: tokens that one request's prompt and reply may hold (default: the card's).
        parallel: the most requests in one batch.
        tensor_parallel: GPUs that share each layer.
        gpu_memory: share of a GPU's memory that weights and key-value cache may take.
        adapters: make room for LoRA adapters, of at most `adapter_rank`.
        reasoning_parser: vLLM's name for the way in which the model marks its thinking, for example "qwen3"; with it a
            constraint holds for what follows the thinking.
        arguments: further fields of vLLM's EngineArgs.

    Raises:
        UserError: weights that are not there or are a pickle, a model that vLLM cannot load or that does not fit, no
            chat template, an argument that would run foreign code.
    """
    check_arguments(card.name, arguments or {})
    for variable, value in {**offline.VARIABLES, "VLLM_LOGGING_STREAM": "ext://sys.stderr"}.items():
        os.environ.setdefault(variable, value)
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "WARNING")
    path = to_transformers(card)
    length = context or card.context or describe_weights(card).context
    from vllm import AsyncEngineArgs
    from vllm.v1.engine.async_llm import AsyncLLM

    fields: dict[str, Any] = {
        "model": str(path),
        "load_format": SAFE_FORMAT,
        "max_model_len": length,
        "max_num_seqs": parallel,
        "tensor_parallel_size": tensor_parallel,
        "gpu_memory_utilization": gpu_memory,
        "enable_prefix_caching": True,
        "enable_lora": adapters,
        "seed": seed,
        "disable_log_stats": True,
        **({"max_lora_rank": adapter_rank} if adapters else {}),
        **({"reasoning_parser": reasoning_parser} if reasoning_parser else {}),
        **(arguments or {}),
    }
    reaper = subprocess.Popen(
        [sys.executable, "-I", "-S", str(Path(__file__).with_name("reaper.py")), str(os.getpid())]
    )
    try:
        llm = AsyncLLM.from_engine_args(AsyncEngineArgs(**fields))
        settings = {key: value for key, value in fields.items() if key != "model"}
        return VllmEngine(card.name, llm, length, settings, fingerprint(path), reaper)
    except BaseException as error:
        reaper.kill()
        reaper.wait()
        if isinstance(error, TypeError):
            raise UserError(f"{card.name}: vLLM has no such argument: {error}") from None
        if isinstance(error, ValueError | RuntimeError | OSError):
            raise UserError(f"{card.name}: vLLM could not load {path}: {_line(error)}; its log is above") from None
        raise


class VllmEngine:
    """A model in an `AsyncLLM`, behind the engine seam. It belongs to the event loop of its first request.

    Attributes:
        faults: replies that broke their constraint, those mended by asking again included.
    """

    def __init__(
        self,
        name: str,
        llm: Any,
        context: int,
        settings: Mapping[str, Any],
        weights: str,
        reaper: subprocess.Popen[bytes],
    ) -> None:
        self.name = name
        self.context = context
        self.can = Capabilities(
            structured=True,
            structured_thinking=bool(settings.get("reasoning_parser")),
            choices=True,
            logprobs=True,
            token_ids=True,
            adapters=bool(settings["enable_lora"]),
            parallel=int(settings["max_num_seqs"]),
        )
        self.faults: Counter[str] = Counter()
        self._llm: Any = llm
        self._tokenizer = llm.get_tokenizer()
        self._template = self._own_template()
        self._settings = dict(settings)
        self._weights = weights
        self._reaper = reaper
        self._ids = itertools.count()
        self._adapters: dict[str, int] = {}
        self._first_ids = self._begin()

    def _own_template(self) -> ChatTemplate:
        try:
            return ChatTemplate.of_tokenizer(self.name, self._tokenizer)
        except UserError:
            self._llm.shutdown()
            raise

    def _begin(self) -> list[int]:
        """First token ids of a short chat."""
        ids = self._encode(self._template.render([{"role": "user", "content": "Hello"}]))
        if len(ids) > 1 and ids[0] == ids[1]:
            self._llm.shutdown()
            raise UserError(f"{self.name}: the chat template begins with token {ids[0]} twice (a double BOS)")
        return ids[:8]

    async def complete(self, request: Request) -> Completion:
        """Complete one request; cancelling the task takes it out of the batch.

        A reply that breaks its constraint is asked for once more.

        Raises:
            ContextOverflow, EngineError: as the seam says.
            UserError: the request's schema is none.
        """
        check_request(request)
        start = time.perf_counter()
        ids, opened = self._prompt(request)
        for _ in range(2):
            output = await self._generate(request, ids)
            completion = read_on(_completion(output, request, time.perf_counter() - start), opened)
            wrong = breach(request, completion.text) if completion.finish == "stop" else None
            if wrong is None:
                return completion
            self.faults["invalid_output"] += 1
        raise EngineError(f"{self.name}: the reply is {wrong} (asked twice)")

    def _prompt(self, request: Request) -> tuple[list[int], str]:
        """Prompt ids, and the mark of a think block that the template leaves open."""
        if request.messages is not None:
            text = self._template.render(request.messages, request.thinking)
            ids, opened = self._encode(text), opener(text)
        else:
            ids, opened = list(request.prompt_ids or ()), ""
        room = request.sampling.max_tokens
        if len(ids) + room > self.context:
            raise ContextOverflow(
                f"{self.name}: a prompt of {len(ids)} and a reply of {room} tokens exceed the context of {self.context}"
            )
        return ids, opened

    def _encode(self, text: str) -> list[int]:
        return list(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    async def _generate(self, request: Request, ids: list[int]) -> Any:
        adapter = self._adapter(request.adapter)
        try:
            stream = self._llm.generate(
                {"prompt_token_ids": ids},
                _sampling_params(request),
                f"{self.name}-{next(self._ids)}",
                lora_request=adapter,
            )
            outputs = [output async for output in stream]
        except Exception as error:  # vLLM's errors share no base class over its versions
            raise EngineError(f"{self.name}: vLLM failed: {_line(error.__cause__ or error)}") from error
        if not outputs or outputs[-1].outputs[0].finish_reason not in ("stop", "length"):
            raise EngineError(f"{self.name}: vLLM gave the request up before it was finished")
        return outputs[-1]

    def _adapter(self, path: str | None) -> Any:
        if path is None:
            return None
        if not self.can.adapters:
            raise UserError(f"{self.name}: opened without room for adapters; set `adapters = true` in its card")
        if path not in self._adapters:
            check_adapter(Path(path))
        from vllm.lora.request import LoRARequest

        number = self._adapters.setdefault(path, len(self._adapters) + 1)
        return LoRARequest(path, number, path)

    async def ready(self) -> Sequence[str]:
        """Nothing to ask: all is known since the model was loaded."""
        return ()

    async def close(self) -> None:
        """End the engine's processes. Safe to call twice."""
        if self._llm is not None:
            self._llm.shutdown()
            self._llm = None
            self._reaper.kill()
            self._reaper.wait()

    def describe(self) -> Mapping[str, Any]:
        """vLLM's version, weights and settings."""
        import vllm

        return {
            "engine": "vllm",
            "version": vllm.__version__,
            "sha256": self._weights,
            "first_ids": self._first_ids,
            **self._template.describe(),
            "context": self.context,
            "settings": self._settings,
        }


def _sampling_params(request: Request) -> Any:
    from vllm import SamplingParams
    from vllm.sampling_params import RequestOutputKind, StructuredOutputsParams

    sampling = request.sampling
    constraint = None
    if request.schema is not None:
        constraint = StructuredOutputsParams(json=dict(request.schema))
    elif request.choices is not None:
        constraint = StructuredOutputsParams(choice=list(request.choices))
    return SamplingParams(
        max_tokens=sampling.max_tokens,
        temperature=sampling.temperature,
        top_p=sampling.top_p,
        seed=sampling.seed,
        stop=list(sampling.stop),
        logprobs=0 if request.logprobs else None,
        structured_outputs=constraint,
        output_kind=RequestOutputKind.FINAL_ONLY,
    )


def _completion(output: Any, request: Request, seconds: float) -> Completion:
    reply = output.outputs[0]
    logprobs: tuple[float, ...] = ()
    if request.logprobs and reply.logprobs:
        logprobs = tuple(
            float(step[token].logprob) for step, token in zip(reply.logprobs, reply.token_ids, strict=True)
        )
    return Completion(
        text=reply.text,
        finish=reply.finish_reason,
        prompt_ids=tuple(output.prompt_token_ids),
        output_ids=tuple(reply.token_ids),
        logprobs=logprobs,
        prompt_tokens=len(output.prompt_token_ids),
        output_tokens=len(reply.token_ids),
        seconds=seconds,
    )


def _line(error: BaseException) -> str:
    """What an error says, as one line of at most 300 characters, or its name."""
    return " ".join(str(error).split())[:300] or type(error).__name__
