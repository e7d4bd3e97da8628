"""Cost of the probe: capture beside the bare forward pass, and all fits of a 48-layer model.

    python benchmarks/probe.py [--layers 49 --items 346 --width 2048]

The last line is JSON: `capture_ratio` (aim: at most 1.15) and `fit_seconds` (aim: under 20 on two idle cores).
"""

from __future__ import annotations

import json
import resource
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median

import click
import numpy as np
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from fiqkit.models.local.threads import choose_threads
from fiqkit.probe.analysis import analyse
from fiqkit.probe.capture import batches, capture, run_batch
from fiqkit.probe.items import Items
from fiqkit.records import Instance, Interpretation


def capture_ratio(rounds: int) -> tuple[float, float]:
    """Median ratio of capture to a bare pass over the same batches, taken in turns, and seconds of the bare pass."""
    torch.manual_seed(0)
    config = LlamaConfig(
        hidden_size=576, num_hidden_layers=6, num_attention_heads=9, num_key_value_heads=3, intermediate_size=1536
    )
    model = LlamaForCausalLM(config).eval()
    rng = np.random.default_rng(0)
    prompts = [rng.integers(0, 30_000, length).tolist() for length in rng.integers(30, 150, 16)]

    def bare() -> None:
        for rows in batches(prompts):
            run_batch(model, [prompts[i] for i in rows])

    def timed(work: Callable[[], object]) -> float:
        start = time.process_time()  # of this process alone: other work on the machine does not count
        work()
        return time.process_time() - start

    timed(bare)
    pairs = [(timed(lambda: capture(model, prompts)), timed(bare)) for _ in range(rounds)]
    return median(with_hooks / alone for with_hooks, alone in pairs), median(alone for _, alone in pairs)


@dataclass
class Noise:
    """Random states: what is timed does not depend on what they hold."""

    points: int
    items: int
    width: int

    def layer(self, point: int) -> Mapping[str, np.ndarray]:
        """States of one layer, drawn anew."""
        rng = np.random.default_rng(point)
        plain, context = rng.standard_normal((2, self.items, self.width), dtype=np.float32)
        kinds = {"plain": plain, "paraphrase": plain}
        return kinds | dict.fromkeys(("context", "neutral", "mismatched", "paraphrase_context"), context)


def made_items(count: int) -> Items:
    """Items of the released set's make-up: four categories, two languages, about three a company."""
    rng = np.random.default_rng(0)
    kinds = rng.choice(
        ["entity_scope", "metric_definition", "recognition_policy", "temporal_scope"], count, p=[0.54, 0.36, 0.06, 0.04]
    )
    reading = Interpretation(entity="x")
    return Items.of(
        [
            Instance(
                f"i{n}",
                "Q?",
                "C",
                "1",
                "2",
                reading,
                reading,
                (str(kind),),
                1.0,
                "en" if n % 3 else "zh",
                ticker=f"c{n % 121}",
            )
            for n, kind in enumerate(kinds)
        ]
    )


@click.command()
@click.option("--layers", default=49)
@click.option("--items", default=346)
@click.option("--width", default=2048)
@click.option("--rounds", default=5)
def main(layers: int, items: int, width: int, rounds: int) -> None:
    torch.set_num_threads(choose_threads())
    ratio, bare = capture_ratio(rounds)
    print(f"capture: {ratio:.3f} × the bare forward pass ({bare:.2f} s of CPU)")
    seconds = {}
    for kind, thorough in (("with transfers and size-matched samples", True), ("all permutations included", False)):
        start, cpu = time.perf_counter(), time.process_time()
        found = analyse(made_items(items), Noise(layers, items, width), thorough=thorough)
        assert found.contrasts["ambiguity"].separation.shape == (layers,)
        seconds[thorough] = time.perf_counter() - start, time.process_time() - cpu
        took, used = seconds[thorough]
        print(f"fits, {kind}: {took:.1f} s ({used:.1f} s of CPU) for {layers} × {items} × {width}", flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        json.dumps(
            {
                "capture_ratio": round(ratio, 3),
                "fit_seconds": round(seconds[False][0], 2),
                "fit_cpu_seconds": round(seconds[False][1], 2),
                "fit_with_controls_seconds": round(seconds[True][0], 2),
                "fit_with_controls_cpu_seconds": round(seconds[True][1], 2),
                "peak_gib": round(peak, 2),
                "threads": choose_threads(),
            }
        )
    )


if __name__ == "__main__":
    main()
