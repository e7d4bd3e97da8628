"""The user's reply to a question, kept from giving a value away, whoever plays the user."""

from __future__ import annotations

import re
import traceback
from dataclasses import replace
from math import isclose

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


_SPREAD = re.compile(r"(?<=[\d.])[ _](?=[\d.])")  # "4 6 . 7 5", "46_750"


def _names_a_gold(reply: str, instance: Instance) -> bool:
    """Whether a reply holds a gold in any notation: digits spread out and a rate in points are notations too."""
    spellings = {reply, _SPREAD.sub("", reply)}
    golds = (instance.answer, instance.default_answer)
    return any(values.mentions(text, gold) or _in_points(text, gold) for text in spellings for gold in golds)


def _in_points(text: str, gold: str) -> bool:
    rate = next((value for value in values.find(gold) if value.kind == "percent"), None)
    if rate is None:
        return False
    found = (value.number for value in values.find(text) if value.kind == "points")
    return any(isclose(abs(number), abs(rate.number), rel_tol=0.01) for number in found)


def traced(error: Exception) -> str:
    """An exception with its traceback, as the store keeps it."""
    return "".join(traceback.format_exception(error)).strip()
