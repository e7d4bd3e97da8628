"""Siblings of an orbit: what a question in the words of two readings gets from users who mean the one or the other."""

from itertools import permutations

import pytest

from fiqkit.records import Interpretation
from fiqkit.roles.interfaces import NO, UNKNOWN, YES, UserView
from fiqkit.roles.simulator.rules import reply_to

EN = {"entity": "consolidated, the whole company", "period": "fiscal year ended 2023-12-31", "metric": "revenue"}
ZH = {"entity": "合并口径", "period": "2022年度", "metric": "净利润", "basis": "中国企业会计准则"}
# (language, what is asked for, field, the readings' words)
ORBITS = [
    ("en", "revenue", "entity", ["consolidated, the whole company", "Data Center segment", "Gaming segment"]),
    ("en", "revenue", "entity", ["consolidated, the whole company", "United States", "Europe"]),
    (
        "en",
        "net income",
        "entity",
        ["consolidated, including noncontrolling interests", "attributable to the shareholders of the parent company"],
    ),
    (
        "en",
        "revenue",
        "period",
        [
            "quarter only, three months ended 2023-09-30",
            "year to date, nine months ended 2023-09-30",
            "full fiscal year ended 2023-12-31",
            "trailing twelve months to 2023-09-30",
        ],
    ),
    ("en", "earnings per share", "metric", ["diluted earnings per share", "basic earnings per share"]),
    ("en", "net income", "metric", ["GAAP net income", "Non-GAAP net income"]),
    ("en", "net income", "metric", ["net income, all operations", "net income from continuing operations"]),
    (
        "en",
        "cash",
        "metric",
        ["cash and cash equivalents, unrestricted", "cash, cash equivalents and restricted cash"],
    ),
    ("en", "profit", "metric", ["net income", "operating income", "gross profit"]),
    ("en", "depreciation", "metric", ["depreciation plus amortization", "depreciation alone"]),
    ("en", "income taxes", "metric", ["whole tax provision", "tax provision without deferred taxes"]),
    (
        "en",
        "revenue",
        "basis",
        ["recognized at a point in time", "recognized over time", "total, recognized at a point in time or over time"],
    ),
    ("en", "property", "basis", ["net of accumulated depreciation", "gross, before accumulated depreciation"]),
    ("en", "interest", "basis", ["expensed, accrual basis", "cash basis, paid in the period"]),
    (
        "en",
        "net income",
        "basis",
        [
            "recognized under the new revenue standard, ASC 606",
            "recognized under the former revenue standard, ASC 605",
        ],
    ),
    ("en", "revenue", "vintage", ["as first reported", "as restated later"]),
    ("zh", "净利润", "entity", ["合并口径，含少数股东损益", "归属于母公司股东", "少数股东"]),
    ("zh", "净利润", "metric", ["净利润（未扣除非经常性损益）", "扣除非经常性损益的净利润（扣非）"]),
    ("zh", "增长率", "metric", ["营业收入增长率", "净利润增长率"]),
    ("zh", "净利润", "vintage", ["首次披露（调整前）", "重述后（调整后）"]),
    ("zh", "净利润", "vintage", ["业绩快报", "正式年度报告（经审计）"]),
]
PAIR = {"en": "Do you mean {}, rather than {}?", "zh": "您要的是{}，而不是{}，对吗？"}
ONE = {"en": ["Do you mean {}?", "Is it {}?"], "zh": ["您要的是{}吗？", "是{}吗？"]}
CHOICE = {"en": "Do you mean {}, or {}?", "zh": "您要的是{}，还是{}？"}


def view(language: str, what: str, field: str, meant: str, other: str) -> UserView:
    shared = EN if language == "en" else ZH
    asked = f"What was Norwood's {what}?" if language == "en" else f"云帆股份的{what}是多少？"
    intended, default = (Interpretation(**shared | {field: words}) for words in (meant, other))
    return UserView(asked, "", intended, default, language)


@pytest.mark.parametrize(("language", "what", "field", "readings"), ORBITS)
def test_either_order_of_a_pair_is_settled(language: str, what: str, field: str, readings: list[str]) -> None:
    for meant, other in permutations(readings, 2):
        user = view(language, what, field, meant, other)
        assert reply_to(PAIR[language].format(meant, other), user) == YES
        assert reply_to(PAIR[language].format(other, meant), user) == NO
        assert reply_to(CHOICE[language].format(meant, other), user) == UNKNOWN


@pytest.mark.parametrize(("language", "what", "field", "readings"), ORBITS)
def test_a_reading_s_own_words_are_yes_and_another_s_are_not(
    language: str, what: str, field: str, readings: list[str]
) -> None:
    for meant, other in permutations(readings, 2):
        user = view(language, what, field, meant, other)
        for frame in ONE[language]:
            assert reply_to(frame.format(meant), user) == YES
            assert reply_to(frame.format(other), user) != YES


def test_words_that_both_readings_share_settle_nothing() -> None:
    whole, part = "diluted earnings per share", "diluted earnings per share from continuing operations"
    assert reply_to(f"Do you mean {whole}?", view("en", "EPS", "metric", part, whole)) == UNKNOWN
    assert reply_to(f"Do you mean {whole}?", view("en", "EPS", "metric", whole, part)) == YES
    assert reply_to(f"Do you mean {part}?", view("en", "EPS", "metric", whole, part)) == NO
