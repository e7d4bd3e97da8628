"""One file a category: which readings are gathered from a company's reports, and why each is defensible."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fiqkit.construct.holdings import Company
from fiqkit.construct.orbits import Orbit

Miner = Callable[[Company], Iterator[Orbit]]


def miners() -> dict[str, Miner]:
    """Every category's miner."""
    from fiqkit.construct.miners import entity, metric, recognition, temporal, vintage

    return {
        "entity_scope": entity.mine,
        "temporal_scope": temporal.mine,
        "metric_definition": metric.mine,
        "recognition_policy": recognition.mine,
        "filing_vintage": vintage.mine,
    }


def mine(company: Company) -> Iterator[Orbit]:
    """Every orbit of one company, by all miners."""
    for miner in miners().values():
        yield from miner(company)
