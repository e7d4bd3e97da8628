"""The question that the mode `template-oracle` asks for the agent: one that settles the two readings of an instance."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from random import Random

from fiqkit.records import Instance
from fiqkit.roles.interfaces import NO, YES, UserView
from fiqkit.roles.simulator.rules import reply_to
from fiqkit.taxonomy import CATEGORIES

_ASIDE = re.compile(r"[,，;；(（]")
PAIR = {"en": "Do you mean {one}, rather than {other}?", "zh": "您要的是{one}，而不是{other}，对吗？"}


def settling_question(instance: Instance) -> str:
    """The primary category's fixed question where it tells the two readings apart, else one made from their wording.

    A question settles a pair if a user who means the one reading says yes where one who means the other says no. Of the
    readings' own wordings the first that settles is taken, the primary category's field before others, its two sides in
    an order drawn for the instance. Where nothing settles, the category's question stands.
    """
    primary = CATEGORIES[instance.primary]
    fixed = primary.template[instance.language]
    view = UserView.of(instance)
    if settles(fixed, view):
        return fixed
    for question in _pair_questions(instance, primary.field):
        if settles(question, view):
            return question
    return fixed


def _pair_questions(instance: Instance, first: str) -> Iterator[str]:
    """Questions out of the readings' own wordings, field by field: in full, then without what follows a comma or in
    brackets."""
    intended, default = instance.intended_interpretation, instance.default_interpretation
    for name in sorted(intended.differs_from(default), key=lambda name: name != first):
        sides = [getattr(intended, name), getattr(default, name)]
        if all(sides):
            Random(f"question:{instance.instance_id}").shuffle(sides)
            for one, other in (sides, [_ASIDE.split(side)[0].strip() for side in sides]):
                yield PAIR[instance.language].format(one=one, other=other)


@lru_cache(maxsize=4096)
def settles(question: str, view: UserView) -> bool:
    """Whether the two readings answer it differently, each on its own: C belongs to one of them and stays out."""
    means_it = replace(view, context="")
    means_other = replace(means_it, intended=view.default, default=view.intended)
    return {reply_to(question, means_it), reply_to(question, means_other)} == {YES, NO}
