"""A reading is what its caption and the question call it: what is turned away, or worded otherwise, and what stays."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_miners import HALF, QUARTER, Row, fact, mined, quarterly, values_of

from fiqkit.agent.questions import settles
from fiqkit.construct.facts import render
from fiqkit.construct.miners.entity import member_name
from fiqkit.construct.miners.setting import leading, settings
from fiqkit.construct.names import short_name
from fiqkit.construct.orbits import Orbit
from fiqkit.construct.topics import concepts, topics
from fiqkit.construct.wording import QUESTIONS
from fiqkit.records import Instance
from fiqkit.roles.interfaces import UserView
from fiqkit.taxonomy import CATEGORIES

AT = (None, "2023-12-31")
PER_SHARE = {"u": "USD/shares"}


def siblings(orbit: Orbit) -> list[Instance]:
    """Its instances, whatever else the passage prints."""
    from dataclasses import replace

    from fiqkit.construct.orbits import Row as Line

    row = orbit.alternatives[0].row
    around = tuple(Line(f"{name}", row.quantity, name) for name in list(topics())[-12:])
    made = render(replace(orbit, around=around), seed=1)
    assert made
    return made[0]


# --- the difference between two readings is the one that they name ---------------------------------------------------


@pytest.mark.parametrize(
    ("more", "kept"),
    [
        ({}, True),  # no minority's share is stated
        ({"NetIncomeLossAttributableToNoncontrollingInterest": 10e6}, True),
        ({"NetIncomeLossAttributableToNoncontrollingInterest": 1e6}, False),  # something else was taken off
        ({"PreferredStockDividends": 10e6}, False),  # the parent's figure is the common shareholders'
    ],
)
def test_the_parents_share_is_the_group_less_the_minority(tmp_path: Path, more: dict[str, float], kept: bool) -> None:
    rows = [fact("ProfitLoss", 110e6), fact("NetIncomeLoss", 100e6), *(fact(c, v) for c, v in more.items())]
    assert ("entity_scope/minority profit" in mined(tmp_path, rows)) is kept


@pytest.mark.parametrize(
    ("discontinued", "kept"), [(None, False), (-20e6, True), (-3e6, False)], ids=["unstated", "closes", "does not"]
)
def test_continuing_operations_are_apart_by_discontinued_ones(
    tmp_path: Path, discontinued: float | None, kept: bool
) -> None:
    rows = [fact("NetIncomeLoss", 100e6), fact("IncomeLossFromContinuingOperations", 120e6)]
    rows += [fact("IncomeLossFromDiscontinuedOperationsNetOfTax", discontinued)] if discontinued else []
    assert ("metric_definition/operations profit" in mined(tmp_path, rows)) is kept


def test_continuing_earnings_per_share_are_apart_by_discontinued_ones(tmp_path: Path) -> None:
    rows = [
        fact("EarningsPerShareDiluted", 1.00, **PER_SHARE),
        fact("EarningsPerShareBasic", 1.10, **PER_SHARE),
        fact("IncomeLossFromContinuingOperationsPerDilutedShare", 1.25, **PER_SHARE),
    ]
    lost = fact("IncomeLossFromDiscontinuedOperationsNetOfTaxPerDilutedShare", -0.26, **PER_SHARE)
    for name, stated, values in (("a", rows, [1.00, 1.10]), ("b", [*rows, lost], [1.00, 1.10, 1.25])):
        (tmp_path / name).mkdir()
        assert values_of(mined(tmp_path / name, stated)["metric_definition/per share eps"]) == values


@pytest.mark.parametrize(
    ("net", "gross", "taken_off", "kept"),
    [
        (40e6, 90e6, None, False),  # nothing says what makes the one net
        (40e6, 90e6, -50e6, True),  # filed with the sign of a deduction
        (46e6, 11e6, None, False),  # the allowance was filed as the net figure
        (40e6, 90e6, 20e6, False),  # the cost of what is in service alone
    ],
)
def test_net_is_gross_less_what_was_taken_off(
    tmp_path: Path, net: float, gross: float, taken_off: float | None, kept: bool
) -> None:
    rows = [fact("DeferredTaxAssetsNet", net, AT), fact("DeferredTaxAssetsGross", gross, AT)]
    rows += [fact("DeferredTaxAssetsValuationAllowance", taken_off, AT)] if taken_off else []
    assert ("recognition_policy/valuation deferred tax assets" in mined(tmp_path, rows)) is kept


def test_stock_compensation_leads_before_its_tax_effect(tmp_path: Path) -> None:
    gross, net = "AllocatedShareBasedCompensationExpense", "AllocatedShareBasedCompensationExpenseNetOfTax"
    effect = "EmployeeServiceShareBasedCompensationTaxBenefitFromCompensationExpense"
    orbit = mined(tmp_path, [fact(gross, 10e6), fact(net, 7e6), fact(effect, 3e6)])
    assert values_of(orbit["recognition_policy/tax effect stock compensation"]) == [10e6, 7e6]


@pytest.mark.parametrize(("current", "kept"), [(20e6, True), (5e6, False)])
def test_long_term_debt_is_apart_from_its_noncurrent_part_by_the_current_one(
    tmp_path: Path, current: float, kept: bool
) -> None:
    rows = [fact("LongTermDebtNoncurrent", 80e6, AT), fact("LongTermDebt", 100e6, AT)]
    rows += [fact("LongTermDebtCurrent", current, AT)]
    assert ("metric_definition/current portion long-term debt" in mined(tmp_path, rows)) is kept


def test_interest_incurred_is_expensed_and_capitalised(tmp_path: Path) -> None:
    rows = [fact("InterestExpense", 80e6), fact("InterestCostsIncurred", 60e6)]
    assert "recognition_policy/interest interest" not in mined(tmp_path, rows)


# --- the question asks for the measure that the passage shows ---------------------------------------------------------


def test_a_question_calls_a_line_neither_narrower_nor_wider_than_it_is() -> None:
    """Depreciation and amortization is not depreciation; a current, gross or operating figure is no total."""
    assert topics()["depreciation"].words["en"] == ("depreciation and amortization",)
    assert concepts("profit")[0] == "NetIncomeLoss"
    for topic, concept in (
        ("profit", "GrossProfit"),
        ("profit", "IncomeLossFromContinuingOperations"),
        ("deferred tax assets", "DeferredTaxAssetsNetCurrent"),
        ("deferred tax liabilities", "DeferredTaxLiabilitiesNoncurrent"),
        ("property", "PropertyPlantAndEquipmentGross"),
        ("other assets", "OtherAssetsCurrent"),
    ):
        assert concept not in concepts(topic)
    assert not topics()["current deferred tax assets"].words["en"]  # printed, never asked for


def test_every_question_is_put_in_the_past_but_for_what_a_report_gives() -> None:
    for wording in QUESTIONS["en"]:
        assert not {"is", "are", "{is}"} & set(wording.split())


def test_a_balance_among_flows_has_their_period_in_its_head(tmp_path: Path) -> None:
    rows = [fact("Goodwill", 70e6, (None, "2023-06-30"), **quarterly())]
    rows += [fact("Goodwill", 50e6, (None, "2022-12-31"), **quarterly())]
    rows += [fact(c, 10e6, (None, "2022-12-31"), **quarterly()) for c in ("Assets", "Liabilities", "InventoryNet")]
    rows += [fact("StockholdersEquity", 1e6, (None, "2022-12-31"), **quarterly())]
    rows += [fact("Revenues", 30e6, QUARTER, **quarterly()), fact("Revenues", 55e6, HALF, **quarterly())]
    orbit = mined(tmp_path, rows)["temporal_scope/balance date goodwill"]
    assert orbit.source.period == "three months ended June 30, 2023"
    assert orbit.alternatives[0].row.caption == "Goodwill (quarter close, June 30, 2023)"


def test_the_secs_data_sets_round_dates_so_that_a_passage_names_the_month(tmp_path: Path) -> None:
    """A line of a mined file of pairs, whose filing's quarter ended on August 30."""
    pair = {"cik": "7", "name": "LATE SUMMER CORP", "form": "10-Q", "accession": "0000000007-09-000001"}
    pair |= {"filed": "2009-10-01", "start": "2009-06-01", "end": "2009-08-31", "qtrs": 1, "fy": 2009}
    pair |= {"a": "NetIncomeLoss", "b": "OperatingIncomeLoss", "a_value": 10e6, "b_value": 15e6, "topic": "profit"}
    found = mined(tmp_path, [pair])
    (orbit,) = (o for o in found.values() if o.topic == "profit")
    assert orbit.source.period == "three months ended August 2009"


@pytest.mark.parametrize(("value", "printed"), [(150e6, True), (-150e6, False)])
def test_an_expense_with_its_sign_turned_is_not_printed(tmp_path: Path, value: float, printed: bool) -> None:
    from fiqkit.construct.holdings import companies
    from fiqkit.filings.store import FactStore

    mined(tmp_path, [fact("Revenues", 1e9), fact("NetIncomeLoss", -2e6), fact("InterestExpense", value)])
    store = FactStore(tmp_path / "facts.db")
    (setting,) = (s for company in companies(store) for s in settings(company))
    store.close()
    assert (leading(setting, "interest") is not None) is printed
    assert leading(setting, "profit") is not None  # a loss is one


# --- labels -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("concept", ["RestrictedCash", "ShortTermInvestments"])
def test_cash_is_called_unrestricted_beside_restricted_cash_alone(tmp_path: Path, concept: str) -> None:
    wider = {
        "RestrictedCash": "CashCashEquivalentsRestrictedCashAndRestrictedCashEquivalents",
        "ShortTermInvestments": "CashCashEquivalentsAndShortTermInvestments",
    }[concept]
    found = mined(tmp_path, [fact("CashAndCashEquivalentsAtCarryingValue", 5e6, AT), fact(wider, 9e6, AT)])
    (orbit,) = (o for o in found.values() if o.topic == "cash")
    assert ("unrestricted" in orbit.alternatives[0].row.caption) is (concept == "RestrictedCash")


@pytest.mark.parametrize(
    ("member", "name"),
    [
        ("us-gaap:InternationalMember", None),  # all the rest
        ("ba:InternationalRegionMember", None),
        ("wmt:WalmartInternationalMember", "Walmart International"),
        ("pg:BabyFeminineAndFamilyCareMember", "Baby, Feminine & Family Care"),
        ("pg:BabyFeminineFamilyCareMember", "Baby, Feminine & Family Care"),
        ("gme:VideoGameBrandsAustraliaMember", None),  # a list whose commas are lost
        ("jnj:MedTechMember", "MedTech"),
        ("x:EnergyandTransportationMember", "Energy and Transportation"),
        ("x:GrandBrandMember", "Grand Brand"),
        ("exc:CommonwealthEdisonCoMember", "Commonwealth Edison"),
        ("exc:PecoEnergyCoMember", "PECO Energy"),
    ],
)
def test_a_part_has_a_name_that_people_use(member: str, name: str | None) -> None:
    assert member_name(member) == name


def test_a_tracking_stock_is_no_segment(tmp_path: Path) -> None:
    rows = [fact("Revenues", 100e6), fact("Revenues", 60e6, dims={"OperatingActivitiesSegment": "LibertyCapital"})]
    assert not mined(tmp_path, rows)


@pytest.mark.parametrize(
    ("registered", "spoken"),
    [
        ("BORGWARNER INC", "BorgWarner"),
        ("COCA COLA CO", "Coca-Cola"),
        ("Kimberly Clark Corp", "Kimberly-Clark"),
        ("BOEING CO, THE", "Boeing"),
        ("The Boeing Company", "Boeing"),
        ("GRAINGER W W INC", "W.W. Grainger"),
        ("LOWES COMPANIES INC", "Lowe's"),
        ("THE THEATRE CO", "Theatre"),
        ("ICU MEDICAL INC/DE", "ICU Medical"),
    ],
)
def test_a_company_is_spelled_as_it_spells_itself(registered: str, spoken: str) -> None:
    assert short_name(registered) == spoken


# --- versions ---------------------------------------------------------------------------------------------------------


def test_no_version_is_called_the_first_and_the_categorys_question_still_settles_the_pair(tmp_path: Path) -> None:
    """A balance of December in the report of June: the annual report before it is not at hand."""
    before = {"form": "10-Q", "accession": "0000000001-24-000007", "filed": "2024-08-01"}
    after = {"form": "10-K", "accession": "0000000001-25-000001", "filed": "2025-02-01"}
    rows: list[Row] = [fact("Goodwill", 100e6, AT, **before), fact("Goodwill", 90e6, AT, **after)]
    rows += [fact("Revenues", 900e6, **before)]
    orbit = mined(tmp_path, rows)["filing_vintage/revised goodwill"]
    assert [a.row.caption for a in orbit.alternatives] == [
        "Goodwill, as revised in Form 10-K, February 1, 2025",
        "Goodwill, before revision, as in Form 10-Q, August 1, 2024",
    ]
    assert orbit.source.period == "fiscal year ended December 31, 2023"  # that of the revenue beside it
    for instance in siblings(orbit):
        assert "first" not in instance.context + str(instance.intended_interpretation.vintage)
        assert settles(CATEGORIES["filing_vintage"].template["en"], UserView.of(instance))


def test_a_total_below_its_part_is_of_something_else(tmp_path: Path) -> None:
    rows = [fact("OperatingLeaseCost", 330e3), fact("LeaseCost", 307e3)]
    assert "metric_definition/variable part lease cost" not in mined(tmp_path, rows)
