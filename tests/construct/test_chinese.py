"""Orbits of Chinese tables: which profit, which version, and what their passages print beside it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from fiqkit.construct.certificate import verify
from fiqkit.construct.facts import render
from fiqkit.construct.holdings import companies
from fiqkit.construct.miners import mine
from fiqkit.construct.orbits import Orbit
from fiqkit.construct.wording import question
from fiqkit.filings.ingest import ingest
from fiqkit.filings.store import FactStore
from fiqkit.records import Instance
from fiqkit.roles.interfaces import UserView
from fiqkit.roles.simulator.rules import reply_to
from fiqkit.taxonomy import CATEGORIES

Row = dict[str, Any]
PARENT = "归属于母公司股东"


def annual(year: int, **figures: float) -> Row:
    """A row of yearly profits whose parent's share is the source's own subtraction."""
    row = {
        "code": "600101",
        "company": "云河股份",
        "year": year,
        "归母净利润": 7.0e7,
        "归母_source": "derived=净利润-少数股东损益",
    }
    return row | {"净利润": 1e8, "少数股东损益": 3e7, "营业总收入": 1e9, "营业收入": 1e9} | figures


def half(**figures: float) -> Row:
    row = {"code": "002101", "company": "山海股份", "notice_date": "2018-08-01", "总营收": 1e9, "归母净利润": 1e8}
    return row | {"扣非净利润": 7e7, "利润总额": 1.2e8, "所得税费用": 2e7} | figures


def adjusted(metric: str, before: float, after: float, year: int = 2010, disclosed: int = 2011) -> Row:
    row = {"code": "600103", "company": "江川电力", "disclosed_in": f"{disclosed}年年报", "year": str(year)}
    return row | {"metric": metric, "调整前": before, "调整后": after}


def express(metric: str, before: float, after: float) -> Row:
    row = {"code": "002101", "company": "山海股份", "period": "2018H1", "metric": metric, "业绩快报": before}
    return row | {"快报日期": "2018-07-31", "正式半年报": after, "公告日期": "2018-08-25"}


def store_of(tmp_path: Path, rows: Iterable[Row]) -> Path:
    (tmp_path / "rows.jsonl").write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows))
    assert not ingest([tmp_path / "rows.jsonl"], tmp_path / "facts.db").faults
    return tmp_path / "facts.db"


def mined(tmp_path: Path, *rows: Row) -> dict[str, Orbit]:
    """Miner, topic and year → orbit."""
    store = FactStore(store_of(tmp_path, rows))
    found = {f"{o.miner} {o.topic} {o.source.end[:4]}": o for c in companies(store) for o in mine(c)}
    store.close()
    return found


def values_of(orbit: Orbit) -> list[float]:
    return [a.value for a in orbit.alternatives]


def captions(orbit: Orbit) -> set[str]:
    return {row.caption for row in (*orbit.around, *(a.row for a in orbit.alternatives))}


def replies(orbit: Orbit, asked: str) -> list[str]:
    made = render(orbit, seed=1)
    assert made
    return [reply_to(asked, view_of(instance)) for instance in made[0]]


def view_of(i: Instance) -> UserView:
    return UserView(i.question, i.context, i.intended_interpretation, i.default_interpretation, "zh")


# --- which profit ---------------------------------------------------------------------------------------------------


def test_a_parents_share_that_a_source_subtracts_is_computed_and_said_to_be(tmp_path: Path) -> None:
    store = store_of(tmp_path, [annual(2019, 净利润=8e7, 少数股东损益=3.5e7, 营业总收入=8e8), annual(2020)])
    facts = FactStore(store)
    orbits = {f"{o.miner} {o.source.end[:4]}": o for c in companies(facts) for o in mine(c)}
    level, margin, growth = (orbits[f"entity_scope/minority{kind} 2020"] for kind in ("", " margin", " growth"))
    assert values_of(level) == [7e7, 1e8]
    assert level.alternatives[0].row.caption == "净利润（归属于母公司股东，计算值）"
    assert level.alternatives[1].row.caption == "净利润（含少数股东损益）"
    assert values_of(margin) == pytest.approx([10.0, 7.0])
    assert values_of(growth) == pytest.approx([100 * (7 - 4.5) / 4.5, 25.0])
    for orbit in (level, margin, growth):
        made = render(orbit, seed=1)
        assert made
        assert not verify(made[0], facts).failed
    facts.close()


@pytest.mark.parametrize("asked", ["您要的是归母净利率吗？", "是按归母净利润计算的净利率吗？"])
def test_a_margin_is_settled_by_the_profit_that_it_is_of(tmp_path: Path, asked: str) -> None:
    found = mined(tmp_path, annual(2019), annual(2020))
    assert replies(found["entity_scope/minority margin net margin 2020"], asked) == ["no", "yes"]


def test_a_stated_share_is_taken_as_it_stands(tmp_path: Path) -> None:
    orbit = mined(tmp_path, annual(2020, 归母净利润=6.9e7) | {"归母_source": "reported"})
    assert values_of(orbit["entity_scope/minority profit 2020"]) == [6.9e7, 1e8]


@pytest.mark.parametrize("figures", [{"净利润": -1e8}, {"少数股东损益": 1.2e8}, {"少数股东损益": 2e6}])
def test_losses_and_a_share_within_the_tolerance_make_no_orbit(tmp_path: Path, figures: dict[str, float]) -> None:
    assert not mined(tmp_path, annual(2020, **figures))


def test_a_table_prints_the_year_before_and_no_line_twice(tmp_path: Path) -> None:
    orbit = mined(tmp_path, annual(2019, 营业总收入=8e8), annual(2020))["entity_scope/minority profit 2020"]
    rows = {row.caption: row.quantity.value for row in orbit.around}
    assert rows["营业总收入（2019年度）"] == 8e8
    assert rows["营业总收入同比增长率（计算值）"] == pytest.approx(25.0)
    assert "营业收入" not in rows


def test_revenue_that_is_not_all_of_the_total_is_a_line_of_its_own(tmp_path: Path) -> None:
    orbit = mined(tmp_path, annual(2020, 营业收入=6e8))["entity_scope/minority profit 2020"]
    assert {"营业总收入", "营业收入"} <= captions(orbit)


def test_what_recurs_is_told_apart_by_that_alone(tmp_path: Path) -> None:
    """Both are the parent's share, so that asking for it settles nothing, and asking by a whole caption does."""
    found = mined(tmp_path, half())
    level, margin = (
        found["metric_definition/adjusted profit 2018"],
        found["metric_definition/adjusted margin net margin 2018"],
    )
    assert values_of(level) == [1e8, 7e7]
    assert values_of(margin) == pytest.approx([10.0, 7.0])
    for orbit in (level, margin):
        assert [a.interpretation.entity for a in orbit.alternatives] == [PARENT, PARENT]
        assert replies(orbit, CATEGORIES["metric_definition"].template["zh"]) == ["yes", "no"]
    assert replies(level, "您要的是归母净利润吗？") == ["yes", "yes"]
    assert replies(level, f"您要的是{level.alternatives[0].row.caption}吗？") == ["yes", "no"]
    assert replies(level, f"您要的是{level.alternatives[1].row.caption}吗？") == ["no", "yes"]


def test_lines_that_give_the_groups_profit_away_are_a_third_reading(tmp_path: Path) -> None:
    """利润总额 − 所得税费用 is 1.0e8 here, what the parent's shareholders have 0.9e8."""
    assert not mined(tmp_path, half(归母净利润=9e7))


def test_a_group_within_the_tolerance_is_no_third_reading(tmp_path: Path) -> None:
    """A grader takes one percent: less than that is no answer of its own, two percent is one."""
    assert "metric_definition/adjusted profit 2018" in mined(tmp_path, half(归母净利润=9.95e7))
    assert not mined(tmp_path, half(归母净利润=9.8e7))


VENDORS = "ticker,company,period_end,filing_type,revenue,prior_year_revenue,net_profit_incl_minority,net_profit_parent,"
VENDORS += "minority_interest_profit,net_profit_parent_excl_nonrecurring\n"


def vendors(year: int, *millions: float | None) -> str:
    """A year of a vendor's table: sales, those of the year before, 净利润, 归母, 少数股东损益, 扣非."""
    figures = ("" if n is None else f"{n * 10**6:.0f}" for n in millions)
    return f"600105,白沙实业,{year}1231,年报,{','.join(figures)}\n"


EARLIER, LATER = vendors(2022, 1000, 800, 125, 100, 25, 80), vendors(2023, 1200, 1000, 150, 130, 20, 84)


def exported(tmp_path: Path, *rows: str) -> dict[str, Orbit]:
    """Miner and year → orbit of a vendor's table."""
    (tmp_path / "ashare.csv").write_text(VENDORS + "".join(rows), encoding="utf-8")
    assert not ingest([tmp_path / "ashare.csv"], tmp_path / "facts.db").faults
    store = FactStore(tmp_path / "facts.db")
    found = {f"{o.miner} {o.source.end[:4]}": o for c in companies(store) for o in mine(c)}
    store.close()
    return found


def text_of(orbit: Orbit) -> str:
    made = render(orbit, seed=1)
    assert made
    return made[1].text


def test_growth_of_profit_with_and_without_what_does_not_recur(tmp_path: Path) -> None:
    rows = vendors(2022, 1000, 800, None, 100, None, 80), vendors(2023, 1200, 1000, None, 130, None, 84)
    orbit = exported(tmp_path, *rows)["metric_definition/adjusted growth 2023"]
    assert values_of(orbit) == pytest.approx([30.0, 5.0])
    assert replies(orbit, CATEGORIES["metric_definition"].template["zh"]) == ["yes", "no"]


def test_a_table_that_holds_two_versions_of_a_year_gives_no_growth(tmp_path: Path) -> None:
    """The later row has the year before as restated, 1.1bn of sales where the earlier row has 1.0bn."""
    found = exported(tmp_path, EARLIER, vendors(2023, 1200, 1100, 150, 130, 20, 84))
    assert not [name for name in found if "growth" in name]
    assert "entity_scope/minority 2023" in found


def test_a_vendors_row_is_no_annual_report(tmp_path: Path) -> None:
    """It holds the latest figures, as restated or of a year before a listing; its sales are 营业总收入."""
    orbit = exported(tmp_path, EARLIER, LATER)["entity_scope/minority 2023"]
    head, _, _, *rows = text_of(orbit).split("\n")
    assert head == "白沙实业（600105），2023年度数据。"
    assert orbit.source.form is None
    assert orbit.alternatives[0].row.quantity.proof.facts[0].split(" ")[6] == "年报"  # the fact keeps its name
    said = {row.split(" | ")[0] for row in rows}
    assert {"营业总收入", "营业总收入（2022年度）", "营业总收入同比增长率（计算值）"} <= said
    assert "营业收入" not in said


def test_the_groups_margin_leads(tmp_path: Path) -> None:
    """净利率 in Chinese terminals is 净利润, minority included, over sales; of profit and growth the parent's leads."""
    found = exported(tmp_path, EARLIER, LATER)
    leads = {
        name.removeprefix("entity_scope/minority"): o.alternatives[0].interpretation.entity for name, o in found.items()
    }
    assert leads[" margin 2023"] == "合并口径，含少数股东损益"
    assert leads[" 2023"] == leads[" growth 2023"] == PARENT


def test_nothing_computed_is_asked_for_as_disclosed(tmp_path: Path) -> None:
    found = exported(tmp_path, EARLIER, LATER)
    asked = {name: {question(orbit, seed) for seed in range(60)} for name, orbit in found.items()}
    assert any("披露" in text for text in asked["entity_scope/minority 2023"])
    for name in ("entity_scope/minority margin 2023", "entity_scope/minority growth 2023"):
        assert len(asked[name]) >= 4
        assert not any("披露" in text for text in asked[name])
    assert not [text for some in asked.values() for text in some if text.startswith("我想知道") and "？" in text]


# --- which version --------------------------------------------------------------------------------------------------

TABLE = (
    adjusted("营业收入", 1.0e9, 1.1e9),
    adjusted("归母净利润", 1e8, 1.2e8),
    adjusted("经营活动现金流净额", 2e8, 2.01e8),
)


def test_both_columns_are_of_the_report_that_prints_them(tmp_path: Path) -> None:
    orbit = mined(tmp_path, *TABLE)["filing_vintage/revised profit 2010"]
    assert values_of(orbit) == [1.2e8, 1e8]
    assert (orbit.source.form, orbit.source.period) == ("2011年年报", "2010年度数据")
    assert {a.interpretation.entity for a in orbit.alternatives} == {PARENT}
    assert captions(orbit) == {
        f"{line}（{word}）"
        for line in ("归属于母公司股东的净利润", "营业收入", "经营活动产生的现金流量净额")
        for word in ("调整前", "调整后")
    }
    assert replies(orbit, CATEGORIES["filing_vintage"].template["zh"]) == ["no", "yes"]
    assert replies(orbit, "是2011年年报里调整前的数据吗？") == ["no", "yes"]


@pytest.mark.parametrize(
    ("disclosed", "said"), [(2011, "首次披露（2011年年报调整前）"), (2012, "重述前（2012年年报调整前）")]
)
def test_only_the_next_years_report_adjusts_what_was_first_disclosed(tmp_path: Path, disclosed: int, said: str) -> None:
    rows = [row | {"disclosed_in": f"{disclosed}年年报"} for row in TABLE]
    orbit = mined(tmp_path, *rows)["filing_vintage/revised revenue 2010"]
    assert orbit.alternatives[1].interpretation.vintage == said
    assert replies(orbit, CATEGORIES["filing_vintage"].template["zh"]) == ["no", "yes"]


def test_a_figure_that_was_itself_adjusted_is_no_first_version(tmp_path: Path) -> None:
    again = adjusted("归母净利润", 1.2e8, 1.5e8, disclosed=2012)
    found = mined(tmp_path, *TABLE, again)
    assert values_of(found["filing_vintage/revised profit 2010"]) == [1.2e8, 1e8]


def test_another_reports_columns_are_not_beside_it(tmp_path: Path) -> None:
    elsewhere = adjusted("营业利润", 3e8, 3.3e8, disclosed=2012)
    assert "营业利润（调整后）" not in captions(
        mined(tmp_path, *TABLE, elsewhere)["filing_vintage/revised profit 2010"]
    )


def test_an_express_report_stands_beside_the_lines_of_the_final_one(tmp_path: Path) -> None:
    orbit = mined(tmp_path, express("归母净利润", 1.1e8, 1e8), half())["filing_vintage/revised profit 2018"]
    assert values_of(orbit) == [1e8, 1.1e8]
    assert orbit.source.form == "业绩快报与半年报"
    head, _, _, *rows = text_of(orbit).split("\n")
    assert head == "山海股份（002101）业绩快报与半年报，2018年上半年数据。"  # each has a date of its own
    assert len(rows) >= 6
    assert all("正式半年报" in row for row in rows if "业绩快报" not in row)
    assert replies(orbit, CATEGORIES["filing_vintage"].template["zh"]) == ["no", "yes"]


def test_an_express_report_whose_lines_give_the_groups_profit_away_is_left_out(tmp_path: Path) -> None:
    found = mined(tmp_path, express("归母净利润", 1.1e8, 1e8), half(利润总额=1.5e8))
    assert "filing_vintage/revised profit 2018" not in found


# --- words ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "smallest", "printed"),
    [("600101", 2.366e7, "0.2366亿元"), ("600102", 2.366e7, "2,366.00万元"), ("600101", 2.366e6, "236.60万元")],
)
def test_hundreds_of_millions_are_written_where_every_amount_reaches_a_tenth_of_one(
    code: str, smallest: float, printed: str
) -> None:
    from fiqkit.construct.orbits import Proof, Quantity
    from fiqkit.construct.wording import unit_of, value

    unit = unit_of([1.25e10, smallest], code)
    assert value(Quantity(smallest, "money", Proof("value", ())), "zh", unit) == printed
    if unit == "亿元":
        assert value(Quantity(1.25e10, "money", Proof("value", ())), "zh", unit) == "125.00亿元"


def test_no_caption_has_two_brackets(tmp_path: Path) -> None:
    found = mined(tmp_path, *TABLE, annual(2019), annual(2020), half())
    assert not [c for orbit in found.values() for c in captions(orbit) if c.count("（") > 1]


def test_a_table_in_thousands_is_left_out(tmp_path: Path) -> None:
    """兖矿能源's sales of 2021 are 152.0bn in one table and 152.0m, in thousands, in another."""
    small = {name: value / 1000 for name, value in annual(2021).items() if isinstance(value, float)}
    path = tmp_path / "facts.jsonl"
    years = [annual(2020), annual(2021) | small]
    path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in years), encoding="utf-8")
    ingest([path], tmp_path / "facts.db")
    store = FactStore(tmp_path / "facts.db")
    (company,) = companies(store)
    store.close()
    sold = {span[1][:4] for report in company.reports for span in report.whole.get("营业总收入", {})}
    assert sold == {"2020"}
