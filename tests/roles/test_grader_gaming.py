"""Answers that write both values to be right either way: no dress does better than chance, and each one shows.

The set intends each side of every item once, as siblings of an orbit do; a policy sees the values, not which is meant.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from fiqkit.records import Grade, Interpretation
from fiqkit.roles.grader.rules import grade_answer
from fiqkit.roles.interfaces import Gold

YEAR = Interpretation(period="fiscal 2023")
ITEMS = [
    ("en", "What was Acme Corp's operating income?", "$46.75B", "$62.87B"),
    ("en", "What was Acme Corp's net income?", "$2,354 million", "$3,390 million"),
    ("en", "What was Acme Corp's revenue growth rate?", "13.9%", "-8.7%"),
    ("en", "What was Acme Corp's earnings per share?", "$0.99", "$3.86"),
    ("zh", "甲公司的净利润是多少？", "121.87亿元", "140.29亿元"),
    ("zh", "甲公司的净利润是多少？", "-5.76亿元", "-15.52亿元"),
]
Dress = Callable[[str, str], str]
# What each policy writes of the two values, in English and in Chinese.
SIDE_BY_SIDE: dict[str, tuple[Dress, Dress]] = {
    "or": (lambda a, b: f"{a} or {b}", lambda a, b: f"{a}或{b}"),
    "and": (lambda a, b: f"It was {a} and {b}.", lambda a, b: f"为{a}和{b}。"),
    "lines": (lambda a, b: f"{a}\n{b}", lambda a, b: f"{a}\n{b}"),
    "list": (lambda a, b: f"1. {a}\n2. {b}", lambda a, b: f"1、{a}\n2、{b}"),
    "labels": (lambda a, b: f"Consolidated: {a}; segment: {b}", lambda a, b: f"合并：{a}；归母：{b}"),
    "sentences": (
        lambda a, b: f"The consolidated figure is {a}. The attributable figure is {b}.",
        lambda a, b: f"合并口径为{a}。归母口径为{b}。",
    ),
    "table": (
        lambda a, b: f"| Reading | Value |\n|---|---|\n| Basic | {a} |\n| Diluted | {b} |",
        lambda a, b: f"| 口径 | 数值 |\n|---|---|\n| 合并 | {a} |\n| 归母 | {b} |",
    ),
    "depends": (
        lambda a, b: f"It depends on the scope: {a} for the group, {b} for the parent.",
        lambda a, b: f"取决于口径：合并{a}，归母{b}。",
    ),
    "ask": (
        lambda a, b: f"Tell me which you want: {a} (total) or {b} (part).",
        lambda a, b: f"合并{a}，归母{b}，请您选择。",
    ),
    "both bold": (lambda a, b: f"Answers: **{a}** and **{b}**", lambda a, b: f"**{a}**（合并），**{b}**（归母）"),
    "both final": (
        lambda a, b: f"Final answer: {a}\nFinal answer: {b}",
        lambda a, b: f"最终答案：{a}\n最终答案：{b}",
    ),
}
# One value stands as the figure: right as often as that value is the one that is meant.
ONE_FIRST: dict[str, tuple[Dress, Dress]] = {
    "of which": (lambda a, b: f"It was {a}, of which {b} is attributable.", lambda a, b: f"净利润为{a}，其中归母{b}。"),
    "bracket": (lambda a, b: f"It was {a} ({b} on the other reading).", lambda a, b: f"为{a}（另一口径为{b}）。"),
    "correction": (lambda a, b: f"It was {b}. Actually, {a}.", lambda a, b: f"{b}不对，应为{a}。"),
    "conclusion": (lambda a, b: f"Candidates: {b}, {a}. Final answer: {a}", lambda a, b: f"有{b}和{a}。最终答案：{a}"),
    "not but": (lambda a, b: f"It is {a}, not {b}.", lambda a, b: f"不是{b}，而是{a}。"),
}
POLICIES = SIDE_BY_SIDE | ONE_FIRST


def play(policy: str, order: Callable[[str, str], bool]) -> list[Grade]:
    """The grades of a policy on every item, each side intended once; `order` says whether the values change places."""
    grades = []
    for language, question, first, second in ITEMS:
        a, b = (second, first) if order(first, second) else (first, second)
        answer = POLICIES[policy][language == "zh"](a, b)
        for intended, default in ((first, second), (second, first)):
            grades.append(grade_answer(question, Gold(intended, YEAR), Gold(default, YEAR), answer, language))
    return grades


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("seed", range(3))
def test_no_dress_does_better_than_chance(policy: str, seed: int) -> None:
    chance = random.Random(seed)
    grades = play(policy, lambda *_: chance.random() < 0.5)
    right = sum(grade.outcome == "intended" for grade in grades)
    assert right <= len(grades) / 2
    if policy in SIDE_BY_SIDE:
        assert right == 0, [(grade.outcome, grade.why) for grade in grades]
    else:
        assert right == len(grades) / 2, [(grade.outcome, grade.why) for grade in grades]


@pytest.mark.parametrize("policy", POLICIES)
def test_both_mentioned_shows_every_one(policy: str) -> None:
    assert all(grade.also == ("intended", "default") for grade in play(policy, lambda *_: False))
