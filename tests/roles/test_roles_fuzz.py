"""Random and mutated questions: the rules roles never fail, never stall, and never say anything but what they may."""

import asyncio
import random
import time
from collections.abc import Iterable

import pytest

from fiqkit import roles, values
from fiqkit.records import Interpretation
from fiqkit.roles.interfaces import REPLIES, UserView
from fiqkit.roles.judge.rules import classify_question
from fiqkit.roles.language.phrasing import table
from fiqkit.roles.simulator.rules import reply_to
from fiqkit.taxonomy import CATEGORIES

VIEW = UserView(
    question="What was Acme's operating income?",
    context="Consolidated, GAAP, for the year ended December 31, 2023; not the segment's. 口径：归母",
    intended=Interpretation("Acme (consolidated)", "2023 vs 2022", "operating income", "GAAP, 扣非"),
    default=Interpretation("Acme retail segment", "Q4 2023", "net income", "non-GAAP", "restated"),
    language="en",
)
SEEDS = [text for category in CATEGORIES.values() for text in category.template.values()] + [
    "Do you mean the GAAP figure for FY2023 (e.g., $1.2 billion), or the non-GAAP one?",
    "您要的是2022年度扣非后的归母净利润（不含少数股东损益），而不是合并口径，对吗？（是/否）",
    "from in per using according to the original, amended, restated 10-K/A filing",
    "excluding any one-time, special, non-recurring items attributable to the shareholders' of the parent company",
]
ALPHABET = [
    *"abc XYZ 019.,;?!()（）“”'\"$%-–—/\\\n\t\0年度季归母扣非合并口径的是否还",
    "or",
    "not ",
    "FY",
    "2023",
    "🙂",
    "\u202e",
    "\ud800",
]


def mutate(draw: random.Random, text: str) -> str:
    letters = list(text)
    for _ in range(draw.randint(1, 12)):
        at = draw.randint(0, len(letters))
        move = draw.random()
        if move < 0.3:
            letters[at:at] = draw.choice(ALPHABET)
        elif move < 0.5:
            del letters[at : at + draw.randint(1, 8)]
        elif move < 0.7:
            letters[at:at] = draw.choice(SEEDS)[: draw.randint(1, 60)]
        elif move < 0.8:
            letters = letters * draw.choice((2, 3))
        else:
            end = at + draw.randint(1, 20)
            letters[at:end] = letters[at:end][::-1]
    return "".join(letters)[:6_000]


def questions(count: int) -> list[str]:
    draw = random.Random(20260101)
    return [
        mutate(draw, draw.choice(SEEDS)) if i % 4 else "".join(draw.choices(ALPHABET, k=draw.randint(0, 300)))
        for i in range(count)
    ]


async def check(question: str) -> None:
    started = time.thread_time()
    assert reply_to(question, VIEW) in REPLIES
    judged = classify_question(question)
    spent = time.thread_time() - started  # of this thread alone: a busy machine does not lengthen it
    assert judged.central in (*judged.touched, "generic", "none")
    assert (judged.central in CATEGORIES) == bool(judged.touched)
    assert judged.why
    said = await roles.open_simulator("free-form").reply(question, VIEW)
    assert said in REPLIES or not values.find(said)
    assert spent < 1.0, f"{spent:.2f} s of CPU time for {question[:200]!r}"


async def check_all(questions: Iterable[str]) -> None:
    for question in questions:
        await check(question)


def test_fuzz() -> None:
    asyncio.run(check_all(questions(500)))


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_fuzz_at_length() -> None:
    asyncio.run(check_all(questions(5_000)))


def test_the_worst_that_the_patterns_can_be_given() -> None:
    words = ["from ", "excluding ", "attributable to ", "the last ", "operating ", "total ", "in ", "a", "1", "年", "("]
    words += [
        "not ",
        "excluding any one-time ",
        "most recent ",
        "net of the ",
        "合并",
        "归属于",
        "specific ",
        "2023 vs ",
    ]
    asyncio.run(check_all(word * (6_000 // len(word)) for word in words))


def test_patterns_repeat_within_bounds() -> None:
    for name, rows in table("lexicon").items():
        for script in ("en", "zh"):
            for patterns in (*rows[script].values(), rows.get("component", {}).get(script, [])):
                for pattern in patterns:
                    assert ")*" not in pattern and ")+" not in pattern, (name, pattern)
