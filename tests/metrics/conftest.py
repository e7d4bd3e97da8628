from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fiqkit.metrics.scored import Scored
from fiqkit.records import Ending, Judgement, Outcome
from fiqkit.taxonomy import CATEGORIES


def make(instance_id: str = "i1", *, outcome: str | None = "intended", **changes: Any) -> Scored:
    """A scored episode whose labels follow from its outcome; `asked` gives the one category of each question."""
    asked = changes.pop("asked", ())
    scored = outcome not in (None, "unscored")
    targets = [(c,) if c in CATEGORIES else () for c in asked]
    questions = tuple(Judgement(t, c, named=t) for t, c in zip(targets, asked, strict=True))
    values: dict[str, Any] = {
        "run": "r",
        "model": "m",
        "mode": "interact",
        "grader": "rules",
        "judge": "rules",
        "instance_id": instance_id,
        "language": "en",
        "categories": ("entity_scope",),
        "h0": 2.0,
        "cluster": instance_id,
        "ending": Ending.ANSWERED,
        "outcome": outcome,
        "is_intended": outcome == Outcome.INTENDED if scored else None,
        "is_default": outcome == Outcome.DEFAULT if scored else None,
        "n_asks": len(questions),
        "n_turns": len(questions) + 1,
        "questions": questions,
    }
    return Scored(**(values | changes))


@pytest.fixture(scope="session")
def scored() -> Callable[..., Scored]:
    return make
