"""What each miner gathers from reports, and what its guards turn away."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fiqkit.construct.holdings import Figure, companies, fact_name
from fiqkit.construct.miners import mine
from fiqkit.construct.miners.entity import member_name
from fiqkit.construct.miners.vintage import revision
from fiqkit.construct.names import short_name
from fiqkit.construct.orbits import Orbit
from fiqkit.filings.ingest import ingest
from fiqkit.filings.store import FactStore

YEAR, QUARTER, HALF = ("2023-01-01", "2023-12-31"), ("2023-04-01", "2023-06-30"), ("2023-01-01", "2023-06-30")
Row = dict[str, object]


def fact(concept: str, value: float, span: tuple[str | None, str] = YEAR, **more: object) -> Row:
    """A line of a dump of facts."""
    return {
        "cik": "1",
        "name": "ACME CORP",
        "form": "10-K",
        "accession": "0000000001-24-000001",
        "filed": "2024-02-01",
        "c": f"us-gaap:{concept}",
        "v": value,
        "u": "USD",
        "dec": "-6",
        "start": span[0],
        "end": span[1],
        "dims": {},
    } | more


def mined(tmp_path: Path, rows: list[Row]) -> dict[str, Orbit]:
    """Miner and topic → the orbit that is mined from some facts."""
    path = tmp_path / "facts.jsonl"
    path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), encoding="utf-8")
    summary = ingest([path], tmp_path / "facts.db")
    assert not summary.faults
    store = FactStore(tmp_path / "facts.db")
    found = {f"{o.miner} {o.topic}": o for company in companies(store) for o in mine(company)}
    store.close()
    return found


def values_of(orbit: Orbit) -> list[float]:
    return [a.value for a in orbit.alternatives]


def test_the_parents_share_leads_and_the_group_is_the_other_reading(tmp_path: Path) -> None:
    orbit = mined(tmp_path, [fact("ProfitLoss", 110e6), fact("NetIncomeLoss", 100e6)])["entity_scope/minority profit"]
    assert values_of(orbit) == [100e6, 110e6]
    fields = orbit.alternatives[0].interpretation.differs_from(orbit.alternatives[1].interpretation)
    assert fields == ("entity",)
    assert orbit.source.company == "Acme"


def test_values_within_the_tolerance_and_losses_beside_profits_make_no_orbit(tmp_path: Path) -> None:
    assert not mined(tmp_path, [fact("ProfitLoss", 102e6), fact("NetIncomeLoss", 100e6)])


def test_a_loss_beside_a_profit_makes_no_orbit(tmp_path: Path) -> None:
    assert not mined(tmp_path, [fact("ProfitLoss", 5e6), fact("NetIncomeLoss", -5e6)])


def test_segments_stand_beside_the_total_and_eliminations_do_not(tmp_path: Path) -> None:
    axis = "us-gaap:StatementBusinessSegmentsAxis"
    rows = [fact("Revenues", 100e6)]
    for member, value in (("acme:WidgetsMember", 60e6), ("acme:GadgetsMember", 45e6)):
        rows.append(fact("Revenues", value, dims={axis: member}))
    rows += [fact("Revenues", 50e6, dims={axis: f"us-gaap:{m}"}) for m in ("CorporateMember", "IntersegmentMember")]
    rows.append(fact("Revenues", 4e6, dims={axis: "acme:TinyMember"}))
    orbit = mined(tmp_path, rows)["entity_scope/segment revenue"]
    assert values_of(orbit) == [100e6, 60e6, 45e6]
    assert orbit.alternatives[1].interpretation.entity == "Widgets segment"


@pytest.mark.parametrize(
    ("member", "name"),
    [
        ("rtx:CollinsAerospaceMember", "Collins Aerospace"),
        ("country:US", "United States"),
        ("us-gaap:OperatingSegmentsMember", None),
        ("us-gaap:CorporateNonSegmentMember", None),
        ("us-gaap:NonUsMember", None),
    ],
)
def test_a_part_is_named_as_people_name_it(member: str, name: str | None) -> None:
    assert member_name(member) == name


def quarterly(**more: object) -> Row:
    return {"form": "10-Q", "accession": "0000000001-23-000009", "filed": "2023-08-01"} | more


BEFORE, FIRST_HALF = ("2022-01-01", "2022-12-31"), ("2022-01-01", "2022-06-30")


def test_no_figure_is_from_a_report_of_a_later_date(tmp_path: Path) -> None:
    """A year's total is not known in its second quarter; the year's before is, unless its report came later."""
    rows = [
        fact("Revenues", 30e6, QUARTER, **quarterly()),
        fact("Revenues", 55e6, HALF, **quarterly()),
        fact("Revenues", 120e6, YEAR),
        fact("Revenues", 90e6, BEFORE, accession="0000000001-23-000001", filed="2023-02-01"),
    ]
    orbit = mined(tmp_path, rows)["temporal_scope/quarter or to date revenue"]
    assert values_of(orbit) == [30e6, 55e6, 90e6]
    assert orbit.alternatives[2].row.caption == "Revenue (last full fiscal year)"
    late = [row | {"filed": "2023-08-02"} if row["end"] == BEFORE[1] else row for row in rows]
    assert values_of(mined(tmp_path, late)["temporal_scope/quarter or to date revenue"]) == [30e6, 55e6]


def test_trailing_twelve_months_are_computed_from_three_reported_figures(tmp_path: Path) -> None:
    rows = [
        fact("Revenues", 30e6, QUARTER, **quarterly()),
        fact("Revenues", 55e6, HALF, **quarterly()),
        fact("Revenues", 40e6, FIRST_HALF, **quarterly()),
        fact("Revenues", 90e6, BEFORE, accession="0000000001-23-000001", filed="2023-02-01"),
    ]
    orbit = mined(tmp_path, rows)["temporal_scope/quarter or to date revenue"]
    assert values_of(orbit) == [30e6, 55e6, 90e6, 90e6 + 55e6 - 40e6]
    assert orbit.alternatives[3].row.quantity.proof.operation == "trailing"


def test_a_report_that_contradicts_itself_gives_no_reading(tmp_path: Path) -> None:
    rows = [fact("ProfitLoss", 110e6), fact("NetIncomeLoss", 100e6), fact("NetIncomeLoss", 90e6, dec="-5")]
    assert not mined(tmp_path, rows)


def test_gross_and_net_and_what_was_paid(tmp_path: Path) -> None:
    at = (None, "2023-12-31")
    rows = [
        fact("PropertyPlantAndEquipmentNet", 40e6, at),
        fact("PropertyPlantAndEquipmentGross", 90e6, at),
        fact("AccumulatedDepreciationDepletionAndAmortizationPropertyPlantAndEquipment", 50e6, at),
        fact("IncomeTaxExpenseBenefit", 9e6),
        fact("IncomeTaxesPaidNet", 7e6),
    ]
    found = mined(tmp_path, rows)
    assert values_of(found["recognition_policy/property property"]) == [40e6, 90e6]
    assert values_of(found["recognition_policy/paid income taxes"]) == [9e6, 7e6]
    assert found["recognition_policy/property property"].alternatives[1].interpretation.period == "as of 2023-12-31"


def versions(*stated: float) -> list[tuple[int, Figure]]:
    return [(place, Figure(f"fact {place}", value, "USD")) for place, value in enumerate(stated)]


@pytest.mark.parametrize(
    ("stated", "kept"),
    [
        ((100e6, 110e6), (100e6, 110e6)),
        ((100e6, 100.1e6, 110e6), (100e6, 110e6)),  # a rounding of the first is the first
        ((100e6, 101e6), None),  # within the tolerance
        ((100e6, -100e6), None),  # a sign
        ((100e6, 100e9), None),  # a scale
        ((100e6, 110e6, 100e6), None),  # reverts
        ((100e6, 110e6, 130e6), None),  # two changes: which of them is meant
        ((100e6, 190e6), None),  # beyond any restatement
    ],
)
def test_what_counts_as_a_revision(stated: tuple[float, ...], kept: tuple[float, float] | None) -> None:
    found = revision(versions(*stated))
    assert (found and (found[0][1].value, found[1][1].value)) == kept


def later(concept: str, value: float, **more: object) -> Row:
    return fact(concept, value, accession="0000000001-25-000001", filed="2025-02-01", **more)


def test_a_revised_figure_leads_and_names_both_filings(tmp_path: Path) -> None:
    orbit = mined(tmp_path, [fact("Revenues", 100e6), later("Revenues", 90e6)])["filing_vintage/revised revenue"]
    assert values_of(orbit) == [90e6, 100e6]
    assert "February 1, 2024" in orbit.alternatives[1].row.caption


def test_a_tag_that_changed_its_meaning_is_no_revision(tmp_path: Path) -> None:
    """What the later filing calls net income is what the first called net income with the minority's share."""
    rows = [fact("NetIncomeLoss", 100e6), fact("ProfitLoss", 110e6), later("NetIncomeLoss", 110e6)]
    assert not [key for key in mined(tmp_path, rows) if key.startswith("filing_vintage")]


def test_another_company_under_the_same_number_is_no_revision(tmp_path: Path) -> None:
    """After a reverse merger the register's number has the other company's figures."""
    rows = [fact("Revenues", 100e6), later("Revenues", 130e6, name="BIGGER CO")]
    assert not [key for key in mined(tmp_path, rows) if key.startswith("filing_vintage")]


def test_chinese_profit_by_owner_and_by_what_recurs(tmp_path: Path) -> None:
    row = {"code": "000538", "company": "云南白药", "year": 2020, "归母_source": "reported"}
    profit = {"净利润": 5.5e9, "归母净利润": 5.0e9, "少数股东损益": 0.5e9, "营业总收入": 30e9, "营业收入": 30e9}
    half = {"code": "2002", "company": "中亚股份", "notice_date": "2018-08-01", "总营收": 4e8, "利润总额": 1.2e8}
    half |= {"所得税费用": 2e7, "归母净利润": 1e8, "扣非净利润": 7e7, "净利润_推算": 1e8, "少数股东损益_推算": 0.0}
    found = mined(tmp_path, [row | profit, half])
    assert values_of(found["entity_scope/minority profit"]) == [5.0e9, 5.5e9]
    orbit = found["metric_definition/adjusted profit"]
    assert values_of(orbit) == [1e8, 7e7]
    assert orbit.source.code == "002002"


def test_a_fact_is_named_by_what_it_is() -> None:
    name = fact_name("1", "us-gaap:Revenues", "USD", "{}", None, "2023-12-31", "10-K/A", None, None)
    assert name == "1 us-gaap:Revenues USD {} - 2023-12-31 10-K/A - -"


@pytest.mark.parametrize(
    ("registered", "spoken"),
    [
        ("APPLE INC", "Apple"),
        ("AIR PRODUCTS & CHEMICALS INC /DE/", "Air Products & Chemicals"),
        ("Meta Platforms, Inc.", "Meta Platforms"),
        ("JOHNSON CONTROLS INTERNATIONAL PLC", "Johnson Controls International"),
        ("3M CO", "3M"),
    ],
)
def test_a_company_is_called_as_people_call_it(registered: str, spoken: str) -> None:
    assert short_name(registered) == spoken


# --- subtypes that few sources hold ---------------------------------------------------------------------------------

FIRST, FIRST_BEFORE = ("2023-10-01", "2023-12-31"), ("2022-10-01", "2022-12-31")
FISCAL = ("2022-10-01", "2023-09-30")


def test_a_first_quarter_that_ends_the_calendar_year_gives_fiscal_and_calendar_year(tmp_path: Path) -> None:
    """A fiscal year to September: the calendar year is it, less the autumn before, plus this autumn."""
    rows = [
        fact("Revenues", 30e6, FIRST, **quarterly(filed="2024-02-01")),
        fact("Revenues", 25e6, FIRST_BEFORE, **quarterly(filed="2024-02-01")),
        fact("Revenues", 100e6, FISCAL, filed="2023-11-01"),
    ]
    orbit = mined(tmp_path, rows)["temporal_scope/fiscal or calendar year revenue"]
    assert values_of(orbit) == [30e6, 100e6, 105e6]
    assert orbit.alternatives[2].interpretation.period == "calendar year, the twelve months to 2023-12-31"


def test_classes_of_stock_that_earn_apart_are_readings(tmp_path: Path) -> None:
    axis = "us-gaap:StatementClassOfStockAxis"
    rows = [fact("Revenues", 100e6)]
    rows += [
        fact("EarningsPerShareDiluted", value, u="USD/shares", dims={axis: member})
        for member, value in (("us-gaap:CommonClassAMember", 9.73), ("v:CommonClassB1Member", 15.45))
    ]
    orbit = mined(tmp_path, rows)["entity_scope/share class eps"]
    assert values_of(orbit) == [9.73, 15.45]
    assert orbit.alternatives[1].interpretation.entity == "holders of Class B-1 common stock"


def test_classes_of_equal_rights_are_no_readings(tmp_path: Path) -> None:
    axis = "us-gaap:StatementClassOfStockAxis"
    rows = [fact("Revenues", 100e6)]
    rows += [
        fact("EarningsPerShareDiluted", 5.8, u="USD/shares", dims={axis: f"us-gaap:CommonClass{name}Member"})
        for name in "AB"
    ]
    assert not mined(tmp_path, rows)


def test_the_rates_of_a_segment_stand_beside_the_companys(tmp_path: Path) -> None:
    axis = "us-gaap:StatementBusinessSegmentsAxis"
    widgets = {"dims": {axis: "acme:WidgetsMember"}}
    before = ("2022-01-01", "2022-12-31")
    rows = [
        fact("Revenues", 100e6),
        fact("Revenues", 80e6, before),
        fact("Revenues", 60e6, **widgets),
        fact("Revenues", 40e6, before, **widgets),
        fact("OperatingIncomeLoss", 10e6),
        fact("OperatingIncomeLoss", 12e6, **widgets),
    ]
    found = mined(tmp_path, rows)
    assert values_of(found["entity_scope/segment rate revenue growth rate"]) == pytest.approx([25.0, 50.0])
    assert values_of(found["entity_scope/segment rate profit margin"]) == pytest.approx([10.0, 20.0])


@pytest.mark.parametrize("split", [(30e6, 70e6), (30e6, 20e6)])
def test_a_split_by_time_is_one_of_revenue_if_it_adds_up_to_it(tmp_path: Path, split: tuple[float, float]) -> None:
    axis = "us-gaap:TimingOfTransferOfGoodOrServiceAxis"
    members = ("us-gaap:TransferredAtPointInTimeMember", "us-gaap:TransferredOverTimeMember")
    rows = [fact("Revenues", 100e6)]
    rows += [
        fact("RevenueFromContractWithCustomerExcludingAssessedTax", v, dims={axis: m})
        for m, v in zip(members, split, strict=True)
    ]
    orbit = mined(tmp_path, rows).get("recognition_policy/timing revenue")
    assert (orbit and values_of(orbit)) == ([100e6, 30e6, 70e6] if sum(split) == 100e6 else None)


def test_premiums_earned_written_and_gross(tmp_path: Path) -> None:
    rows = [fact("PremiumsEarnedNet", 90e6), fact("PremiumsWrittenNet", 100e6), fact("CededPremiumsWritten", 20e6)]
    orbit = mined(tmp_path, rows)["recognition_policy/premiums premiums"]
    assert values_of(orbit) == [90e6, 100e6, 120e6]
    assert orbit.alternatives[2].row.caption.endswith("(computed)")


def test_a_hand_read_table_is_read_beside_the_filing_of_its_period(tmp_path: Path) -> None:
    """A release's non-GAAP figure, two lines of a table, is asked for among the lines of the quarterly report."""
    table = "entity,name,concept,value,unit,start,end,dims,form\n"
    for dims, value in (("{}", 172), ('"{""measure"": ""non-GAAP""}"', 555)):
        table += f"1,Acme Corp,NetIncomeLoss,{value}000000,USD,{YEAR[0]},{YEAR[1]},{dims},release\n"
    (tmp_path / "release.csv").write_text(table)
    (tmp_path / "filing.jsonl").write_text(
        "\n".join(json.dumps(fact(c, 10e6 + n)) for n, c in enumerate(("Revenues", "InterestExpense", "CostOfRevenue")))
    )
    ingest([tmp_path / "filing.jsonl", tmp_path / "release.csv"], tmp_path / "facts.db")
    store = FactStore(tmp_path / "facts.db")
    (orbit,) = (o for company in companies(store) for o in mine(company) if o.miner == "metric_definition/adjusted")
    store.close()
    assert values_of(orbit) == [172e6, 555e6]
    assert {row.topic for row in orbit.around} >= {"revenue", "interest", "cost of sales"}


def test_a_banks_margin_is_of_its_total_revenue(tmp_path: Path) -> None:
    """What a bank files as revenue from contracts with customers is a part of its revenue."""
    rows = [
        fact("RevenuesNetOfInterestExpense", 100e6),
        fact("RevenueFromContractWithCustomerExcludingAssessedTax", 60e6),
        fact("NetIncomeLoss", 10e6),
        fact("OperatingIncomeLoss", 20e6),
    ]
    orbit = mined(tmp_path, rows)["metric_definition/which margin profit margin"]
    assert values_of(orbit) == pytest.approx([10.0, 20.0])
