"""Putting one bounded question to a model: prompt files, a constraint, validation on return, one retry, a count."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path
from string import Template
from typing import Any, TypeVar

from fiqkit.models.cache import CachedEngine
from fiqkit.models.constraints.structured import breach
from fiqkit.models.engine import Completion, Engine, Message, Request, Sampling, Usage
from fiqkit.models.reasoning import reply_part
from fiqkit.records import giver_name
from fiqkit.roles.draws import seed_of
from fiqkit.taxonomy import LANGUAGES

T = TypeVar("T")

PROMPTS = Path(__file__).parent / "prompts"
_MAX_TOKENS = 512  # room for a model that thinks first; a constrained reply ends far earlier
_ATTEMPTS = 2


class Refused(Exception):
    """A reply that cannot be used; the message says what is wrong with it, for the model to read."""


class NoVerdict(Exception):
    """Every reply was refused; the message says why the last one was."""


class Asker:
    """Asks one engine for one role, and counts what that took.

    Attributes:
        usage: requests, tokens and seconds so far; its faults count refused replies.
    """

    def __init__(self, engine: Engine, role: str, temperature: float, seed: int) -> None:
        self.engine = engine
        self.usage = Usage()
        self._role = role
        self._temperature = temperature
        self._seed = seed

    async def ask(
        self,
        language: str,
        system: Mapping[str, str],
        question: Mapping[str, str],
        read: Callable[[str], T],
        *,
        schema: Mapping[str, Any] | None = None,
        choices: tuple[str, ...] | None = None,
        draw: str = "",
    ) -> T:
        """What `read` makes of the reply. `system` and `question` fill in the role's two prompt files.

        The draw is seeded by the run's seed and the prompt, so that it does not depend on what else is in flight;
        `draw` tells repeated draws of one prompt apart. A reply that `read` or the constraint refuses is asked for once
        more, with the fault named; where that is refused too, no cache keeps either.

        Raises:
            NoVerdict: the second reply was refused too.
            fiqkit.models.engine.EngineError: the engine failed, its own retries included.
        """
        messages: list[Message] = [
            {"role": "system", "content": prompt(language, self._role, **system)},
            {"role": "user", "content": prompt(language, f"{self._role}_ask", **question)},
        ]
        fault, sent = "", []
        for _ in range(_ATTEMPTS):
            wanted = Request(messages=messages, sampling=self._sampling(messages, draw), schema=schema, choices=choices)
            sent.append(_held(wanted, self.engine))
            reply = await self.engine.complete(sent[-1])
            self.usage.add(reply)
            try:
                return read(_usable(wanted, reply))
            except Refused as refused:
                fault = str(refused)
                self.usage.faults["refused"] = self.usage.faults.get("refused", 0) + 1
            again = prompt(language, "retry", fault=fault)
            messages = [
                *messages,
                {"role": "assistant", "content": reply.text[:500]},
                {"role": "user", "content": again},
            ]
        if isinstance(self.engine, CachedEngine):
            self.engine.forget(sent)
        raise NoVerdict(f"{self.engine.name} gave no usable reply: {fault}")

    def _sampling(self, messages: list[Message], draw: str) -> Sampling:
        seed = seed_of(self._seed, *(message["content"] for message in messages), *filter(None, [draw]))
        return Sampling(max_tokens=_MAX_TOKENS, temperature=self._temperature, seed=seed)

    def giver(self, kind: str) -> str:
        """The name that this engine's verdicts are filed under."""
        return giver_name(kind, self.engine.name, self._digest)

    @cached_property
    def _digest(self) -> str:
        """The hash of the weights; of what a server says of itself where it does not tell its weights."""
        described = self.engine.describe()
        if described.get("sha256"):
            return str(described["sha256"])
        place = described.get("place", {})
        # A server that the kit starts is somewhere else each time; another one is known by where it is.
        known = [described.get(key) for key in ("engine", "model", "dialect")]
        known.append(None if "command" in place else place.get("urls"))
        return hashlib.sha256(json.dumps(known, default=str).encode()).hexdigest()

    def describe(self) -> Mapping[str, Any]:
        """What the run's manifest records."""
        return {
            "kind": "llm",
            "engine": self.engine.describe(),
            "temperature": self._temperature,
            "seed": self._seed,
            "prompts": prompts_hash(self._role),
        }


def _held(request: Request, engine: Engine) -> Request:
    """The request with the constraint that the engine can hold a reply to; the reply is checked in any case."""
    return replace(
        request,
        schema=request.schema if engine.can.structured else None,
        choices=request.choices if engine.can.choices else None,
    )


def _usable(request: Request, reply: Completion) -> str:
    if reply.finish == "length":
        raise Refused(f"cut off after {_MAX_TOKENS} tokens")
    # Choices are the reader's to judge: "Yes." is as good as "yes" where the engine could not be held to them.
    fault = breach(Request(schema=request.schema), reply.text)
    if fault:
        raise Refused(fault)
    return reply_part(reply.text)


@cache
def _template(language: str, name: str) -> Template:
    return Template((PROMPTS / language / f"{name}.md").read_text("utf-8").strip())


def prompt(language: str, name: str, **values: str) -> str:
    """The text of `prompts/LANGUAGE/NAME.md` with its `$names` filled in."""
    return _template(language, name).substitute(values)


def prompts_hash(role: str) -> str:
    """Hash of a role's prompt files in every language."""
    names = (role, f"{role}_ask", "retry")
    texts = (_template(language, name).template for language in LANGUAGES for name in names)
    return hashlib.sha256("\x1f".join(texts).encode()).hexdigest()[:16]
