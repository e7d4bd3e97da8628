from __future__ import annotations

from dataclasses import replace

import pytest

from fiqkit.construct.rules import broken_rules
from fiqkit.records import Instance, Interpretation

INTENDED = "Net income attributable to the company: $2,300 million"
DEFAULT = "Net income including noncontrolling interests: $2,455 million"
PASSAGE = f"Acme, Form 10-K. {INTENDED}\n{DEFAULT}"

GOOD = Instance(
    instance_id="i1",
    question="What was Acme's net income?",
    context="Only what belongs to its own shareholders.",
    answer="$2,300 million",
    default_answer="$2,455 million",
    intended_interpretation=Interpretation(entity="shareholders"),
    default_interpretation=Interpretation(entity="whole group"),
    categories=("entity_scope",),
    h0=1.0,
    language="en",
    passage_id="p1",
    intended_evidence_span=INTENDED,
    default_evidence_span=DEFAULT,
    company="Acme",
)


def test_a_good_instance_breaks_nothing() -> None:
    assert broken_rules(GOOD, PASSAGE) == []


def test_a_good_chinese_instance_breaks_nothing() -> None:
    first, second = "归属于母公司股东的净利润：23.00亿元", "净利润（含少数股东损益）：24.55亿元"
    instance = replace(
        GOOD,
        question="云南白药的净利润是多少？",
        context="只算归属于母公司股东的部分。",
        answer="23.00亿元",
        default_answer="24.55亿元",
        language="zh",
        company="云南白药",
        intended_evidence_span=first,
        default_evidence_span=second,
    )
    assert broken_rules(instance, f"{first}\n{second}") == []


@pytest.mark.parametrize(
    ("rule", "change"),
    [
        ("R1", {"question": "Is Acme's net income above its peers'?"}),
        ("R1", {"question": "Acme的净利润是24亿元吗？"}),
        ("R2", {"question": "What was Acme's consolidated net income?"}),
        ("R2", {"question": "What was Acme's net income in 2023?"}),
        ("R2", {"question": "Acme归母净利润是多少？"}),
        ("R3", {"answer": "$2,3 billion"}),
        ("R3", {"intended_evidence_span": "Net income was $2,300 million, a span that the passage lacks"}),
        ("R4", {"question": "What was the net income?"}),
        ("R4", {"company": None}),
        ("R5", {"question": "What was Acme's shoe size?"}),
        ("R6", {"question": "What was Acme's net income growth rate?"}),
        ("R6", {"answer": "strong"}),
        ("R7", {"context": "The one near 2.3 billion dollars."}),
        ("R7", {"context": "Not the 2,455 one (in millions)."}),
        ("R8", {"default_interpretation": Interpretation(entity="shareholders")}),
        ("R9", {"categories": ("entity",)}),
        ("R10", {"answer": "$0", "intended_evidence_span": "Net income: $0"}),
        ("R11", {"default_answer": "$2,300 million"}),
        ("R11", {"default_answer": "$2,999 million"}),
        ("R12", {"default_evidence_span": "  "}),
        ("R13", {"default_evidence_span": INTENDED.replace("company", "Company")}),
        ("R14", {"default_answer": "$2,330 million", "default_evidence_span": "$2,330 million"}),
    ],
)
def test_each_rule_catches_its_fault(rule: str, change: dict[str, object]) -> None:
    assert rule in broken_rules(replace(GOOD, **change), PASSAGE)  # type: ignore[arg-type]


@pytest.mark.parametrize(("default", "broken"), [("11.4%", True), ("11.6%", False), ("8.6%", True), ("8.4%", False)])
def test_rates_must_be_more_than_a_point_and_a_half_apart(default: str, broken: bool) -> None:
    rates = replace(GOOD, question="What was Acme's income growth rate?", answer="10.0%", default_answer=default)
    assert ("R14" in broken_rules(rates, PASSAGE)) is broken


def test_the_companys_own_name_is_no_disambiguating_term() -> None:
    named = replace(GOOD, company="First Quarter Group", question="What was First Quarter Group's net income?")
    assert broken_rules(named, PASSAGE) == []
