"""The user's reply to a question, kept from giving a value away, whoever plays the user."""

from __future__ import annotations

import traceback
from dataclasses import replace

from fiqkit import values
from fiqkit.models.engine import EngineError
from fiqkit.records import Instance
from fiqkit.roles.interfaces import REPLIES, Simulator, UserView


async def hear(simulator: Simulator, question: str, view: UserView, instance: Instance) -> str:
    """One of `REPLIES`, or what a free-form user says. A reply that names a gold is dropped, and asked for once more.

    Raises:
        EngineError: no reply could be had, with the traceback where no engine raised it, or both named a gold.
    """
    for again in (False, True):
        asked = replace(view, draw=f"{view.draw}again") if again else view
        try:
            reply = await simulator.reply(question, asked)
        except Exception as error:
            said = str(error) if isinstance(error, EngineError) else f"simulator: {traced(error)}"
            raise EngineError(said or type(error).__name__) from error
        if reply in REPLIES or not _names_a_gold(reply, instance):
            return reply
    raise EngineError(f"simulator {simulator.name}: two replies to {question!r:.200} named a gold value")


def _names_a_gold(reply: str, instance: Instance) -> bool:
    return any(values.mentions(reply, gold) for gold in (instance.answer, instance.default_answer))


def traced(error: Exception) -> str:
    """An exception with its traceback, as the store keeps it."""
    return "".join(traceback.format_exception(error)).strip()
