from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fiqkit.datasets import read_instances, read_passages
from fiqkit.errors import UserError
from fiqkit.index import missing_passages
from fiqkit.records import Instance, Interpretation, Passage

INSTANCE = Instance(
    instance_id="i1",
    question="What was Acme's net income?",
    context="The secret constraint.",
    answer="$2 million",
    default_answer="$3 million",
    intended_interpretation=Interpretation(entity="the parent", period="Year ended December 31, 2023"),
    default_interpretation=Interpretation(entity="the whole group", period="fiscal 2023"),
    categories=("entity_scope",),
    h0=1.0,
    language="en",
    passage_id="p1",
    intended_evidence_span="The parent earned $2 million.",
    default_evidence_span="The group earned $3 million.",
    company="Acme",
    ticker="ACM",
    filing_type="10-K",
    filing_date="2024-02-01",
)


def test_a_passage_is_both_spans_and_no_more_than_what_is_public() -> None:
    (built,) = missing_passages([INSTANCE], [])
    assert sorted(built.text.split("\n")) == ["The group earned $3 million.", "The parent earned $2 million."]
    assert (built.company, built.ticker, built.form, built.filed) == ("Acme", "ACM", "10-K", "2024-02-01")
    assert built.period == "2023"  # the year on which both readings agree, not a reading's own words
    for field in (INSTANCE.context, "the whole group", "entity_scope"):
        assert field not in built.text


def test_readings_of_two_years_leave_the_period_open() -> None:
    other = replace(INSTANCE, default_interpretation=Interpretation(period="fiscal 2022"))
    assert missing_passages([other], [])[0].period is None
    assert missing_passages([replace(INSTANCE, default_interpretation=Interpretation())], [])[0].period is None


def test_order_depends_on_seed_and_id_alone() -> None:
    many = [replace(INSTANCE, instance_id=f"i{n}", passage_id=f"p{n}") for n in range(60)]
    texts = [passage.text for passage in missing_passages(many, [], seed=3)]
    assert texts == [passage.text for passage in missing_passages(reversed(many), [], seed=3)][::-1]
    intended_first = sum(text.startswith("The parent") for text in texts)
    assert 15 <= intended_first <= 45
    assert texts != [passage.text for passage in missing_passages(many, [], seed=4)]


def test_instances_that_share_an_id_share_the_passage() -> None:
    second = replace(INSTANCE, instance_id="i2", intended_evidence_span="Cash was $9 million.")
    (built,) = missing_passages([INSTANCE, second], [])
    assert len(built.text.split("\n")) == 3


def test_a_passage_at_hand_is_not_built_again() -> None:
    assert missing_passages([INSTANCE], [Passage("p1", "text")]) == []


def test_an_instance_without_evidence_is_named() -> None:
    with pytest.raises(UserError, match=r"instance 'i1'.*lacks an evidence span"):
        missing_passages([replace(INSTANCE, default_evidence_span=" ")], [])


@pytest.mark.conformance
def test_released_set_lacks_43_passages_of_46_instances(shared_data: Path) -> None:
    folder = shared_data / "fininteract"
    instances = read_instances(folder / "fininteract_v1.jsonl")
    passages = [p for path in sorted(folder.glob("*_passages.jsonl")) for p in read_passages(path)]
    built = missing_passages(instances, passages)
    ids = {passage.passage_id for passage in built}
    assert len(built) == 43
    assert sum(instance.passage_id in ids for instance in instances) == 46
