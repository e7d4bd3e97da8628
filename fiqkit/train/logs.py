"""What training logged, read back: stage by stage and step by step.

A line of `log.jsonl` is what the trainer said at one step, for example
`{"step": 12, "loss": 0.83, "grad_norm": 1.9, "learning_rate": 0.0002, "epoch": 0.4}`; GRPO's have `reward` too.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fiqkit.datasets import read_jsonl
from fiqkit.errors import UserError
from fiqkit.train.watch import LOG

_ORDER = ("sft", "kto", "grpo")
SHOWN = ("loss", "eval_loss", "reward")

Lines = list[dict[str, Any]]


def read_logs(path: Path) -> tuple[str, dict[str, Lines]]:
    """The name of a training and the lines of its log, stage by stage, in the order of steps.

    Args:
        path: a log, the folder of a stage, or the folder of a ladder with a folder a stage. Lines of one step are one;
            a step that was logged again after a restart is as it was logged last.

    Raises:
        UserError: no log there, or one without a loss or a reward.
    """
    files = [path] if path.is_file() else [path / LOG] if (path / LOG).exists() else sorted(path.glob(f"*/{LOG}"))
    if not files:
        raise UserError(f"{path}: no {LOG} in it or in a folder of it; name what `fiqkit train … --out` wrote")
    stages = {file.parent.name if file.name == LOG else file.stem: read_log(file) for file in files}
    order = sorted(stages, key=lambda name: (_ORDER.index(name) if name in _ORDER else len(_ORDER), name))
    return path.resolve().name if path.is_dir() else path.stem, {name: stages[name] for name in order}


def read_log(file: Path) -> Lines:
    """The lines of one log as `read_logs` has them.

    Raises:
        UserError: as there.
    """
    steps: dict[float, dict[str, Any]] = {}
    for number, row in read_jsonl(file):
        step = row.get("step")
        if not isinstance(step, int | float):
            raise UserError(f"{file}:{number}: has no step; a line of a training log is {{'step': 12, 'loss': 0.83}}")
        numbers = {name: value for name, value in row.items() if isinstance(value, int | float)}
        steps.setdefault(step, {}).update(numbers)
    if not any(name in line for line in steps.values() for name in SHOWN):
        raise UserError(f"{file}: logs neither a loss nor a reward; name what `fiqkit train … --out` wrote")
    return [line for _, line in sorted(steps.items())]
