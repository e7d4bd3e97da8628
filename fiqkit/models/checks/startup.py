"""The probe before the first episode: can this engine do what the run will ask of it?

It works through the seam alone, so it holds for any engine: a plain reply, then one reply under each kind of
constraint, with thinking on or off as the run will have it. A model that ignored the constraint would not write the
word that is asked for here, because the prompt does not contain it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fiqkit.errors import UserError
from fiqkit.models.engine import Completion, Engine, EngineError, Request, Sampling

_WORD = "kestrel-7"
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
_ROOM = {True: 2048, None: 512, False: 64}  # tokens by thinking mode: a reasoning model thinks before the word


async def startup_probe(
    engine: Engine, thinking: Sequence[bool | None] = (None,), need: Sequence[str] = ("schema", "choices")
) -> dict[str, Any]:
    """Try a plain reply and each kind of constraint, once per thinking mode. For the run's manifest.

    Args:
        thinking: the modes that the run will ask for; None is the model's default.
        need: kinds of constraint without which the run cannot go on; the others are tried and reported.

    Returns:
        {"thinking=on": {"plain": "ok", "schema": "ok", "choices": why not, "reasoned": bool,
        "first_ids": the first token ids of the prompt, which show a doubled BOS}, …}

    Raises:
        UserError: the engine cannot complete at all, or cannot do something that is needed.
    """
    findings = {}
    for mode in thinking:
        name = {None: "default", True: "on", False: "off"}[mode]
        findings[f"thinking={name}"] = await _probe_mode(engine, mode, name, need)
    return findings


async def _probe_mode(engine: Engine, mode: bool | None, name: str, need: Sequence[str]) -> dict[str, Any]:
    try:
        plain = await engine.complete(_request(engine, mode))
    except EngineError as error:
        raise UserError(f"{engine.name}: cannot complete a short prompt with thinking {name}: {error}") from None
    found: dict[str, Any] = {"plain": "ok", "reasoned": _reasoned(plain), "first_ids": list(plain.prompt_ids[:8])}
    for kind, constraint in CONSTRAINTS.items():
        found[kind] = await _try_constraint(engine, _request(engine, mode, constraint))
        if found[kind] != "ok" and kind in need:
            raise UserError(
                f"{engine.name}: cannot keep a reply to a {kind} with thinking {name}: {found[kind]}; use another "
                "engine or dialect for this model, or a thinking mode in which it can"
            )
    return found


def _request(engine: Engine, mode: bool | None, constraint: Mapping[str, Any] | None = None) -> Request:
    room = min(_ROOM[mode], engine.context // 2)
    return Request(messages=_PROMPT, sampling=Sampling(max_tokens=room), thinking=mode, **(constraint or {}))


async def _try_constraint(engine: Engine, request: Request) -> str:
    try:
        completion = await engine.complete(request)
    except (EngineError, UserError) as error:
        return str(error)
    return (
        "ok"
        if completion.finish == "stop"
        else f"the reply was not finished after {request.sampling.max_tokens} tokens"
    )


def _reasoned(completion: Completion) -> bool:
    return bool(completion.reasoning) or "</think>" in completion.text
