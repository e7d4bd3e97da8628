"""Metric definition: which of several measures that go by one name is meant.

- per share: basic and diluted earnings per share.
- profit: gross, operating and net profit; net profit leads.
- operations: net income of all operations, or of those that go on.
- cash: with and without restricted cash.
- margin, growth: of which profit, of which measure.
- adjusted: by the accounting standard or as management adjusts it (non-GAAP; 归母 against 扣非).
"""

from __future__ import annotations

from collections.abc import Iterator

from fiqkit.construct.holdings import Company, Figure
from fiqkit.construct.miners.chinese import RECURRING, profits
from fiqkit.construct.miners.setting import (
    DISCONTINUED,
    FASTEST,
    Setting,
    beside,
    bridged,
    derived,
    orbit,
    reading,
    same_stretch,
    settings,
    total_revenue,
)
from fiqkit.construct.orbits import Alternative, Orbit

_NAME = "metric_definition"
# (topic, subtype) → readings as (concept, caption, metric, constraint), the headline first
_MEASURES: dict[tuple[str, str], tuple[tuple[str, str, str, str], ...]] = {
    ("eps", "per share"): (
        ("EarningsPerShareDiluted", "Diluted earnings per share", "diluted earnings per share", "the diluted figure"),
        ("EarningsPerShareBasic", "Basic earnings per share", "basic earnings per share", "the basic figure"),
        (
            "IncomeLossFromContinuingOperationsPerDilutedShare",
            "Diluted earnings per share, continuing operations",
            "diluted earnings per share from continuing operations",
            "the diluted figure for continuing operations only",
        ),
    ),
    ("profit", "which profit"): (
        # "Profit" stands in each caption alike: where one line alone has the question's word, it points there.
        ("NetIncomeLoss", "Net profit", "net profit, net income", "net profit, the bottom line"),
        ("OperatingIncomeLoss", "Operating profit", "operating profit, operating income", "operating profit"),
        ("GrossProfit", "Gross profit", "gross profit", "gross profit"),
    ),
    ("profit", "operations"): (
        ("NetIncomeLoss", "Net income, all operations", "net income, all operations", "net income of all operations"),
        (
            "IncomeLossFromContinuingOperations",
            "Net income from continuing operations",
            "net income from continuing operations",
            "net income from continuing operations only",
        ),
    ),
    ("cash", "restricted"): (
        (
            "CashAndCashEquivalentsAtCarryingValue",
            "Cash and cash equivalents, unrestricted",
            "unrestricted cash and cash equivalents",
            "unrestricted cash and cash equivalents",
        ),
        (
            "CashCashEquivalentsRestrictedCashAndRestrictedCashEquivalents",
            "Cash, cash equivalents and restricted cash",
            "cash, cash equivalents and restricted cash",
            "cash, cash equivalents and restricted cash",
        ),
    ),
    ("cash", "investments"): (
        (
            "CashAndCashEquivalentsAtCarryingValue",
            "Cash and cash equivalents",
            "cash and cash equivalents alone",
            "cash and cash equivalents alone, without investments",
        ),
        (
            "CashCashEquivalentsAndShortTermInvestments",
            "Cash, cash equivalents and short-term investments",
            "cash, cash equivalents and short-term investments",
            "cash together with short-term investments",
        ),
    ),
    ("long-term debt", "current portion"): (
        (
            "LongTermDebtNoncurrent",
            "Long-term debt, noncurrent portion",
            "noncurrent portion of long-term debt",
            "the noncurrent portion",
        ),
        (
            "LongTermDebt",
            "Long-term debt with the current portion",
            "total long-term debt including the current portion",
            "the total including the current portion",
        ),
    ),
    ("lease cost", "variable part"): (
        (
            "LeaseCost",
            "Total lease cost, every kind included",
            "total lease cost, every kind included",
            "the total lease cost with every kind included",
        ),
        (
            "OperatingLeaseCost",
            "Operating lease cost alone",
            "operating lease cost alone, without variable, short-term and finance leases",
            "the operating lease cost alone",
        ),
    ),
}
# A reading beside the headline → what the report must state to be what separates the two. Preferred dividends, the
# minority's share and extraordinary items also stand between net income and that of continuing operations.
_APART_BY = {
    "IncomeLossFromContinuingOperations": DISCONTINUED,
    "IncomeLossFromContinuingOperationsPerDilutedShare": (
        "IncomeLossFromDiscontinuedOperationsNetOfTaxPerDilutedShare",
        "DiscontinuedOperationIncomeLossFromDiscontinuedOperationNetOfTaxPerDilutedShare",
    ),
    "LongTermDebt": ("LongTermDebtCurrent", "LongTermDebtAndCapitalLeaseObligationsCurrent", "DebtCurrent"),
}
# Readings that hold the headline; a filer's total that is below its part is of something else.
_WIDER = (
    "LongTermDebt",
    "CashCashEquivalentsRestrictedCashAndRestrictedCashEquivalents",
    "CashCashEquivalentsAndShortTermInvestments",
)
_NARROWER = ("OperatingLeaseCost",)  # and that the headline holds
_PROFITS = (
    ("NetIncomeLoss", "net", "net profit"),
    ("OperatingIncomeLoss", "operating", "operating profit"),
    ("GrossProfit", "gross", "gross profit"),
)


def mine(company: Company) -> Iterator[Orbit]:
    """Orbits over the measure that is meant."""
    for setting in settings(company):
        if company.language == "zh":
            found = [*profits(setting, RECURRING, _NAME, "adjusted")]
        else:
            found = [_measures(setting, *key) for key in _MEASURES]
            found += [_margin(setting), _growth(setting), *_adjusted(setting)]
        yield from (o for o in found if o)


def _measures(setting: Setting, topic: str, subtype: str) -> Orbit | None:
    stated = [setting.figure(measure[0]) for measure in _MEASURES[topic, subtype]]
    alternatives = [
        reading(setting, caption, figure.quantity(), topic, constraint, metric=metric)
        if figure and (figure.value > 0 or topic == "eps") and _explained(setting, concept, figure, stated[0])
        else None
        for figure, (concept, caption, metric, constraint) in zip(stated, _MEASURES[topic, subtype], strict=True)
    ]
    return orbit(f"{_NAME}/{subtype}", topic, setting, alternatives)


def _explained(setting: Setting, concept: str, figure: Figure, headline: Figure | None) -> bool:
    """Whether what separates a reading from the headline is what its caption says."""
    if headline and concept in _WIDER and figure.value <= headline.value:
        return False
    if headline and concept in _NARROWER and figure.value >= headline.value:
        return False
    bridges = _APART_BY.get(concept)
    return bridges is None or (headline is not None and bool(bridged(setting, headline, figure, bridges)))


def _margin(setting: Setting) -> Orbit | None:
    revenue = total_revenue(setting)
    alternatives: list[Alternative | None] = []
    for concept, name, said in _PROFITS:
        profit = setting.figure(concept)
        if not revenue or not profit or not 0 < profit.value < revenue[1].value:
            alternatives.append(None)
            continue
        alternatives.append(
            reading(
                setting,
                f"{name.capitalize()} margin (computed)",
                derived("ratio", profit, revenue[1]),
                "profit margin",
                f"{said} over revenue",
                metric=f"{said} over revenue",
            )
        )
    return orbit(f"{_NAME}/which margin", "profit margin", setting, alternatives)


def _growth(setting: Setting) -> Orbit | None:
    alternatives: list[Alternative | None] = []
    for concept, _, said in _PROFITS:
        figure, before = setting.figure(concept), None
        if figure and setting.flow:
            before = same_stretch(setting.report.whole.get(concept, {}), setting.flow)
        if not figure or not before or min(figure.value, before[1].value) <= 0:
            alternatives.append(None)
            continue
        alternatives.append(_rate(setting, said, figure, before[1]))
    return orbit(f"{_NAME}/growth of what", "profit growth rate", setting, alternatives)


def _rate(setting: Setting, said: str, figure: Figure, before: Figure) -> Alternative | None:
    quantity = derived("growth", figure, before)
    if abs(quantity.value) > FASTEST:
        return None
    caption = f"{said.capitalize()} growth (computed)"
    return reading(
        setting, caption, quantity, "profit growth rate", f"the growth of {said}", metric=f"growth of {said}"
    )


def _adjusted(setting: Setting) -> Iterator[Orbit | None]:
    """GAAP beside non-GAAP, from tables that state both (dimension `measure`)."""
    for (concept, axis, member), spans in setting.report.parts.items():
        if axis != "measure" or member != "non-GAAP":
            continue
        for span, adjusted in spans.items():
            plain = setting.report.figure(concept, span)
            topic = _ADJUSTED.get(concept)
            if not plain or not topic or span != setting.flow:
                continue
            name, said = topic
            yield orbit(
                f"{_NAME}/adjusted",
                name,
                setting,
                [
                    reading(setting, f"GAAP {said}", plain.quantity(), name, "the GAAP figure", metric=f"GAAP {said}"),
                    reading(
                        setting,
                        f"Non-GAAP {said}",
                        adjusted.quantity(),
                        name,
                        "the non-GAAP figure",
                        metric=f"non-GAAP {said}",
                    ),
                ],
                other=beside(setting, name),
            )


_ADJUSTED = {
    "NetIncomeLoss": ("profit", "net income"),
    "OperatingIncomeLoss": ("profit", "operating income"),
    "IncomeLossFromContinuingOperations": ("profit", "net income from continuing operations"),
    "GrossProfit": ("profit", "gross profit"),
    "EarningsPerShareDiluted": ("eps", "diluted earnings per share"),
    "IncomeLossFromContinuingOperationsPerDilutedShare": ("eps", "diluted earnings per share, continuing operations"),
    "OperatingMargin": ("profit margin", "operating margin"),
    "GrossMargin": ("profit margin", "gross margin"),
}
