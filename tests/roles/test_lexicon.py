"""The shared lexicon: whole words, the longer wording, what is ruled out."""

import pytest

from fiqkit.roles.language.lexicon import ANY, categories, find_marks, fold
from fiqkit.roles.language.phrasing import cue, table
from fiqkit.taxonomy import CATEGORIES


def marks(text: str) -> set[str]:
    """ "dimension=value" of every mark, "!" in front where it is ruled out."""
    found = find_marks(fold(text))
    return {f"{'!' if m.negated else ''}{m.dimension}={m.value}" for m in found if m.value != ANY}


def test_every_dimension_belongs_to_a_category_and_each_category_has_one() -> None:
    assert set(categories().values()) == set(CATEGORIES)


def test_every_cue_compiles() -> None:
    for name in table("phrasing"):
        if name != "plain":
            assert cue(name).search("") is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("GAAP", {"adjustment=reported"}),
        ("non-GAAP", {"adjustment=adjusted"}),
        ("non‑GAAP", {"adjustment=adjusted"}),
        ("非GAAP口径", {"adjustment=adjusted"}),
        ("扣非净利润", {"adjustment=adjusted", "measure=net_income"}),
        ("未扣非", {"adjustment=reported"}),
        ("含非经常性损益", {"adjustment=reported"}),
        ("year to date", {"span=ytd"}),
        ("multi-year", {"span=multi_year"}),
        ("half-year", {"span=half"}),
        ("trailing twelve months", {"span=ttm"}),
        ("year-over-year", {"comparison=yoy"}),
        ("the corecalendar misquarters", set()),
        ("含少数股东损益", {"attribution=total"}),
        ("不含少数股东损益", {"attribution=parent"}),
        ("归属于少数股东", {"attribution=minority"}),
        ("net income attributable to noncontrolling interests", {"attribution=minority", "measure=net_income"}),
        ("excluding noncontrolling interests", {"attribution=parent"}),
        ("diluted earnings per common share", {"dilution=diluted", "measure=eps"}),
        ("market capitalization", {"measure=share_price"}),
        ("the parent and its subsidiaries", {"scope=consolidated"}),
        ("澜起科技及其子公司", set()),
        ("自定义", set()),
        ("all regions and segments", {"scope=consolidated"}),
        ("not limited to any individual segment", {"scope=consolidated"}),
        ("under ASC 605", {"standard=former"}),
        ("the former revenue standard", {"standard=former", "measure=revenue"}),
        ("公历年", {"calendar=calendar"}),
    ],
)
def test_wordings(text: str, expected: set[str]) -> None:
    assert marks(text) - {"span=year"} == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the full year rather than a quarter", {"span=year", "!span=quarter"}),
        ("GAAP, not adjusted EBITDA", {"adjustment=reported", "!adjustment=adjusted", "!measure=ebitda"}),
        ("not a segment, the parent alone", {"!scope=segment", "!scope=parent_only"}),
        ("not a segment, but consolidated", {"!scope=segment", "scope=consolidated"}),
        ("而不是某个分部", {"!scope=segment"}),
        ("不是合并口径而是母公司单体", {"!scope=consolidated", "scope=parent_only"}),
        ("是不是合并口径", {"scope=consolidated"}),
        ("not only GAAP", {"adjustment=reported"}),
        ("consolidated (not a segment) revenue", {"scope=consolidated", "!scope=segment", "measure=revenue"}),
        ("you don't mean diluted", {"!dilution=diluted"}),
        ("isn't it diluted", {"dilution=diluted"}),
    ],
)
def test_what_a_text_rules_out(text: str, expected: set[str]) -> None:
    assert marks(text) == expected


@pytest.mark.parametrize(
    "form", ["(yes/no)", "(Yes / No / I don't know)", "（是/否/我不知道）", "（请回答“是”或“否”）"]
)
def test_the_form_of_reply_asked_for_is_no_part_of_the_question(form: str) -> None:
    assert fold(f"Is it GAAP? {form}") == "is it gaap?"
