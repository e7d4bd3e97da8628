"""What can go wrong between the kit and a server, and how long to wait before trying again."""

from __future__ import annotations

import email.utils
import random
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fiqkit.models.engine import EngineError


class Fault(Exception):
    """One attempt that failed. The message is one line for people; `kind` is the name under which it is counted.

    Attributes:
        kind: "rate_limited", "server_error", "unreachable", "reset", "timeout", "too_large", "bad_json", "bad_reply",
            "empty", "invalid_output", "rejected" or "overflow".
        status: the HTTP status of the reply, 0 where there was none.
        retry_after: seconds that the server asked the client to stay away.
    """

    def __init__(self, kind: str, message: str, status: int = 0, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.status = status
        self.retry_after = retry_after

    @property
    def final(self) -> bool:
        """Trying again cannot help."""
        return self.kind in ("rejected", "overflow")

    @property
    def of_reply(self) -> bool:
        """The server works, but what it wrote is no reply; the next one is mostly no better."""
        return self.kind in ("invalid_output", "bad_reply", "empty")

    @property
    def overload(self) -> bool:
        """The server has more work than it can do: fewer requests should be in flight."""
        return self.kind in ("rate_limited", "timeout") or self.retry_after is not None

    @property
    def down(self) -> bool:
        """The server itself may be gone, whatever the request was."""
        return self.kind in ("server_error", "unreachable", "reset", "timeout")


class Rejected(EngineError):
    """The server refuses the request itself, or what it replies would come again: no other try can help."""


_REFUSED_FIELDS = ("seed", "temperature", "top_p", "stop", "logprobs", "return_token_ids", "chat_template_kwargs")


def mend(complaint: str, body: Mapping[str, Any]) -> str:
    """What to set so that a field which the complaint names is left out of requests; "" where it names none."""
    if "max_completion_tokens" in complaint and "max_tokens" in body:
        return '; it wants another name for the bound of a reply: set dialect = "openai"'
    named = [field for field in _REFUSED_FIELDS if field in body and re.search(rf"\b{field}\b", complaint)]
    fields = ", ".join(f'"{field}": null' for field in named)
    return f"; leave it out of requests with the setting extra={{{fields}}}" if named else ""


@dataclass(frozen=True, slots=True)
class Patience:
    """How often and how long to try. Times in seconds.

    Attributes:
        attempts: tries of one request before it fails for good; with the defaults a server may be away for a minute.
        asks: tries of one request whose replies are none or break its constraint.
        first, most: the first wait and the longest; waits double in between.
        timeout: longest wait for one reply, from sending the request to its last byte.
        give_up: no try is begun so long after the first one.
        longest_pause: where a server asks to stay away for longer than this, the request fails at once.
        strikes: failures in a row after which a server is set aside.
    """

    attempts: int = 8
    asks: int = 3
    first: float = 0.5
    most: float = 30.0
    timeout: float = 600.0
    give_up: float = 900.0
    longest_pause: float = 300.0
    strikes: int = 3

    def wait(self, attempt: int, rng: random.Random) -> float:
        """Wait before try number `attempt` + 1 (attempt counts from 0), drawn from the upper half of the doubled wait.

        The jitter keeps requests that failed together from coming back together.
        """
        return min(self.most, self.first * 2**attempt) * rng.uniform(0.5, 1.0)


def parse_retry_after(value: str | None, now: float | None = None) -> float | None:
    """Seconds of a Retry-After header: a number, or an HTTP date; None where it is missing or unreadable.

    `now` is a Unix time, for dates.
    """
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(value).timestamp() - (time.time() if now is None else now)
        except ValueError:
            return None
    return max(0.0, seconds) if seconds == seconds else None
