"""What a policy is, and what it is given for its next turn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from fiqkit.models.engine import Completion, Message


@dataclass(frozen=True, slots=True)
class Dialogue:
    """An episode as its policy sees it. The instance cannot be reached from here, nor anything else of the episode.

    Attributes:
        messages: the chat so far, the opening first: {"role", "content"}.
        actions: the actions on offer; another one would be refused.
        schema: JSON schema of one of those actions, for engines that can be held to it.
        turn: completions before this one.
        language: of the question, "en" or "zh".
        asked: the questions put to the user so far, each with its reply: yes, no, i_dont_know, or as said.
        owed: questions that the mode still demands before an answer.
        unknown: fields that are still open, the most valuable first; empty outside the structured modes.
    """

    messages: tuple[Message, ...]
    actions: tuple[str, ...]
    schema: Mapping[str, Any]
    turn: int = 0
    language: str = "en"
    asked: tuple[tuple[str, str], ...] = ()
    owed: int = 0
    unknown: tuple[str, ...] = ()


class Policy(Protocol):
    """Plays one episode from what it is given: its messages and the actions on offer, never the instance."""

    async def act(self, dialogue: Dialogue) -> Completion:
        """The next reply.

        Raises:
            EngineError: no reply could be had.
        """
        ...
