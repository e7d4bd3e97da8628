"""The agent's actions: reading one out of a reply, strictly, and the JSON schema that constrains an engine to them.

A reply is one JSON object. Reasoning is split off first, so that an action quoted in a think block is never executed;
an action quoted within a line of prose is ignored too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

MAX_STATE = 40  # characters of one field of a state, of which there are five
MAX_STRING = 160  # characters; an unbounded string lets a small model ramble into max_tokens


@dataclass(frozen=True, slots=True)
class Action:
    """One action and its own fields, for example `Action("search", {"query": "Meta 2023 revenue"})`."""

    name: str
    content: Mapping[str, Any]


class ParseFault(ValueError):
    """The reply holds no action that can be executed; the message says why, in words for the agent."""


UNKNOWN = "unknown"  # a field of the state that the question leaves open

# action → its one required field; a text, but for the state's object
_FIELD = {"search": "query", "interact": "question", "answer": "response", "state": "state"}
ACTIONS = tuple(_FIELD)

_OBJECT_START = re.compile(r"^[ \t]*(?=\{)", re.MULTILINE)
_FENCE = re.compile(r"^\s*```[a-zA-Z]*\n(.*)\n```\s*$", re.DOTALL)
_DECODER = json.JSONDecoder()


def parse(text: str, offered: Sequence[str] = ACTIONS[:3]) -> Action:
    """The one action of a reply whose reasoning has been split off.

        >>> parse('{"action": "answer", "response": "$46.75B", "confidence": 80}')
        Action(name='answer', content={'response': '$46.75B', 'confidence': 80.0})

    Args:
        offered: the actions that a fault names; one that is not offered is read all the same.

    Raises:
        ParseFault: no action, more than one, an unknown one, or a field that is missing or empty.
    """
    found = _action_object(text)
    name = found.get("action")
    if not isinstance(name, str) or name not in _FIELD:
        raise ParseFault(f"the action {str(name)[:40]!r} is unknown; use one of {', '.join(offered)}")
    field = _FIELD[name]
    value = found.get(field)
    if name == "state":
        if not isinstance(value, dict) or not value:
            raise ParseFault('the action state needs an object "state" with a text for each field')
        return Action(name, {field: {_text(key): _text(item) for key, item in value.items()}})
    if isinstance(value, int | float) and not isinstance(value, bool) and name == "answer":
        value = str(value)
    if not isinstance(value, str) or not value.strip():
        raise ParseFault(f'the action {name} needs a non-empty text field "{field}"')
    content: dict[str, Any] = {field: _whole_characters(value)}
    if name == "answer":
        content["confidence"] = _confidence(found.get("confidence"))
    return Action(name, content)


def parse_confidence(text: str) -> float | None:
    """The confidence that a reply to the question for it states, an action or a bare number; None where it has none."""
    try:
        return _confidence(_action_object(text).get("confidence"))
    except ParseFault:
        return _confidence(text)


def _text(value: object) -> str:
    """A field of the state as text; null and empty mean unknown."""
    return _whole_characters(str(value)).strip() or UNKNOWN if value is not None else UNKNOWN


def _whole_characters(text: str) -> str:
    """The text with U+FFFD for every lone surrogate, the half of a character that a JSON escape can spell.

    No file, database or request can hold one.
    """
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if not text.isascii() else text


def _action_object(text: str) -> dict[str, Any]:
    """The reply's only JSON object with an action; objects that do not begin a line are quotations."""
    body = text.strip()
    fenced = _FENCE.match(body)
    try:
        whole = json.loads(fenced.group(1) if fenced else body)
    except (json.JSONDecodeError, RecursionError):
        whole = None
    if isinstance(whole, dict):
        return whole
    found = []
    position = 0
    while start := _OBJECT_START.search(body, position):
        try:
            value, position = _DECODER.raw_decode(body, start.end())
        except (json.JSONDecodeError, RecursionError):
            position = start.end() + 1
            continue
        if isinstance(value, dict) and "action" in value:
            found.append(value)
    if len(found) != 1:
        raise ParseFault(
            "there is no JSON action" if not found else f"there are {len(found)} actions; give exactly one"
        )
    return found[0]


def _confidence(value: object) -> float | None:
    """Stated confidence, 0 to 100; what cannot be read as one is None, and drops out of calibration."""
    if isinstance(value, str):
        value = value.strip().removesuffix("%")
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return number if not isinstance(value, bool) and 0 <= number <= 100 else None


@cache
def schema(allowed: tuple[str, ...], fields: tuple[str, ...] = (), *, post_hoc: bool = False) -> Mapping[str, Any]:
    """JSON schema of one action among `allowed`, every string bounded.

    Args:
        fields: the fields of a state.
        post_hoc: the answer carries no confidence, which is asked for later.
    """
    shapes = [_shape(name, fields, post_hoc) for name in allowed]
    return shapes[0] if len(shapes) == 1 else {"anyOf": shapes}


def _shape(name: str, fields: tuple[str, ...], post_hoc: bool) -> dict[str, Any]:
    string = {"type": "string", "minLength": 1, "maxLength": MAX_STRING}
    properties: dict[str, Any] = {"action": {"const": name}}
    if name == "state":
        properties["state"] = _object(dict.fromkeys(fields, string | {"maxLength": MAX_STATE}))
    elif name in _FIELD:
        properties[_FIELD[name]] = string
    if name == "confidence" or (name == "answer" and not post_hoc):
        properties["confidence"] = {"enum": list(range(101))}  # not minimum, maximum: grammar converters ignore them
    return _object(properties)


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }
