"""Passages for instances whose own is not at hand, from their evidence."""

from __future__ import annotations

import random
import re
from collections.abc import Collection, Iterable

from fiqkit.errors import UserError
from fiqkit.records import Instance, Passage

_YEAR = re.compile(r"\b(?:19|20)\d\d\b")


def missing_passages(instances: Iterable[Instance], passages: Iterable[Passage], seed: int = 0) -> list[Passage]:
    """Build the passages that instances name and `passages` lacks (protocol, section 1).

    A passage is the two evidence spans, in an order that the seed and the passage's id decide; instances that
    share an id share the passage. 46 of the release's 173 instances need this, over 43 ids.

    Returns:
        One passage an id, in the instances' order; `len` of it is the number that was built.

    Raises:
        UserError: an instance has neither a passage nor both spans.
    """
    known = {passage.passage_id for passage in passages}
    wanted: dict[str, list[Instance]] = {}
    for instance in instances:
        key = instance.passage_id or instance.instance_id
        if key not in known:
            wanted.setdefault(key, []).append(instance)
    return [_build(key, sharing, seed) for key, sharing in wanted.items()]


def _build(passage_id: str, sharing: list[Instance], seed: int) -> Passage:
    first = sharing[0]
    spans: dict[str, None] = {}
    for instance in sharing:
        for span in (instance.intended_evidence_span, instance.default_evidence_span):
            if not span.strip():
                raise UserError(
                    f"instance {instance.instance_id!r}: its passage {passage_id!r} is not among the passages and it "
                    "lacks an evidence span to build one from; add the passage"
                )
            spans[span.strip()] = None
    lines = list(spans)
    random.Random(f"{seed}:{passage_id}").shuffle(lines)
    return Passage(
        passage_id=passage_id,
        text="\n".join(lines),
        company=first.company,
        ticker=first.ticker,
        form=first.filing_type,
        filed=first.filing_date,
        period=_common_year(sharing),
        language=first.language,
        source=first.source,
    )


def _common_year(sharing: Collection[Instance]) -> str | None:
    """The year that every reading names, if it is one; a reading's own wording would give the key away."""
    years = {
        year
        for instance in sharing
        for reading in (instance.intended_interpretation, instance.default_interpretation)
        for year in _YEAR.findall(reading.period or "") or ("none",)
    }
    return years.pop() if len(years) == 1 and "none" not in years else None
