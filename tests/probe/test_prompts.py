"""The control prompts hold still what they promise to hold still."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_models import make_instances

from fiqkit.datasets import read_instances
from fiqkit.probe.items import Items, words_of
from fiqkit.probe.prompts import CONDITIONS, build_prompts, derangement, neutral_context, paraphrase

ITEMS = Items.of(make_instances(30), folds=5)


def skeleton(text: str) -> str:
    """A text with its words and characters blanked: punctuation, spaces and the places of digits stay."""
    text = re.sub(r"[\u3400-\u9fff]", "字", text)
    return re.sub(r"[A-Za-z]+", "w", re.sub(r"\d", "0", text))


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="aBcd 2024,.;:()-年净利润口径\n", min_size=1, max_size=80), st.integers(0, 99))
def test_neutral_text_keeps_every_place_and_no_word(context: str, seed: int) -> None:
    neutral = neutral_context(context, len, str(seed))
    assert skeleton(neutral) == skeleton(context)
    assert not re.search(r"净利润|口径", neutral)
    assert neutral_context(context, len, str(seed)) == neutral


def test_neutral_text_is_matched_by_the_count_that_is_given() -> None:
    context = "Consolidated results under U.S. GAAP for the year ended December 31, 2023; exclude segment figures."
    neutral = neutral_context(context, len, "0")
    assert abs(len(neutral) - len(context)) <= 6
    assert not {"gaap", "consolidated", "segment", "year"} & set(words_of(neutral))


def test_every_context_is_lent_once_to_another_company_within_the_fold() -> None:
    partner = derangement(ITEMS.instances, ITEMS.folds, seed=0)
    assert sorted(partner) == list(range(len(ITEMS)))
    languages = [(ITEMS.instances[i].language, ITEMS.instances[j].language) for i, j in enumerate(partner)]
    assert (
        sum(one != other for one, other in languages) <= len(ITEMS) / 5
    )  # where a fold's companies leave no other way
    for item, lender in enumerate(partner):
        one, other = ITEMS.instances[item], ITEMS.instances[lender]
        assert one.cluster != other.cluster and ITEMS.folds[item] == ITEMS.folds[lender]


def test_a_context_of_another_category_is_preferred() -> None:
    partner = derangement(ITEMS.instances, ITEMS.folds, seed=0)
    same = sum(ITEMS.instances[i].primary == ITEMS.instances[j].primary for i, j in enumerate(partner))
    assert same <= len(ITEMS) / 6


def test_the_prompt_is_the_question_a_blank_line_and_the_context() -> None:
    prompts = build_prompts(ITEMS.instances, ITEMS.folds, len, seed=0)
    assert tuple(prompts.texts) == CONDITIONS
    for index, instance in enumerate(ITEMS.instances):
        assert prompts.texts["plain"][index] == instance.question
        assert prompts.texts["context"][index] == f"{instance.question}\n\n{instance.context}"
        assert prompts.texts["paraphrase_context"][index].endswith(f"\n\n{instance.context}")


@pytest.mark.parametrize(
    ("question", "language", "expected"),
    [
        ("What were 3M's net sales?", "en", "Please look up 3M's net sales and tell me how much it came to."),
        ("What was Meta Platforms' EPS?", "en", "Please look up Meta Platforms' EPS and tell me how much it came to."),
        (
            "What did Visa report as its revenue?",
            "en",
            "Please look up the revenue of Visa and tell me how much it came to.",
        ),
        (
            "Which figure does Visa give for EPS?",
            "en",
            "Please look up the EPS of Visa and tell me how much it came to.",
        ),
        (
            "What profit did Macy's have?",
            "en",
            "Please look up the profit of Macy's and tell me how much it came to.",
        ),
        (
            "Which figure did 3M have for cost of sales?",
            "en",
            "Please look up the cost of sales of 3M and tell me how much it came to.",
        ),
        ("宝钢股份的净利润是多少？", "zh", "麻烦查一下，宝钢股份的净利润有多少？"),
        ("迈克生物实现了多少净利润？", "zh", "麻烦查一下，迈克生物的净利润有多少？"),
    ],
)
def test_paraphrases_of_known_forms(question: str, language: str, expected: str) -> None:
    assert paraphrase(question, language) == (expected, True)


def test_an_unknown_form_gets_a_lead_in_and_is_counted() -> None:
    assert paraphrase("How many cars did A sell?", "en") == (
        "Here is something I would like to find out: How many cars did A sell?",
        False,
    )


def test_the_ceiling_counts_wordings_that_two_categories_share() -> None:
    """Thirty companies ask two differently worded questions each; the ceiling is 1 until wordings coincide."""
    assert ITEMS.ceiling() == 1.0


@pytest.mark.conformance
def test_released_questions(shared_data: Path) -> None:
    items = Items.of(read_instances(shared_data / "fininteract" / "fininteract_v1.jsonl"))
    assert items.pair == ("entity_scope", "metric_definition") and len(items.in_pair) == 157
    assert max(94, 63) / 157 == pytest.approx(0.599, abs=1e-3)
    assert items.ceiling() == pytest.approx(130 / 157)
    shared = {
        q
        for q in {i.question for i in items.instances}
        if len({i.primary for i in items.instances if i.question == q}) > 1
    }
    assert sum(i.question in shared for i in items.instances) == 76  # protocol, section 8
    prompts = build_prompts(items.instances, items.folds, len, seed=0)
    assert prompts.reworded == 173
    assert all(np.bincount(items.folds) >= 30)
