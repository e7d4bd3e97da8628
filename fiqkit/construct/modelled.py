"""A set by constructor `llm`: passages of the store's reports, pre-scanned, put to a model, held against the rules."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator

from fiqkit.construct import rules
from fiqkit.construct.facts import FIGURES, render
from fiqkit.construct.holdings import companies
from fiqkit.construct.llm import LlmConstructor
from fiqkit.construct.miners import mine
from fiqkit.construct.orbits import Orbit
from fiqkit.construct.pipeline import Built, default_quotas
from fiqkit.construct.prescan import prescan
from fiqkit.construct.progress import Progress
from fiqkit.construct.quotas import Cell, shortfalls
from fiqkit.construct.verifier import REJECTED, orbit_ruling
from fiqkit.errors import UserError
from fiqkit.filings.store import FactStore
from fiqkit.models import open_engine


def build_modelled(
    store: FactStore,
    card: str,
    target: int,
    seed: int,
    *,
    filed_after: str | None = None,
    exclude: Iterable[str] = (),
    progress: Progress | None = None,
) -> Built:
    """Orbits that a model makes, until the quotas are met or the store's passages are used up.

    Args:
        progress: what the model said in a construction that was cut off.

    Raises:
        UserError: the store holds nothing to construct from, or the model cannot be opened.
    """
    return asyncio.run(_build(store, card, target, seed, filed_after, set(exclude), progress or Progress()))


async def _build(
    store: FactStore,
    card: str,
    target: int,
    seed: int,
    filed_after: str | None,
    exclude: set[str],
    progress: Progress,
) -> Built:
    candidates = list(_candidates(store, filed_after, exclude))
    if not candidates:
        raise UserError(f"{store.path}: no passage to construct from; `fiqkit ingest` more filings")
    quotas = default_quotas(target, candidates)
    built = Built([], [], [], {"candidates": len(candidates)}, quotas=quotas)
    had: Counter[Cell] = Counter()
    scanned = viable = 0
    engine = open_engine(card)
    try:
        await engine.ready()
        constructor = LlmConstructor(engine, seed, progress=progress)
        for candidate in candidates:
            source = candidate.source
            rows = [*(a.row for a in candidate.alternatives), *candidate.around][:14]
            scan = prescan(rows, source.kind, source.language)
            open_ = [c for c in scan.categories if had[c, source.language] < quotas.get((c, source.language), 0)]
            if scan.why or not open_:
                built.refused[scan.why or "quota of its categories is met"] += 1
                continue
            scanned += 1
            made, why = await constructor.make(source, rows, open_[0])
            if made is None:
                built.refused[f"constructor: {why}"] += 1
                continue
            viable += 1
            why = _take(built, made, seed)
            if why:
                built.refused[why] += 1
                continue
            had[made.category, source.language] += len(made.alternatives)
            if len(built.instances) >= target:
                break
    finally:
        await engine.close()
    built.funnel |= {"pre-scanned": scanned, "viable": viable, "instances": len(built.instances)}
    built.short = shortfalls(built.orbits, quotas)
    return built


def _candidates(store: FactStore, filed_after: str | None, exclude: set[str]) -> Iterator[Orbit]:
    """One passage's lines a company, report and topic: where the miners see several values, a model may too."""
    for company in companies(store):
        seen = set()
        for orbit in mine(company):
            late = not filed_after or (orbit.source.filed or "") > filed_after
            key = (orbit.source.end, orbit.source.accession)
            enough = len(orbit.around) + len(orbit.alternatives) >= FIGURES[orbit.source.language]
            if late and enough and key not in seen and orbit.key not in exclude:
                seen.add(key)
                yield orbit


def _take(built: Built, orbit: Orbit, seed: int) -> str:
    """Add an orbit to the set; why not, where a rule, the verifier or its passage forbids it."""
    made = render(orbit, seed)
    if made is None:
        return "too few lines for a passage"
    instances, passage = made
    if any(p.passage_id == passage.passage_id for p in built.passages):
        return "topic asked already"
    cases = [rules.Case(instance, passage.text) for instance in instances]
    for case in cases:
        offences = rules.broken(case, rules.PAPER) | rules.broken(case, rules.STRICTER)
        if offences:
            return f"breaks {', '.join(sorted(offences))}"
    if orbit_ruling(cases).outcome == REJECTED:
        return "verifier: the question's words point to one reading"
    built.orbits.append(orbit)
    built.instances += instances
    built.passages.append(passage)
    return ""
