"""How long the intervals of a large report take: 20 runs of 1,000 instances, 10,000 draws each where any is drawn.

Beside it, in the same process: `scipy.stats.bootstrap` on one of the runs, and a plain Python loop on a hundredth of
one, both scaled up to the same work. Seconds are of the processor, one thread. The last line is JSON.

    python benchmarks/intervals.py
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from itertools import pairwise

import numpy as np

from fiqkit.metrics.bootstrap import paired_p
from fiqkit.metrics.intervals import Nesting, bounded_interval

RUNS, INSTANCES, RESAMPLES = 20, 1_000, 10_000


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def python_loop(values: list[float], resamples: int) -> list[float]:
    draw = random.Random(0)
    means = sorted(sum(draw.choices(values, k=len(values))) / len(values) for _ in range(resamples))
    return [means[int(0.025 * resamples)], means[int(0.975 * resamples)]]


def scipy_bootstrap(values: np.ndarray) -> object:
    from scipy.stats import bootstrap

    return bootstrap((values,), np.mean, n_resamples=RESAMPLES, method="percentile", vectorized=True, batch=500)


def main() -> None:
    rng = np.random.default_rng(0)
    ones = np.ones(INSTANCES)
    rates = (rng.random((RUNS, INSTANCES)) < 0.3).astype(float)  # right or wrong: two distinct values
    scores = rng.random((RUNS, INSTANCES))  # every value distinct: the worst case
    nesting = Nesting.of([f"c{i}" for i in rng.integers(0, 80, INSTANCES)])
    scipy_bootstrap(rates[0, :10])  # imported before the clock runs
    bounded_interval(rates[0], ones, 0, 1)

    timed = {
        "rates_s": seconds(lambda: [bounded_interval(row, ones, 0, 1) for row in rates]),
        "distinct_s": seconds(lambda: [bounded_interval(row, ones, 0, 1) for row in scores]),
        "clustered_s": seconds(lambda: [bounded_interval(r, ones, 0, 1, nesting=nesting) for r in rates]),
        "paired_s": seconds(lambda: [bounded_interval(b - a, ones, -1, 1) for a, b in pairwise(rates)]),
        "paired_p_s": seconds(lambda: [paired_p(b - a) for a, b in pairwise(rates)]),
        "scipy_s": RUNS * seconds(lambda: scipy_bootstrap(rates[0])),
        "python_loop_s": RUNS * 100 * seconds(lambda: python_loop(rates[0].tolist(), RESAMPLES // 100)),
    }
    for name, value in timed.items():
        print(f"{name:14} {value:9.2f}")
    size = {"runs": RUNS, "instances": INSTANCES, "resamples": RESAMPLES}
    print(json.dumps(size | {name: round(value, 3) for name, value in timed.items()}))


if __name__ == "__main__":
    main()
