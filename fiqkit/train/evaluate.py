"""A stage of training held against items that it never saw: one ordinary run, and what training is about."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from math import fsum
from pathlib import Path
from typing import Any

from fiqkit.datasets import instance_row, passage_row, write_jsonl
from fiqkit.metrics.scored import Scored
from fiqkit.models.cards.cards import find_card
from fiqkit.models.cards.weights import to_transformers
from fiqkit.records import Instance, Passage
from fiqkit.run.evaluation import Settings, evaluate
from fiqkit.run.lineup import Lineup
from fiqkit.store.load import load_scored
from fiqkit.store.store import Store
from fiqkit.train.baselines import targeting
from fiqkit.train.recipe import Recipe
from fiqkit.train.reward import terms


def score(
    stage: str,
    adapter: Path | None,
    recipe: Recipe,
    instances: Sequence[Instance],
    passages: Sequence[Passage],
    out: Path,
) -> dict[str, Any]:
    """Run the base, with an adapter or without, over instances, and return the stage's row. Resumes where it was.

    The episodes stand in `out/evaluation.db`, where `fiqkit show`, `report` and `compare` find them.
    """
    out.mkdir(parents=True, exist_ok=True)
    write_jsonl(out / "items.jsonl", map(instance_row, instances))
    wanted = {instance.passage_id for instance in instances}
    write_jsonl(out / "passages.jsonl", (passage_row(p) for p in passages if p.passage_id in wanted))
    cards = _cards(stage, adapter, recipe, out)
    rollout = recipe.rollout
    lineup = Lineup(
        agent=(stage,),
        modes=(rollout.mode,),
        turns=rollout.turns,
        questions=rollout.questions,
        result_tokens=rollout.result_tokens,
        max_tokens=rollout.max_tokens,
        retrieval=rollout.retrieval,
        context=recipe.max_length + rollout.max_tokens,
    )
    settings = Settings(
        lineup=lineup,
        store=out / "evaluation.db",
        instances=out / "items.jsonl",
        passages=out / "passages.jsonl",
        cards=cards,
        seed=recipe.seed,
        resume=_begun(out / "evaluation.db", stage),
    )
    result = asyncio.run(evaluate(settings))
    if not result.complete:
        raise KeyboardInterrupt
    with_verdicts = Store(settings.store)
    try:
        episodes = load_scored(with_verdicts, [result.run])
    finally:
        with_verdicts.close()
    return {"stage": stage, "run": result.run, **row(episodes, {i.instance_id: i for i in instances})}


def row(episodes: Sequence[Scored], instances: dict[str, Instance]) -> dict[str, Any]:
    """A stage's numbers: targeting over those that asked, the rest over all that count."""
    counted = [e for e in episodes if e.counts]
    n = len(counted)
    judged = [(e.questions[0], instances[e.instance_id]) for e in counted if e.questions]
    hits = targeting(judged) if judged else None
    rewards = [
        terms(
            bool(e.is_intended), e.n_asks, bool(e.questions and set(e.questions[0].touched or ()) & set(e.categories))
        ).total
        for e in counted
    ]
    return {
        "n": n,
        "n_asked": len(judged),
        "ac1_named": hits.named if hits else None,
        "ac1_touch": hits.touch if hits else None,
        "ac1_central": hits.central if hits else None,
        "ac1_primary": hits.primary if hits else None,
        "ac1_macro": hits.macro if hits else None,
        "interaction_rate": sum(e.asked for e in counted) / n if n else None,
        "accuracy": sum(bool(e.is_intended) for e in counted) / n if n else None,
        "default_capture": sum(bool(e.is_default) for e in counted) / n if n else None,
        "reward": fsum(rewards) / n if n else None,
        "unscored": len(episodes) - n,
    }


def _begun(store: Path, stage: str) -> str | None:
    """The run of this stage that was begun earlier, to go on with."""
    if not store.is_file():
        return None
    opened = Store(store)
    try:
        runs = [run["run"] for run in opened.runs() if run["manifest"]["settings"].get("agent") == [stage]]
    finally:
        opened.close()
    return runs[-1] if runs else None


def _cards(stage: str, adapter: Path | None, recipe: Recipe, out: Path) -> Path:
    """A file with the stage's card: the base and the adapter, which brings the template that it was trained with."""
    card = find_card(recipe.model)
    base = to_transformers(card)
    context = card.context or recipe.max_length + recipe.rollout.max_tokens
    fields = {"engine": "transformers", "weights": str(base.resolve()), "context": context, "measures": True}
    if adapter is not None:
        fields["adapter"] = str(adapter.resolve())
    path = out / f"{stage}.toml"
    lines = (f"{key} = {json.dumps(value)}" for key, value in fields.items())
    path.write_text("\n".join((f"[{stage}]", *lines)) + "\n", "utf-8")
    return path
