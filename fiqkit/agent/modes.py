"""The evaluation modes: what each lets the agent do and what it is given (protocol, section 3)."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from fiqkit.errors import UserError

PRIMARY = ("answer", "search", "interact")


@dataclass(frozen=True, slots=True)
class Mode:
    """The rules of one mode.

    Attributes:
        search, interact: whether the action exists at all.
        min_asks: questions that must be asked before an answer is accepted.
        max_asks: questions that may be asked; None leaves it to the budget.
        early_answer_ends: an answer before `min_asks` ends the episode as wrong; otherwise it is refused.
        gives: what the opening hands over besides Q: "context" (C), "spans" (a passage with both evidence spans),
            "category" (the primary category's name), "template" (the category's fixed question, asked and answered).
        own_passage: search returns the instance's own passage, whatever the query.
        enumerate: the agent is told to list every reading with its value.
    """

    name: str
    search: bool = False
    interact: bool = False
    min_asks: int = 0
    max_asks: int | None = None
    early_answer_ends: bool = False
    gives: tuple[str, ...] = ()
    own_passage: bool = False
    enumerate: bool = False

    @property
    def actions(self) -> tuple[str, ...]:
        """The actions that exist in this mode."""
        return tuple(
            name for name, there in (("search", self.search), ("interact", self.interact), ("answer", True)) if there
        )


_MODES = {
    mode.name: mode
    for mode in (
        Mode("answer"),
        Mode("search", search=True),
        Mode("interact", search=True, interact=True),
        Mode("always-ask", search=True, interact=True, min_asks=1, max_asks=1),
        Mode("category-oracle", search=True, interact=True, gives=("category",)),
        Mode("template-oracle", search=True, gives=("template",)),
        Mode("context-oracle", gives=("context", "spans")),
        Mode("interpretation-oracle", gives=("context",)),
        Mode("oracle-retrieval", search=True, interact=True, own_passage=True),
        Mode("enumerate", search=True, enumerate=True),
    )
}
_FORCED = re.compile(r"forced-interact-([1-9]\d?)")
_FORCED_BASE = Mode("forced-interact", search=True, interact=True, early_answer_ends=True)

MODE_NAMES = (*_MODES, "forced-interact-N")


def mode(name: str) -> Mode:
    """The mode of this name; `forced-interact-4` must ask four questions before it answers.

    Raises:
        UserError: no such mode.
    """
    if name in _MODES:
        return _MODES[name]
    forced = _FORCED.fullmatch(name)
    if forced:
        return replace(_FORCED_BASE, name=name, min_asks=int(forced.group(1)))
    raise UserError(f"unknown mode {name!r}; the modes are {', '.join(MODE_NAMES)}")
