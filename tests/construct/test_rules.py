from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fiqkit.construct.audit import read_cases
from fiqkit.construct.rules import PAPER, STRICTER, Case, broken, company_forms
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


def offended(instance: Instance, passage: str = PASSAGE) -> set[str]:
    """Rules that an instance breaks, as the paper has them or stricter."""
    case = Case(instance, passage)
    return {*broken(case, PAPER), *broken(case, STRICTER)}


def test_a_good_instance_breaks_nothing() -> None:
    assert offended(GOOD) == set()


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
    assert offended(instance, f"{first}\n{second}") == set()


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
        ("R4", {"question": "what was the net income?", "company": "Acme"}),
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
    assert rule in offended(replace(GOOD, **change))  # type: ignore[arg-type]


@pytest.mark.parametrize(("default", "near"), [("11.4%", True), ("11.6%", False), ("8.6%", True), ("8.4%", False)])
def test_rates_must_be_more_than_a_point_and_a_half_apart(default: str, near: bool) -> None:
    rates = replace(GOOD, question="What was Acme's income growth rate?", answer="10.0%", default_answer=default)
    assert ("R14" in offended(rates)) is near


def test_the_companys_own_name_is_no_disambiguating_term() -> None:
    named = replace(GOOD, company="First Quarter Group", question="What was First Quarter Group's net income?")
    assert offended(named) == set()


def test_each_offence_names_the_offending_text() -> None:
    told = broken(Case(replace(GOOD, question="What was Acme's consolidated net income?"), PASSAGE), PAPER)
    assert list(told) == ["R2"]
    assert "consolidated" in told["R2"]


@pytest.mark.parametrize(
    ("company", "form"),
    [
        ("Meta Platforms, Inc.", "Meta Platforms"),
        ("GENERAL ELECTRIC CO", "GENERAL ELECTRIC"),
        ("CHARTER COMMUNICATIONS, INC. /MO/", "CHARTER COMMUNICATIONS"),
        ("贵州茅台酒股份有限公司", "贵州茅台酒"),
    ],
)
def test_a_company_goes_by_its_name_without_the_legal_form(company: str, form: str) -> None:
    assert form in company_forms(company)


def test_the_paper_holds_the_tolerance_relative_to_the_answer() -> None:
    """38.26 and 39.44 are 3.08% of A apart and 2.99% of the larger: kept by the paper, not by the stricter rule."""
    near = replace(
        GOOD,
        answer="$3,826 million",
        default_answer="$3,944 million",
        intended_evidence_span="Net income attributable to the company: $3,826 million",
        default_evidence_span="Net income including noncontrolling interests: $3,944 million",
    )
    case = Case(near)
    assert "R14" not in broken(case, PAPER)
    assert "R14" in broken(case, STRICTER)


def test_in_an_orbit_every_pair_of_readings_is_held() -> None:
    third = {"interpretation": {"entity": "a segment"}, "value": "$2,310 million"}
    readings = [
        {"interpretation": {"entity": "shareholders"}, "value": "$2,300 million"},
        {"interpretation": {"entity": "whole group"}, "value": "$2,455 million"},
        third,
    ]
    sibling = replace(GOOD, orbit="o1", extra={"readings": readings})
    assert "R14" in broken(Case(sibling), PAPER)  # 2,310 is within 3% of 2,300, which neither gold is of the other
    assert "R14" not in broken(Case(replace(GOOD, extra={"readings": readings})), PAPER)


@pytest.mark.conformance
def test_the_release_keeps_the_rules_as_the_paper_has_them(shared_data: Path) -> None:
    cases = read_cases(shared_data / "fininteract" / "fininteract_v1.jsonl")
    kept = [case for case in cases if not broken(case, PAPER)]
    assert len(cases) == 173
    assert len(kept) >= 160


@pytest.mark.conformance
def test_every_weak_instance_of_the_release_breaks_r14(shared_data: Path) -> None:
    """Its authors set 26 apart because the golds are too near."""
    cases = read_cases(shared_data / "release_extras" / "construction" / "instances.weak.jsonl")
    assert len(cases) == 26
    assert sum("R14" in broken(case, PAPER) for case in cases) == 26
