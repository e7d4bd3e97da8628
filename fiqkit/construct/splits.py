"""Train, validation and test: by company, so that no entity is in two and every orbit stays whole."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from fiqkit.records import Instance

SHARES = {"train": 0.6, "validation": 0.15, "test": 0.25}


def entity_of(instance: Instance) -> str:
    """The company as splits know it: its code, which does not depend on how a filing spells the name (pitfall 30)."""
    code = instance.extra.get("company_code")
    return str(code) if code else instance.cluster


def split(
    instances: Sequence[Instance],
    seed: int,
    shares: Mapping[str, float] = SHARES,
    pinned: Mapping[str, str] | None = None,
) -> dict[str, list[str]]:
    """Instance ids by split, stratified by category and language.

    Companies go, the largest first, where their category and language is furthest below its share.

    Args:
        pinned: company → the split that it stays in, as models were trained on it.
    """
    pinned = pinned or {}
    by_company: dict[str, list[Instance]] = defaultdict(list)
    for instance in instances:
        by_company[entity_of(instance)].append(instance)
    total = Counter((i.primary, i.language) for i in instances)
    had: dict[str, Counter[tuple[str, str]]] = {name: Counter() for name in shares}
    found: dict[str, list[str]] = {name: [] for name in shares}
    order = sorted(by_company)
    random.Random(f"{seed} splits").shuffle(order)
    for company in sorted(order, key=lambda code: (code not in pinned, -len(by_company[code]))):
        mine = Counter((i.primary, i.language) for i in by_company[company])
        name = pinned.get(company) or max(
            shares,
            key=lambda s: (sum(n * (shares[s] - had[s][k] / total[k]) for k, n in mine.items()), shares[s]),
        )
        had[name] += mine
        found[name] += [instance.instance_id for instance in by_company[company]]
    return {name: sorted(ids) for name, ids in found.items()}
