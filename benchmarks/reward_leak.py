"""What the reward of a policy that never asks says about the intended answer, by what its search returns.

    python benchmarks/reward_leak.py

A reader plays every sibling of every orbit: it searches, and answers with a reading's value that stands in what it
found (drawn with a seed where several do). Over the siblings of an orbit each reading is intended once, which is a key
scrambled as well as can be: if what the policy sees carries no information about the key, it answers all siblings
alike, is right in one of k, and the mutual information between intended and answered reading is 0. The last line is
JSON: for each retrieval, siblings, their share answered right and expected by chance, reward, and bits.
"""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import fsum, log2
from random import Random
from typing import Any

from fiqkit import bench_data
from fiqkit.agent.dialogue import Dialogue
from fiqkit.datasets import read_instances, read_passages
from fiqkit.metrics.reward import terms
from fiqkit.models.engine import Completion
from fiqkit.records import Instance, Passage
from fiqkit.roles.assess import Assessor
from fiqkit.roles.grader.rules import RulesGrader
from fiqkit.roles.judge.rules import RulesJudge
from fiqkit.train.demos import Demo, demonstrate, world_for
from fiqkit.train.recipe import Rollout

RETRIEVALS = ("own", "own+spans", "intended-span")


class Reader:
    """An agent that searches once and answers with a reading whose evidence it found. Never asks."""

    name = "reader"

    def __init__(self, orbits: Mapping[str, Sequence[Instance]], members: Mapping[str, str]) -> None:
        self._orbits, self._members = orbits, members

    def begin(self, instance_id: str, mode: str, sample: int = 0) -> _Reading:
        """Draws depend on the orbit alone: siblings look alike to it until its search returns."""
        orbit = self._members[instance_id]
        return _Reading(self._orbits[orbit], Random(orbit))

    def describe(self) -> Mapping[str, Any]:
        """Its name."""
        return {"name": self.name}


class _Reading:
    def __init__(self, siblings: Sequence[Instance], random: Random) -> None:
        self._siblings, self._random = siblings, random

    async def act(self, dialogue: Dialogue) -> Completion:
        """Search, then answer."""
        if len(dialogue.messages) < 3:
            return Completion(json.dumps({"action": "search", "query": self._siblings[0].question[:160]}))
        seen = dialogue.messages[-1]["content"]
        found = [s for s in self._siblings if s.intended_evidence_span and s.intended_evidence_span in seen]
        chosen = self._random.choice(sorted({s.answer for s in found or self._siblings}))
        return Completion(json.dumps({"action": "answer", "response": chosen, "confidence": 50}, ensure_ascii=False))


def measure(instances: Sequence[Instance], passages: Sequence[Passage], retrieval: str) -> dict[str, Any]:
    """The figures of one retrieval over whole orbits."""
    orbits: dict[str, list[Instance]] = defaultdict(list)
    for instance in instances:
        if instance.orbit:
            orbits[instance.orbit].append(instance)
    played = [instance for siblings in orbits.values() if len(siblings) > 1 for instance in siblings]
    members = {instance.instance_id: str(instance.orbit) for instance in played}
    rollout = Rollout(retrieval=retrieval, samples=1, turns=3)
    world = world_for(played, passages, rollout)
    assessor = Assessor(RulesGrader(), RulesJudge())
    made = asyncio.run(demonstrate(Reader(orbits, members), played, world, rollout, assessor))
    by_orbit: dict[str, list[Demo]] = defaultdict(list)
    for demo in made:
        by_orbit[members[demo.instance_id]].append(demo)
    rewards = [terms(demo.right, 0, False).total for demo in made]
    return {
        "siblings": len(made),
        "right": sum(demo.right for demo in made) / len(made),
        "by_chance": sum(1 / len(by_orbit[members[demo.instance_id]]) for demo in made) / len(made),
        "reward": fsum(rewards) / len(rewards),
        "bits": fsum(map(_bits, by_orbit.values())) / len(by_orbit),
    }


def _bits(siblings: Sequence[Demo]) -> float:
    """Mutual information between the intended reading, each once, and the answered one: the answers' entropy, since an
    answer follows from the sibling."""
    answers = [demo.messages[-1]["content"] for demo in siblings]
    shares = [answers.count(answer) / len(answers) for answer in set(answers)]
    return -fsum(share * log2(share) for share in shares)


def main() -> None:
    """Measure on the bundled set."""
    instances, passages = read_instances(bench_data.INSTANCES), read_passages(bench_data.PASSAGES)
    found = {retrieval: measure(instances, passages, retrieval) for retrieval in RETRIEVALS}
    for name, row in found.items():
        print(
            f"{name:14} {row['right']:.3f} right of {row['siblings']} siblings ({row['by_chance']:.3f} by chance), "
            f"reward {row['reward']:.3f}, {row['bits']:.3f} bits"
        )
    print(json.dumps(found))


if __name__ == "__main__":
    main()
