"""Whether a reply satisfies the constraint that its request set. Engines are asked to enforce it and not trusted to:
a field that a server does not know usually gives status 200 and free text."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from fiqkit.errors import UserError
from fiqkit.models.engine import Request
from fiqkit.models.gbnf import check, matches


def check_constraint(request: Request) -> None:
    """Refuse a constraint that no reply could be held against.

    Raises:
        UserError: the schema is no JSON schema, the grammar no GBNF, or there is nothing to choose from.
    """
    if request.schema is not None:
        _validator(json.dumps(request.schema, sort_keys=True))
    if request.choices is not None and not all(choice and choice == choice.strip() for choice in request.choices):
        raise UserError(f"choices must be non-empty texts without space around them, found {request.choices!r:.80}")
    if request.grammar is not None:
        check(request.grammar)


def breach(request: Request, text: str) -> str | None:
    """How `text` breaks the request's constraint, in one line; None where it does not, or where there is none.

    A think block in front of the reply is not part of it. White space around it is allowed.
    """
    reply = answer_part(text)
    if request.choices is not None and reply not in request.choices:
        return f"none of the choices: {reply!r:.80}"
    if request.schema is not None:
        return _schema_breach(request, reply)
    if request.grammar is not None and not (matches(request.grammar, text) or matches(request.grammar, reply)):
        return f"not in the grammar: {reply!r:.80}"
    return None


def answer_part(text: str) -> str:
    """The reply without a think block that the model wrote in front of it, stripped."""
    return text.rpartition("</think>")[2].strip()


def _schema_breach(request: Request, reply: str) -> str | None:
    try:
        value = json.loads(reply)
    except (ValueError, RecursionError):
        return f"not JSON: {reply!r:.80}"
    error = next(_validator(json.dumps(request.schema, sort_keys=True)).iter_errors(value), None)
    return None if error is None else f"not in the schema: {error.json_path} {error.message:.120}"


@lru_cache(maxsize=256)
def _validator(schema: str) -> Any:
    import jsonschema

    parsed = json.loads(schema)
    kind = jsonschema.validators.validator_for(parsed, jsonschema.Draft202012Validator)
    try:
        kind.check_schema(parsed)
    except jsonschema.SchemaError as error:
        raise UserError(f"not a JSON schema: {error.json_path} {error.message:.160}") from None
    return kind(parsed)
