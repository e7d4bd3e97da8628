"""Tokens a second of the kit's SFT beside TRL's bare trainer on the same rows, in turns.

    python benchmarks/sft_throughput.py --recipe smollm2-cpu --rows 16 --passes 3

Both train the recipe's model from a fresh adapter on rows of random tokens, a third of them the model's, with as many
in common as a system prompt has unless --shared is 0. The last line is JSON: the median rate of each, and their ratio.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

from fiqkit.train import sft, watch
from fiqkit.train.model import load
from fiqkit.train.recipe import Recipe, recipe
from fiqkit.train.rows import Row


def rows_of(number: int, length: int, shared: int, seed: int = 0) -> list[Row]:
    """Rows of one length that begin alike for `shared` tokens; the last third is the model's."""
    random = Random(seed)
    begin = [random.randrange(100, 10_000) for _ in range(shared)]
    rows = []
    for _ in range(number):
        ids = begin + [random.randrange(100, 10_000) for _ in range(length - shared)]
        own = length // 3
        rows.append(Row(tuple(ids), (0,) * (length - own) + (1,) * own))
    return rows


def kit(made: Recipe, rows: Sequence[Row], out: Path) -> float:
    """Seconds of the kit's stage, loading left out."""
    trainee = load(made)
    started = time.perf_counter()
    sft.train(trainee, made, rows, [], out, lambda line: None)
    return time.perf_counter() - started


def bare(made: Recipe, rows: Sequence[Row], out: Path) -> float:
    """Seconds of TRL's trainer with the same arguments, and the adapter saved."""
    from datasets import Dataset
    from trl import SFTConfig, SFTTrainer

    trainee, settings = load(made), made.sft
    started = time.perf_counter()
    columns: dict[str, Any] = {"input_ids": [list(r.ids) for r in rows], "labels": [r.labels for r in rows]}
    trainer = SFTTrainer(
        model=trainee.model,
        args=SFTConfig(
            **watch.arguments(out),
            num_train_epochs=settings.epochs,
            per_device_train_batch_size=settings.batch,
            gradient_accumulation_steps=settings.accumulate,
            learning_rate=settings.learning_rate,
            max_length=made.max_length,
            packing=settings.packing,
            seed=made.seed,
        ),
        train_dataset=Dataset.from_dict(columns),
        processing_class=trainee.tokenizer,
    )
    trainer.train()
    trainer.model.save_pretrained(str(out))
    return time.perf_counter() - started


def main() -> None:
    """Take turns, so that neither has the idler machine."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--recipe", default="smollm2-cpu")
    parser.add_argument("--set", dest="changes", action="append", default=[])
    parser.add_argument("--rows", type=int, default=16)
    parser.add_argument("--length", type=int, default=640)
    parser.add_argument("--shared", type=int, default=300)
    parser.add_argument("--passes", type=int, default=3)
    asked = parser.parse_args()
    made = recipe(asked.recipe, ["sft.epochs=1", *asked.changes])
    rows = rows_of(asked.rows, asked.length, asked.shared)
    tokens = asked.rows * asked.length * made.sft.epochs
    rates: dict[str, list[float]] = {"kit": [], "trl": []}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(asked.passes):
            for name, run in (("kit", kit), ("trl", bare)):
                rates[name].append(tokens / run(made, rows, Path(folder) / f"{name}{turn}"))
                print(f"pass {turn + 1}: {name} {rates[name][-1]:.1f} tokens/s")
    found = {name: median(values) for name, values in rates.items()}
    print(json.dumps({**found, "ratio": found["kit"] / found["trl"], "rows": asked.rows, "length": asked.length}))


if __name__ == "__main__":
    main()
