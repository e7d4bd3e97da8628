"""What the rules make of final answers: every outcome, both languages, equal outcomes for equal commitments."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fiqkit.records import Grade, Interpretation, Outcome
from fiqkit.roles.grader.rules import LONGEST_ANSWER, RulesGrader, grade_answer
from fiqkit.roles.interfaces import Gold


def gold(answer: str, period: str | None = None) -> Gold:
    return Gold(answer, Interpretation(period=period))


INCOME = (
    "What was Acme Corp's operating income?",
    gold("$46.75B", "Year ended December 31, 2023"),
    gold("$62.87B", "Year ended December 31, 2023"),
)
PROFIT = ("甲公司的净利润是多少？", gold("68.41亿元", "2024年度"), gold("85.68亿元", "2024年度"))
LOSS = ("甲公司的净利润是多少？", gold("-5.76亿元", "2022年度"), gold("-15.52亿元", "2022年度"))
GROWTH = (
    "What was Acme Corp's net income growth rate?",
    gold("-42.3%", "2023 vs 2022 (annual)"),
    gold("17.1%", "2023 vs 2022 (annual)"),
)
DECLINE = ("What was Acme Corp's earnings decline rate?", *GROWTH[1:])
RETAIL = (
    "What were Acme Stores' net sales?",
    gold("$30.60B", "fiscal year ended February 3, 2024"),
    gold("$28.33B", "fiscal year ended January 28, 2023"),
)
UNDATED = ("甲公司的净利润是多少？", gold("68.41亿元", "报告期"), gold("85.68亿元", "报告期"))
PAR = ("What was Acme Corp's par value per share (in dollars)?", gold("1"), gold("5"))


def grade(case: tuple[str, Gold, Gold], answer: str | None) -> Grade:
    return grade_answer(*case, answer, "en")


@pytest.mark.parametrize(
    ("case", "answer", "outcome"),
    [
        # the value alone, in any notation
        (INCOME, "$46.75 billion", "intended"),
        (INCOME, "$46,751 million", "intended"),
        (INCOME, "USD 46.75bn", "intended"),
        (INCOME, "467.5亿美元", "intended"),
        (INCOME, "forty-six point seven five billion dollars", "intended"),
        (INCOME, r"\boxed{\$46.75 \text{ billion}}", "intended"),
        (INCOME, "**$46.75B**", "intended"),
        (INCOME, "$62.87B", "default"),
        (INCOME, "$47.3 billion", "other"),
        (INCOME, "46.75亿美元", "other"),
        (INCOME, "€46.75 billion", "other"),
        (PROFIT, "68.41亿元", "intended"),
        (PROFIT, "人民币6,841百万元", "intended"),
        (PROFIT, "RMB 6.841 billion", "intended"),
        (PROFIT, "六十八点四一亿元", "intended"),
        (PROFIT, "85.68亿", "default"),
        # the digits without their scale
        (INCOME, "46,750", "intended"),
        (INCOME, "$46.75", "intended"),
        (PROFIT, "684,100", "intended"),
        # a stated period
        (INCOME, "$46.75 billion in fiscal 2023", "intended"),
        (INCOME, "$46.75 billion in fiscal 2022", "other"),
        (INCOME, "In Q3 2023 operating income was $46.75 billion.", "other"),
        (INCOME, "Operating income was $46.75 billion in 2023, up from $28.94 billion in 2022.", "intended"),
        (INCOME, "For the year ended December 31, 2023, operating income was $46.75B.", "intended"),
        (INCOME, "Fiscal year: 2022\nOperating income: $46.75B", "other"),
        (INCOME, "Operating income was $46.75B. This figure is for fiscal 2022.", "other"),
        (PROFIT, "2024年净利润为68.41亿元。", "intended"),
        (PROFIT, "2023年净利润为68.41亿元。", "other"),
        (PROFIT, "2024年前三季度净利润为68.41亿元。", "other"),
        (PROFIT, "没有找到2023年的数据。2024年净利润为68.41亿元。", "intended"),
        (UNDATED, "2021年净利润为68.41亿元。", "intended"),
        (RETAIL, "$30.6 billion in fiscal 2023", "intended"),
        (RETAIL, "$30.6 billion in fiscal 2024", "intended"),
        (RETAIL, "$30.6 billion in fiscal 2022", "other"),
        (RETAIL, "$28.33 billion in fiscal 2022", "default"),
        # one figure, others beside it
        (PROFIT, "净利润为85.68亿元，其中归属于母公司股东的净利润为68.41亿元。", "default"),
        (PROFIT, "净利润为85.68亿元；归属于母公司股东的净利润为68.41亿元。", "default"),
        (PROFIT, "净利润为85.68亿元（归属于母公司股东的净利润为68.41亿元）。", "default"),
        (PROFIT, "净利润为85.68亿元；若按归母口径，为68.41亿元。", "default"),
        (PROFIT, "营业收入为500亿元，净利润为68.41亿元，同比增长5%。", "intended"),
        (PROFIT, "净利润为68.41亿元，较上年的60.12亿元增长13.8%。", "intended"),
        (INCOME, "Operating income was $46.75B on revenue of $134.90B.", "intended"),
        (INCOME, "Revenue was $134.90B and operating income was $46.75B.", "intended"),
        (INCOME, "Operating income was $46.75B ($62.87B for the main segment).", "intended"),
        (INCOME, "Operating income rose to $46.75B from $28.94B.", "intended"),
        (INCOME, "Segments made $62.87B less $16.12B of costs. Final answer: $46.75B", "intended"),
        (GROWTH, "Net income fell 42.3%, from $20.0 billion to $11.5 billion.", "intended"),
        # none singled out
        (PROFIT, "净利润（含少数股东损益）为85.68亿元，归属于母公司股东的净利润为68.41亿元。", "hedge"),
        (PROFIT, "85.68亿元（含少数股东损益），68.41亿元（归母）", "hedge"),
        (PROFIT, "- 2024年：68.41亿元\n- 2023年：60.12亿元\n请告知您需要的年份。", "hedge"),
        (PROFIT, "约68–72亿元", "hedge"),
        (INCOME, "GAAP operating income was $46.75B and the segment operating income $62.87B.", "hedge"),
        (INCOME, "Operating income was $46.75B in 2023 and $28.94B in 2022.", "hedge"),
        # signs
        (LOSS, "-5.76亿元", "intended"),
        (LOSS, "净亏损5.76亿元", "intended"),
        (LOSS, "净利润为负5.76亿元", "intended"),
        (LOSS, "a net loss of RMB 576 million", "intended"),
        (LOSS, "(576)百万元", "intended"),
        (LOSS, "5.76亿元", "other"),
        (GROWTH, "-42.3%", "intended"),
        (GROWTH, "(42.3)%", "intended"),
        (GROWTH, "a decline of 42.29%", "intended"),
        (GROWTH, "42.3%", "other"),
        (DECLINE, "42.3%", "intended"),
        (DECLINE, "-42.3%", "intended"),
        (GROWTH, "17%", "default"),
        (GROWTH, "0.171", "other"),
        (GROWTH, "17.1 percentage points", "other"),
        # nothing committed to
        (PAR, "It is not $1.", "refusal"),
        (PAR, "Often around $1.00 or less.", "refusal"),
        (PAR, "$1.00 per share", "intended"),
        (PAR, "The par value is 5.", "default"),
        (INCOME, "I was unable to find the figure. Please refer to the 2023 Form 10-K.", "refusal"),
        (INCOME, "Growth = (new − old) / old × 100. Please refer to the annual report.", "refusal"),
        (INCOME, "The search results did not provide it; revenue rose by 4%.", "refusal"),
        (PROFIT, "请查阅甲公司2024年年度报告。", "refusal"),
        (PROFIT, "目前无法找到2024年的数据。如果您有其他问题，请告诉我！", "refusal"),
        (INCOME, "Do you mean the consolidated figure or the segment's?", "question"),
        (INCOME, "Please specify the fiscal year.", "question"),
        (INCOME, "Is it $46.75 billion?", "question"),
        (INCOME, "You did not specify a period. If you have one in mind, please let me know.", "question"),
        (PROFIT, "请明确年度（例如2023年或2024年）以及口径。", "question"),
        (PROFIT, "由于缺乏具体的时间范围，我无法提供净利润数据。如果您有特定的时间段，请告知我。", "question"),
        (PROFIT, "请选择：\n1) 2023年\n2) 2024年\n回复1或2即可。", "question"),
        (INCOME, "", "empty"),
        (INCOME, " \n", "empty"),
        (INCOME, None, "empty"),
        # a figure with a reservation is still a figure
        (PROFIT, "净利润为68.41亿元（数据为示例，请以财报为准）。", "intended"),
        (PROFIT, "您未指定期间。供参考：2024年净利润为68.41亿元。", "intended"),
        (INCOME, "Please specify the period. As of the latest filing it was $46.75 billion for 2023.", "intended"),
    ],
)
def test_outcome(case: tuple[str, Gold, Gold], answer: str | None, outcome: str) -> None:
    verdict = grade(case, answer)
    assert verdict.outcome == outcome, verdict.why
    assert (verdict.value is not None) == (outcome in ("intended", "default", "other"))
    assert verdict.why and "\n" not in verdict.why


@pytest.mark.parametrize(
    ("case", "answer", "also"),
    [
        (PROFIT, "净利润为85.68亿元，其中归母68.41亿元。", "intended default"),
        (PROFIT, "净利润为85.68亿元，其中归母60.12亿元。", "default"),
        (INCOME, "Operating income was $46.75B ($62.87B for the main segment).", "intended default"),
        (INCOME, "$46.75B", "intended"),
        (PROFIT, "2023年净利润为85.68亿元，其中归母68.41亿元。", "intended default"),  # other, and yet both are named
        (INCOME, "Not $62.87B but $46.75B.", "intended default"),  # a rejected gold counts
        (INCOME, "62,870 - 16,120 = 46,750", "intended default"),  # so does a term, and a scale left out
        (INCOME, "Do you want $46.75B or $62.87B?", "intended default"),
        (INCOME, "$12 billion", ""),
    ],
)
def test_also_lists_every_gold_that_is_named(case: tuple[str, Gold, Gold], answer: str, also: str) -> None:
    assert grade(case, answer).also == tuple(also.split())


def test_a_missing_scale_is_flagged() -> None:
    assert grade(INCOME, "46,750").flags == ("scale_missing",)
    assert grade(INCOME, "46,750 million dollars").flags == ()


def test_why_names_value_golds_and_rule() -> None:
    why = grade(INCOME, "$46.75 billion in fiscal 2022").why
    assert all(part in why for part in ("$46.75 billion", "$46.75B", "$62.87B", "fiscal 2022"))


def test_what_cannot_be_decided_is_unscored_with_the_reason() -> None:
    no_value = grade_answer("Q?", gold("see the filing"), gold("$1"), "$1", "en")
    too_long = grade(INCOME, "1 " * LONGEST_ANSWER)
    assert no_value.outcome == too_long.outcome == Outcome.UNSCORED
    assert "see the filing" in no_value.why and str(LONGEST_ANSWER) in too_long.why


def test_the_grader_is_the_function() -> None:
    grader = RulesGrader()
    verdict = asyncio.run(grader.grade(*INCOME, "$46.75B", "en"))
    assert verdict == grade(INCOME, "$46.75B")
    assert grader.name == grader.describe()["name"] == "rules"


PHRASES = (
    "{v}",
    "It was {v}.",
    "**{v}**",
    "The operating income is {v}",
    "答案：{v}",
    "Final answer: {v}",
    "营业利润为{v}。",
)
YEARS = ("", " in 2023", " in fiscal 2022", " for the year ended December 31, 2023", "（2023年）", "（2022年）")
SAME_VALUE = (
    ("$46.75 billion", "$46,750 million", "467.5亿美元"),
    ("$62.87B", "$62,870 million"),
    ("$1.5 billion", "15亿美元"),
)


@settings(deadline=None)
@given(
    st.sampled_from(SAME_VALUE).flatmap(lambda ways: st.tuples(st.sampled_from(ways), st.sampled_from(ways))),
    st.sampled_from(PHRASES),
    st.sampled_from(PHRASES),
    st.sampled_from(YEARS),
)
def test_equal_commitments_get_equal_outcomes(values: tuple[str, str], one: str, other: str, year: str) -> None:
    first, second = (phrase.format(v=value + year) for phrase, value in zip((one, other), values, strict=True))
    assert grade(INCOME, first).outcome == grade(INCOME, second).outcome
