"""Every gold, in every notation and sentence, is graded as that gold; golds that change places change the verdict."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from renderings import FRAMES, Amount, renderings

from fiqkit.datasets import read_instances
from fiqkit.records import Interpretation, Outcome
from fiqkit.roles.grader.rules import grade_answer
from fiqkit.roles.interfaces import Gold

SWAPPED = {Outcome.INTENDED: Outcome.DEFAULT, Outcome.DEFAULT: Outcome.INTENDED}
READING = Interpretation(period="Year ended December 31, 2023")
# question, intended, default
ITEMS = {
    "en usd": ("What was Acme Corp's operating income?", Amount("usd", 46_750e6), Amount("usd", 62_870e6)),
    "en percent": ("What was Acme Corp's revenue growth rate?", Amount("percent", 13.9), Amount("percent", 8.7)),
    "en per_share": ("What was Acme Corp's earnings per share?", Amount("per_share", 0.99), Amount("per_share", 3.86)),
    "zh cny": ("甲公司的净利润是多少？", Amount("cny", 12_187e6), Amount("cny", 14_029e6)),
    "zh percent": ("甲公司的营业收入增长率是多少？", Amount("percent", 25.3), Amount("percent", 12.0)),
}


def graded(question: str, intended: Gold, default: Gold, answer: str) -> Outcome:
    return grade_answer(question, intended, default, answer, "en").outcome


@pytest.mark.parametrize("item", ITEMS)
def test_every_rendering_alone_is_its_gold(item: str) -> None:
    question, *amounts = ITEMS[item]
    golds = [Gold(amount.gold, READING) for amount in amounts]
    for amount, outcome in zip(amounts, SWAPPED, strict=True):
        missed = [w for w in renderings(amount) if graded(question, golds[0], golds[1], w) != outcome]
        assert not missed


def sentences(item: str) -> Iterator[tuple[str, Amount]]:
    """Every notation of both golds in every sentence of the item's language."""
    for amount in ITEMS[item][1:]:
        for written in renderings(amount):
            for frame in FRAMES[item[:2]]:
                if not (frame.startswith("{{") and '"' in written):
                    yield frame.format(v=written), amount


def check_sentences(item: str, share: float) -> None:
    chance = random.Random(3)
    question, intended, default = ITEMS[item]
    golds = Gold(intended.gold, READING), Gold(default.gold, READING)
    missed = []
    for answer, amount in sentences(item):
        if chance.random() > share:
            continue
        outcome = graded(question, *golds, answer)
        swapped = graded(question, *golds[::-1], answer)
        if outcome != ("intended" if amount is intended else "default") or swapped != SWAPPED.get(outcome, outcome):
            missed.append((answer, outcome, swapped))
    assert not missed, f"{len(missed)}, the first: {missed[:5]}"


@pytest.mark.parametrize("item", ITEMS)
def test_every_rendering_in_sentences_is_its_gold(item: str) -> None:
    check_sentences(item, 0.1)


@pytest.mark.slow
@pytest.mark.parametrize("item", ITEMS)
def test_every_rendering_in_every_sentence_is_its_gold(item: str) -> None:
    check_sentences(item, 1.0)


@pytest.mark.conformance
def test_every_released_gold_is_graded_as_itself(shared_data: Path) -> None:
    """In sentences of its language that state no period, eight drawn for each gold."""
    chance = random.Random(5)
    for instance in read_instances(shared_data / "fininteract" / "fininteract_v1.jsonl"):
        golds = (
            Gold(instance.answer, instance.intended_interpretation),
            Gold(instance.default_answer, instance.default_interpretation),
        )
        for gold, outcome in zip(golds, SWAPPED, strict=True):
            undated = [frame for frame in FRAMES[instance.language] if "year" not in frame and "全年" not in frame]
            for frame in chance.sample(undated, 8):
                if gold.answer.isdecimal() and frame.startswith("{v}."):
                    continue  # "1. Would you like …" is a list
                answer = frame.format(v=gold.answer)
                assert graded(instance.question, *golds, answer) == outcome, (instance.instance_id, answer)
