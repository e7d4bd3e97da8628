"""What a server's error says: one line for people, and whether the prompt was too long for it.

Servers say that in some fifty ways. It is told from codes and types, which are few, and from words: something that is
measured (context, prompt, input, tokens) next to a bound that is passed, in English or Chinese. A gateway may hide both
in a nested error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from fiqkit.models.served.faults import Fault

_CODE = re.compile(
    r"context_?(?:length|window|size)_?exceeded|context_?overflow|exceed_context_size|contextwindowexceeded|"
    r"(?:prompt|input)_?(?:tokens?|length)?_?(?:limit_)?exceeded|(?:prompt|input|context)_too_(?:long|large)|"
    r"^(?:1261|3051)$",  # Zhipu, Mistral
    re.I,
)
# Limits of the reply alone, of a rate, of a field's form: none of them is about the prompt.
_OF_THE_REPLY = re.compile(
    r"['\"`]?max_(?:new_|completion_|output_|num_)?tokens['\"`]?|(?:output|completion) tokens|"
    r"(?:输出|輸出|生成)\W?(?:\w{0,4}长度|\w{0,4}長度|的?tokens?)",
    re.I,
)
_RATE = re.compile(
    r"tokens per (?:minute|day|hour)|\b[TR]P[MD]\b|rate.?limit|quota|please wait|try again (?:later|in)|"
    r"too many requests|分钟|分鐘|频率|頻率|并发|並發|限流|余额|餘額|额度|額度|配额|配額|稍后|稍後",
    re.I,
)
_MEASURED = re.compile(
    r"context|prompt|\binputs?\b|\btokens\b|token (?:count|limit)|sequence.?length|max_seq_len|n_ctx|"
    r"length of (?:all |the |your )?messages?|model.{0,3}max|"
    r"上下文|提示|输入|輸入|长度|長度|字数|字數|对话|對話|token(?=[\u4e00-\u9fff])",
    re.I,
)
_MEASURED_PLAINLY = re.compile(r"context|prompt|`inputs`|\btokens\b|上下文|提示", re.I)
# These have sizes too.
_OTHER_THINGS = re.compile(
    r"\b(?:images?|audio|files?|grammar|schema|array|validation)\b|图片|圖片|文件|音频|音頻", re.I
)
_PASSED = re.compile(
    r"exceed|overflow|too (?:long|large|many (?:input |prompt )?tokens)|(?:longer|larger|greater|more) than|"
    r">=? ?(?:n_ctx|\d)|"
    r"must (?:be|have) (?:<=?|less than|at most|no more than) ?\d|should be \[\d|reduce the length|"
    r"max(?:imum)? (?:context|prompt|model|input)?.?(?:length|size|characters|tokens) ?(?:is|of|:) ?\d|"
    r"supports (?:only |at most |up to )?\d{3}|limit is \d{3}|but (?:only )?\d+ (?:are )?(?:available|left)|"
    r"(?:context|prompt|window|input)[ _](?:size|length|window|limit) (?:is|of) (?:only )?\d|"
    r"does not fit|over the (?:context|limit)|out of (?:context|range)|> ?(?:the )?(?:model )?(?:limit|context)|"
    r"超过|超過|超出|超长|超長|过长|過長|超限|太长|太長|上限",
    re.I,
)
_NEGATIVE_ROOM = re.compile(
    r"max_(?:new_|completion_|output_)?tokens['\"`]? must be (?:at least|greater|positive).{0,24}-\d", re.I
)
# A status of 5xx that is the request's fault all the same: it would come again.
_OF_THE_REQUEST = re.compile(r"validation errors?\b.{0,120}\bbody\b|literal_error|extra_forbidden", re.I | re.S)
_SAYING = ("message", "msg", "error", "errors", "detail", "details", "raw", "reason", "metadata", "loc")
_NAMING = ("code", "type", "error_type", "error_code", "status", "param")
_LONGEST = 20_000  # characters of an error that are looked at


def error_fault(where: str, body: Any, status: int = 200, retry_after: float | None = None) -> Fault:
    """The fault that an error body means.

    Args:
        where: begins the line, for example the URL with the HTTP status.
        body: JSON of the reply, or its text.
        status: of the reply; one that the body names counts where the reply's own says that all is well.
    """
    said = list(_said(body))
    names = list(_named(body))
    if status < 400:
        status = next((int(name) for name in names if name.isdigit() and 400 <= int(name) < 600), status)
    line = f"{where}: {_line(said, body)}" if said or body else where
    if _is_overflow(said, names, status):
        kind = "overflow"
    elif status in (408, 429):
        kind = "rate_limited"
    elif 400 <= status < 500 or status == 501 or any(map(_OF_THE_REQUEST.search, said)):
        kind = "rejected"
    else:
        kind = "server_error"
    return Fault(kind, line, status, retry_after)


def _is_overflow(said: list[str], names: list[str], status: int) -> bool:
    text = "\n".join(said)[:_LONGEST]
    if any(_CODE.search(name) for name in names) or _CODE.search(text):
        return True
    if status in (401, 403, 404, 408, 429) or _RATE.search(text):
        return False
    if _NEGATIVE_ROOM.search(text):
        return True
    about = _OF_THE_REPLY.sub("", text)
    measured = _MEASURED_PLAINLY if _OTHER_THINGS.search(about) else _MEASURED
    return bool(measured.search(about) and _PASSED.search(about))


def _said(value: Any) -> Iterator[str]:
    """What an error says in words, the innermost first: a gateway wraps the error that it was given."""
    if isinstance(value, str):
        inner = _as_json(value)
        if inner is not None:
            yield from _said(inner)
        elif value.strip():
            yield value
    elif isinstance(value, list):
        for item in value:
            yield from _said(item)
    elif isinstance(value, dict):
        keys = sorted((key for key in _SAYING if key in value), key=lambda key: key not in ("metadata", "raw"))
        for key in keys:
            yield from _said(value[key])


def _named(value: Any) -> Iterator[str]:
    """Its codes and types."""
    if isinstance(value, str):
        inner = _as_json(value)
        if inner is not None:
            yield from _named(inner)
    elif isinstance(value, list):
        for item in value:
            yield from _named(item)
    elif isinstance(value, dict):
        yield from (str(value[key]) for key in _NAMING if isinstance(value.get(key), str | int))
        for key in _SAYING:
            yield from _named(value.get(key))


def _as_json(text: str) -> Any:
    """A text that is itself a JSON object or list; None otherwise."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return json.loads(text[:_LONGEST])
    except (ValueError, RecursionError):
        return None


def _line(said: list[str], body: Any) -> str:
    """One line of at most 300 characters."""
    text = "; ".join(dict.fromkeys(said)) or (body if isinstance(body, str) else json.dumps(body, ensure_ascii=False))
    return " ".join(text.split())[:300]
