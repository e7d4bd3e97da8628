"""Pushing the agent along the ambiguity direction while it takes its first action, and the direction as an ask gate.

The steered items are one fold's; the direction comes from the other folds. α is in units of the gap between the mean
projections of Q and Q + C at the layer, so α = 1 carries a resolved question to where an ambiguous one lies, and α < 0
the other way. Random directions get vectors of the same length.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fiqkit.agent.environment import Environment
from fiqkit.agent.modes import mode as mode_of
from fiqkit.agent.policy import EngineAgent
from fiqkit.agent.world import World
from fiqkit.errors import UserError
from fiqkit.metrics.intervals import Nesting, bounded_interval
from fiqkit.models.engine import Completion, Engine, Request, Sampling
from fiqkit.probe.checkpoint import load_model, load_tokenizer
from fiqkit.probe.edits import Edit, edited
from fiqkit.probe.folds import Floats
from fiqkit.probe.ridge import auroc
from fiqkit.probe.study import Study
from fiqkit.records import Instance, Turn
from fiqkit.roles.assess import Assessor
from fiqkit.roles.judge.rules import RulesJudge
from fiqkit.roles.simulator.rules import RulesSimulator

if TYPE_CHECKING:
    from fiqkit.models.local.transformers import TransformersEngine

FOLD = 0  # the fold whose items are steered
OPENING, CLOSING = '{"action": "', "}"
MAX_TOKENS = 128  # an action in full; what is longer is cut and counts as no action
PARALLEL = 8

Vectors = Mapping[int, NDArray[np.float32]]  # point → what is added to the residual stream there
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """What to steer or erase with: strengths (of steering), points (None: the one that the other folds picked), items
    at most, random directions."""

    alphas: tuple[float, ...] = (-4, -2, 0, 2, 4)
    points: tuple[int, ...] | None = None
    items: int = 12
    randoms: int = 2

    def points_of(self, study: Study, fold: int = FOLD) -> tuple[int, ...]:
        """The points to work at: those asked for, else the layer that the other folds picked, where the fold's own
        items had no say.

        Raises:
            UserError: a point out of range.
        """
        points = self.points or (study.result["direction"]["nested_layers"][fold],)
        for point in points:
            if not 0 <= point < study.states.points:
                last = study.states.points - 1
                raise UserError(f"--steer-layers {point} is out of range; this model has 0 to {last}")
        return tuple(points)


def steer(study: Study, plan: Plan, dtype: str, progress: Progress) -> dict[str, Any]:
    """Interaction rate and AC@1 of the first action by α, for the direction and for random ones, and the ask gate.

    Raises:
        UserError: a point out of range, or a checkpoint without chat template.
    """
    from fiqkit.models.local.transformers import TransformersEngine

    points = plan.points_of(study)
    chosen = np.flatnonzero(study.items.folds == FOLD)[: plan.items]
    instances = [study.items.instances[i] for i in chosen]
    model, tokenizer = load_model(study.checkpoint, dtype), load_tokenizer(study.checkpoint)
    wrapped = TransformersEngine.wrap(model, tokenizer, name=study.result["model"], parallel=PARALLEL)
    engine = BegunReply(wrapped, tokenizer)
    try:
        rows = asyncio.run(_rows(study, plan, points, instances, model, engine, progress))
        gate = asyncio.run(_gate(study, chosen, instances, engine, progress))
    finally:
        asyncio.run(engine.close())
    return {"points": list(points), "items": len(instances), "randoms": plan.randoms, "rows": rows, "gate": gate}


# --- vectors --------------------------------------------------------------------------------------------------------


def directions(study: Study, points: Sequence[int], fold: int = FOLD) -> dict[int, NDArray[np.float32]]:
    """At each point the step from Q + C to Q, in full length, from the items outside the fold."""
    held_in = study.items.folds != fold
    found = {}
    for point in points:
        states = study.states.layer(point)
        found[point] = (states["plain"] - states["context"])[held_in].mean(axis=0)
    return found


def random_like(vectors: Vectors, seed: int) -> dict[int, NDArray[np.float32]]:
    """Random directions with the lengths of those given."""
    rng = np.random.default_rng(seed)
    found = {}
    for point, vector in vectors.items():
        drawn = rng.standard_normal(len(vector)).astype(np.float32)
        found[point] = drawn * (np.linalg.norm(vector) / np.linalg.norm(drawn))
    return found


def pushed(model: Any, vectors: Vectors, alpha: float) -> AbstractContextManager[None]:
    """Add α times each vector to the residual stream at its point, at every position, for as long as the block runs."""
    import torch

    def push(vector: NDArray[np.float32]) -> Edit:
        return lambda states: states + torch.from_numpy(alpha * vector).to(states.device, states.dtype)

    return edited(model, {point: push(vector) for point, vector in vectors.items()})


# --- first actions --------------------------------------------------------------------------------------------------


class BegunReply:
    """The transformers engine, which cannot hold a reply to a schema, with the beginning that every action has already
    written: the model's next words name the action. The reply ends with the object.
    """

    def __init__(self, engine: TransformersEngine, tokenizer: Any) -> None:
        self._engine, self._tokenizer = engine, tokenizer
        self.name, self.context, self.can = engine.name, engine.context, engine.can
        self.ready, self.close, self.describe = engine.ready, engine.close, engine.describe

    async def complete(self, request: Request) -> Completion:
        """Complete a chat's request; see `fiqkit.models.engine.Engine`."""
        messages = [dict(message) for message in request.messages or ()]
        prompt = self._tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False) + OPENING
        ids = self._tokenizer(prompt, add_special_tokens=False)["input_ids"]
        sampling = replace(request.sampling, stop=(CLOSING,))
        completion = await self._engine.complete(Request(prompt_ids=ids, sampling=sampling))
        closing = CLOSING if completion.finish == "stop" else ""
        return replace(completion, text=f"{OPENING}{completion.text}{closing}")


async def first_turns(
    instances: Sequence[Instance], mode: str, engine: Engine, orbits: Mapping[str, tuple[str, ...]] | None = None
) -> list[Turn]:
    """The first turn of an agent on each instance, as the environment records it. A search would find nothing.

    Args:
        orbits: the spans of all readings, for modes that show them (see `spans_by_orbit`).
    """
    agent = EngineAgent(engine.name, engine, Sampling(max_tokens=MAX_TOKENS))
    world = World(RulesSimulator(), search=_nothing_found, orbits=orbits or {})

    async def one(instance: Instance) -> Turn:
        environment = Environment(instance, mode_of(mode), world)
        await environment.begin()
        await environment.step(await agent.begin(instance.instance_id, mode).act(environment.dialogue()))
        return environment.turns[0]

    return list(await asyncio.gather(*(one(instance) for instance in instances)))


async def _nothing_found(_query: str, _language: str) -> list[str]:
    return []


async def _rows(
    study: Study,
    plan: Plan,
    points: Sequence[int],
    instances: Sequence[Instance],
    model: Any,
    engine: Engine,
    progress: Progress,
) -> list[dict[str, Any]]:
    direction = directions(study, points)
    kinds = {
        "direction": [direction],
        "random": [random_like(direction, study.items.seed + k) for k in range(plan.randoms)],
    }
    steps = [(kind, alpha) for kind in kinds for alpha in sorted(plan.alphas)]
    still = await measured(instances, await first_turns(instances, "interact", engine))
    rows = []
    for done, (kind, alpha) in enumerate(steps, 1):
        runs = [still] if alpha == 0 else []
        for vectors in kinds[kind] if alpha else ():
            with pushed(model, vectors, alpha):
                runs.append(await measured(instances, await first_turns(instances, "interact", engine)))
        if runs:
            rows.append({"kind": kind, "alpha": alpha, **_rates(instances, runs, study.items.seed)})
        progress("steering", done, len(steps))
    return rows


async def measured(instances: Sequence[Instance], turns: Sequence[Turn]) -> Floats:
    """For each item whether its first action was valid, was a question, and was one on a true category, (items, 3)."""
    assess = Assessor(judge=RulesJudge())
    found = np.zeros((len(turns), 3))
    for row, instance, turn in zip(found, instances, turns, strict=True):
        row[0] = turn.action != "invalid" and turn.refused is None
        row[1] = row[0] and turn.action == "interact"
        if row[1]:
            touched = (await assess.classify(turn.content["question"])).touched or ()
            row[2] = bool(set(touched) & set(instance.categories))
    return found


def _rates(instances: Sequence[Instance], runs: Sequence[Floats], seed: int) -> dict[str, Any]:
    """Rates over the items, runs averaged, with 95% intervals, companies whole."""
    valid, asked, touched = np.mean(runs, axis=0).T
    companies = Nesting.of([i.cluster for i in instances])
    return {
        "valid_rate": float(valid.mean()),
        "interaction_rate": float(asked.mean()),
        "interaction_rate_ci": bounded_interval(asked, np.ones(len(asked)), 0.0, 1.0, nesting=companies, seed=seed),
        "ac1_touch": float(touched.sum() / asked.sum()) if asked.any() else None,
        "ac1_touch_ci": bounded_interval(touched, asked, 0.0, 1.0, nesting=companies, seed=seed),
    }


# --- ask gate -------------------------------------------------------------------------------------------------------


async def _gate(
    study: Study, chosen: NDArray[np.int64], instances: Sequence[Instance], engine: Engine, progress: Progress
) -> dict[str, Any]:
    """Telling Q, which should be asked about, from Q + C: by the held-out projection and by stated confidence."""
    resolved = [replace(i, question=f"{i.question}\n\n{i.context}") for i in instances]
    stated = np.array(
        [
            [turn.content.get("confidence") for turn in await first_turns(side, "answer", engine)]
            for side in (list(instances), resolved)
        ],
        dtype=float,
    )
    progress("stated confidence", 1, 1)
    both = ~np.isnan(stated).any(axis=0)
    at = study.findings.contrasts["ambiguity"].at_nested
    projected = np.stack([at["a"][chosen], at["b"][chosen]])
    return {
        "items": len(chosen),
        "items_with_confidence": int(both.sum()),
        "direction_auroc": _ask_auroc(projected),
        "direction_auroc_same_items": _ask_auroc(projected[:, both]) if both.any() else None,
        "confidence_auroc": _ask_auroc(-stated[:, both]) if both.any() else None,
    }


def _ask_auroc(scores: Floats) -> float:
    """AUROC of scores (2, items) for telling the first row from the second."""
    flat = scores.reshape(-1, 1)
    return float(auroc(flat, np.arange(len(flat))[:, None] < scores.shape[1])[0])
