"""The measures of one episode, as another ecosystem's scores: their means are the numbers of a report."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan

from fiqkit.metrics.measures import estimate
from fiqkit.metrics.scored import Scored
from fiqkit.records import AnswerVerdict, Episode, Instance, Verdict
from fiqkit.store.load import score

# Measures whose mean over episodes is the number of a report's table.
MEASURED = (
    *("accuracy", "accuracy_lenient", "default_capture", "commitment", "interaction_rate", "mean_asks", "mean_turns"),
    *("ac1_named", "ac1_touch", "ac1_central", "dise_plus_all"),
)


def values(scored: Scored) -> dict[str, float]:
    """Each measure of one episode; not a number where it is not defined, not known, or the answer is unscored."""
    found = {name: estimate(name, [scored]) for name in MEASURED}
    return {name: nan if value is None else float(value) for name, value in found.items()}


def measured(episode: Episode, instance: Instance, verdicts: Sequence[Verdict]) -> dict[str, float]:
    """As `values`, of an episode that is in no store."""
    return values(score(episode, instance, verdicts, "", ""))


def given(verdicts: Sequence[Verdict]) -> str:
    """What was said of the final answer, in a line."""
    said = [f"{v.given_by}: {v.outcome} ({v.why})" for v in verdicts if isinstance(v, AnswerVerdict)]
    return "; ".join(said) or "no answer to grade"
