"""The episode reward and the reward by bits, on the same questions; and, with --adapter, after training on each.

    python benchmarks/bits_reward.py
    python benchmarks/bits_reward.py --adapter ladder/sft --steps 5 --items 32

Askers that learned nothing and one that settles the readings ask every sibling of the bundled orbits and answer
rightly, so that the rewards differ by the question alone: what each pays a question is the mean over siblings. With an
adapter, GRPO goes on from it with either reward, three seeds each, and the episodes of validation companies are scored
by both. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import defaultdict
from collections.abc import Callable, Sequence
from math import fsum
from pathlib import Path
from typing import Any

from fiqkit import bench_data
from fiqkit.agent.questions import settling_question
from fiqkit.datasets import read_instances, read_passages
from fiqkit.metrics.reward import terms
from fiqkit.records import Instance, Passage
from fiqkit.roles.judge.rules import classify_question
from fiqkit.taxonomy import CATEGORIES
from fiqkit.train import splits
from fiqkit.train.reward import bits, bits_terms

Asker = Callable[[Instance], list[str]]

ASKERS: dict[str, Asker] = {
    "nothing": lambda instance: [],
    **{f"constant {name}": lambda i, name=name: [CATEGORIES[name].template[i.language]] for name in CATEGORIES},
    "primary category": lambda i: [CATEGORIES[i.primary].template[i.language]],
    "settling": lambda i: [settling_question(i)],
    "settling twice": lambda i: [settling_question(i)] * 2,
}


def orbits_of(instances: Sequence[Instance]) -> list[list[Instance]]:
    """The siblings of each orbit that has several."""
    found: dict[str, list[Instance]] = defaultdict(list)
    for instance in instances:
        if instance.orbit:
            found[instance.orbit].append(instance)
    return [siblings for siblings in found.values() if len(siblings) > 1]


def paid(asker: Asker, orbits: Sequence[Sequence[Instance]]) -> dict[str, float]:
    """Mean rewards of right answers after an asker's questions, and the share of the bits that these resolve."""
    by_episode, by_bits, share = [], [], []
    for siblings in orbits:
        for instance in siblings:
            asked = asker(instance)
            first = set(classify_question(asked[0]).touched or ()) if asked else set()
            by_episode.append(terms(True, len(asked), bool(first & set(instance.categories))).total)
            found = bits_terms(True, bits(asked, instance, siblings), len(siblings))
            by_bits.append(found.total)
            share.append(found.on_category / 0.7)
    n = len(share)
    return {"episode": fsum(by_episode) / n, "bits": fsum(by_bits) / n, "resolved": fsum(share) / n}


def trained(adapter: Path, steps: int, items: int, passages: Sequence[Passage]) -> dict[str, list[dict[str, Any]]]:
    """Validation rows after GRPO from an adapter on either reward, seed by seed."""
    from fiqkit.models.checks.adapters import read_record
    from fiqkit.train.evaluate import score
    from fiqkit.train.recipe import recorded
    from fiqkit.train.stages import Stages

    parts = splits.read(bench_data.HERE / "splits.json", read_instances(bench_data.INSTANCES))
    english = {name: [i for i in part if i.language == "en"] for name, part in parts.items()}
    chosen = {"train": splits.draw(english["train"], 4 * items), "validation": [], "test": []}
    held_out = splits.draw(english["validation"], items)
    found: dict[str, list[dict[str, Any]]] = {"episode": [], "bits": []}
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(3):
            for reward in found:
                changes = (f"grpo.reward={reward}", f"grpo.steps={steps}", f"seed={seed}")
                made = recorded(read_record(adapter)["recipe"], changes)
                out = Path(folder) / f"{reward}{seed}"
                Stages(made, chosen, passages, out, print).train("grpo", out / "grpo", adapter)
                row = score("grpo", out / "grpo", made, held_out, passages, out / "evaluation")
                found[reward].append({"seed": seed, **row})
                print(f"{reward}, seed {seed}: reward {row['reward']:.3f}, accuracy {row['accuracy']:.3f}")
    return found


def main() -> None:
    """Compare the rewards, and what is learned from them where an adapter is given."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--adapter", type=Path)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--items", type=int, default=32)
    asked = parser.parse_args()
    orbits = orbits_of(read_instances(bench_data.INSTANCES))
    told: dict[str, Any] = {"askers": {name: paid(asker, orbits) for name, asker in ASKERS.items()}}
    for name, row in told["askers"].items():
        print(f"{name:28} episode {row['episode']:.3f}  bits {row['bits']:.3f}  resolved {row['resolved']:.3f}")
    if asked.adapter:
        told["trained"] = trained(asked.adapter, asked.steps, asked.items, read_passages(bench_data.PASSAGES))
    print(json.dumps(told))


if __name__ == "__main__":
    main()
