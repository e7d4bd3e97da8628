"""The evaluation modes: what each lets the agent do and what it is given (protocol, section 3)."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from fiqkit.errors import UserError
from fiqkit.taxonomy import FIELDS

PRIMARY = ("answer", "search", "interact")
FORCED_USUAL = 4  # questions that `forced-interact` alone means, as in the paper


@dataclass(frozen=True, slots=True)
class Structure:
    """The parts of category-aware ReAct; each can be taken out alone (protocol, section 3).

    Attributes:
        fields: what the state has a value for, or "unknown": the five fields of a reading, or unnamed details.
        precheck: before anything else the agent writes down which fields the question leaves open.
        template: the question about the most valuable unknown field is the category's fixed one, asked for the agent.
        gate: an answer is accepted only once no field is unknown, or the user declined.
    """

    fields: tuple[str, ...] = FIELDS
    precheck: bool = True
    template: bool = True
    gate: bool = True

    @property
    def generic(self) -> bool:
        """The control: the same structure, and no category is ever named."""
        return self.fields != FIELDS


@dataclass(frozen=True, slots=True)
class Mode:
    """The rules of one mode.

    Attributes:
        search, interact: whether the action exists at all.
        min_asks: questions that must be asked before an answer is accepted.
        max_asks: questions that may be asked; None leaves it to the budget.
        early_answer_ends: an answer before `min_asks` ends the episode as wrong; otherwise it is refused.
        gives: what the opening hands over besides Q: "context" (C), "spans" (a passage with the evidence spans),
            "category" (the primary category with its definition), "template" (the fixed question that settles the two
            readings, asked and answered).
        retrieval: what a search returns, where the mode decides it; None leaves it to the run.
        enumerate: the agent is told to list every reading with its value.
        structure: the parts of category-aware ReAct, or None.
    """

    name: str
    search: bool = False
    interact: bool = False
    min_asks: int = 0
    max_asks: int | None = None
    early_answer_ends: bool = False
    gives: tuple[str, ...] = ()
    retrieval: str | None = None
    enumerate: bool = False
    structure: Structure | None = None

    @property
    def actions(self) -> tuple[str, ...]:
        """The actions that exist in this mode."""
        there = {
            "state": self.structure is not None and self.structure.precheck,
            "search": self.search,
            "interact": self.interact,
            "answer": True,
        }
        return tuple(name for name, exists in there.items() if exists)

    @property
    def same_for_siblings(self) -> bool:
        """Nothing that the agent is ever told depends on which reading of an orbit is intended."""
        return not self.interact and not self.gives


_DETAILS = tuple(f"detail_{number}" for number in range(1, len(FIELDS) + 1))

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
        Mode("oracle-retrieval", search=True, interact=True, retrieval="own+spans"),
        Mode("enumerate", search=True, enumerate=True),
        Mode("category-aware", search=True, interact=True, structure=Structure()),
        Mode("category-aware-no-precheck", search=True, interact=True, structure=Structure(precheck=False)),
        Mode("category-aware-no-template", search=True, interact=True, structure=Structure(template=False)),
        Mode("category-aware-no-gate", search=True, interact=True, structure=Structure(gate=False)),
        Mode("generic-structured", search=True, interact=True, structure=Structure(fields=_DETAILS)),
    )
}
_FORCED = re.compile(r"forced-interact(?:-([1-9]\d?))?")
_FORCED_BASE = Mode("forced-interact", search=True, interact=True, early_answer_ends=True)

MODE_NAMES = (*_MODES, "forced-interact-N")


def mode(name: str) -> Mode:
    """The mode of this name; `forced-interact-6` must ask six questions before it answers, `forced-interact` four.

    Raises:
        UserError: no such mode.
    """
    if name in _MODES:
        return _MODES[name]
    forced = _FORCED.fullmatch(name)
    if forced:
        asks = int(forced.group(1) or FORCED_USUAL)
        return replace(_FORCED_BASE, name=f"{_FORCED_BASE.name}-{asks}", min_asks=asks)
    raise UserError(f"unknown mode {name!r}; the modes are {', '.join(MODE_NAMES)}")
