"""Is the ambiguity direction used? It is erased, and the agent is watched: does it ask less, and can it still answer?

Steering shows what a push can do; erasing shows what the model does without. The eraser is LEACE (Belrose and others,
2023): of all affine maps after which no linear probe tells Q from Q + C on the items that it was fitted to, the one
that changes the states least. It is fitted, for each fold, on the other folds' companies, at the layer that these
picked, and works at every position while the agent takes its first action on

- the question, in mode `interact`: a model that reads its sense of ambiguity off this direction stops asking;
- its resolved twin, question and constraint with both evidence spans, in mode `context-oracle`: there a model whose
  competence was left alone still gives the answer.

Beside it stand erasers of random directions of equal rank (one), drawn as the states themselves are spread.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fiqkit.agent.world import spans_by_orbit
from fiqkit.metrics.intervals import Nesting, bounded_interval
from fiqkit.metrics.significance import sign_flip_p
from fiqkit.models.engine import Engine
from fiqkit.probe.checkpoint import load_model, load_tokenizer
from fiqkit.probe.direction import separation_of
from fiqkit.probe.edits import Edit, edited
from fiqkit.probe.folds import Floats, Ints
from fiqkit.probe.steering import PARALLEL, BegunReply, Plan, Progress, first_turns, measured
from fiqkit.probe.study import Study
from fiqkit.records import Instance, Outcome, Turn
from fiqkit.roles.assess import Assessor
from fiqkit.roles.grader.rules import RulesGrader

NONE, DIRECTION, RANDOM = "nothing", "direction", "random"


@dataclass(frozen=True, slots=True)
class Eraser:
    """A map of rank one less: x − left · (right · (x − mean)), with right · left = 1; all of shape (width,)."""

    left: Floats
    right: Floats
    mean: Floats

    def __call__(self, states: Floats) -> Floats:
        """States (…, width) without the direction."""
        erased: Floats = states - ((states - self.mean) @ self.right)[..., None] * self.left
        return erased

    def edit(self) -> Edit:
        """The same on tensors, in single precision, for hooks."""
        import torch

        parts = [torch.from_numpy(part.astype(np.float32)) for part in (self.left, self.right, self.mean)]

        def erase(states: Any) -> Any:
            left, right, mean = (part.to(states.device) for part in parts)
            x = states.float()
            return (x - ((x - mean) @ right)[..., None] * left).to(states.dtype)

        return erase


@dataclass(frozen=True, slots=True)
class Spread:
    """How states lie: their mean and their covariance, (1 − γ) Σ + γ · mean variance · 1, γ = shrinkage.

    Without shrinkage fewer states than dimensions would be told apart by directions in which nothing varies.
    """

    mean: Floats
    centred: Floats
    shrinkage: float

    @classmethod
    def of(cls, states: Floats, shrinkage: float | None = None) -> Spread:
        """The spread of states (n, width); None shrinks as much as Ledoit and Wolf (2004) find best."""
        mean = states.mean(axis=0, dtype=np.float64)
        centred = states - mean
        if shrinkage is None:
            from sklearn.covariance import ledoit_wolf_shrinkage

            shrinkage = float(ledoit_wolf_shrinkage(centred, assume_centered=True))
        return cls(mean, centred, shrinkage)

    @property
    def ridge(self) -> float:
        """What shrinkage adds to the variance of every direction."""
        return self.shrinkage * float(np.square(self.centred).sum()) / self.centred.size

    def solve(self, vector: Floats) -> Floats:
        """The inverse of the covariance times a vector, by way of (n, n) matrices; the pseudo-inverse without ridge."""
        n, share = len(self.centred), 1 - self.shrinkage
        if not self.ridge:
            return np.linalg.pinv(self.centred.T @ self.centred / n, hermitian=True) @ vector
        inner = self.centred @ self.centred.T * share + np.eye(n) * (self.ridge * n)
        inside: Floats = self.centred.T @ np.linalg.solve(inner, self.centred @ vector) * share
        return (vector - inside) / self.ridge

    def draw(self, rng: np.random.Generator) -> Floats:
        """A direction drawn as the states are spread: its covariance is theirs."""
        n, width = self.centred.shape
        own = rng.standard_normal(n) @ self.centred * np.sqrt((1 - self.shrinkage) / n)
        drawn: Floats = own + rng.standard_normal(width) * np.sqrt(self.ridge)
        return drawn

    def eraser(self, direction: Floats) -> Eraser:
        """The eraser of a direction that changes states of this spread least."""
        right = self.solve(direction)
        return Eraser(direction, right / (right @ direction), self.mean)


def leace(states: Floats, concept: NDArray[np.bool_], shrinkage: float | None = None) -> Eraser:
    """LEACE of a concept with two values: their covariance with the states is the direction that is erased.

    Args:
        states: (n, width).
        concept: (n,).
    """
    spread = Spread.of(states, shrinkage)
    return spread.eraser(spread.centred.T @ (concept - concept.mean()) / len(concept))


# --- the experiment -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Fold:
    """One fold's items, those of them that are played, and by kind the erasers, one a point, that its companies had no
    part in."""

    items: Ints
    played: Ints
    erasers: Mapping[str, Sequence[Mapping[int, Eraser]]]


def erase(study: Study, plan: Plan, dtype: str, progress: Progress) -> dict[str, Any]:
    """How often the first action is a question, and the twin's answer right, with nothing, the direction and random
    directions erased; and the paired difference between the two erasures.

    Raises:
        UserError: a point out of range, or a checkpoint without chat template.
    """
    from fiqkit.models.local.transformers import TransformersEngine

    folds = list(_folds(study, plan))
    model, tokenizer = load_model(study.checkpoint, dtype), load_tokenizer(study.checkpoint)
    wrapped = TransformersEngine.wrap(model, tokenizer, name=study.result["model"], parallel=PARALLEL)
    engine = BegunReply(wrapped, tokenizer)
    try:
        runs = asyncio.run(_runs(study, folds, model, engine, progress))
    finally:
        asyncio.run(engine.close())
    instances = [study.items.instances[i] for fold in folds for i in fold.played]
    found = {kind: np.mean(values, axis=0) for kind, values in runs.items()}  # (items, valid · asked · right)
    return {
        "points": sorted({point for fold in folds for point in fold.erasers[DIRECTION][0]}),
        "items": len(instances),
        "companies": len({i.cluster for i in instances}),
        "randoms": plan.randoms,
        "rows": [
            {"kind": kind, **_rates(instances, values, study.items.seed), **_changes(study, folds, kind)}
            for kind, values in found.items()
        ],
        "against_random": {
            name: _difference(instances, found[DIRECTION][:, at] - found[RANDOM][:, at], study.items.seed)
            for name, at in (("asked", 1), ("twin_right", 2))
        },
    }


def _folds(study: Study, plan: Plan) -> Iterator[_Fold]:
    """Folds with so many items to play as are asked for, the first fold's before the next one's."""
    left = plan.items
    for number, fold in enumerate(np.unique(study.items.folds)):
        if left > 0:
            held_in = study.items.folds != fold
            items = np.flatnonzero(~held_in)
            yield _Fold(items, _by_turns(study, items)[:left], _erasers(study, plan, number, held_in))
            left -= len(items)


def _by_turns(study: Study, items: Ints) -> Ints:
    """Items with each company's first before any company's second, so that a few are of many companies."""
    seen: Counter[str] = Counter()
    turns = []
    for item in items:
        company = study.items.clusters[item]
        turns.append(seen[company])
        seen[company] += 1
    ordered: Ints = items[np.argsort(turns, kind="stable")]
    return ordered


def _erasers(study: Study, plan: Plan, number: int, held_in: NDArray[np.bool_]) -> dict[str, list[dict[int, Eraser]]]:
    """By kind the erasers fitted on the items held in, at the points of a fold."""
    rng = np.random.default_rng([study.items.seed, number])
    direction: dict[int, Eraser] = {}
    random: list[dict[int, Eraser]] = [{} for _ in range(plan.randoms)]
    for point in plan.points_of(study, number):
        states = study.states.layer(point)
        both = np.concatenate([states["plain"][held_in], states["context"][held_in]]).astype(np.float64)
        direction[point] = leace(both, np.arange(len(both)) < held_in.sum())
        spread = Spread.of(both)
        for erasers in random:
            erasers[point] = spread.eraser(spread.draw(rng))
    return {NONE: [{}], DIRECTION: [direction], RANDOM: random}


async def _runs(
    study: Study, folds: Sequence[_Fold], model: Any, engine: Engine, progress: Progress
) -> dict[str, list[Floats]]:
    """By kind, for each of its erasers and item: was the first action valid, a question, the twin's answer right."""
    orbits = spans_by_orbit(study.items.instances)
    runs: dict[str, list[Floats]] = {}
    steps = sum(len(erasers) for fold in folds for erasers in fold.erasers.values())
    done = 0
    for fold in folds:
        instances = [study.items.instances[i] for i in fold.played]
        for kind, several in fold.erasers.items():
            for number, erasers in enumerate(several):
                with edited(model, {point: eraser.edit() for point, eraser in erasers.items()}):
                    asked = await measured(instances, await first_turns(instances, "interact", engine))
                    twins = await first_turns(instances, "context-oracle", engine, orbits)
                rows = np.column_stack([asked[:, :2], await _right(instances, twins)])
                place = runs.setdefault(kind, [])
                if number == len(place):
                    place.append(rows)
                else:
                    place[number] = np.concatenate([place[number], rows])
                done += 1
                progress("erasing", done, steps)
    return runs


async def _right(instances: Sequence[Instance], turns: Sequence[Turn]) -> Floats:
    """Whether each first action is an answer that equals the intended gold, (items,)."""
    assess = Assessor(grader=RulesGrader())
    found = np.zeros(len(turns))
    for at, (instance, turn) in enumerate(zip(instances, turns, strict=True)):
        if turn.action == "answer" and turn.refused is None:
            grade = await assess.grade(instance, turn.content["response"])
            found[at] = grade.outcome == Outcome.INTENDED
    return found


def _rates(instances: Sequence[Instance], values: Floats, seed: int) -> dict[str, Any]:
    """Rates with 95% intervals, companies whole."""
    companies = Nesting.of([i.cluster for i in instances])
    ones = np.ones(len(values))
    row: dict[str, Any] = {"valid_rate": float(values[:, 0].mean())}
    for name, at in (("interaction_rate", 1), ("twin_accuracy", 2)):
        row[name] = float(values[:, at].mean())
        row[f"{name}_ci"] = bounded_interval(values[:, at], ones, 0.0, 1.0, nesting=companies, seed=seed)
    return row


def _difference(instances: Sequence[Instance], changes: Floats, seed: int) -> dict[str, Any]:
    """The direction's erasure minus a random one's, paired by item, with interval and p over companies."""
    clusters = [i.cluster for i in instances]
    ends = bounded_interval(changes, np.ones(len(changes)), -1.0, 1.0, nesting=Nesting.of(clusters), seed=seed)
    return {"difference": float(changes.mean()), "ci": ends, "p": sign_flip_p(changes, clusters, seed)}


def _changes(study: Study, folds: Sequence[_Fold], kind: str) -> dict[str, float | None]:
    """What erasing does to held-out states: the share of their spread that it moves them by, and what is then left of
    the separation of Q from Q + C along the direction, in SD."""
    moved, left = [], []
    for fold in folds:
        for erasers in fold.erasers[kind]:
            for point, found in fold.erasers[DIRECTION][0].items():
                states = study.states.layer(point)
                was = [states[name][fold.items].astype(np.float64) for name in ("plain", "context")]
                now = [erasers[point](side) if point in erasers else side for side in was]
                before, after = np.concatenate(was), np.concatenate(now)
                moved.append(float(np.square(after - before).sum() / np.square(before - found.mean).sum()) ** 0.5)
                direction = found.left / np.linalg.norm(found.left)
                if len(fold.items) > 1:
                    left.append(float(separation_of(*(side @ direction for side in now))))
    return {"moved": float(np.mean(moved)), "separation_left": float(np.mean(left)) if left else None}
