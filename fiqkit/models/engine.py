"""The engine seam: what the rest of the kit asks of anything that turns a prompt into text.

An engine takes one `Request` and gives one `Completion`; it batches whatever is in flight by itself. Everything that an
engine can or cannot do is stated in its `Capabilities`, so that a caller never has to guess.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from fiqkit.errors import UserError

_COLDEST, _HOTTEST = 0.001, 100.0  # logits divided by less, or by more, are no longer numbers in float32

Message = Mapping[str, str]  # {"role": "system" | "user" | "assistant", "content": text}


@dataclass(frozen=True, slots=True)
class Sampling:
    """How to draw tokens. `temperature` 0 is greedy; the same seed on the same engine repeats the same draw.

    Raises:
        UserError: a value that no library can draw with; some end the process on it.
    """

    max_tokens: int = 512
    temperature: float = 0.0
    top_p: float = 1.0
    seed: int = 0
    stop: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.max_tokens < 1:
            raise UserError(f"max_tokens is {self.max_tokens}; a reply needs at least 1")
        if not (self.temperature == 0 or _COLDEST <= self.temperature <= _HOTTEST):
            raise UserError(
                f"temperature is {self.temperature}; it is 0 (the likeliest token) or from {_COLDEST} to {_HOTTEST:g}"
            )
        if not 0 < self.top_p <= 1:
            raise UserError(f"top_p is {self.top_p}; it is above 0 and at most 1")
        if "" in self.stop:
            raise UserError("an empty stop string would end every reply; leave it out")


@dataclass(frozen=True, slots=True)
class Request:
    """One prompt. Exactly one of `messages` and `prompt_ids` is set; at most one of the two constraints.

    Attributes:
        messages: a chat, to which the engine applies the model's template once.
        prompt_ids: token ids, sent as they are.
        schema: a JSON schema that the output must satisfy (bound every string: small models ramble).
        choices: the output must be one of these strings.
        adapter: path of a LoRA adapter to apply.
        thinking: ask a reasoning model to think (True), not to (False), or leave its template's default (None).
        logprobs: return the log probability of each output token where the engine can.
    """

    messages: Sequence[Message] | None = None
    prompt_ids: Sequence[int] | None = None
    sampling: Sampling = Sampling()
    schema: Mapping[str, Any] | None = None
    choices: tuple[str, ...] | None = None
    adapter: str | None = None
    thinking: bool | None = None
    logprobs: bool = False


@dataclass(frozen=True, slots=True)
class Completion:
    """What came back.

    Attributes:
        text: the output as decoded, a think block included where the model wrote one in its text, with the block's
            opening mark in front where the chat template wrote that (`fiqkit.models.reasoning.split` takes it apart).
        reasoning: the think block where the server split it off itself.
        finish: "stop"; "length" for a reply that was cut off or ended inside its think block.
        prompt_ids, output_ids, logprobs: empty where the engine does not expose them.
        seconds: time in the engine, `queued` seconds of waiting included.
        flags: what is odd about it, for the episode's record, such as a prompt that the server has cut.
    """

    text: str
    finish: str = "stop"
    reasoning: str = ""
    prompt_ids: Sequence[int] = ()
    output_ids: Sequence[int] = ()
    logprobs: Sequence[float] = ()
    prompt_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    queued: float = 0.0
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an engine can do. The start-up probe corrects what a server only promised.

    Attributes:
        structured: it holds a reply to a schema; `structured_thinking`: also behind the thinking of a model that was
            asked to think.
        choices: it holds a reply to one of several texts.
        counts_prompt: `Completion.prompt_tokens` counts the whole prompt, cached parts included, so that a count which
            falls while a dialogue grows shows a prompt that was cut; None where that was not measured.
        parallel: how many requests it can work on at once.
    """

    structured: bool = False
    structured_thinking: bool = False
    choices: bool = False
    logprobs: bool = False
    token_ids: bool = False
    adapters: bool = False
    deterministic: bool = False
    counts_prompt: bool | None = True
    parallel: int = 1


class EngineError(Exception):
    """The engine failed; the episode ends as `engine_error` and is counted apart, never as a wrong answer."""


class ContextOverflow(EngineError):
    """The prompt and the room for the reply exceed the context. Nothing was cut."""


class Engine(Protocol):
    """A loaded model that completes requests. Cancelling the awaiting task cancels the request.

    What it is and can is known once `ready` has returned: a server must be asked first.
    """

    name: str
    can: Capabilities

    @property
    def context(self) -> int:
        """Tokens that prompt and reply may hold together, for one request."""
        ...

    async def ready(self) -> Sequence[str]:
        """Ask whatever must be asked before `context`, `can` and `describe` hold. Safe to call twice.

        Returns:
            Lines that whoever starts a run should see, such as the window of a server that cuts prompts.

        Raises:
            UserError: a server that is not there or cannot be the right one.
        """
        ...

    async def complete(self, request: Request) -> Completion:
        """Complete one request.

        Raises:
            ContextOverflow: the prompt does not fit; nothing was cut.
            EngineError: the engine failed for good, its own retries included.
        """
        ...

    async def close(self) -> None:
        """Free the model or stop the child process. Safe to call twice."""
        ...

    def describe(self) -> Mapping[str, Any]:
        """What the run's manifest records: engine and version, weights and their hash, settings."""
        ...


@dataclass(slots=True)
class Usage:
    """Totals of what a role consumed."""

    requests: int = 0
    prompt_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    faults: dict[str, int] = field(default_factory=dict)

    def add(self, completion: Completion) -> None:
        """Count one completion in."""
        self.requests += 1
        self.prompt_tokens += completion.prompt_tokens
        self.output_tokens += completion.output_tokens
        self.seconds += completion.seconds
