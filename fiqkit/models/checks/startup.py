"""The probe before the first episode: what can this engine do of what the run will ask of it?

It works through the seam alone, so it holds for any engine: a plain reply, one reply under each kind of constraint, the
agent's real opening, and where thinking is asked for, both of its modes. What it finds corrects the engine's
`Capabilities`: a server that does not hold a schema runs without one, and that is said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from fiqkit.errors import UserError
from fiqkit.models.engine import Completion, Engine, EngineError, Message, Request, Sampling
from fiqkit.models.reasoning import split

_WORD = "kestrel-7"  # in no prompt: a model that ignores the constraint does not write it
_PROMPT = ({"role": "user", "content": "Say hello in one short sentence."},)
_SCHEMA = {
    "type": "object",
    "properties": {"word": {"type": "string", "enum": [_WORD]}},
    "required": ["word"],
    "additionalProperties": False,
}
# kind → the request's field that asks for it
CONSTRAINTS: Mapping[str, Mapping[str, Any]] = {
    "schema": {"schema": _SCHEMA},
    "choices": {"choices": (_WORD, f"{_WORD}-b")},
}
_LOOSE = 8  # tokens of a reply that was to have one, from which its bound is not held
_ROOM = {True: 2048, None: 512, False: 64}  # tokens by thinking mode: a reasoning model thinks before the word
_NAMES = {None: "default", True: "on", False: "off"}


async def startup_probe(
    engine: Engine,
    thinking: Sequence[bool | None] = (None,),
    *,
    hybrid: bool = False,
    opening: Sequence[Message] = (),
) -> dict[str, Any]:
    """Try the engine in each thinking mode, and correct `engine.can` by what it did.

    Args:
        thinking: the modes that the run will ask for; None is the model's default.
        hybrid: the model is said to think or not as asked; then both modes are tried, and must differ.
        opening: messages with which an agent's episodes begin.

    Returns:
        {"thinking=on": {"plain": "ok", "schema": "ok", "choices": why not, "reasoned": bool, "prompt_tokens": 31,
        "first_ids": the first token ids of the prompt, which show a doubled BOS}, …,
        "opening": [prompt tokens of the opening, and of the opening again], "said": lines for whoever starts the run}

    Raises:
        UserError: the engine cannot complete at all, refuses the opening, or does not listen to the thinking switch.
    """
    asked = dict.fromkeys(thinking)
    both = hybrid and (True in asked or False in asked)
    modes = [True, False] if both else list(asked)
    findings: dict[str, Any] = {}
    said: list[str] = []
    for mode in modes:
        findings[f"thinking={_NAMES[mode]}"] = found = await _probe_mode(engine, mode)
        if mode in asked:
            said += _correct(engine, mode, found)
    if both:
        _check_switch(engine, findings["thinking=on"], findings["thinking=off"])
    if opening:
        said += await _probe_opening(engine, next(iter(asked)), opening, findings)
    for found in findings.values():
        if isinstance(found, dict):
            found.pop("prompt", None)  # long, and told by its length and first ids
    return {**findings, "said": list(dict.fromkeys(said))}


async def _probe_mode(engine: Engine, mode: bool | None) -> dict[str, Any]:
    name = _NAMES[mode]
    try:
        plain = await engine.complete(_request(engine, mode))
    except EngineError as error:
        raise UserError(f"{engine.name}: cannot complete a short prompt with thinking {name}: {error}") from None
    if plain.finish == "stop" and plain.reasoning and not split(plain.text)[1].strip():
        raise UserError(
            f"{engine.name}: with thinking {name} its reply comes in the reasoning field and the content is empty; "
            "start the server without its reasoning parser"
        )
    found: dict[str, Any] = {
        "plain": "ok",
        "reasoned": _reasoned(plain),
        "prompt_tokens": plain.prompt_tokens,
        "first_ids": list(plain.prompt_ids[:8]),
        "prompt": list(plain.prompt_ids),
    }
    for kind, constraint in CONSTRAINTS.items():
        holds = engine.can.structured if kind == "schema" else engine.can.choices
        found[kind] = (
            await _try_constraint(engine, _request(engine, mode, constraint), found["reasoned"])
            if holds
            else "not held"
        )
    return found


def _request(engine: Engine, mode: bool | None, constraint: Mapping[str, Any] | None = None) -> Request:
    room = min(_ROOM[mode], engine.context // 2)
    return Request(messages=_PROMPT, sampling=Sampling(max_tokens=room), thinking=mode, **(constraint or {}))


async def _try_constraint(engine: Engine, request: Request, thinks: bool) -> str:
    try:
        completion = await engine.complete(request)
    except (EngineError, UserError) as error:
        return str(error)
    if completion.finish != "stop":
        return f"the reply was not finished after {request.sampling.max_tokens} tokens"
    if thinks and request.thinking is not False and not _reasoned(completion):
        return "it keeps the model from thinking"
    return "ok"


def _reasoned(completion: Completion) -> bool:
    return bool(completion.reasoning) or bool(split(completion.text)[0])


def _correct(engine: Engine, mode: bool | None, found: dict[str, Any]) -> list[str]:
    """Take out of `engine.can` what the engine did not do; lines that say so."""
    promised = engine.can.structured_thinking if mode else engine.can.structured
    holds = found["schema"] == "ok"
    if mode:
        engine.can = replace(engine.can, structured_thinking=promised and holds)
    else:
        engine.can = replace(engine.can, structured=promised and holds)
    if found["choices"] != "ok":
        engine.can = replace(engine.can, choices=False)
    if holds:
        return []
    why = "" if found["schema"] == "not held" else f" ({found['schema']:.200})"
    return [
        f"{engine.name}: holds no reply to a schema with thinking {_NAMES[mode]}{why}: its agents run unconstrained"
    ]


def _check_switch(engine: Engine, on: dict[str, Any], off: dict[str, Any]) -> None:
    """Refuse a model whose two thinking modes are one.

    Raises:
        UserError: says what to set.
    """
    same_prompt = on["prompt"] == off["prompt"] and on["prompt_tokens"] == off["prompt_tokens"]
    if not same_prompt or on["reasoned"] != off["reasoned"]:
        return
    how = "reasoned both times" if on["reasoned"] else "reasoned neither time"
    raise UserError(
        f"{engine.name}: thinking on and off are one: both prompts have {on['prompt_tokens']} tokens and it {how}; "
        "name the fields that switch it with the setting switch = {on = {…}, off = {…}} (vLLM, SGLang, llama.cpp: "
        "chat_template_kwargs = {enable_thinking = true}; Ollama, LM Studio, OpenAI: reasoning_effort), or leave "
        "--thinking out"
    )


async def _probe_opening(
    engine: Engine, mode: bool | None, opening: Sequence[Message], findings: dict[str, Any]
) -> list[str]:
    """Send the opening, twice where it is not known what prompt counts mean; lines worth saying.

    The second time the server has the prompt cached. If it counts as many tokens, a count that falls later on means a
    prompt that was cut.
    """
    request = Request(messages=opening, sampling=Sampling(max_tokens=1), thinking=mode)
    replies = []
    for _ in range(2 if engine.can.counts_prompt is None else 1):
        try:
            replies.append(await engine.complete(request))
        except EngineError as error:
            raise UserError(f"{engine.name}: cannot complete an episode's opening messages: {error}") from None
    counts = findings["opening"] = [reply.prompt_tokens for reply in replies]
    if len(counts) == 2 and all(counts):
        engine.can = replace(engine.can, counts_prompt=counts[1] >= counts[0])
    said = [f"{engine.name}: {flag}; give it a larger context" for reply in replies for flag in reply.flags]
    if (written := max(reply.output_tokens for reply in replies)) > _LOOSE:
        said.append(
            f"{engine.name}: wrote {written:,} tokens where 1 was asked for, so replies run on; its server may know "
            'the bound by another name (dialect = "generic" says max_tokens, "openai" max_completion_tokens)'
        )
    return said
