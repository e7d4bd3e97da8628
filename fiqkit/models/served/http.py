"""One bounded HTTP exchange with a model server. Every way in which it can fail is a named `Fault`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

import aiohttp
import orjson

from fiqkit.models.served.faults import Fault, parse_retry_after

REPLY_LIMIT = 4 * 1024 * 1024  # bytes; the longest sensible reply, token ids and log probabilities included
_OVERFLOW = re.compile(
    r"context.?(length|size|window)|maximum context|max_model_len|longer than the maximum|prompt is too long"
    r"|too many tokens|exceeds? the (available|maximum)|maximum (model|sequence) length",
    re.I,
)


def open_session(headers: Mapping[str, str]) -> aiohttp.ClientSession:
    """A client whose connections are kept open and not limited in number: the windows limit them.

    Must be called inside the event loop that will use it.
    """
    return aiohttp.ClientSession(
        headers={"Content-Type": "application/json", **headers},
        connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=60),
        cookie_jar=aiohttp.DummyCookieJar(),
    )


async def exchange(
    session: aiohttp.ClientSession, url: str, payload: bytes | None, timeout: float, limit: int = REPLY_LIMIT
) -> Any:
    """POST `payload` (GET where it is None) and return the JSON that comes back.

    Raises:
        Fault: anything else than a JSON reply of at most `limit` bytes within `timeout` seconds.
    """
    method = "GET" if payload is None else "POST"
    try:
        async with session.request(method, url, data=payload, timeout=_times(timeout)) as response:
            body = await _bounded(response, limit, url)
            status, headers = response.status, response.headers
    except aiohttp.ClientConnectorError as error:
        raise Fault("unreachable", f"{url}: cannot connect ({error.os_error.strerror or error.os_error})") from None
    except TimeoutError:
        raise Fault("timeout", f"{url}: no complete reply within {timeout:g} s") from None
    except aiohttp.InvalidURL:
        raise Fault("rejected", f"{url}: not a URL") from None
    except (aiohttp.ClientError, OSError) as error:
        raise Fault("reset", f"{url}: the connection broke ({type(error).__name__})") from None
    if status != 200:
        raise _refusal(url, status, headers, body)
    return _parse(url, body)


@cache
def _times(timeout: float) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(total=timeout, sock_connect=min(timeout, 10))


async def _bounded(response: aiohttp.ClientResponse, limit: int, url: str) -> bytes:
    stated = response.content_length
    packed = "Content-Encoding" in response.headers  # then the stated length says little about the reply's
    if stated is not None and stated <= limit and not packed:
        return await response.read()
    if stated is None or packed:
        parts: list[bytes] = []
        size = 0
        async for part in response.content.iter_any():
            parts.append(part)
            size += len(part)
            if size > limit:
                break
        else:
            return b"".join(parts)
    response.close()  # or leaving the block would read the rest
    raise Fault("too_large", f"{url}: the reply is longer than {limit:,} bytes")


def _parse(url: str, body: bytes) -> Any:
    if not body.strip():
        raise Fault("empty", f"{url}: an empty reply")
    try:
        return orjson.loads(body)
    except ValueError:
        if looks_like_html(body):
            raise Fault("bad_json", f"{url}: answers an HTML page, not JSON") from None
        raise Fault("bad_json", f"{url}: the reply is not JSON ({body[:60]!r}…)") from None


def looks_like_html(body: bytes) -> bool:
    """Whether a body is a web page."""
    return body.lstrip()[:200].lower().startswith((b"<!doctype", b"<html", b"<head", b"<body"))


def _refusal(url: str, status: int, headers: Mapping[str, str], body: bytes) -> Fault:
    said = _message(body)
    line = f"{url}: HTTP {status}" + (f": {said}" if said else "")
    if status in (400, 413, 422, 500) and _OVERFLOW.search(said):
        kind = "overflow"
    elif status in (408, 429):
        kind = "rate_limited"
    else:
        kind = "server_error" if status >= 500 else "rejected"
    return Fault(kind, line, status, parse_retry_after(headers.get("Retry-After")))


def _message(body: bytes) -> str:
    """What an error reply says, as one line of at most 300 characters."""
    if looks_like_html(body):
        return "an HTML page"
    text = body.decode("utf-8", "replace")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict):
        error = value.get("error", value)
        text = str(error.get("message") or error.get("detail") or error) if isinstance(error, dict) else str(error)
    return " ".join(text.split())[:300]
