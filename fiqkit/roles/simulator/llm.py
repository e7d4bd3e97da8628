"""The user played by a model: one of three replies, validated on return, retried once, never guessed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from fiqkit.models.engine import Engine, EngineError, Usage
from fiqkit.roles.asking import Asker, NoVerdict, Refused
from fiqkit.roles.interfaces import NO, REPLIES, UNKNOWN, YES, UserView


class LlmSimulator:
    """The user played by a model, which is shown Q, C and the agent's question: no reading, no value.

    Temperature 1.0 is the release's.
    """

    def __init__(self, engine: Engine, seed: int = 0, temperature: float = 1.0) -> None:
        self._asker = Asker(engine, "simulator", temperature, seed)

    @property
    def name(self) -> str:
        """What the store files its verdicts under."""
        return self._asker.giver("llm")

    @property
    def usage(self) -> Usage:
        """What its replies took so far."""
        return self._asker.usage

    async def reply(self, question: str, view: UserView) -> str:
        """One of `REPLIES`.

        Raises:
            EngineError: the engine failed, or none of its replies was one of the three.
        """
        known = {"question": view.question, "context": view.context}
        try:
            asked = {"asked": question}
            return await self._asker.ask(view.language, known, asked, read_reply, choices=REPLIES, draw=view.draw)
        except NoVerdict as fault:
            raise EngineError(f"simulator: {fault}") from fault
        except EngineError as fault:
            # Its own type would say that the agent's context overflowed, where it was the simulator's.
            raise EngineError(f"simulator: {fault}") from fault

    def describe(self) -> Mapping[str, Any]:
        """What the run's manifest records."""
        return self._asker.describe()


_SAYS_UNKNOWN = re.compile(
    r"\b(?:i_dont_know|unknown|unsure|uncertain|no idea|not (?:sure|certain))\b"
    r"|\b(?:do not|don'?t|can(?:no|')?t) (?:know|say|tell)\b"
    r"|不(?:太|大)?(?:知道|确定|清楚|好说)|(?:无法|难以)(?:确定|判断)|说不准"
)
# A reply is a clause of its own, or what a clause begins with; "对于这个问题" and "是不是" begin with neither.
_LEAD = r"^(?:(?:the|my) (?:answer|reply) is:? )?"
_SAYS_YES = re.compile(
    rf"{_LEAD}(?:yes|yeah|yep|correct|right|true)\b|^(?:回答|答案?)?是?(?:是|对|没错|正确|是这样)[的啊呀了]?$"
)
_SAYS_NO = re.compile(
    rf"{_LEAD}(?:no|nope|incorrect|wrong|false)\b(?! (?:doubt|problem|wonder))"
    r"|^(?:不是|不对|并非|错误?$|否$|不$|不[要需用])(?!不)"
)
_CLAUSES = re.compile(r"[,，.。;；:：!！?？\n]+|\s[-–—]+\s|(?<=[a-z])\s+(?:and|or|but)\s+")


def read_reply(text: str) -> str:
    """Which of `REPLIES` a model's words mean. Whole words: "Not sure" is not no, "Yesterday" is not yes.

    >>> read_reply("对于这个问题，不是。")
    'no'

    Raises:
        Refused: none of the three, or more than one ("yes and no").
    """
    said = text.strip(" \t\n\"'`*.!。！“”").casefold().replace("’", "'")
    if _SAYS_UNKNOWN.search(said):
        return UNKNOWN
    clauses = [clause.strip(" \"'`*“”()（）") for clause in _CLAUSES.split(said)]
    meant = {
        reply for reply, pattern in ((YES, _SAYS_YES), (NO, _SAYS_NO)) if any(pattern.search(part) for part in clauses)
    }
    if len(meant) != 1:
        raise Refused(f"neither yes nor no nor i_dont_know: {text!r:.60}")
    return meant.pop()
