"""What an episode is worth to a trainer, term by term.

The defaults reproduce the eight means that the release logged within .05 (protocol, section 9):

    1 · right + .7 · first question on category − .3 · no question − .05 · each further question

The reward reads the intended answer in the final grade alone, and the constraint C never.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import log2

from fiqkit.records import AnswerVerdict, Episode, Instance, Outcome, QuestionVerdict, Verdict
from fiqkit.roles.interfaces import UserView
from fiqkit.roles.simulator.rules import reply_to

TARGETING = ("named", "touch", "central")


@dataclass(frozen=True, slots=True)
class Weights:
    """What each term counts."""

    right: float = 1.0
    on_category: float = 0.7
    silent: float = -0.3
    further: float = -0.05


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of one episode's reward, each already weighed. `None` as a whole means that it cannot be scored."""

    right: float
    on_category: float
    silent: float
    further: float

    @property
    def total(self) -> float:
        """Their sum."""
        return self.right + self.on_category + self.silent + self.further


def terms(right: bool, asks: int, on_category: bool, weights: Weights = Weights()) -> Terms:
    """The reward of an episode that was right or not, asked so many questions, the first on category or not."""
    return Terms(
        weights.right * right,
        weights.on_category * bool(on_category and asks),
        weights.silent * (asks == 0),
        weights.further * max(0, asks - 1),
    )


def scored(episode: Episode, verdicts: Iterable[Verdict], instance: Instance, targeting: str = "touch") -> Terms | None:
    """The terms of a judged episode; None where a verdict that they need could not be had."""
    verdicts = list(verdicts)
    grade = next((v for v in verdicts if isinstance(v, AnswerVerdict)), None)
    if grade is not None and grade.outcome == str(Outcome.UNSCORED):
        return None
    asked = [v for v in verdicts if isinstance(v, QuestionVerdict)]
    first = asked[0].judgement if asked else None
    if first is not None and first.central == str(Outcome.UNSCORED):
        return None
    target = {
        "named": first.named if first and first.named is not None else (),
        "touch": first.touched if first and first.touched is not None else (),
        "central": (first.central,) if first else (),
    }[targeting]
    right = grade is not None and grade.outcome == str(Outcome.INTENDED)
    return terms(right, len(asked), bool(set(target) & set(instance.categories)))


def bits(questions: Sequence[str], intended: Instance, siblings: Sequence[Instance]) -> list[float]:
    """The bits of an orbit that each question resolves, exactly, from how a user who means each reading would reply.

    >>> bits(["The consolidated total?"], total, [total, segment])   # yes for one of two readings
    [1.0]
    """
    views = {sibling.instance_id: replace(UserView.of(sibling), context="") for sibling in siblings}
    left = set(views)
    gained = []
    for question in questions:
        replies = {name: reply_to(question, views[name]) for name in left}
        kept = {name for name in left if replies[name] == replies[intended.instance_id]}
        gained.append(log2(len(left) / len(kept)))
        left = kept
    return gained


def bits_terms(right: bool, gained: Sequence[float], readings: int, weights: Weights = Weights()) -> Terms:
    """The reward in which every question is paid by the share of the orbit's bits that it resolves."""
    share = sum(gained) / log2(readings) if readings > 1 else 0.0
    return replace(terms(right, len(gained), False, weights), on_category=weights.on_category * share)
