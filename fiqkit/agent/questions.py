"""The question that the mode `template-oracle` asks for the agent: one that settles the two readings of an instance."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from random import Random

from fiqkit.records import Instance
from fiqkit.roles.interfaces import NO, YES, UserView
from fiqkit.roles.simulator.rules import reply_to
from fiqkit.taxonomy import CATEGORIES

_PAIR = {"en": "Do you mean {one}, rather than {other}?", "zh": "您要的是{one}，而不是{other}，对吗？"}


def settling_question(instance: Instance) -> str:
    """The primary category's fixed question where it tells the two readings apart, else one made from their wording.

    A question settles a pair if a user who means the one reading says yes where one who means the other says no. Of the
    readings' own wordings the first field that settles is taken, the primary category's before others, its two sides in
    an order drawn for the instance. Where nothing settles, the category's question stands.
    """
    primary = CATEGORIES[instance.primary]
    fixed = primary.template[instance.language]
    view = UserView.of(instance)
    if _settles(fixed, view):
        return fixed
    intended, default = instance.intended_interpretation, instance.default_interpretation
    differing = sorted(intended.differs_from(default), key=lambda name: name != primary.field)
    for name in differing:
        sides = [getattr(intended, name), getattr(default, name)]
        if all(sides):
            Random(f"question:{instance.instance_id}").shuffle(sides)
            question = _PAIR[instance.language].format(one=sides[0], other=sides[1])
            if _settles(question, view):
                return question
    return fixed


@lru_cache(maxsize=4096)
def _settles(question: str, view: UserView) -> bool:
    """Whether the two readings answer it differently, each on its own: C belongs to one of them and stays out."""
    means_it = replace(view, context="")
    means_other = replace(means_it, intended=view.default, default=view.intended)
    return {reply_to(question, means_it), reply_to(question, means_other)} == {YES, NO}
