"""The ladder: base → SFT → KTO → GRPO, each stage held against companies that were never trained on.

Everything stands in one folder, stage by stage; a call that was interrupted goes on where it was.

    OUT/demos.jsonl  OUT/sft/  OUT/kto/  OUT/grpo/     adapters with their records, logs and checkpoints
    OUT/evaluation.db                                  every test episode, for `fiqkit show` and `fiqkit compare`
    OUT/ladder.json  OUT/curves.svg                    the table, and the learning curves
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fiqkit.errors import UserError
from fiqkit.models.checks.adapters import RECORD
from fiqkit.records import Instance, Passage
from fiqkit.train.baselines import baselines
from fiqkit.train.compared import comparisons, episodes_by_stage
from fiqkit.train.evaluate import score
from fiqkit.train.logs import read_log
from fiqkit.train.recipe import Recipe
from fiqkit.train.stages import STAGES, Stages
from fiqkit.train.watch import LOG, Say
from fiqkit.whole_file import write_text


def climb(
    recipe: Recipe,
    splits: Mapping[str, Sequence[Instance]],
    passages: Sequence[Passage],
    out: Path,
    say: Say,
    stages: Sequence[str] = STAGES,
) -> dict[str, Any]:
    """Train and evaluate the stages in order. Returns the table: {"stages": […], "baselines": {…}}.

    Raises:
        UserError: a shared company, an unknown stage, or whatever a stage refuses.
    """
    if unknown := [stage for stage in stages if stage not in STAGES]:
        raise UserError(f"unknown stage {unknown[0]!r}; the stages are {', '.join(STAGES)}")
    training = Stages(recipe, splits, passages, out, say)
    out.mkdir(parents=True, exist_ok=True)
    rows, train = [], training.splits["train"]
    for stage in STAGES:
        if stage not in stages:
            continue
        begun, cpu = time.monotonic(), time.process_time()
        adapter = None if stage == "base" else training.train(stage, out / stage, _before(stage, out))
        trained = time.monotonic()
        say(f"{stage}: evaluating on {len(splits['test'])} items")
        row = score(stage, adapter, recipe, splits["test"], passages, out)
        seconds = {"train": round(trained - begun), "evaluate": round(time.monotonic() - trained)}
        seconds["cpu"] = round(time.process_time() - cpu)
        say(f"{stage}: {json.dumps(seconds)} seconds")
        rows.append(row | {"seconds": seconds})
        table = {
            "recipe": recipe.name,
            "stages": rows,
            "baselines": baselines(splits["test"], train),
            "comparisons": comparisons(episodes_by_stage(rows, out / "evaluation.db"), splits["test"], train),
        }
        write_text(out / "ladder.json", json.dumps(table, ensure_ascii=False, indent=1))
    if logs := {stage: read_log(out / stage / LOG) for stage in STAGES if (out / stage / LOG).is_file()}:
        from fiqkit.figures.style import svg
        from fiqkit.figures.training import learning_curves

        write_text(out / "curves.svg", svg(learning_curves(logs)))
    return table


def _before(stage: str, out: Path) -> Path | None:
    """The adapter that a stage starts from; None for the first.

    Raises:
        UserError: it is not there.
    """
    before = STAGES[STAGES.index(stage) - 1]
    if before == "base":
        return None
    if not (out / before / RECORD).is_file():
        raise UserError(f"{stage} starts from the adapter of {before}, and there is none in {out}; train it first")
    return out / before
