"""The template teacher's words settle what they ask, and what it is shown is the same for siblings."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path

import pytest

from fiqkit.datasets import read_instances
from fiqkit.records import Instance, Passage
from fiqkit.train.demos import demonstrate, shortened, world_for, yields
from fiqkit.train.recipe import recipe
from fiqkit.train.splits import draw
from fiqkit.train.teachers import TemplateTeacher, told_apart

BUNDLED = Path(__file__).parents[2] / "fiqkit" / "bench_data" / "instances.jsonl"


@pytest.fixture(scope="module")
def some() -> list[Instance]:
    return draw(read_instances(BUNDLED), 80)


def test_a_draw_keeps_orbits_whole_and_categories_even(some: list[Instance]) -> None:
    everything = Counter(i.orbit for i in read_instances(BUNDLED))
    assert 70 < len(some) <= 80
    assert all(everything[orbit] == n for orbit, n in Counter(i.orbit for i in some).items())
    shares = Counter(i.primary for i in some)
    assert max(shares.values()) - min(shares.values()) <= 8
    assert draw(some, 80) == draw(list(some), 80)
    orbits = {i.orbit for i in some}
    spread = draw(some, len(orbits), spread=True)
    assert len({i.orbit for i in spread}) > 0.8 * len(orbits) > len({i.orbit for i in draw(some, len(orbits))})
    assert sorted(i.instance_id for i in draw(some, 80, spread=True)) == sorted(i.instance_id for i in some)


def test_each_question_is_on_category_and_each_reply_leads_to_the_answer(
    some: list[Instance], passages: list[Passage]
) -> None:
    rollout = recipe("smollm2-cpu").rollout
    made = asyncio.run(demonstrate(TemplateTeacher(some), some, world_for(some, passages, rollout), rollout))
    found = yields(made)
    assert found["right"] == found["asked"] == found["on_category"] == 1.0
    by_orbit: dict[str | None, set[str]] = {}
    siblings = Counter(i.orbit for i in some)
    orbit = {i.instance_id: i.orbit for i in some if siblings[i.orbit] == 2}
    for demo in made:
        asked = json.loads(demo.messages[4]["content"])["question"]
        if demo.instance_id in orbit:
            by_orbit.setdefault(orbit[demo.instance_id], set()).add(asked)
    assert all(len(asked) == 1 for asked in by_orbit.values())  # siblings are asked alike, whichever is meant
    assert len({question for asked in by_orbit.values() for question in asked}) < len(by_orbit)  # kinds, too


def test_labels_are_told_apart_by_what_they_do_not_share() -> None:
    assert told_apart("Income tax (quarter)", "Income tax (six months to date)") == ["quarter", "six months to date"]
    assert told_apart("Net income", "Net income, parent") == ["income", "income, parent"]
    assert told_apart("PP&E, as revised in Form 10-K, May 2, 2010", "PP&E, as first reported in Form 10-Q, May 1") == [
        "revised",
        "first reported",
    ]
    assert told_apart("", "") == ["", ""]


def test_a_shortened_passage_keeps_its_heading_and_the_readings_lines() -> None:
    text = "Acme, 10-K, 2024.\nLine | Amount\nRevenue | $9\nTax | $2\nCash | $4\nTax, paid | $1"
    spans = ["Tax, paid | $1", "Tax | $2"]
    assert shortened(text, spans, 3) == "Acme, 10-K, 2024.\nLine | Amount\nRevenue | $9\nTax | $2\nTax, paid | $1"
    assert shortened(text, spans, 1) == "Acme, 10-K, 2024.\nLine | Amount\nTax | $2\nTax, paid | $1"
    assert shortened(text, spans, 0) == shortened(text, spans, 4) == text
    assert shortened("Prose of 2024, with 5 | in it.", spans, 1) == "Prose of 2024, with 5 | in it."
