"""One bounded HTTP exchange with a model server. Every way in which it can fail is a named `Fault`."""

from __future__ import annotations

import json
import ssl
from collections.abc import Mapping
from functools import cache
from typing import Any
from urllib.parse import urljoin, urlsplit, urlunsplit

import aiohttp
import orjson

from fiqkit.models.cards.cards import without_credentials
from fiqkit.models.constraints.structured import whole_characters
from fiqkit.models.served.faults import Fault, parse_retry_after
from fiqkit.models.served.overflow import error_fault

_MOST_HOPS = 5  # redirects that are followed
REPLY_LIMIT = 4 * 1024 * 1024  # bytes; the longest sensible reply, token ids and log probabilities included


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
    shown = without_credentials(url)
    try:
        for _ in range(_MOST_HOPS):
            options: dict[str, Any] = {"data": payload, "timeout": _times(timeout), "allow_redirects": False}
            async with session.request(method, url, **options) as response:
                body = _withheld(session, await _bounded(response, limit, shown))
                status, headers = response.status, response.headers
            if status not in (301, 302, 303, 307, 308):
                break
            url = _target(url, status, headers.get("Location", ""), method)
    except (aiohttp.ClientSSLError, ssl.SSLError) as error:
        said = " ".join(str(error).split())[:160]
        raise Fault(
            "rejected",
            f"{shown}: no trusted TLS connection ({said}); of a certificate of your own name the file in SSL_CERT_FILE",
        ) from None
    except aiohttp.ClientConnectorError as error:
        raise Fault("unreachable", f"{shown}: cannot connect ({error.os_error.strerror or error.os_error})") from None
    except TimeoutError:
        raise Fault("timeout", f"{shown}: no complete reply within {timeout:g} s") from None
    except aiohttp.InvalidURL:
        raise Fault("rejected", f"{shown}: not a URL") from None
    except (aiohttp.ClientError, OSError) as error:
        raise Fault("reset", f"{shown}: the connection broke ({type(error).__name__})") from None
    if status != 200:
        raise _refusal(shown, status, headers, body)
    return _parse(shown, body)


def _withheld(session: aiohttp.ClientSession, body: bytes) -> bytes:
    """What a server said, with the key that it was sent taken out: it would stand in a store for good."""
    key = session.headers.get("Authorization", "").removeprefix("Bearer ").encode()
    return body.replace(key, b"[the API key]") if key else body


def _target(url: str, status: int, location: str, method: str) -> str:
    """Where a redirect leads.

    Raises:
        Fault: it changes a POST into a GET, or leads to another host, which must not be sent the key.
    """
    target = urljoin(url, location)
    moved = urlsplit(target).netloc != urlsplit(url).netloc
    if moved or (method == "POST" and status in (301, 302, 303)):
        shown, there = without_credentials(url), without_credentials(target)
        raise Fault("rejected", f"{shown}: HTTP {status} redirects to {there}; give the address there", status)
    return target


def below(url: str, path: str) -> str:
    """The address of `path` below a base URL, whose query stays at the end."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(path=parts.path.rstrip("/") + path))


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
        pass
    if looks_like_html(body):
        raise Fault("bad_json", f"{url}: answers an HTML page, not JSON")
    if body.lstrip().startswith((b"data:", b"event:", b": ")):
        raise Fault("rejected", f"{url}: streams its reply (server-sent events) though nobody asked; turn that off")
    try:
        return lenient_json(body)
    except (ValueError, RecursionError):
        raise Fault("bad_json", f"{url}: the reply is not JSON ({body[:60]!r}…)") from None


def lenient_json(body: bytes) -> Any:
    """JSON as servers really write it: a byte order mark, NaN, broken bytes, halves of characters. What is no character
    becomes U+FFFD, what is no number None.

    Raises:
        ValueError, RecursionError: it is not JSON all the same.
    """
    text = whole_characters(body.decode("utf-8-sig", "replace"))
    return json.loads(text, parse_constant=lambda _: None)


def looks_like_html(body: bytes) -> bool:
    """Whether a body is a web page."""
    return body.lstrip()[:200].lower().startswith((b"<!doctype", b"<html", b"<head", b"<body"))


def _refusal(url: str, status: int, headers: Mapping[str, str], body: bytes) -> Fault:
    said: Any = "an HTML page"
    if not looks_like_html(body):
        try:
            said = lenient_json(body)
        except (ValueError, RecursionError):
            said = body.decode("utf-8", "replace")
    return error_fault(f"{url}: HTTP {status}", said, status, parse_retry_after(headers.get("Retry-After")))
