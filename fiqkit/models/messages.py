"""Chats as every model takes them: without empty messages, and without a system role where a template has none."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fiqkit.models.engine import Message

NOTHING = "…"  # an empty assistant message: many templates and servers refuse one
# How templates and servers say that they know no system role, or want users and assistants in turn.
_NO_SYSTEM = re.compile(
    r"system.{0,20}(?:role|message|prompt|instruction)s?.{0,40}(?:not|un)|(?:not|un)support\w*.{0,40}system|"
    r"must alternate|only user and assistant|unexpected role|invalid role|developer instruction",
    re.I,
)


def sendable(messages: Sequence[Message], *, fold: bool = False) -> list[Message]:
    """The chat as it is sent.

    Args:
        fold: the system message becomes the beginning of the first user message.
    """
    chat: list[Message] = [
        {"role": "assistant", "content": NOTHING} if m["role"] == "assistant" and not m["content"].strip() else m
        for m in messages
    ]
    if not fold or len(chat) < 2 or chat[0]["role"] != "system":
        return chat
    first = {"role": "user", "content": f"{chat[0]['content']}\n\n{chat[1]['content']}"}
    return [first, *chat[2:]]


def wants_folding(complaint: str, messages: Sequence[Message]) -> bool:
    """Whether a refusal is about the chat's system message."""
    return bool(messages) and messages[0]["role"] == "system" and bool(_NO_SYSTEM.search(complaint))
