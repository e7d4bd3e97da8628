"""The rules judge: the written guide, case by case, and the published labels as a whole."""

import json
from pathlib import Path

import pytest

from fiqkit.records import Judgement
from fiqkit.roles.judge.rules import classify_question
from fiqkit.taxonomy import CATEGORIES

E, T, M, R, V = CATEGORIES


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", CATEGORIES)
def test_a_template_touches_its_own_category_alone(name: str, language: str) -> None:
    judged = classify_question(CATEGORIES[name].template[language])
    assert (judged.touched, judged.central) == ((name,), name)


@pytest.mark.parametrize(
    ("question", "touched", "central"),
    [
        # one category
        ("Are you referring to the consolidated figure or a specific segment?", {E}, E),
        ("Is that for Alphabet as a whole?", {E}, E),
        ("Should I include minority interests?", {E}, E),
        ("Do you want total revenue or product revenue?", {E}, E),
        ("Is this about the US operations only?", {E}, E),
        ("您指的是合并报表净利润还是归母净利润？", {E}, E),
        ("您要的是母公司报表口径吗？", {E}, E),
        ("Is this for the full year or just the latest quarter?", {T}, T),
        ("Which fiscal year do you mean?", {T}, T),
        ("Do you want the compound annual growth rate?", {T}, T),
        ("您要的是哪一年的净利润？", {T}, T),
        ("Do you want GAAP or non-GAAP?", {M}, M),
        ("Do you mean basic or diluted EPS?", {M}, M),
        ("Should I exclude one-time items?", {M}, M),
        ("Do you mean profit before or after tax?", {M}, M),
        ("是税前还是税后？", {M}, M),
        ("是否需要扣除非经常性损益？", {M}, M),
        ("Do you want revenue on a gross or net basis?", {R}, R),
        ("Are development costs capitalized or expensed?", {R}, R),
        ("收入是按总额法还是净额法确认的？", {R}, R),
        ("Do you mean the original filing or the restated figure?", {V}, V),
        ("As originally reported or as adjusted in later filings?", {V}, V),
        ("您要的是重述后的数据还是原始披露的数据？", {V}, V),
        # what only repeats the user's words touches nothing
        ("Are you asking for Acme's net income growth rate for a specific year?", {T}, T),
        ("您想了解某公司2023年的净利润吗？", {T}, T),
        # a measure that is offered, given as a meaning, or all there is
        ("Do you mean operating income rather than net income?", {M}, M),
        ("By 'profit', do you mean net income?", {M}, M),
        ("Do you want the growth rate based on EPS?", {M}, M),
        ("Are you asking about operating margin?", {M}, M),
        # a company or ticker to confirm
        ("Do you mean Acme Holdings, Inc. (ticker ACM)?", {E}, E),
        ("您指的是“某某股份有限公司”吗？", {E}, E),
        # outside the five
        ("May I search the web for the 2023 annual report?", set(), "none"),
        ("您是否需要我检索2023年年报？", set(), "none"),
        ("Should the answer be in USD or RMB?", set(), "none"),
        ("Do you want the answer in millions?", set(), "none"),
        ("您想了解净利润的趋势吗？", set(), "none"),
        ("Are you asking for the company's revenue guidance?", set(), "none"),
        # asks for clarity, names nothing
        ("Could you clarify what you mean?", set(), "generic"),
        ("您能说得更明确一些吗？", set(), "generic"),
        # combined: the choice, else the rarer qualifier
        ("Do you want GAAP revenue for 2023 or for 2024?", {M, T}, T),
        ("Do you want the 2023 figure, consolidated and not that of a segment?", {E, T}, E),
        ("您要的是2022年扣非后的归母净利润吗？", {E, T, M}, M),
        ("Do you want the restated GAAP figure for 2022?", {T, M, V}, V),
        ("Do you want FY24 revenue recognized at a point in time?", {T, R}, R),
    ],
)
def test_the_guide(question: str, touched: set[str], central: str) -> None:
    judged = classify_question(question)
    assert (set(judged.touched), judged.central) == (touched, central), judged.why


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("Do you mean Acme's revenue for 2023?", {E, T, M}),
        ("Do you want the revenue for the most recent year?", {T, M}),
        ("您想了解青岛啤酒最近一年的净利润吗？", {E, T, M}),
        ("您要的是最近一年的净利润吗？", {T, M}),
        ("Is it recognized over time?", {R}),
        ("May I search for Acme's restated figure?", {E, V}),
        ("Could you clarify what you mean?", set()),
        ("Is it the total, in plain words?", set()),
    ],
)
def test_what_a_question_names_without_raising_it(question: str, named: set[str]) -> None:
    assert set(classify_question(question).named or ()) == named


def test_the_reason_quotes_the_words() -> None:
    assert "'non-gaap'" in classify_question("Do you want non-GAAP EPS?").why


@pytest.fixture(scope="module")
def judged(shared_data: Path) -> list[tuple[dict, Judgement]]:
    lines = (shared_data / "ruled/judge.jsonl").read_text("utf-8").splitlines()
    return [(row, classify_question(row["question"])) for row in map(json.loads, lines)]


@pytest.mark.conformance
def test_named_is_what_the_paper_calls_touch(shared_data: Path) -> None:
    """Paper, AC@1 with its corrected judge: .86 (gpt-5), .94 (gpt-4o), .94 (gpt-5-mini)."""
    hits: dict[str, list[bool]] = {}
    for name in ("eval_gpt5_gpt4o", "eval_gpt5mini"):
        for line in (shared_data / f"fininteract/runs/{name}.jsonl").read_text("utf-8").splitlines():
            row = json.loads(line)
            asked = [turn["content"] for turn in row["trajectory"] if turn["action"] == "interact"]
            if row["mode"] == "answer+search+interact" and asked:
                question = asked[0].partition("'question': ")[2].strip("\"'}")  # some are cut at 200 characters
                hits.setdefault(row["model"], []).append(
                    bool(set(classify_question(question).named or ()) & set(row["axes"]))
                )
    shares = {model: round(sum(found) / len(found), 2) for model, found in hits.items()}
    assert shares == {"gpt-5": 0.86, "gpt-4o": 0.94, "gpt-5-mini": 0.94}


@pytest.mark.conformance
def test_published_labels(judged: list[tuple[dict, Judgement]]) -> None:
    touched = [set(said.touched) == set(row["touched"]) for row, said in judged if row["touched"] is not None]
    central = [said.central == row["central"] for row, said in judged if row["central"] is not None]
    assert (len(touched), len(central)) == (76, 76)
    assert sum(touched) / 76 >= 0.96
    assert sum(central) / 76 >= 0.96
