"""Recognition policy: on which basis an amount is recognised.

- property, amortisation, valuation, discounting: an asset at cost or net of what was written off, before or after the
  valuation allowance, a lease as owed or at its present value.
- interest: what was incurred, what was expensed of it, what was paid in cash; the rest was capitalised.
- paid: taxes and interest as expensed or as paid in cash.
- tax effect: stock compensation before or after its tax effect.
- premiums, revenue: gross or net of what goes to reinsurers; at a point in time or over time.
- standard: before or after a new accounting standard (dimension `standard`, from tables that state both).
"""

from __future__ import annotations

from collections.abc import Iterator

from fiqkit.construct.holdings import Company
from fiqkit.construct.miners.setting import Setting, leading, orbit, reading, settings
from fiqkit.construct.orbits import Orbit
from fiqkit.construct.topics import lines

_NAME = "recognition_policy"

# subtype, topic, then readings as (concepts of which the first at hand is taken, caption, basis, constraint)
_Basis = tuple[tuple[str, ...], str, str, str]
_BASES: tuple[tuple[str, str, tuple[_Basis, ...]], ...] = (
    (
        "property",
        "property",
        (
            (
                ("PropertyPlantAndEquipmentNet",),
                "Property, plant and equipment, net",
                "net of accumulated depreciation",
                "the net figure",
            ),
            (
                ("PropertyPlantAndEquipmentGross",),
                "Property, plant and equipment, gross at cost",
                "gross, before accumulated depreciation",
                "the gross figure",
            ),
        ),
    ),
    (
        "amortisation",
        "intangibles",
        (
            (
                ("FiniteLivedIntangibleAssetsNet",),
                "Intangible assets, net",
                "net of accumulated amortization",
                "the net figure",
            ),
            (
                ("FiniteLivedIntangibleAssetsGross",),
                "Intangible assets, gross at cost",
                "gross, before accumulated amortization",
                "the gross figure",
            ),
        ),
    ),
    (
        "valuation",
        "deferred tax assets",
        (
            (
                ("DeferredTaxAssetsNet",),
                "Deferred tax assets, net of valuation allowance",
                "net of the valuation allowance",
                "the net figure",
            ),
            (
                ("DeferredTaxAssetsGross",),
                "Deferred tax assets, gross",
                "gross, before the valuation allowance",
                "the gross figure",
            ),
        ),
    ),
    (
        "discounting",
        "lease liabilities",
        (
            (
                ("OperatingLeaseLiability",),
                "Operating lease liability, net at present value",
                "net of imputed interest, at present value",
                "the present value net of imputed interest",
            ),
            (
                ("LesseeOperatingLeaseLiabilityPaymentsDue",),
                "Operating lease payments owed, gross and undiscounted",
                "gross, undiscounted payments",
                "the gross undiscounted payments",
            ),
        ),
    ),
    (
        "interest",
        "interest",
        (
            (("InterestExpense",), "Interest expensed", "expensed, accrual basis", "the interest expensed"),
            (
                ("InterestPaidNet", "InterestPaid"),
                "Interest paid in cash",
                "cash basis, paid in the period",
                "the interest paid in cash",
            ),
            (
                ("InterestCostsIncurred",),
                "Interest incurred, with capitalized interest",
                "incurred, capitalized interest included",
                "the interest incurred including what was capitalized",
            ),
        ),
    ),
    (
        "paid",
        "income taxes",
        (
            (
                ("IncomeTaxExpenseBenefit",),
                "Income taxes expensed",
                "expensed, accrual basis",
                "the taxes charged to expense",
            ),
            (
                ("IncomeTaxesPaidNet", "IncomeTaxesPaid"),
                "Income taxes paid in cash",
                "cash basis, paid in the period",
                "the taxes paid in cash",
            ),
        ),
    ),
    (
        "tax effect",
        "stock compensation",
        (
            (
                ("AllocatedShareBasedCompensationExpense",),
                "Stock compensation expense, gross",
                "gross, before its tax effect",
                "the gross cost before its tax effect",
            ),
            (
                ("AllocatedShareBasedCompensationExpenseNetOfTax",),
                "Stock compensation expense, net of tax",
                "net of its tax effect",
                "the cost net of its tax effect",
            ),
        ),
    ),
    (
        "premiums",
        "premiums",
        (
            (
                ("PremiumsEarnedNet",),
                "Premiums, net of reinsurance",
                "net of reinsurance",
                "the premiums net of reinsurance",
            ),
            (
                ("PremiumsWrittenGross", "DirectPremiumsEarned", "DirectPremiumsWritten"),
                "Premiums, gross",
                "gross, before reinsurance",
                "the gross premiums before reinsurance",
            ),
        ),
    ),
)
_TIMING = "us-gaap:TimingOfTransferOfGoodOrServiceAxis"
_STANDARD = (
    (
        "as reported under the new standard",
        "recognized under the new revenue standard, ASC 606",
        "the figure under the new revenue standard",
    ),
    (
        "under the former standard",
        "recognized under the former revenue standard, ASC 605",
        "the figure that the former revenue standard would give",
    ),
)


def mine(company: Company) -> Iterator[Orbit]:
    """Orbits over the basis of recognition."""
    if company.language != "en":
        return
    for setting in settings(company):
        found = [_basis(setting, *known) for known in _BASES]
        yield from (o for o in (*found, _timing(setting), *_standards(setting)) if o)


def _basis(setting: Setting, subtype: str, topic: str, bases: tuple[_Basis, ...]) -> Orbit | None:
    alternatives = []
    for names, caption, basis, constraint in bases:
        # What is paid is stated for the year to date alone: both must be of one span.
        figure = next((f for name in names if (f := setting.figure(name))), None)
        positive = figure is not None and figure.value > 0
        alternatives.append(
            reading(setting, caption, figure.quantity(), topic, constraint, basis=basis)
            if figure and positive
            else None
        )
    return orbit(f"{_NAME}/{subtype}", topic, setting, alternatives)


def _timing(setting: Setting) -> Orbit | None:
    """Revenue as a whole, and what of it is recognised at a point in time and over time."""
    total = leading(setting, "revenue")
    if not total or not setting.flow:
        return None
    said = {
        "us-gaap:TransferredAtPointInTimeMember": (
            "recognized at a point in time",
            "the revenue recognized at a point in time",
        ),
        "us-gaap:TransferredOverTimeMember": ("recognized over time", "the revenue recognized over time"),
    }
    alternatives = [
        reading(
            setting,
            "Revenue, total",
            total[1].quantity(),
            "revenue",
            "the total, whenever it is recognized",
            basis="total, at a point in time and over time together",
        )
    ]
    for member, (basis, constraint) in said.items():
        part = setting.report.parts.get((total[0], _TIMING, member), {}).get(setting.flow)
        if part and 0.05 * total[1].value < part.value < total[1].value:
            alternatives.append(
                reading(setting, f"Revenue {basis}", part.quantity(), "revenue", constraint, basis=basis)
            )
    return orbit(f"{_NAME}/timing", "revenue", setting, alternatives)


def _standards(setting: Setting) -> Iterator[Orbit | None]:
    for (concept, axis, member), spans in setting.report.parts.items():
        line = lines().get(concept)
        if axis != "standard" or member != "former" or not line:
            continue
        for span, former in spans.items():
            now = setting.report.figure(concept, span)
            if now and span in (setting.flow, setting.instant):
                yield orbit(
                    f"{_NAME}/standard",
                    line.topic,
                    setting,
                    [
                        reading(
                            setting, f"{line.caption} {said}", figure.quantity(), line.topic, constraint, basis=basis
                        )
                        for figure, (said, basis, constraint) in zip((now, former), _STANDARD, strict=True)
                    ],
                )
