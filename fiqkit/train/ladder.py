"""The ladder: base → SFT → KTO → GRPO, each stage held against companies that were never trained on.

Everything stands in one folder, stage by stage; a call that was interrupted goes on where it was.

    OUT/demos.jsonl  OUT/sft/  OUT/kto/  OUT/grpo/     adapters with their records, logs and checkpoints
    OUT/evaluation.db                                  every test episode, for `fiqkit show` and `fiqkit compare`
    OUT/ladder.json                                    the table
"""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

from fiqkit.agent.policy import EngineAgent
from fiqkit.datasets import write_jsonl
from fiqkit.errors import UserError
from fiqkit.models.cards.weights import write_atomically
from fiqkit.models.checks.adapters import RECORD, read_record
from fiqkit.models.engine import Sampling
from fiqkit.models.local.transformers import TransformersEngine
from fiqkit.records import Instance, Passage
from fiqkit.roles.assess import Assessor
from fiqkit.roles.grader.rules import RulesGrader
from fiqkit.roles.judge.rules import RulesJudge
from fiqkit.train import grpo, kto, sft
from fiqkit.train.baselines import baselines
from fiqkit.train.demos import Demo, demonstrate, read_demos, world_for, yields
from fiqkit.train.evaluate import score
from fiqkit.train.model import Trainee, file_sha256, load, write_record
from fiqkit.train.recipe import Recipe
from fiqkit.train.splits import check
from fiqkit.train.teachers import TemplateTeacher

STAGES = ("base", "sft", "kto", "grpo")
Say = Callable[[str], None]


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
    check(splits, "the splits")
    if unknown := [stage for stage in stages if stage not in STAGES]:
        raise UserError(f"unknown stage {unknown[0]!r}; the stages are {', '.join(STAGES)}")
    out.mkdir(parents=True, exist_ok=True)
    climbing = _Climb(recipe, splits, passages, out, say)
    rows = []
    for stage in STAGES:
        if stage not in stages:
            continue
        adapter = climbing.trained(stage)
        say(f"{stage}: evaluating on {len(splits['test'])} items")
        rows.append(score(stage, adapter, recipe, splits["test"], passages, out))
        table = {"recipe": recipe.name, "stages": rows, "baselines": baselines(splits["test"])}
        write_atomically(out / "ladder.json", json.dumps(table, ensure_ascii=False, indent=1))
    return table


class _Climb:
    """The stages of one ladder, each made once."""

    def __init__(
        self,
        recipe: Recipe,
        splits: Mapping[str, Sequence[Instance]],
        passages: Sequence[Passage],
        out: Path,
        say: Say,
    ) -> None:
        self.recipe, self.splits, self.passages, self.out, self.say = recipe, splits, passages, out, say

    def trained(self, stage: str) -> Path | None:
        """The adapter of a stage, trained if it is not there yet; None for the base."""
        if stage == "base":
            return None
        folder = self.out / stage
        if (folder / RECORD).is_file():
            read_record(folder)
            return folder
        before = STAGES[STAGES.index(stage) - 1]
        parent = self.out / before if (self.out / before / RECORD).is_file() else None
        if stage != "sft" and parent is None:
            raise UserError(
                f"{stage} starts from the adapter of {before}, and there is none in {self.out}; train it first"
            )
        folder.mkdir(parents=True, exist_ok=True)
        trainee = load(self.recipe, parent)
        self.say(f"{stage}: training")
        metrics, data = {"sft": self._sft, "kto": self._kto, "grpo": self._grpo}[stage](trainee, folder)
        parents = {"parent": file_sha256(parent / RECORD)} if parent else {}
        write_record(folder, self.recipe, stage, trainee, metrics=metrics, data=data, **parents)
        del trainee
        gc.collect()
        return folder

    def _sft(self, trainee: Trainee, folder: Path) -> tuple[dict[str, float], dict[str, Any]]:
        kept = {name: [demo for demo in self._demos(name) if demo.clarified] for name in ("train", "validation")}
        kept = {name: self._fitting(name, demos, trainee) for name, demos in kept.items()}
        rows = {name: sft.rows_of(demos, trainee, self.recipe.max_length) for name, demos in kept.items() if demos}
        episodes, count = len(kept["train"]), len(rows.get("train", ()))
        self.say(f"sft: {episodes} demonstrations in {count} rows, {count / max(episodes, 1):.2f} an episode")
        train = rows.get("train") or sft.rows_of([], trainee, self.recipe.max_length)
        metrics = sft.train(trainee, self.recipe, train, rows.get("validation", []), folder, self.say)
        return metrics, {"demos": file_sha256(self.out / "demos-train.jsonl"), "episodes": episodes, "rows": count}

    def _fitting(self, name: str, demos: list[Demo], trainee: Trainee) -> list[Demo]:
        """The demonstrations that are no longer than the recipe allows: none is cut."""
        longest = self.recipe.max_length
        fitting = [
            demo for demo in demos if max(len(r.ids) for r in sft.rows_of([demo], trainee, 10 * longest)) <= longest
        ]
        if len(fitting) < len(demos):
            self.say(
                f"{name}: {len(demos) - len(fitting)} demonstrations are longer than {longest} tokens and left out"
            )
        return fitting

    def _demos(self, split: str) -> list[Demo]:
        path = self.out / f"demos-{split}.jsonl"
        if not path.is_file():
            instances = self.splits[split]
            world = world_for(instances, self.passages, self.recipe.rollout, seed=self.recipe.seed)
            made = asyncio.run(demonstrate(TemplateTeacher(instances), instances, world, self.recipe.rollout))
            self.say(f"demonstrations on {split}: {json.dumps(yields(made))}")
            write_jsonl(path, (demo.row("asked") for demo in made))
        return list(read_demos(path))

    def _kto(self, trainee: Trainee, folder: Path) -> tuple[dict[str, float], dict[str, Any]]:
        """On the policy's own episodes: good where it asked on category and was right, bad where it did not."""
        path = self.out / "own-episodes.jsonl"
        if not path.is_file():
            write_jsonl(path, (demo.row("asked") for demo in self._own_episodes(trainee)))
        rows: dict[bool, list[Any]] = {True: [], False: []}
        for demo in read_demos(path):
            rows[demo.clarified] += sft.rows_of([demo], trainee, self.recipe.max_length)
        self.say(f"kto: {len(rows[True])} rows of good episodes, {len(rows[False])} of bad ones")
        metrics = kto.train(trainee, self.recipe, rows[True], rows[False], folder, self.say)
        return metrics, {"episodes": file_sha256(path), "good": len(rows[True]), "bad": len(rows[False])}

    def _own_episodes(self, trainee: Trainee) -> list[Demo]:
        recipe, rollout = self.recipe, self.recipe.rollout
        engine = TransformersEngine.wrap(
            trainee.model, trainee.tokenizer, context=recipe.max_length + rollout.max_tokens, parallel=16
        )
        sampling = Sampling(max_tokens=rollout.max_tokens, temperature=max(rollout.temperature, 0.7))
        agent = EngineAgent("sft", engine, sampling, seed=recipe.seed)
        instances = self.splits["train"]
        world = world_for(instances, self.passages, rollout, seed=recipe.seed)

        async def play() -> list[Demo]:
            try:
                return await demonstrate(agent, instances, world, rollout)
            finally:
                await engine.close()

        return asyncio.run(play())

    def _grpo(self, trainee: Trainee, folder: Path) -> tuple[dict[str, float], dict[str, Any]]:
        instances = list(self.splits["train"])
        Random(self.recipe.seed).shuffle(instances)
        world = world_for(instances, self.passages, self.recipe.rollout, seed=self.recipe.seed)
        assessor = Assessor(RulesGrader(), RulesJudge())
        metrics = grpo.train(trainee, self.recipe, instances, world, assessor, folder, self.say)
        return metrics, {"instances": len(instances)}
