"""What makes an instance impossible to measure: told before a run spends anything on it.

These are no matters of quality, for which there are construction rules: with one of them an outcome means nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fiqkit import values
from fiqkit.errors import UserError
from fiqkit.records import Instance


def unmeasurable(instance: Instance) -> Iterator[str]:
    """Why nothing can be measured on an instance, one line a reason; none for a sound one."""
    golds = {"answer": instance.answer, "default_answer": instance.default_answer}
    found = {name: values.find(text, instance.language) for name, text in golds.items()}
    for name, text in golds.items():
        if not found[name]:
            yield f"{name} {text!r:.40} holds no number; write the value as the filing does, as in '$46.75B'"
        for place in ("question", "context"):
            if values.mentions(getattr(instance, place), text):
                yield f"the {place} holds the {name} {text!r:.40}, which the agent must find; take it out"
    intended, default = found.values()
    if intended and default and values.same(intended[0], default[0]):
        yield (
            f"answer {instance.answer!r:.40} and default_answer {instance.default_answer!r:.40} are one value to a "
            "grader; no answer could be told to be one and not the other"
        )
    if not instance.intended_interpretation.differs_from(instance.default_interpretation):
        yield "the two interpretations do not differ; state in which field they do, and how"


def refuse_unmeasurable(instances: Iterable[Instance]) -> None:
    """Refuse a set with an instance on which nothing can be measured.

    Raises:
        UserError: names the first three and how many there are.
    """
    faults = [f"{instance.instance_id}: {why}" for instance in instances for why in unmeasurable(instance)]
    if faults:
        more = f", and {len(faults) - 3} more" if len(faults) > 3 else ""
        raise UserError(f"what cannot be measured: {'; '.join(faults[:3])}{more} (fiqkit check FILE names all)")
