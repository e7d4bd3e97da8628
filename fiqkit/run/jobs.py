"""Which episodes a run has to play."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fiqkit.agent.modes import Mode
from fiqkit.agent.policy import Agent
from fiqkit.datasets import record_hash
from fiqkit.records import Instance
from fiqkit.store.store import Key


@dataclass(frozen=True, slots=True)
class Job:
    """One episode to play; `item` is the hash of the instance's record."""

    agent: Agent
    mode: Mode
    instance: Instance
    item: str
    sample: int = 0


def jobs_left(
    agents: Sequence[Agent], modes: Sequence[Mode], instances: Sequence[Instance], done: set[Key], samples: int = 1
) -> list[list[Job]]:
    """Each agent's jobs whose keys are not in `done`, one instance's modes and samples side by side."""
    items = [(instance, record_hash(instance)) for instance in instances]
    return [
        [
            Job(agent, mode, instance, item, sample)
            for instance, item in items
            for mode in modes
            for sample in range(samples)
            if (agent.name, mode.name, instance.instance_id, item, sample) not in done
        ]
        for agent in agents
    ]
