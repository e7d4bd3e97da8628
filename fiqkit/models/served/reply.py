"""What servers reply, read into a completion: shapes, finish reasons and errors as they really come.

{"choices": [{"message": {"content": "yes", "reasoning_content": "…"}, "finish_reason": "stop"}],
 "usage": {"prompt_tokens": 411, "completion_tokens": 3}}
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fiqkit.models.constraints.structured import breach
from fiqkit.models.engine import Completion, Request
from fiqkit.models.reasoning import reply_part, split
from fiqkit.models.served.dialects import Dialect, unwrap
from fiqkit.models.served.faults import Fault
from fiqkit.models.served.overflow import error_fault

# Finish reasons as servers spell them, in lower case.
_STOP = {"stop", "eos", "eos_token", "stop_sequence", "stop_str", "stop_token", "end_turn", "end_of_turn", "complete"}
_STOP |= {"completed", "finish", "finished", "normal"}
_LENGTH = {"length", "max_tokens", "max_length", "max_output_tokens", "max_new_tokens", "token_limit"}
_FULL = {"model_length", "model_context_window_exceeded", "context_window_exceeded", "context_length_exceeded"}
_FULL |= {"context_length", "context_full", "exceed_context_size"}
_FILTERED = {"content_filter", "content_filtered", "sensitive", "safety", "recitation", "blocklist", "refusal"}
_FILTERED |= {"prohibited_content", "spii", "guardrail_intervened"}
_TOOLS = {"tool_calls", "tool_call", "tool_use", "function_call"}


def read_reply(
    reply: Any, request: Request, dialect: Dialect, seconds: float = 0.0, queued: float = 0.0, opened: str = ""
) -> Completion:
    """The completion in a server's reply.

    Args:
        opened: the mark of a think block that this server's template is known to open for such a request.

    Raises:
        Fault: it is an error, lacks a finished completion, is empty, or breaks the request's constraint.
    """
    choice, usage = _choice(reply)
    message = choice.get("message") or {"content": choice.get("text")}
    text, reasoning = _parts(message.get("content"))
    reasoning = _text(message.get("reasoning_content") or message.get("reasoning") or reasoning)
    prompt_tokens, output_tokens = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
    finish = _finish(choice, message, text, output_tokens, request)
    if not text and not reasoning and not output_tokens:
        raise Fault("empty", "the reply holds no text and counts no token")
    # All that was asked for and still no text is a part of a character: a server drops what is no whole one.
    if finish == "length" and not text and not reasoning and output_tokens < request.sampling.max_tokens:
        raise Fault(
            "overflow",
            f"the context is full: the prompt took {prompt_tokens:,} tokens and left room for {output_tokens:,}",
        )
    if opened and not reasoning and not any(split(text)[::2]) and _is_loose(request, text):
        text = opened + text
    if split(text)[2]:
        finish = "length"
    if finish == "stop":
        if dialect.wraps(request):
            reasoning, text = reasoning or split(text)[0], unwrap(reply_part(text))
        _check(text, reasoning, request, dialect)
    return Completion(
        text=text,
        finish=finish,
        reasoning=reasoning,
        prompt_ids=tuple(choice.get("prompt_token_ids") or reply.get("prompt_token_ids") or ()),
        output_ids=tuple(choice.get("token_ids") or ()),
        logprobs=_logprobs(choice.get("logprobs")) if request.logprobs else (),
        prompt_tokens=prompt_tokens,
        output_tokens=output_tokens,
        seconds=seconds,
        queued=queued,
    )


def _choice(reply: Any) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The first choice and the usage.

    Raises:
        Fault: an error in the place of a completion, whatever the HTTP status was.
    """
    if not isinstance(reply, dict):
        raise Fault("bad_reply", f"the reply is a JSON {type(reply).__name__}, not an object")
    choices = reply.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    error = reply.get("error") or reply.get("errors") or (choice.get("error") if isinstance(choice, dict) else None)
    if error and not (isinstance(choice, dict) and _parts((choice.get("message") or {}).get("content"))[0]):
        raise error_fault("the server replied with an error", {"error": error})
    if not isinstance(choice, dict) or not isinstance(choice.get("message") or {}, dict):
        raise Fault("bad_reply", f"the reply holds no completion: {reply!r:.120}")
    usage = reply.get("usage")
    return choice, usage if isinstance(usage, dict) else {}


def _parts(content: Any) -> tuple[str, str]:
    """Text and reasoning of a message's content: a text, or a list of parts such as Mistral's.

        [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "yes"}]

    Raises:
        Fault: a part that is neither text nor reasoning.
    """
    if content is None or isinstance(content, str):
        return content or "", ""
    if not isinstance(content, list):
        raise Fault("bad_reply", f"the reply's content is not text: {content!r:.80}")
    text, thought = "", ""
    for part in content:
        kind = part.get("type", "text") if isinstance(part, dict) else "text"
        if kind in ("thinking", "reasoning"):
            thought += _text(part.get("thinking") or part.get("reasoning") or part.get("text"))
        elif kind in ("text", "output_text"):
            text += _text(part)
        else:
            raise Fault("rejected", f"the reply's content holds a part of type {kind!r:.40}, which is not text")
    return text, thought


def _text(value: Any) -> str:
    """The text of a part, of a list of parts, or of a reasoning field."""
    if isinstance(value, dict):
        value = value.get("text") or value.get("content")
    if isinstance(value, list):
        return "".join(map(_text, value))
    return value if isinstance(value, str) else ""


def _count(usage: Mapping[str, Any], field: str) -> int:
    value = usage.get(field)
    return int(value) if isinstance(value, int | float) and value == value and value >= 0 else 0


def _finish(choice: Mapping[str, Any], message: Mapping[str, Any], text: str, tokens: int, request: Request) -> str:
    """ "stop" or "length".

    Raises:
        Fault: the reply is not finished, or is none; says why. What would come again the same way is final.
    """
    stated = choice.get("finish_reason")
    reason = str(stated or "").lower()
    calls = message.get("tool_calls") or message.get("function_call")
    if reason in _TOOLS or (calls and not text):
        raise Fault("rejected", f"the model called a tool instead of writing its reply ({_tool(calls)})")
    if reason in _FILTERED:
        raise Fault("rejected", f"the provider's content filter stopped the reply (finish_reason {stated!r:.40})")
    if message.get("refusal") and not text:
        raise Fault("rejected", f"the model refused: {str(message['refusal'])[:160]!r}")
    if reason in _FULL:
        raise Fault("overflow", f"the context is full (finish_reason {stated!r:.40})")
    if reason in _LENGTH or (not reason and text and tokens >= request.sampling.max_tokens):
        return "length"
    if reason in _STOP or (not reason and text):
        return "stop"
    raise Fault("bad_reply", f"the reply is not finished (finish_reason {stated!r:.40})")


def _tool(calls: Any) -> str:
    first = calls[0] if isinstance(calls, list) and calls else calls
    function = first.get("function", first) if isinstance(first, dict) else {}
    name = function.get("name") if isinstance(function, dict) else None
    return f"tool {name!r:.40}" if name else "it named none"


def _is_loose(request: Request, text: str) -> bool:
    """Whether nothing shows that the server held the reply to a constraint from its first token on."""
    return (request.schema is None and request.choices is None) or breach(request, text) is not None


def _check(text: str, reasoning: str, request: Request, dialect: Dialect) -> None:
    """Hold a reply against the request's constraint.

    Raises:
        Fault: it breaks it.
    """
    wrong = breach(request, text)
    if wrong is None:
        return
    if not text.strip() and reasoning:
        kept = unwrap(reasoning) if dialect.wraps(request) else reasoning
        if breach(request, kept) is None:
            raise Fault(
                "rejected",
                "the reply came in the reasoning field and the content is empty; start the server without its "
                "reasoning parser, or ask for thinking",
            )
        wrong = "empty, only reasoning came"
    raise Fault("invalid_output", f"the reply is {wrong}")


def _logprobs(value: Any) -> tuple[float, ...]:
    """Chat replies carry a list of tokens, completions a list of numbers."""
    if not isinstance(value, dict):
        return ()
    if value.get("token_logprobs"):
        return tuple(value["token_logprobs"])
    return tuple(token["logprob"] for token in value.get("content") or ())
