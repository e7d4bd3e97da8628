"""A stage of training held against items that it never saw: one ordinary run, and what training is about."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from math import fsum
from pathlib import Path
from typing import Any

from fiqkit.datasets import instance_row, passage_row, record_hash, write_jsonl
from fiqkit.errors import UserError
from fiqkit.metrics.orbits import orbit_numbers
from fiqkit.metrics.reward import terms
from fiqkit.metrics.scored import Scored
from fiqkit.models.cards.cards import find_card
from fiqkit.models.cards.weights import locate, to_transformers
from fiqkit.models.checks.adapters import check_base
from fiqkit.records import Instance, Passage
from fiqkit.run.evaluation import Settings, evaluate
from fiqkit.run.lineup import Lineup
from fiqkit.store.load import load_scored
from fiqkit.store.store import Store
from fiqkit.taxonomy import CATEGORIES
from fiqkit.train.baselines import baselines, targeting
from fiqkit.train.demos import own_passages
from fiqkit.train.model import check_machine, context_of
from fiqkit.train.recipe import Recipe
from fiqkit.train.splits import check
from fiqkit.train.watch import Say
from fiqkit.whole_file import write_text

_NOT_IN_A_NAME = re.compile(r"[^\w.-]")


_READ = "held-out.json"  # beside an adapter: which items it was held against, and where


def held_out(
    recipe: Recipe,
    splits: Mapping[str, Sequence[Instance]],
    passages: Sequence[Passage],
    out: Path,
    say: Say,
    adapters: Sequence[Path],
    *,
    split: str = "test",
    with_base: bool = True,
    again: bool = False,
) -> dict[str, Any]:
    """Evaluate the base and adapters on a split. Returns {"split", "stages": […], "baselines": {…}}, the base first.

    Args:
        again: read a test split for an adapter that was held against it before, in another folder.

    Raises:
        UserError: splits that share a company, an empty one, no adapter, one for another base, two of one name, or one
            for which the test split was read.
    """
    check(splits, "the splits")
    check_machine(recipe)
    items = splits[split]
    if not items:
        raise UserError(f"the {split} split is empty")
    named = {_NOT_IN_A_NAME.sub("-", adapter.resolve().name): adapter for adapter in adapters}
    if len(named) < len(adapters) or "base" in named:
        raise UserError(
            "two of the adapters have one name; the names of their folders tell them apart, and none is base"
        )
    base = to_transformers(find_card(recipe.model))
    for adapter in adapters:
        check_base(adapter, recipe.model, base)
        if split == "test" and not again:
            _check_unread(adapter, items, out)
    rows = []
    first: dict[str, Path | None] = {"base": None} if with_base else {}
    for stage, chosen in {**first, **named}.items():
        say(f"{stage}: evaluating on {len(items)} items")
        rows.append(score(stage, chosen, recipe, items, passages, out))
    table = {"recipe": recipe.name, "split": split, "stages": rows, "baselines": baselines(items)}
    write_text(out / "evaluation.json", json.dumps(table, ensure_ascii=False, indent=1))
    return table


def _readings(adapter: Path) -> list[dict[str, Any]]:
    path = adapter / _READ
    try:
        found: list[dict[str, Any]] = json.loads(path.read_text("utf-8")) if path.is_file() else []
    except ValueError as error:
        raise UserError(f"{path}: damaged ({error})") from None
    return found


def _check_unread(adapter: Path, instances: Sequence[Instance], out: Path) -> None:
    """Refuse to read a test split a second time: what is chosen by it is no longer measured by it.

    Raises:
        UserError: says where the first reading is.
    """
    items = _items_hash(instances)
    for read in _readings(adapter):
        if read["items"] == items and read["out"] != str(out.resolve()):
            raise UserError(
                f"{adapter}: these {len(instances)} items were read for it on {read['at'][:10]}, and its row stands in "
                f"{read['out']}; --again reads them once more, and notes it"
            )


def _note_reading(adapter: Path, instances: Sequence[Instance], out: Path) -> None:
    readings, items = _readings(adapter), _items_hash(instances)
    if not any(read["items"] == items and read["out"] == str(out.resolve()) for read in readings):
        now = datetime.now(UTC).isoformat(timespec="seconds")
        readings.append({"items": items, "n": len(instances), "at": now, "out": str(out.resolve())})
        write_text(adapter / _READ, json.dumps(readings, indent=1))


def _items_hash(instances: Sequence[Instance]) -> str:
    return hashlib.sha256("".join(sorted(record_hash(i) for i in instances)).encode()).hexdigest()


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
    shown = own_passages(instances, passages, recipe.rollout.passage_lines)
    wanted = {instance.passage_id or instance.instance_id: instance for instance in instances}
    write_jsonl(out / "passages.jsonl", (passage_row(shown(instance)) for instance in wanted.values()))
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
        context=context_of(recipe),
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
    if adapter is not None:
        _note_reading(adapter, instances, out)
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
    orbits = orbit_numbers(counted)
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
        "intent_resolved": orbits["intent_resolved"],
        "intent_resolved_ci": orbits["intent_resolved_ci"],
        "by_category": {
            name: _in_category(name, [e for e in counted if e.primary == name])
            for name in CATEGORIES
            if any(e.primary == name for e in counted)
        },
    }


def _in_category(name: str, episodes: Sequence[Scored]) -> dict[str, Any]:
    n, asking = len(episodes), [e for e in episodes if e.questions]
    return {
        "n": n,
        "ac1_central": sum(e.questions[0].central == name for e in asking) / len(asking) if asking else None,
        "interaction_rate": sum(e.asked for e in episodes) / n,
        "accuracy": sum(bool(e.is_intended) for e in episodes) / n,
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
    served = card.engine == "llama_cpp"  # the same weights, and several times faster than transformers on a CPU
    base = locate(card) if served else to_transformers(card)
    context = card.context or context_of(recipe)
    engine = card.engine if served else "transformers"
    fields = {"engine": engine, "weights": str(base.resolve()), "context": context, "measures": True}
    if adapter is not None:
        fields["adapter"] = str(adapter.resolve())
    path = out / f"{stage}.toml"
    lines = (f"{key} = {json.dumps(value)}" for key, value in fields.items())
    write_text(path, "\n".join((f"[{json.dumps(stage)}]", *lines)) + "\n")
    return path
