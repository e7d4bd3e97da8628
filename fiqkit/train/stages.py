"""The stages of training: what each learns from, the adapter that it starts from, and the record of both.

A stage whose record stands in its folder is done and is not repeated; one that was interrupted goes on from its last
checkpoint. Among checkpoints the one that does best on the validation split is kept; the test split is never read here.
"""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from fiqkit.agent.policy import EngineAgent
from fiqkit.datasets import write_jsonl
from fiqkit.errors import UserError
from fiqkit.models import open_engine
from fiqkit.models.cards.cards import find_card
from fiqkit.models.cards.weights import to_transformers
from fiqkit.models.checks.adapters import RECORD, read_record
from fiqkit.models.engine import Engine, Sampling
from fiqkit.models.local.transformers import TransformersEngine
from fiqkit.records import Instance, Passage
from fiqkit.roles.assess import Assessor
from fiqkit.roles.grader.rules import RulesGrader
from fiqkit.roles.judge.rules import RulesJudge
from fiqkit.taxonomy import CATEGORIES
from fiqkit.train import grpo, kto, memory, sft
from fiqkit.train.demos import Demo, demonstrate, read_demos, world_for, yields
from fiqkit.train.model import Trainee, check_machine, context_of, file_sha256, load, main_first, write_record
from fiqkit.train.recipe import Recipe, recorded
from fiqkit.train.rows import Row
from fiqkit.train.splits import check, draw, of_categories
from fiqkit.train.teachers import TemplateTeacher
from fiqkit.train.watch import Say
from fiqkit.whole_file import write_text

STAGES = ("base", "sft", "kto", "grpo")
_BEGUN = "begun.json"  # in a stage's folder: what it was begun with


class Stages:
    """The stages of one recipe on one set of splits.

    Args:
        out: where demonstrations and episodes are kept that no file was given for.
        demos: demonstrations to learn from in place of the template teacher's.
        episodes: episodes for KTO in place of the policy's own.

    Raises:
        UserError: splits that share a company, nothing of the recipe's categories to train on, a file that holds no
            demonstration, or a machine on which it cannot run.
    """

    def __init__(
        self,
        recipe: Recipe,
        splits: Mapping[str, Sequence[Instance]],
        passages: Sequence[Passage],
        out: Path,
        say: Say,
        *,
        demos: Path | None = None,
        episodes: Path | None = None,
    ) -> None:
        check(splits, "the splits")
        check_machine(recipe)
        self.splits = of_categories(splits, recipe.categories)
        self.recipe, self.passages, self.out, self.say = recipe, passages, out, say
        self._given = {"demos": demos, "episodes": episodes}
        for path in (demos, episodes):
            if path and next(read_demos(path), None) is None:
                raise UserError(f"{path}: it holds no demonstration; make some with `fiqkit train demos`")
        self._parent: Path | None = None

    def train(self, stage: str, folder: Path, parent: Path | None = None) -> Path:
        """The adapter of a stage, in `folder`: trained from `parent`, or from a new adapter, if it is not there yet.

        Raises:
            UserError: the folder holds a stage that was begun with other settings; or whatever the stage refuses.
        """
        parents = {"parent": file_sha256(_weights(parent))} if parent else {}
        _check_begun(folder, {"stage": stage, "recipe": self.recipe.describe(), **parents})
        if (folder / RECORD).is_file():
            read_record(folder)
            return folder
        batch = getattr(self.recipe, stage).batch
        self.say(memory.check(self.recipe, to_transformers(find_card(self.recipe.model)), batch))
        trainee, self._parent = load(self.recipe, parent), parent
        self.say(f"{stage}: training")
        metrics, data = {"sft": self._sft, "kto": self._kto, "grpo": self._grpo}[stage](trainee, folder)
        before = read_record(parent).get("trained_on", CATEGORIES) if parent else ()
        trained_on = sorted({*before, *(i.primary for i in self.splits["train"])})
        made = {"metrics": metrics, "data": data, "trained_on": trained_on, **parents}
        write_record(folder, self.recipe, stage, trainee, **made)
        del trainee
        gc.collect()
        return folder

    def _sft(self, trainee: Trainee, folder: Path) -> tuple[dict[str, float], dict[str, Any]]:
        path = self._given["demos"]
        kept = {"train": self._read(path) if path else self._demos("train")}
        kept["validation"] = self._demos("validation")
        kept = {name: [demo for demo in demos if demo.clarified] for name, demos in kept.items()}
        kept["train"] += self._silent(len(kept["train"]))
        fitting = {name: self._fitting(name, demos, trainee) for name, demos in kept.items()}
        rows = {name: [row for _, its in found for row in its] for name, found in fitting.items()}
        episodes, count = len(fitting["train"]), len(rows["train"])
        self.say(f"sft: {episodes} demonstrations in {count} rows, {count / max(episodes, 1):.2f} an episode")
        train = rows["train"] or sft.rows_of([], trainee, self.recipe.max_length)
        metrics = sft.train(trainee, self.recipe, train, rows["validation"], folder, self.say)
        learned_from = path or self.out / "demos-train.jsonl"
        return metrics, {"demos": file_sha256(learned_from), "episodes": episodes, "rows": count}

    def _read(self, path: Path) -> list[Demo]:
        """The demonstrations, or marked episodes, of a file; of the recipe's categories alone where it names some."""
        found = list(read_demos(path))
        if not self.recipe.categories:
            return found
        known = {instance.instance_id for name in ("train", "validation") for instance in self.splits[name]}
        kept = [demo for demo in found if demo.instance_id in known]
        if len(kept) < len(found):
            self.say(f"{path}: {len(found) - len(kept)} are not of {', '.join(self.recipe.categories)} and left out")
        return kept

    def _silent(self, asked: int) -> list[Demo]:
        """The demonstrations without a question that the recipe mixes in: `sft.silent` of all."""
        share = self.recipe.sft.silent
        number = round(asked * share / (1 - share))
        if not number:
            return []
        instances = Random(self.recipe.seed).sample(self.splits["train"], min(number, len(self.splits["train"])))
        rollout = replace(self.recipe.rollout, samples=1)
        world = world_for(instances, self.passages, rollout, seed=self.recipe.seed)
        made = asyncio.run(demonstrate(TemplateTeacher(instances, asks=False), instances, world, rollout))
        self.say(f"{len(made)} demonstrations without a question are mixed in")
        return made

    def _fitting(self, name: str, demos: list[Demo], trainee: Trainee) -> list[tuple[Demo, list[Row]]]:
        """The demonstrations that are no longer than the recipe allows, each with its rows: none is cut."""
        longest = self.recipe.max_length
        found = [(demo, sft.rows_of([demo], trainee, 100 * longest)) for demo in demos]
        fitting = [(demo, rows) for demo, rows in found if max(len(row.ids) for row in rows) <= longest]
        if len(fitting) < len(demos):
            self.say(
                f"{name}: {len(demos) - len(fitting)} demonstrations are longer than {longest} tokens and left out"
            )
        return fitting

    def _demos(self, split: str) -> list[Demo]:
        path, instances = self.out / f"demos-{split}.jsonl", self.splits[split]
        if not instances and not path.is_file():
            return []
        with main_first():
            if not path.is_file():
                world = world_for(instances, self.passages, self.recipe.rollout, seed=self.recipe.seed)
                made = asyncio.run(demonstrate(TemplateTeacher(instances), instances, world, self.recipe.rollout))
                self.say(f"demonstrations on {split}: {json.dumps(yields(made))}")
                write_jsonl(path, (demo.row("asked") for demo in made))
        return list(read_demos(path))

    def _kto(self, trainee: Trainee, folder: Path) -> tuple[dict[str, float], dict[str, Any]]:
        """On the policy's own episodes: good where it asked on category and was right, bad where it did not."""
        path = self._given["episodes"] or self._own_episodes(trainee, "train")
        good, bad = self._labelled(trainee, path)
        self.say(f"kto: {len(good)} rows of good episodes, {len(bad)} of bad ones")
        chooses = self.recipe.kto.epochs > 1 and self.splits["validation"]
        validation = self._labelled(trainee, self._own_episodes(trainee, "validation")) if chooses else ([], [])
        metrics = kto.train(trainee, self.recipe, good, bad, folder, self.say, validation)
        return metrics, {"episodes": file_sha256(path), "good": len(good), "bad": len(bad)}

    def _labelled(self, trainee: Trainee, path: Path) -> tuple[list[Row], list[Row]]:
        labelled: dict[bool, list[Row]] = {True: [], False: []}
        for demo, rows in self._fitting("own episodes", self._read(path), trainee):
            labelled[demo.clarified] += rows
        return labelled[True], labelled[False]

    def _own_episodes(self, trainee: Trainee, split: str) -> Path:
        """The file of the policy's own episodes on a split, played if it is not there yet."""
        path = self.out / ("own-episodes.jsonl" if split == "train" else f"own-episodes-{split}.jsonl")
        if path.is_file():
            return path
        recipe, rollout = self.recipe, self.recipe.rollout
        card = find_card(recipe.model)
        adapter = str(self._parent) if self._parent and card.engine == "llama_cpp" else None
        engine: Engine
        if adapter:  # the same weights, and several times faster on a CPU
            engine = open_engine(card, context=context_of(recipe))
        else:
            engine = TransformersEngine.wrap(trainee.model, trainee.tokenizer, context=context_of(recipe), parallel=16)
        sampling = Sampling(max_tokens=rollout.max_tokens, temperature=max(rollout.temperature, 0.7))
        agent = EngineAgent("sft", engine, sampling, seed=recipe.seed, adapter=adapter)
        instances = draw(self.splits[split], recipe.kto.items or len(self.splits[split]))
        world = world_for(instances, self.passages, rollout, seed=recipe.seed)

        async def play() -> list[Demo]:
            try:
                return await demonstrate(agent, instances, world, rollout)
            finally:
                await engine.close()

        write_jsonl(path, (demo.row("asked") for demo in asyncio.run(play())))
        return path

    def _grpo(self, trainee: Trainee, folder: Path) -> tuple[dict[str, float], dict[str, Any]]:
        instances, validation = list(self.splits["train"]), list(self.splits["validation"])
        Random(self.recipe.seed).shuffle(instances)
        world = world_for([*instances, *validation], self.passages, self.recipe.rollout, seed=self.recipe.seed)
        assessor = Assessor(RulesGrader(), RulesJudge())
        metrics = grpo.train(trainee, self.recipe, instances, world, assessor, folder, self.say, validation)
        return metrics, {"instances": len(instances)}


def _weights(adapter: Path) -> Path:
    """The file of an adapter's weights.

    Raises:
        UserError: there is none.
    """
    read_record(adapter)
    path = adapter / "adapter_model.safetensors"
    if not path.is_file():
        raise UserError(f"no weights of an adapter in {adapter}; expected adapter_model.safetensors")
    return path


def _check_begun(folder: Path, now: Mapping[str, Any]) -> None:
    """Note what a stage is begun with; refuse a folder in which it was begun with something else.

    Raises:
        UserError: names the first difference.
    """
    path = folder / _BEGUN
    flat = _flat(now)
    try:
        before = _flat(_with_new_fields(json.loads(path.read_text("utf-8")))) if path.is_file() else flat
    except (OSError, ValueError, AttributeError, TypeError, KeyError) as error:
        raise UserError(f"{path}: damaged ({error}); give another --out") from None
    different = [name for name in sorted(before.keys() | flat.keys()) if before.get(name) != flat.get(name)]
    if different:
        name = different[0]
        raise UserError(
            f"{folder}: was begun with {name} = {before.get(name)}, which is {flat.get(name)} now; give another --out"
        )
    folder.mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps(now))


def _with_new_fields(begun: dict[str, Any]) -> dict[str, Any]:
    """What a stage was begun with; a field that recipes have only had since then has its default."""
    return begun | {"recipe": recorded(begun["recipe"]).describe()}


def _flat(table: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """Fields by their path, such as recipe.sft.epochs."""
    found: dict[str, Any] = {}
    for name, value in table.items():
        found |= _flat(value, f"{above}{name}.") if isinstance(value, Mapping) else {f"{above}{name}": value}
    return found
