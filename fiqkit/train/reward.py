"""The reward (`metrics.reward`) of a judged episode, and of one whose questions are paid by what they resolve.

It reads the intended answer in the final grade alone, and the constraint C never.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import log2

from fiqkit.metrics.reward import ON_CATEGORY, Terms, terms
from fiqkit.records import AnswerVerdict, Episode, Instance, Outcome, QuestionVerdict, Verdict
from fiqkit.roles.interfaces import UserView
from fiqkit.roles.simulator.rules import reply_to

TARGETING = ("named", "touch", "central")


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


def bits_terms(right: bool, gained: Sequence[float], readings: int) -> Terms:
    """The reward in which every question is paid by the share of the orbit's bits that it resolves."""
    share = sum(gained) / log2(readings) if readings > 1 else 0.0
    return replace(terms(right, len(gained), False), on_category=ON_CATEGORY * share)
