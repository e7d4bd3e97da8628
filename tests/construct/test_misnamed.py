"""Figures that are not what they are called, and versions, periods and parts that do not stand beside one another."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from test_miners import BEFORE, FIRST_HALF, HALF, QUARTER, Row, fact, mined, quarterly, values_of

from fiqkit.construct.facts import render
from fiqkit.construct.holdings import companies
from fiqkit.construct.miners.setting import Setting, leading, settings
from fiqkit.construct.names import part_name, short_name
from fiqkit.construct.orbits import Orbit
from fiqkit.construct.topics import topics
from fiqkit.construct.wording import QUESTIONS
from fiqkit.filings.store import FactStore

AT = (None, "2023-12-31")
SEGMENTS = "us-gaap:StatementBusinessSegmentsAxis"


def setting_of(tmp_path: Path, rows: list[Row]) -> Setting:
    """The one report of some facts, and its period."""
    mined(tmp_path, rows)
    store = FactStore(tmp_path / "facts.db")
    (setting,) = (s for company in companies(store) for s in settings(company))
    store.close()
    return setting


# --- a part of what the tag's name says -------------------------------------------------------------------------------

FINITE = [fact("FiniteLivedIntangibleAssetsNet", 40e6, AT), fact("FiniteLivedIntangibleAssetsGross", 60e6, AT)]
FINITE += [fact("FiniteLivedIntangibleAssetsAccumulatedAmortization", 20e6, AT), fact("Revenues", 1e9)]


@pytest.mark.parametrize(
    ("more", "kept"),
    [
        ([], True),
        ([fact("IntangibleAssetsNetExcludingGoodwill", 40e6, AT)], True),
        ([fact("IntangibleAssetsNetExcludingGoodwill", 90e6, AT)], False),
        ([fact("IndefiniteLivedIntangibleAssetsExcludingGoodwill", 50e6, AT)], False),
        ([fact("IndefiniteLivedTrademarks", 50e6, AT, dims={SEGMENTS: "acme:WidgetsMember"})], False),
        ([fact("IndefiniteLivedIntangibleAssetsExcludingGoodwill", 0.0, AT)], True),
        ([fact("IndefiniteLivedIntangibleAssetsExcludingGoodwill", 50e6, (None, "2022-12-31"))], True),  # sold since
    ],
)
def test_finite_lived_intangibles_are_all_of_them_where_no_others_are_stated(
    tmp_path: Path, more: list[Row], kept: bool
) -> None:
    assert ("recognition_policy/amortisation intangibles" in mined(tmp_path, [*FINITE, *more])) is kept
    (setting,) = (s for c in companies(FactStore(tmp_path / "facts.db")) for s in settings(c))
    shown = leading(setting, "intangibles")
    assert (shown and shown[1].value) == (40e6 if kept else 90e6 if "IntangibleAssetsNet" in str(more) else None)


@pytest.mark.parametrize(
    ("more", "kept"),
    [
        ([], True),
        ([fact("LongTermDebtCurrent", 20e6, AT)], True),
        ([fact("DueToRelatedPartiesCurrent", 80e6, AT)], False),  # the same debt, due within the year
        ([fact("LongTermDebtAndLeasesIncludingCurrentMaturities", 80e6, AT)], True),
        ([fact("Liabilities", 90e6, AT), fact("LiabilitiesCurrent", 90e6, AT)], False),
        ([fact("Liabilities", 190e6, AT), fact("LiabilitiesCurrent", 90e6, AT)], True),
        ([fact("LongTermDebt", 130e6, AT, dims={"us-gaap:DebtInstrumentAxis": "acme:TermLoanMember"})], False),
        ([fact("LongTermDebt", 90e6, AT, dims={"us-gaap:DebtInstrumentAxis": "acme:TermLoanMember"})], True),
    ],
)
def test_long_term_debt_is_owed_for_long_and_holds_its_members(tmp_path: Path, more: list[Row], kept: bool) -> None:
    setting = setting_of(tmp_path, [fact("Revenues", 1e9), fact("LongTermDebt", 80e6, AT), *more])
    assert (leading(setting, "long-term debt") is not None) is kept


@pytest.mark.parametrize(
    ("expensed", "paid", "capitalised", "kept"),
    [
        (100e6, 140e6, 0.0, True),
        (80e6, 140e6, 0.0, False),  # interest income was taken off
        (80e6, 140e6, 50e6, True),  # the rest became part of a building
        (100e6, 60e6, 0.0, True),
    ],
)
def test_interest_expense_is_near_what_was_paid(
    tmp_path: Path, expensed: float, paid: float, capitalised: float, kept: bool
) -> None:
    rows = [fact("InterestExpense", expensed), fact("InterestPaidNet", paid)]
    rows += [fact("InterestCostsCapitalized", capitalised)] if capitalised else []
    assert ("recognition_policy/interest interest" in mined(tmp_path, rows)) is kept


@pytest.mark.parametrize(("discontinued", "printed"), [(None, False), (-20e6, True), (-3e6, False)])
def test_income_from_continuing_operations_is_printed_where_discontinued_ones_close_it(
    tmp_path: Path, discontinued: float | None, printed: bool
) -> None:
    rows = [fact("NetIncomeLoss", 100e6), fact("IncomeLossFromContinuingOperations", 120e6)]
    rows += [fact("IncomeLossFromDiscontinuedOperationsNetOfTax", discontinued)] if discontinued else []
    assert (leading(setting_of(tmp_path, rows), "continuing profit") is not None) is printed


# --- parts ------------------------------------------------------------------------------------------------------------


def segments(concept: str, total: float, **parts: float) -> list[Row]:
    rows = [fact(concept, total)]
    return rows + [fact(concept, v, dims={SEGMENTS: f"acme:{name}Member"}) for name, v in parts.items()]


@pytest.mark.parametrize(
    ("parts", "kept"),
    [
        ({"Widgets": 60e6, "Gadgets": 40e6}, True),
        ({"Widgets": 60e6, "Gadgets": 40e6, "Hardware": 100e6}, False),  # a sum of the two
        ({"Widgets": 60e6, "Gadgets": 55e6, "IntersegmentElimination": -15e6}, True),
        ({"Widgets": 60e6, "Gadgets": 55e6, "IntersegmentElimination": 15e6}, True),  # either sign
        ({"Widgets": 70e6, "Gadgets": 50e6, "CorporateAndOther": -20e6}, True),  # borne by none
    ],
)
def test_segments_do_not_hold_one_another(tmp_path: Path, parts: dict[str, float], kept: bool) -> None:
    found = mined(tmp_path, segments("OperatingIncomeLoss", 100e6, **parts))
    assert ("entity_scope/segment operating income" in found) is kept


@pytest.mark.parametrize("gains", [False, True])
def test_an_insurers_margin_has_gains_that_no_segments_has(tmp_path: Path, gains: bool) -> None:
    rows = segments("Revenues", 100e6, Widgets=60e6) + segments("OperatingIncomeLoss", 20e6, Widgets=6e6)
    rows += [fact("RealizedInvestmentGainsLosses", 9e6)] if gains else []
    assert ("entity_scope/segment rate profit margin" in mined(tmp_path, rows)) is not gains


# --- periods ----------------------------------------------------------------------------------------------------------

LAST = {"accession": "0000000001-23-000001", "filed": "2023-02-01"}


def year_to_date(concept: str) -> list[Row]:
    """The quarter, the half year, that of a year before, and the year between them."""
    rows = [fact(concept, v, s, **quarterly()) for v, s in ((30e6, QUARTER), (55e6, HALF), (40e6, FIRST_HALF))]
    return [*rows, fact(concept, 100e6, BEFORE, **LAST)]


@pytest.mark.parametrize(
    ("concept", "discontinued", "trailing"),
    [
        ("IncomeTaxExpenseBenefit", None, True),
        ("IncomeTaxExpenseBenefit", 0.0, True),
        ("IncomeTaxExpenseBenefit", -7e6, False),
        ("NetIncomeLoss", -7e6, True),  # of all operations in every report
    ],
)
def test_no_twelve_months_are_made_of_two_bases(
    tmp_path: Path, concept: str, discontinued: float | None, trailing: bool
) -> None:
    rows = year_to_date(concept)
    if discontinued is not None:  # a year before, in the same report
        stated = fact("IncomeLossFromDiscontinuedOperationsNetOfTax", discontinued, FIRST_HALF, **quarterly())
        rows.append(stated)
    (orbit,) = (o for o in mined(tmp_path, rows).values() if o.subtype == "quarter or to date")
    assert values_of(orbit) == [30e6, 55e6, 100e6, *([115e6] if trailing else [])]


@pytest.mark.parametrize(("number", "stands"), [("0000000001-23-000003", True), ("0000000001-24-000003", False)])
def test_without_a_date_a_reports_number_says_whether_it_came_later(tmp_path: Path, number: str, stands: bool) -> None:
    rows = year_to_date("Revenues")
    rows[-1] |= {"accession": number, "filed": None}
    orbit = mined(tmp_path, rows)["temporal_scope/quarter or to date revenue"]
    assert (100e6 in values_of(orbit)) is stands


# --- versions ---------------------------------------------------------------------------------------------------------

JUNE = {"form": "10-Q", "accession": "0000000001-24-000007", "filed": "2024-08-01"}
NEXT = {"form": "10-K", "accession": "0000000001-25-000001", "filed": "2025-02-01"}
THIRD = {"form": "10-K", "accession": "0000000001-26-000001", "filed": "2026-02-01"}


def revised(tmp_path: Path, more: list[Row]) -> Orbit | None:
    rows = [fact("Goodwill", 100e6, AT, **JUNE), fact("Goodwill", 90e6, AT, **NEXT), fact("Revenues", 9e8, **JUNE)]
    return mined(tmp_path, [*rows, *more]).get("filing_vintage/revised goodwill")


@pytest.mark.parametrize(
    ("concept", "value", "filing", "kept"),
    [
        ("ConcessionAssets", 10e6, NEXT, False),  # what went elsewhere has a name
        ("ConcessionAssets", 10e6, JUNE, False),
        ("ConcessionAssets", 11e6, NEXT, True),
        ("Goodwill", 10e6, {**NEXT, "start": None, "end": "2022-12-31"}, True),  # of another date
    ],
)
def test_a_balance_that_lost_what_stands_under_another_name_is_no_revision(
    tmp_path: Path, concept: str, value: float, filing: Row, kept: bool
) -> None:
    assert (revised(tmp_path, [fact(concept, value, AT, **filing)]) is not None) is kept


def test_a_passage_names_both_reports_and_leaves_out_what_a_later_one_restates(tmp_path: Path) -> None:
    stated = {"Assets": 500e6, "Liabilities": 300e6, "InventoryNet": 40e6, "AccountsPayableCurrent": 30e6}
    stated |= {"AssetsCurrent": 70e6, "LiabilitiesCurrent": 60e6, "RetainedEarningsAccumulatedDeficit": 20e6}
    rows = [fact(concept, value, AT, **JUNE) for concept, value in stated.items()]
    rows += [fact("Assets", 460e6, AT, **THIRD), fact("Liabilities", 301e6, AT, **THIRD)]
    orbit = revised(tmp_path, rows)
    assert orbit
    lines = {row.topic for row in orbit.around}
    assert "assets" not in lines  # 460 in the report after next
    assert {"liabilities", "inventories", "revenue"} <= lines  # 301 is a rounding of 300
    made = render(orbit, seed=1)
    assert made
    head = made[1].text.splitlines()[:2]
    assert head[0] == (
        "Acme, Forms 10-Q and 10-K, fiscal year ended December 31, 2023, the later filed February 1, 2025."
    )
    assert head[1].startswith("Figures from the company's reports.")


@pytest.mark.parametrize(("own", "kept"), [(3, False), (4, True)])
def test_a_later_quarterly_report_states_some_lines_of_the_period_itself(tmp_path: Path, own: int, kept: bool) -> None:
    concepts = ("Assets", "Liabilities", "InventoryNet", "AccountsPayableCurrent")
    later = {**NEXT, "form": "10-Q"}
    rows = [fact("Goodwill", 100e6, AT, **JUNE), fact("Goodwill", 90e6, AT, **later)]
    rows += [fact(concept, 7e6 * (n + 1), AT, **later) for n, concept in enumerate(concepts[:own])]
    assert ("filing_vintage/revised goodwill" in mined(tmp_path, rows)) is kept


# --- what leads, and what it is called --------------------------------------------------------------------------------


def test_the_headline_of_interest_income_and_of_lease_cost_is_what_the_words_say(tmp_path: Path) -> None:
    rows = [fact("InterestAndDividendIncomeOperating", 90e6), fact("InterestIncomeExpenseNet", 60e6)]
    rows += [fact("InterestExpense", 30e6), fact("OperatingLeaseCost", 30e6), fact("LeaseCost", 40e6)]
    found = mined(tmp_path, rows)
    income = found["recognition_policy/net of cost interest income"]
    assert [(a.value, a.row.caption) for a in income.alternatives] == [
        (90e6, "Interest income, gross"),
        (60e6, "Net interest income"),
    ]
    assert values_of(found["metric_definition/variable part lease cost"]) == [40e6, 30e6]


def test_what_is_paid_of_a_restructuring_is_no_expense() -> None:
    assert topics()["restructuring"].words["en"] == ("restructuring cost",)


def test_names_that_capitals_hide() -> None:
    assert short_name("FRESENIUS MEDICAL CARE AG & CO. KGAA") == "Fresenius Medical Care AG & Co. KGaA"
    assert short_name("AMETEK INC/") == "AMETEK"
    assert part_name("Pratt and Whitney") == "Pratt & Whitney"
    assert part_name("Datacenter") == "Data Center"


def test_no_question_says_that_a_report_gives_what_may_be_computed() -> None:
    assert not [form for form in QUESTIONS["en"] if re.search("report|give", form)]
    assert len(QUESTIONS["en"]) == 5
