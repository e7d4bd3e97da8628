"""A planted giveaway must be found, and a set without one must not be accused."""

from __future__ import annotations

import random
from dataclasses import replace

from fiqkit.construct.shortcuts import shortcuts
from fiqkit.records import Instance, Interpretation, Passage

CATEGORIES = ("entity_scope", "temporal_scope", "metric_definition")


def planted(
    n: int, larger: float, first: float, betray: bool, word: str = "plain"
) -> tuple[list[Instance], list[Passage]]:
    """`n` instances in which the intended value is the larger and the first as often as is asked."""
    rng = random.Random(n)
    instances, passages = [], []
    for i in range(n):
        ours, default = (300 + i, 100 + i) if rng.random() < larger else (100 + i, 300 + i)
        lines = [f"{word} alpha: ${ours} million", f"plain alpha: ${default} million"]
        shown = lines if rng.random() < first else lines[::-1]
        category = CATEGORIES[i % 3]
        hint = f" by its {category.split('_')[0]}" if betray else ""
        passages.append(Passage(f"p{i}", "\n".join(shown)))
        instances.append(
            Instance(
                instance_id=f"i{i:03}",
                question=f"What was Acme{i}'s income{hint}?",
                context="c",
                answer=f"${ours} million",
                default_answer=f"${default} million",
                intended_interpretation=Interpretation(entity="a"),
                default_interpretation=Interpretation(entity="b"),
                categories=(category,),
                h0=1.0,
                language="en",
                passage_id=f"p{i}",
                intended_evidence_span=lines[0],
                default_evidence_span=lines[1],
                company=f"Acme{i}",
            )
        )
    return instances, passages


def shares(instances: list[Instance], passages: list[Passage]) -> dict[str, float]:
    return {shortcut.name: shortcut.share for shortcut in shortcuts(instances, passages)}


def test_a_set_without_a_giveaway_stays_near_chance() -> None:
    found = shortcuts(*planted(150, larger=0.5, first=0.5, betray=False))
    for shortcut in found:
        assert shortcut.share <= shortcut.chance + 0.12, shortcut


def test_size_position_and_wording_are_found() -> None:
    found = shares(*planted(60, larger=1.0, first=0.0, betray=True, word="adjusted"))
    assert found["the larger value"] == 1.0
    assert found["the value that stands first"] == 0.0
    assert found["words of the question"] == 1.0
    assert found["words of the two lines"] == 1.0
    assert found["the longer line"] == 1.0


def test_a_giveaway_within_each_category_is_found_though_the_whole_is_balanced() -> None:
    instances, passages = planted(60, larger=0.5, first=0.5, betray=False)
    turned = []
    for instance in instances:
        ours, default = sorted((instance.answer, instance.default_answer))
        larger = instance.primary == "entity_scope"
        turned.append(replace(instance, answer=default if larger else ours, default_answer=ours if larger else default))
    name = "the larger or the smaller value, whichever is usual in the category"
    assert shares(turned, passages)[name] == 1.0


def test_languages_are_told_apart() -> None:
    instances, passages = planted(30, larger=0.5, first=0.5, betray=False)
    mixed = [replace(instance, language="zh") if n % 2 else instance for n, instance in enumerate(instances)]
    assert {shortcut.n for shortcut in shortcuts(mixed, passages)} == {15}
