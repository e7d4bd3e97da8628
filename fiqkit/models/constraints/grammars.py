"""A request's constraint as one GBNF grammar."""

from __future__ import annotations

import json
import re
from functools import lru_cache

from fiqkit.errors import UserError
from fiqkit.models.engine import Request

AFTER_THINKING = "after-thinking"  # start symbol of a reply that follows a think block: white space may come first


def request_grammar(request: Request) -> str | None:
    """GBNF of the request's schema or choices; None where it sets no constraint.

    Raises:
        UserError: a schema that cannot be turned into a grammar, an empty choice list.
    """
    if request.schema is not None:
        return _of_schema(json.dumps(request.schema))
    if request.choices is not None:
        return choices_grammar(request.choices)
    return None


def start_after_thinking(grammar: str) -> str:
    """The grammar with the start symbol `AFTER_THINKING` added."""
    return f"{grammar}\n{AFTER_THINKING} ::= [ \\t\\n]{{0,4}} root\n"


@lru_cache(maxsize=256)
def _of_schema(schema: str) -> str:
    from llama_cpp.llama_grammar import json_schema_to_gbnf

    try:
        # The converter's strings admit raw control characters, which JSON does not.
        return str(json_schema_to_gbnf(schema)).replace(r'[^"\\] |', r'[^"\\\x00-\x1F\x7F] |')
    except KeyError as error:
        raise UserError(
            f"this JSON schema cannot be turned into a grammar: {error} is not there, or refers to itself"
        ) from None
    except Exception as error:  # the converter raises bare asserts and ValueErrors alike
        raise UserError(f"this JSON schema cannot be turned into a grammar: {error or type(error).__name__}") from None


def choices_grammar(choices: tuple[str, ...]) -> str:
    """GBNF that derives these strings and no other.

    Raises:
        UserError: nothing to choose from, or an empty choice.
    """
    if not choices or "" in choices:
        raise UserError("choices must be a list of strings that are not empty")
    return "root ::= " + " | ".join(f'"{_ESCAPED.sub(_escape, choice)}"' for choice in choices)


_ESCAPED = re.compile(r'[\x00-\x1f\x7f"\\]')


def _escape(found: re.Match[str]) -> str:
    return f"\\x{ord(found.group()):02x}"
