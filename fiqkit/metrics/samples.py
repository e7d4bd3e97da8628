"""Several samples of each item: how far runs lie apart, and how often an agent is right every time."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb, fsum
from statistics import stdev
from typing import Any

from fiqkit.metrics.scored import Scored, group


def sample_numbers(episodes: Sequence[Scored]) -> dict[str, Any]:
    """{"items", "samples", "accuracy_by_sample", "accuracy_spread", "pass_k"} of one row.

    `accuracy_by_sample` and its standard deviation `accuracy_spread` say how far one run lies from the next;
    `pass_k` has, for k = 1 to the fewest samples that an item has, the chance that k samples of an item are all right
    (pass^k of Yao and others, 2024), estimated without bias as C(right, k) / C(samples, k), averaged over items. The
    three are None where items have one sample.
    """
    counted = [e for e in episodes if e.counts]
    items = group(counted, lambda e: e.record)
    by_sample = group(counted, lambda e: e.sample)
    rates = [fsum(bool(e.is_intended) for e in by_sample[s]) / len(by_sample[s]) for s in sorted(by_sample)]
    least = min((len(found) for found in items.values()), default=0)
    several = len(rates) > 1
    return {
        "items": len(items),
        "samples": max((len(found) for found in items.values()), default=0),
        "accuracy_by_sample": rates if several else None,
        "accuracy_spread": stdev(rates) if several else None,
        "pass_k": {str(k): _all_right(list(items.values()), k) for k in range(1, least + 1)} if several else None,
    }


def _all_right(items: Sequence[Sequence[Scored]], k: int) -> float:
    chances = (comb(sum(bool(e.is_intended) for e in found), k) / comb(len(found), k) for found in items)
    return fsum(chances) / len(items)
