"""The rules user: yes, no or i_dont_know by comparison with its reading, and its noisy and free-form variants."""

import asyncio
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

import fiqkit.bench_data
from fiqkit import roles, values
from fiqkit.datasets import read_instances
from fiqkit.records import Instance, Interpretation
from fiqkit.roles.interfaces import REPLIES, UserView
from fiqkit.roles.simulator.rules import reply_to
from fiqkit.taxonomy import CATEGORIES

BUNDLED = Path(fiqkit.bench_data.__file__).parent
Y, N, U = "yes", "no", "i_dont_know"

SEGMENT = UserView(
    question="What was Meta Platforms' operating income?",
    context="Total company under U.S. GAAP for the year ended December 31, 2023; exclude segment-only figures.",
    intended=Interpretation("Meta Platforms, Inc. (consolidated)", "Year ended December 31, 2023", "Operating income"),
    default=Interpretation("Family of Apps segment", "Year ended December 31, 2023", "Operating income"),
    language="en",
)
BANK = UserView(
    question="What was Goldman Sachs' revenue growth rate?",
    context="Investment Banking only; the change from 2011 to 2012.",
    intended=Interpretation("Investment Banking segment", "Year-over-year from 2011 to 2012", "Revenue growth rate"),
    default=Interpretation("Consolidated total", "Year-over-year from 2011 to 2012", "Revenue growth rate"),
    language="en",
)
EPS = UserView(
    question="What was Acme's EPS?",
    context="Diluted, non-GAAP.",
    intended=Interpretation("Acme Corp.", "Fiscal 2024 ended 2025-02-02", "EPS", "Non-GAAP diluted"),
    default=Interpretation("Acme Corp.", "Fiscal 2024 ended 2025-02-02", "EPS", "GAAP basic"),
    language="en",
)
QUARTER = UserView(
    question="What were Boxco's shipments?",
    context="The third quarter of 2007.",
    intended=Interpretation("Boxco", "Q3 2007", "shipments", "reported"),
    default=Interpretation("Boxco", "full year 2009", "shipments", "reported"),
    language="en",
)
TIMING = UserView(
    question="What was Salesforce, Inc.'s revenue?",
    context="The amount recognized at a point in time.",
    intended=Interpretation("Salesforce, Inc.", "2022-12-31", "Revenue", "Recognized at a point in time"),
    default=Interpretation("Salesforce, Inc.", "2022-12-31", "Revenue", "Recognized over time"),
    language="en",
)
VINTAGE = UserView(
    question="What was Acme's revenue for 2021?",
    context="As restated in the following year's report.",
    intended=Interpretation("Acme", "2021", "revenue", vintage="as restated"),
    default=Interpretation("Acme", "2021", "revenue", vintage="as originally reported"),
    language="en",
)
PARENT = UserView(
    question="青岛啤酒的净利润是多少？",
    context="口径：归属于上市公司股东，扣除非经常性损益；期间：2023年度。",
    intended=Interpretation("归属于上市公司股东（不含少数股东损益）", "2023年度", "净利润", "扣除非经常性损益"),
    default=Interpretation("合并口径（含少数股东损益）", "2023年度", "净利润", "未扣除非经常性损益"),
    language="zh",
)


@pytest.mark.parametrize(
    ("view", "question", "reply"),
    [
        # entity
        (SEGMENT, "Do you mean the consolidated figure?", Y),
        (SEGMENT, "Is it for the company as a whole?", Y),
        (SEGMENT, "Do you mean a segment?", N),
        (SEGMENT, "Do you mean the Family of Apps?", N),
        (SEGMENT, "Do you mean consolidated, not a segment?", Y),
        (SEGMENT, "Do you mean a segment rather than the consolidated total?", N),
        (SEGMENT, "Do you mean the consolidated or the segment figure?", U),
        (SEGMENT, "Do you mean Meta Platforms?", Y),
        (SEGMENT, "Do you mean Meta Platforms (ticker META)?", Y),
        (SEGMENT, "Do you mean operating income in Latin America?", U),
        (BANK, "Do you mean the Investment Banking segment?", Y),
        (BANK, "Do you mean the Institutional Client Services segment?", N),
        (BANK, "Do you mean the consolidated total?", N),
        (BANK, "Is it a specific segment?", Y),
        # period
        (SEGMENT, "Do you mean fiscal year 2023?", Y),
        (SEGMENT, "Do you mean 2022?", N),
        (SEGMENT, "Do you mean calendar year 2023?", Y),
        (SEGMENT, "Do you mean 2022 or 2023?", U),
        (SEGMENT, "Do you mean the latest fiscal year?", U),
        (SEGMENT, "Do you mean a quarter?", N),
        (SEGMENT, "Do you mean the consolidated figure for 2022?", N),
        (SEGMENT, "Do you mean the consolidated figure for the latest year?", U),
        (BANK, "Do you mean 2012 compared with 2011?", Y),
        (BANK, "Do you mean growth in 2011?", N),
        (BANK, "Do you mean year-over-year 2012 vs. 2011?", Y),
        (QUARTER, "Do you mean the third quarter?", Y),
        (QUARTER, "Do you mean Q2 2007?", N),
        (QUARTER, "Do you mean the full year?", N),
        (EPS, "Is it fiscal 2024?", Y),
        (EPS, "Is it the year ended February 2, 2025?", Y),
        (EPS, "Is it fiscal 2025?", N),
        (EPS, "Is it the calendar year?", N),
        # metric
        (EPS, "Do you mean diluted EPS?", Y),
        (EPS, "Do you mean basic EPS?", N),
        (EPS, "Do you mean GAAP EPS?", N),
        (EPS, "Do you mean non-GAAP diluted EPS?", Y),
        (EPS, "Do you mean GAAP diluted EPS?", N),
        (EPS, "GAAP or non-GAAP?", U),
        (EPS, "Do you mean net income?", N),
        (EPS, "Do you mean restated EPS?", U),
        # recognition
        (TIMING, "Do you mean revenue recognized at a point in time?", Y),
        (TIMING, "Do you mean revenue recognised over time?", N),
        (TIMING, "Do you mean gross revenue?", U),
        # vintage
        (VINTAGE, "Do you want the restated figure?", Y),
        (VINTAGE, "Do you want the figure as originally reported?", N),
        # values, open questions, requests
        (SEGMENT, "Is it $46.75 billion?", U),
        (SEGMENT, "Is the consolidated figure 46,751?", U),
        (SEGMENT, "Which year do you mean?", U),
        (SEGMENT, "Could you tell me the period?", U),
        (SEGMENT, "May I look up the 2023 10-K?", U),
        (SEGMENT, "How are you?", U),
        (SEGMENT, "", U),
        (SEGMENT, "Should segment figures be left out?", Y),
        (SEGMENT, "Do you want annual rather than quarterly operating income?", Y),
        (SEGMENT, "Do you want quarterly rather than annual operating income?", N),
        (SEGMENT, "You don't want the segment figure, do you?", U),
        (SEGMENT, "You don't want the segment figure, correct?", Y),
        (SEGMENT, "Consolidated or not?", Y),
        (SEGMENT, "Consolidated or Family of Apps?", U),
        (SEGMENT, "The company reports segments. Do you want the consolidated figure?", Y),
        (SEGMENT, "Has the figure been restated?", U),
        (TIMING, "Should revenue recognized over time be excluded?", Y),
        (TIMING, "Do you mean the total revenue?", U),
        (EPS, "Should stock options be counted?", Y),
        (EPS, "Should dilution be ignored?", N),
        (PARENT, "少数股东损益要不要算进去？", N),
        (PARENT, "不需要扣非，对吗？", N),
        (PARENT, "非经常性损益不作扣除吗？", N),
        (PARENT, "您要的不是合并净利润，对吗？", Y),
        # Chinese
        (PARENT, "您要的是归母净利润吗？", Y),
        (PARENT, "您要的是含少数股东损益的净利润吗？", N),
        (PARENT, "您要的是合并口径的净利润吗？", N),
        (PARENT, "您要的是扣非净利润吗？", Y),
        (PARENT, "您要的是2023年扣非后的归母净利润吗？", Y),
        (PARENT, "您要的是2022年扣非后的归母净利润吗？", N),
        (PARENT, "您要的是未扣除非经常性损益的净利润吗？", N),
        (PARENT, "合并口径还是归母口径？", U),
        (PARENT, "您要的是最近一年的净利润吗？", U),
        (PARENT, "您要的是季度数据吗？", N),
        (PARENT, "是8.5亿元吗？", U),
        (PARENT, "您要的是哪一年的数据？", U),
        (PARENT, "您指的是青岛啤酒吗？", Y),
        (PARENT, "您要的是营业利润吗？", N),
        (PARENT, "您要的是归母口径，而不是合并口径，对吗？", Y),
    ],
)
def test_replies(view: UserView, question: str, reply: str) -> None:
    assert reply_to(question, view) == reply


@pytest.mark.parametrize(
    ("view", "replies"),
    [
        (SEGMENT, {"entity_scope": Y, "temporal_scope": Y, "metric_definition": Y, "recognition_policy": U}),
        (BANK, {"entity_scope": N, "temporal_scope": Y}),
        (EPS, {"entity_scope": Y, "metric_definition": N}),
        (QUARTER, {"temporal_scope": N, "entity_scope": Y, "metric_definition": Y}),
        (TIMING, {"recognition_policy": N}),
        (VINTAGE, {"filing_vintage": N}),
        (PARENT, {"entity_scope": N, "temporal_scope": Y, "metric_definition": N, "filing_vintage": U}),
    ],
)
def test_template_questions(view: UserView, replies: dict[str, str]) -> None:
    got = {name: reply_to(CATEGORIES[name].template[view.language], view) for name in replies}
    assert got == replies


def test_the_other_reading_gets_the_opposite_reply() -> None:
    for view in (SEGMENT, BANK, QUARTER, VINTAGE, PARENT):
        swapped = replace(view, intended=view.default, default=view.intended, context="")
        asked = next(
            CATEGORIES[name].template[view.language]
            for name in CATEGORIES
            if reply_to(CATEGORIES[name].template[view.language], view) == N
            or reply_to(CATEGORIES[name].template[view.language], swapped) == N
        )
        assert {reply_to(asked, view), reply_to(asked, swapped)} == {Y, N}, asked


# --- variants -------------------------------------------------------------------------------------------------------


def test_noise_replaces_its_share_and_repeats() -> None:
    questions = ["Do you mean the consolidated figure?" + " " * i for i in range(600)]

    async def replies(seed: int, order: list[str]) -> dict[str, str]:
        noisy = roles.open_simulator("noisy", seed=seed)
        return {question: await noisy.reply(question, SEGMENT) for question in order}

    once = asyncio.run(replies(7, questions))
    assert asyncio.run(replies(7, questions[::-1])) == once
    assert asyncio.run(replies(8, questions)) != once
    counts = Counter(once.values())
    assert 0.11 < 1 - counts[Y] / 600 < 0.19
    assert abs(counts[N] - counts[U]) < 40


@pytest.mark.parametrize(
    ("view", "question", "reply"),
    [
        (PARENT, "您要的是哪一年的数据？", "期间:2023年度"),
        (PARENT, "合并口径还是归母口径？", "归属于上市公司股东"),
        (EPS, "GAAP or non-GAAP?", "non-GAAP"),
        (QUARTER, "Which period do you mean?", "The third quarter of 2007"),
        (QUARTER, "Which segment do you mean?", U),
        (QUARTER, "How many boxes is that?", U),
        (QUARTER, "Do you mean the third quarter?", Y),
    ],
)
def test_free_form_says_the_clause_that_settles_the_question(view: UserView, question: str, reply: str) -> None:
    said = asyncio.run(roles.open_simulator("free-form").reply(question, view))
    assert reply.replace(":", "：") in said or reply == said


def test_free_form_never_says_a_value() -> None:
    view = replace(QUARTER, context="The third quarter of 2007, when it was $8.5 million.")
    assert asyncio.run(roles.open_simulator("free-form").reply("Which period do you mean?", view)) == U


# --- on the released instances --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def released(shared_data: Path) -> dict[str, Instance]:
    read = read_instances(shared_data / "fininteract/fininteract_v1.jsonl")
    return {instance.instance_id: instance for instance in read}


@pytest.mark.conformance
def test_templates_on_the_release(released: dict[str, Instance]) -> None:
    for instance in released.values():
        view = UserView.of(instance)
        reply = {name: reply_to(c.template[instance.language], view) for name, c in CATEGORIES.items()}
        meant = " ".join(filter(None, (view.intended.entity, view.intended.metric, view.intended.basis)))
        if instance.language == "zh":
            # The Chinese half is about two distinctions, and each is spelled in one way.
            assert reply["entity_scope"] == (N if any(w in meant for w in ("归", "股东")) else Y), instance
            assert reply["metric_definition"] != Y or "扣" not in meant.replace("未扣", ""), instance
        assert reply["filing_vintage"] == U, instance


def asked_in_their_own_words(instances: Iterable[Instance]) -> Counter[tuple[str, str]]:
    """(whose reading, the reply) when the user is asked for the very words of a field in which the readings differ."""
    counts: Counter[tuple[str, str]] = Counter()
    for instance in instances:
        view = UserView.of(instance)
        ask = "Do you mean: {}?" if instance.language == "en" else "您指的是{}吗？"
        for field in view.intended.differs_from(view.default):
            for whose, reading in (("intended", view.intended), ("default", view.default)):
                if words := getattr(reading, field):
                    counts[whose, reply_to(ask.format(words), view)] += 1
    return counts


def test_the_kits_own_instances_tell_their_readings_apart() -> None:
    counts = asked_in_their_own_words(read_instances(BUNDLED / "instances.jsonl"))
    assert set(counts) == {("intended", Y), ("default", N)}


@pytest.mark.conformance
def test_the_released_readings_are_told_apart(released: dict[str, Instance]) -> None:
    counts = asked_in_their_own_words(released.values())
    assert {reply for whose, reply in counts if whose == "intended"} == {Y}
    # What remains are defaults of which the intended reading is a special case: 净利润 beside 净利润（扣非）.
    assert counts["default", N] / sum(n for (whose, _), n in counts.items() if whose == "default") > 0.9


@pytest.mark.conformance
def test_recorded_questions_get_a_reply_and_the_free_form_one_no_answer(
    shared_data: Path, released: dict[str, Instance]
) -> None:
    free = roles.open_simulator("free-form")
    counts: Counter[str] = Counter()
    for path in sorted((shared_data / "fininteract/runs").glob("eval_gpt5*.jsonl")):
        for line in path.read_text("utf-8").splitlines()[::6]:
            row = json.loads(line)
            instance = released[row["instance_id"]]
            for hit in row.get("axis_hits") or ():
                view = UserView.of(instance)
                reply = reply_to(hit["question"], view)
                counts[reply] += 1
                said = asyncio.run(free.reply(hit["question"], view))
                assert said in REPLIES or not values.mentions(said, instance.answer)
                assert said in REPLIES or not values.mentions(said, instance.default_answer)
    assert set(counts) == set(REPLIES)
