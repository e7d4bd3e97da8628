"""No answer, however mangled, breaks the grader, and none takes long."""

from __future__ import annotations

import random

import pytest

from fiqkit.records import Grade, Interpretation, Outcome
from fiqkit.roles.grader.rules import LONGEST_ANSWER, grade_answer
from fiqkit.roles.interfaces import Gold
from fiqkit.values import find, plain

SEEDS = (
    "$46.75 billion (fiscal year ended December 31, 2023)",
    "根据2024年年度报告，甲公司（600019.SH）净利润为85.68亿元，其中归属于母公司股东的净利润为68.41亿元。",
    "Net income decreased by 42.3% in 2023 compared to 2022, from $20.0 billion to $11.5 billion.",
    "由于您未明确具体的时间范围，我无法提供数据。请明确您需要了解的时间段（如财年、季度或月度）。",
    "1) FY2023: $46,750 million\n2) Q1 2024: (1,234)\n\nPlease specify which one?",
    "Growth = (New − Old) / |Old| × 100% = 17.1%; margin rose 25 bps to 5–7%.",
    "净亏损约5.76亿元（单位：万元），同比下降百分之四十二点三；若按扣非口径，为-15.52亿元。",
    "(in thousands, except per share data)\n| Revenue | 15,803,630 | (4.5)% |\nEPS $(0.45)",
)
ODD = "0123456789.,%$€¥()（）[]-−–—~|*#:;?？。，\n\t\u0000\u200b\ufeff亿万元年季度为约负nan inf e+9 x\U0001f600"
GOLDS = (
    (Gold("$46.75B", Interpretation(period="Year ended December 31, 2023")), Gold("$62.87B", Interpretation())),
    (Gold("68.41亿元", Interpretation(period="2024年度")), Gold("85.68亿元", Interpretation(period="2024年度"))),
    (Gold("-42.3%", Interpretation(period="2023 vs 2022")), Gold("17.1%", Interpretation())),
    (Gold("1", Interpretation()), Gold("5", Interpretation(period="as stated"))),
)
SWAPPED = {Outcome.INTENDED: Outcome.DEFAULT, Outcome.DEFAULT: Outcome.INTENDED}
HOSTILE = (
    "1 ",
    "1,",
    "5%",
    "(",
    "$",
    "one ",
    "2023年",
    "Q1 ",
    "decline of ",
    "净亏损",
    "其中",
    "万亿",
    "a1-",
    "\n1)",
    "$5. ",
    "**5**\n",
    "$5$",
    "{",
    "\\boxed{",
    "~~5~~",
    "| 5 | 6 |\n",
    "5 = ",
    "46 751 ",
    "1e5",
    "3亿4千",
    "Actually 5 ",
    "其中：\n- 5亿元\n",
    "<think>",
)


def mutated(chance: random.Random) -> str:
    """A seed answer with characters dropped, doubled, swapped in and cut, or a row of odd characters."""
    text = "".join(chance.sample(SEEDS, chance.randint(1, 3)))
    for _ in range(chance.randint(0, 12)):
        at = chance.randint(0, len(text))
        piece = "".join(chance.choices(ODD, k=chance.randint(0, 6)))
        text = text[:at] + piece + text[at + chance.randint(0, 4) :]
    return text[chance.randint(0, 20) : chance.randint(20, 400)] if chance.random() < 0.3 else text


def fuzz(count: int, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(count):
        answer = mutated(chance)
        question, (intended, default) = chance.choice(SEEDS), chance.choice(GOLDS)
        verdict = grade_answer(question, intended, default, answer, "en")
        swapped = grade_answer(question, default, intended, answer, "en")
        assert swapped.outcome == SWAPPED.get(verdict.outcome, verdict.outcome), answer
        assert set(swapped.also) == {SWAPPED[Outcome(name)] for name in verdict.also}, answer
        assert isinstance(verdict, Grade) and verdict.outcome in Outcome, answer
        assert (verdict.value is None) != (verdict.outcome in ("intended", "default", "other")), answer
        assert verdict.value is None or verdict.value in plain(answer).text, answer


def test_mangled_answers() -> None:
    fuzz(1_000, seed=1)


@pytest.mark.slow
def test_many_mangled_answers() -> None:
    fuzz(5_000, seed=2)


@pytest.mark.slow
@pytest.mark.parametrize("unit", HOSTILE)
def test_a_hundred_thousand_hostile_characters_are_read(unit: str) -> None:
    find(unit * (100_000 // len(unit)))


@pytest.mark.parametrize("unit", HOSTILE)
def test_the_longest_hostile_answer_is_read(unit: str) -> None:
    answer = unit * (LONGEST_ANSWER // len(unit))
    assert grade_answer("What was it?", *GOLDS[0], answer, "en").why
