"""The release's training ladder: what each stage made of its 51 test items, and the means that it logged.

{"model": "qwen3-8b", "stage": "sft", "instance_id": "fininteract_0100", "correct": true, "asks": 1,
 "first_on_category": true}
{"model": "qwen3-8b", "stage": "sft", "aggregate": {"Accuracy": 82.4, "Interaction": 100.0, …}}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import fsum
from pathlib import Path
from typing import Any

from fiqkit.datasets import read_jsonl
from fiqkit.errors import UserError
from fiqkit.metrics.reward import terms


@dataclass(frozen=True, slots=True)
class Outcome:
    """One item at one stage. `on_category` is None where nothing was asked."""

    instance_id: str
    right: bool
    asks: int
    on_category: bool | None


@dataclass(slots=True)
class Stage:
    """One evaluation of the ladder, and the means that were logged for it."""

    model: str
    stage: str
    outcomes: list[Outcome] = field(default_factory=list)
    logged: Mapping[str, float] = field(default_factory=dict)


def read_ladder(path: Path) -> list[Stage]:
    """The stages of a file, in the order of their first lines.

    Raises:
        UserError: names the file, the line and the field of the first fault.
    """
    stages: dict[tuple[str, str], Stage] = {}
    for number, row in read_jsonl(path):
        where = f"{path}:{number}"
        model, name = (_field(row, key, str, where) for key in ("model", "stage"))
        stage = stages.setdefault((model, name), Stage(model, name))
        if "aggregate" in row:
            stage.logged = _field(row, "aggregate", dict, where)
            continue
        asks = _field(row, "asks", int, where)
        on_category = _field(row, "first_on_category", bool, where) if asks else None
        right = _field(row, "correct", bool, where)
        stage.outcomes.append(Outcome(_field(row, "instance_id", str, where), right, asks, on_category))
    return list(stages.values())


def _field(row: Mapping[str, Any], name: str, kind: type, where: str) -> Any:
    value = row.get(name)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise UserError(f"{where}: field {name!r} is {value!r:.40}; a {kind.__name__} is needed")
    return value


def stage_numbers(stage: Stage) -> dict[str, Any]:
    """{"n", "accuracy", "interaction_rate", "ac1" (over those that asked), "reward"} from the outcomes."""
    n, asked = len(stage.outcomes), [o for o in stage.outcomes if o.asks]
    rewards = [terms(o.right, o.asks, bool(o.on_category)).total for o in stage.outcomes]
    return {
        "n": n,
        "accuracy": sum(o.right for o in stage.outcomes) / n,
        "interaction_rate": len(asked) / n,
        "ac1": sum(bool(o.on_category) for o in asked) / len(asked) if asked else None,
        "reward": fsum(rewards) / n,
    }
