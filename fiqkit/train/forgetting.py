"""What became of the categories that nothing was trained on: test items of the others held against the base."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fiqkit.metrics.orbits import whole_orbits
from fiqkit.metrics.scored import Scored
from fiqkit.models.checks.adapters import read_record
from fiqkit.records import Instance
from fiqkit.taxonomy import CATEGORIES
from fiqkit.train.compared import asked, compared, hits, right
from fiqkit.train.evaluate import row


def trained_on(adapters: Iterable[Path]) -> list[str]:
    """The primary categories that any of these adapters was trained on; all of them where one does not say."""
    trained = {name for adapter in adapters for name in read_record(adapter).get("trained_on", CATEGORIES)}
    return [name for name in CATEGORIES if name in trained]


def forgetting(
    played: Mapping[str, Sequence[Scored]], instances: Sequence[Instance], trained: Sequence[str]
) -> dict[str, Any]:
    """Test items of trained categories and of others apart, and each stage against the base on the others.

    Args:
        played: the episodes of each stage, the base among them.

    Returns:
        {"trained", "other": names of categories, "stages": [{"stage", "trained", "other": rows of `evaluate.row`}],
        "changes": comparisons (`compared`) of each stage with the base on the others, in "asked", "primary", "accuracy"
        and "intent", the last by whole orbits}. The last three are empty where every category was trained on.
    """
    other = [name for name in CATEGORIES if name not in trained and any(i.primary == name for i in instances)]
    if not other:
        return {"trained": list(trained), "other": [], "stages": [], "changes": []}
    items = {i.instance_id: i for i in instances}
    apart = {
        stage: {
            "trained": [e for e in episodes if e.primary not in other],
            "other": [e for e in episodes if e.primary in other],
        }
        for stage, episodes in played.items()
    }
    rows = [
        {"stage": stage, **{kind: row(found, items) for kind, found in parts.items()}} for stage, parts in apart.items()
    ]
    changes = []
    for stage in played:
        if stage == "base":
            continue
        before, after = apart["base"]["other"], apart[stage]["other"]
        for measure, values in (("asked", asked), ("primary", hits), ("accuracy", right)):
            changes.append(compared(measure, "base", stage, values(before), values(after), items))
        orbits = {i.orbit: i for i in instances if i.orbit}
        changes.append(compared("intent", "base", stage, _resolved(before), _resolved(after), orbits))
    return {"trained": list(trained), "other": other, "stages": rows, "changes": changes}


def _resolved(episodes: Sequence[Scored]) -> dict[str, float]:
    return {orbit.siblings[0][0].orbit or "": orbit.resolved for orbit in whole_orbits(episodes)[0]}
