"""How servers that speak the same protocol differ: the field names under which each honours a constraint.

A server that does not know a field ignores it and answers in free text, so the right name matters; the reply is
checked all the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fiqkit.models.constraints.grammars import choices_grammar
from fiqkit.models.engine import Request

Fields = dict[str, Any]


def _json_schema(schema: Mapping[str, Any]) -> Fields:
    return {
        "response_format": {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema, "strict": True}}
    }


def _json_object(schema: Mapping[str, Any]) -> Fields:
    return {"response_format": {"type": "json_object", "schema": schema}}


def _inside(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema as the one property `reply` of an object, for servers whose schemas must be objects."""
    return {"type": "object", "properties": {"reply": schema}, "required": ["reply"], "additionalProperties": False}


def _choice_object(choices: tuple[str, ...]) -> Fields:
    return _json_schema(_inside({"type": "string", "enum": list(choices)}))


def _schema_object(schema: Mapping[str, Any]) -> Fields:
    return _json_schema(schema if schema.get("type") == "object" else _inside(schema))


def unwrap(text: str) -> str:
    """What is inside {"reply": …}; the text as it is where it is no such object, for the check to refuse."""
    try:
        value = json.loads(text)["reply"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return text
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _template_thinking(on: bool) -> Fields:
    """Variables of the chat template, under the names that hybrid models' templates give them."""
    return {"chat_template_kwargs": {"enable_thinking": on, "thinking": on}}


def _effort(on: bool) -> Fields:
    return {"reasoning_effort": "medium" if on else "none"}


@dataclass(frozen=True, slots=True)
class Dialect:
    """One kind of server.

    Attributes:
        schema, choices, thinking: the request fields for a constraint or a thinking mode. Whether the server honours
            them is measured at the start.
        wraps_choice: a choice comes back inside {"reply": …}.
        wraps_union: so does what satisfies a schema that is not itself an object's.
        max_tokens: name of the field that bounds the reply.
        token_ids: it can return the token ids of prompt and reply.
    """

    schema: Callable[[Mapping[str, Any]], Fields] = _json_schema
    choices: Callable[[tuple[str, ...]], Fields] = _choice_object
    thinking: Callable[[bool], Fields] = _template_thinking
    wraps_choice: bool = True
    wraps_union: bool = False
    max_tokens: str = "max_tokens"
    token_ids: bool = False

    def wraps(self, request: Request) -> bool:
        """Whether the reply to this request comes inside an object."""
        if request.schema is not None:
            return self.wraps_union and request.schema.get("type") != "object"
        return self.wraps_choice and request.choices is not None


def _gbnf_dialect(schema: Callable[[Mapping[str, Any]], Fields]) -> Dialect:
    return Dialect(
        schema=schema,
        choices=lambda choices: {"grammar": choices_grammar(choices)},
        wraps_choice=False,
    )


DIALECTS: dict[str, Dialect] = {
    "vllm": Dialect(
        choices=lambda choices: {"structured_outputs": {"choice": list(choices)}},
        wraps_choice=False,
        token_ids=True,
    ),
    "sglang": Dialect(),
    "llama.cpp": _gbnf_dialect(_json_schema),
    "llama-cpp-python": _gbnf_dialect(_json_object),
    "ollama": Dialect(thinking=_effort),
    "lmstudio": Dialect(thinking=lambda on: _effort(on) | _template_thinking(on)),
    "openai": Dialect(schema=_schema_object, thinking=_effort, wraps_union=True, max_tokens="max_completion_tokens"),
    # It hands fields on as they come, and the servers behind it mostly know the older name of the bound alone; for
    # OpenAI's newer models it renames the bound itself.
    "litellm": Dialect(schema=_schema_object, thinking=_effort, wraps_union=True),
    "generic": Dialect(),
}

# `owned_by` in a server's list of models → its dialect; LiteLLM, which calls itself OpenAI there, is told by its health
OWNERS = {
    "vllm": "vllm",
    "sglang": "sglang",
    "library": "ollama",
    "organization_owner": "lmstudio",
    "llamacpp": "llama.cpp",
    "me": "llama-cpp-python",
    "openai": "openai",
    "system": "openai",
    "openai-internal": "openai",
}
