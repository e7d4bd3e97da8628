"""Whether a reply satisfies the constraint that its request set. Engines are asked to enforce it and not trusted to:
a field that a server does not know usually gives status 200 and free text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import orjson

from fiqkit.errors import UserError
from fiqkit.models.engine import Request
from fiqkit.models.reasoning import reply_part


def check_request(request: Request) -> None:
    """Refuse a request that no engine can answer, and a constraint that no reply could be held against.

    Raises:
        UserError: no prompt or two, two constraints; the schema is no JSON schema, or there is nothing to choose from.
    """
    if (request.messages is None) == (request.prompt_ids is None) or not (request.messages or request.prompt_ids):
        raise UserError("a request has messages or prompt_ids, one of them and not empty")
    if request.schema is not None and request.choices is not None:
        raise UserError("a request has a schema or choices, not both")
    if request.schema is not None:
        _validator(request.schema)
    if request.choices is not None and not all(choice and choice == choice.strip() for choice in request.choices):
        raise UserError(f"choices must be non-empty texts without space around them, found {request.choices!r:.80}")


def breach(request: Request, text: str) -> str | None:
    """How `text` breaks the request's constraint, in one line; None where it does not, or where there is none.

    Reasoning in front of the reply and a code fence around it are not part of it. White space around it is allowed.
    """
    reply = reply_part(text)
    if request.choices is not None and reply not in request.choices:
        return f"none of the choices: {reply!r:.80}"
    if request.schema is not None:
        return _schema_breach(request, reply)
    return None


def _schema_breach(request: Request, reply: str) -> str | None:
    try:
        value = orjson.loads(whole_characters(reply))
    except ValueError:
        return f"not JSON: {reply!r:.80}"
    assert request.schema is not None
    error = next(_validator(request.schema).iter_errors(value), None)
    return None if error is None else f"not in the schema: {_place(error.instance_path)} {error.message:.120}"


_HALF = re.compile(
    r"(?<!\\)((?:\\\\)*)\\u(?:[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F][0-9a-fA-F]{2})|"
    r"(?<!\\u[dD][89abAB][0-9a-fA-F]{2}\\u)[dD][c-fC-F][0-9a-fA-F]{2})"
)


def whole_characters(json_text: str) -> str:
    """JSON with U+FFFD for each escape of half a character (a lone surrogate), which no UTF-8 text can hold."""
    return _HALF.sub(r"\1\\ufffd", json_text) if "\\u" in json_text else json_text


def _place(path: list[str | int]) -> str:
    return "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)


_validators: dict[
    int, tuple[Mapping[str, Any], Any]
] = {}  # by identity: callers send the same few schemas all the time
_MOST_VALIDATORS = 256


def _validator(schema: Mapping[str, Any]) -> Any:
    known = _validators.get(id(schema))
    if known is not None and known[0] is schema:
        return known[1]
    import jsonschema_rs

    try:
        validator = jsonschema_rs.validator_for(dict(schema))
    except ValueError as error:
        line = " ".join(str(error).split())
        raise UserError(f"not a JSON schema: {line:.160}") from None
    if len(_validators) >= _MOST_VALIDATORS:
        _validators.clear()
    _validators[id(schema)] = (schema, validator)
    return validator
