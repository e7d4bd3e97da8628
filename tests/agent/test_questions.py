"""The template-oracle's question settles the two readings that an instance has, not only its category."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from fiqkit import values
from fiqkit.agent.questions import settling_question
from fiqkit.bench_data import INSTANCES
from fiqkit.datasets import read_instances
from fiqkit.records import Instance
from fiqkit.roles.interfaces import UserView
from fiqkit.roles.simulator.rules import reply_to
from fiqkit.taxonomy import CATEGORIES


def replies(instance: Instance, question: str) -> tuple[str, str]:
    """What two users say who mean the intended and the default reading, and know nothing of C."""
    means_it = replace(UserView.of(instance), context="")
    means_other = replace(means_it, intended=means_it.default, default=means_it.intended)
    return reply_to(question, means_it), reply_to(question, means_other)


def settled(instances: Sequence[Instance], *, fixed: bool) -> float:
    """Share of the instances whose question is answered yes by the one and no by the other."""
    asked = [CATEGORIES[i.primary].template[i.language] if fixed else settling_question(i) for i in instances]
    return sum(set(replies(*pair)) == {"yes", "no"} for pair in zip(instances, asked, strict=True)) / len(asked)


def test_every_bundled_pair_is_settled_though_the_fixed_questions_leave_some_open() -> None:
    bundled = read_instances(INSTANCES)
    assert settled(bundled, fixed=False) >= 0.98
    assert settled(bundled, fixed=True) < 0.9


@pytest.mark.conformance
def test_nearly_every_released_pair_is_settled(shared_data: Path) -> None:
    released = read_instances(shared_data / "fininteract" / "fininteract_v1.jsonl")
    assert settled(released, fixed=False) >= 0.94
    assert settled(released, fixed=True) < 0.8


def test_a_question_names_no_value_and_its_first_side_tells_nothing() -> None:
    bundled = read_instances(INSTANCES)
    asked = {i.instance_id: settling_question(i) for i in bundled}
    for i in bundled:
        assert not any(values.mentions(asked[i.instance_id], gold) for gold in (i.answer, i.default_answer))
    first = [
        replies(i, asked[i.instance_id])[0] for i in bundled if i.primary in ("metric_definition", "temporal_scope")
    ]
    assert 0.2 < first.count("yes") / len(first) < 0.8
