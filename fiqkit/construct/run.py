"""One construction from a fact store to a folder: instances, passages, splits, and the funnel that led there."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack
from datetime import date
from pathlib import Path

from fiqkit.construct import rules
from fiqkit.construct.facts import CANARY
from fiqkit.construct.funnel import Funnel, Spent
from fiqkit.construct.pipeline import Built, build_set, read_exclusions
from fiqkit.construct.progress import Progress
from fiqkit.construct.quotas import shortfalls
from fiqkit.construct.splits import split
from fiqkit.construct.verifier import ACCEPTED, LlmVerifier
from fiqkit.datasets import instance_row, passage_row, write_jsonl
from fiqkit.errors import UserError
from fiqkit.filings.store import FactStore
from fiqkit.models import open_engine
from fiqkit.models.cards.cards import Card, find_card
from fiqkit.whole_file import refuse_overwriting, write_text

VERIFIERS = ("rules", "none")
_FILES = ("instances.jsonl", "passages.jsonl", "splits.json")


def construct(
    facts: Path,
    out: Path,
    *,
    target: int,
    constructor: str = "facts",
    verifier: str = "rules",
    exclude: Sequence[Path] = (),
    filed_after: str | None = None,
    passages: int = 0,
    seed: int = 1,
    passage_arm: bool = False,
) -> tuple[Built, Funnel]:
    """Make a set and write it; what models say is kept in the folder's `progress.db`, and not asked for again.

    Args:
        passage_arm: try each sibling once more with the passage at hand, and count what that would reject.

    Raises:
        UserError: an empty store, a date that is none, an unknown constructor or verifier, a passage arm without a
            model to read it.
    """
    begun = time.monotonic()
    refuse_overwriting((out / name for name in _FILES), (facts, *exclude))
    if passage_arm and verifier in VERIFIERS:
        raise UserError(f"--passage-arm needs a model that reads the passage; --verifier is {verifier}, name a card")
    verifying = [] if verifier in VERIFIERS else [card.strip() for card in verifier.split(",")]
    models = [find_card(name) for name in ([] if constructor == "facts" else [constructor]) + verifying]
    if filed_after:
        _check_date(filed_after)
    taken = {name for path in exclude for name in read_exclusions(path)}
    funnel = Funnel()
    store = FactStore(facts)
    progress = Progress(out / "progress.db" if models else None)
    try:
        if constructor == "facts":
            built = build_set(
                store,
                target,
                seed,
                passages=passages,
                filed_after=filed_after,
                exclude=taken,
                by_rules=verifier == "rules",
            )
        else:
            from fiqkit.construct.modelled import build_modelled

            built = build_modelled(
                store, constructor, target, seed, filed_after=filed_after, exclude=taken, progress=progress
            )
        if verifying:
            asyncio.run(_verify(built, verifying, seed, funnel, progress, passage_arm))
    finally:
        store.close()
        progress.close()
    funnel.passed |= {step.replace("_", " "): count for step, count in built.funnel.items()}
    for why, count in built.refused.items():
        funnel.refuse("refused", why, count)
    funnel.spent = _spent(progress, models)
    funnel.passed["accepted"] = len(built.instances)
    funnel.seconds = time.monotonic() - begun
    write(built, out, seed)
    return built, funnel


def _check_date(text: str) -> None:
    try:
        date.fromisoformat(text)
    except ValueError as error:
        raise UserError(f"--filed-after {text!r} is no date; give it as YYYY-MM-DD") from error


def _spent(progress: Progress, models: Sequence[Card]) -> dict[str, Spent]:
    """What each model took in each role, priced by its card."""
    cards = {card.name: card for card in models}
    found = {}
    for (role, model), usage in progress.spent.items():
        card = cards.get(model)
        prices = (card.price_in, card.price_out) if card else (0.0, 0.0)
        dollars = (usage.prompt_tokens * prices[0] + usage.output_tokens * prices[1]) / 1e6
        found[f"{role} {model}"] = Spent(usage.requests, usage.prompt_tokens, usage.output_tokens, dollars)
    return found


async def _verify(
    built: Built, cards: Sequence[str], seed: int, funnel: Funnel, progress: Progress, passage_arm: bool
) -> None:
    """Drop orbits that models answer as intended without C; those with too few verdicts are dropped too, as pending.

    The arm that has the passage at hand drops nothing: whoever reads a passage with two answers may take either.
    """
    texts = {passage.passage_id: passage.text for passage in built.passages}
    outcomes: dict[str, list[str]] = {}
    async with AsyncExitStack() as stack:
        engines = []
        for card in cards:
            engine = open_engine(card)
            stack.push_async_callback(engine.close)
            await engine.ready()
            engines.append(engine)
        judge = LlmVerifier(engines, seed, progress=progress)
        for instance in built.instances:
            if not instance.headline_intended:
                case = rules.Case(instance, texts.get(instance.passage_id or ""))
                ruled_on = await judge.rule(case)
                outcomes.setdefault(instance.orbit or instance.instance_id, []).append(ruled_on.outcome)
                found = {"the question": ruled_on}
                if passage_arm:
                    found["the question and its passage"] = await judge.rule(case, passage=True)
                for shown, one in found.items():
                    funnel.arms.setdefault(shown, Counter()).update(tried=1, **{one.outcome: 1})
    ruled: Counter[str] = Counter()
    kept = set()
    for orbit, said in outcomes.items():
        why = next((outcome for outcome in said if outcome != ACCEPTED), "")
        if why:
            ruled[why] += 1
        else:
            kept.add(orbit)
    for why, count in ruled.items():
        funnel.refuse("verifier", why, count)
    gone = {i.passage_id for i in built.instances if i.orbit not in kept}
    built.instances = [i for i in built.instances if i.orbit in kept]
    built.orbits = [o for o in built.orbits if o.key in kept]
    built.passages = [p for p in built.passages if p.passage_id not in gone]
    built.short = shortfalls(built.orbits, built.quotas)


def write(built: Built, out: Path, seed: int) -> None:
    """instances.jsonl, passages.jsonl and splits.json."""
    instances, passages, parts = (out / name for name in _FILES)
    write_jsonl(instances, map(instance_row, built.instances))
    write_jsonl(passages, ({**passage_row(p), "canary": CANARY} for p in built.passages))
    splits = json.dumps(split(built.instances, seed, pinned=built.pinned), ensure_ascii=False, indent=1)
    write_text(parts, splits + "\n")
