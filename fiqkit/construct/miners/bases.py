"""Amounts that reports state on two or three bases under concepts of their own: gross and net, incurred and paid."""

from __future__ import annotations

# concepts of which the first at hand is taken, caption, basis, constraint
Basis = tuple[tuple[str, ...], str, str, str]
# subtype, topic, readings
BASES: tuple[tuple[str, str, tuple[Basis, ...]], ...] = (
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
                "Stock compensation expense, pre-tax",
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
        "property",
        "real estate",
        (
            (
                ("RealEstateInvestmentPropertyNet",),
                "Investment property, net",
                "net of accumulated depreciation",
                "the net figure",
            ),
            (
                ("RealEstateInvestmentPropertyAtCost",),
                "Investment property, gross at cost",
                "gross, before accumulated depreciation",
                "the gross figure",
            ),
        ),
    ),
    (
        "allowance",
        "receivables",
        (
            (
                ("AccountsReceivableNetCurrent",),
                "Accounts receivable, net of allowance",
                "net of the allowance for doubtful accounts",
                "the net figure",
            ),
            (
                ("AccountsReceivableGrossCurrent",),
                "Accounts receivable, gross",
                "gross, before the allowance for doubtful accounts",
                "the gross figure",
            ),
        ),
    ),
    (
        "allowance",
        "inventories",
        (
            (("InventoryNet",), "Inventories, net of reserves", "net of reserves", "the net figure"),
            (("InventoryGross",), "Inventories, gross", "gross, before reserves", "the gross figure"),
        ),
    ),
    (
        "allowance",
        "loans",
        (
            (
                ("LoansAndLeasesReceivableNetReportedAmount",),
                "Loans, net of allowance for losses",
                "net of the allowance for loan losses",
                "the net figure",
            ),
            (
                ("LoansAndLeasesReceivableNetOfDeferredIncome",),
                "Loans, gross of allowance for losses",
                "gross, before the allowance for loan losses",
                "the gross figure",
            ),
        ),
    ),
    (
        "net of cost",
        "interest income",
        (
            (
                ("InterestAndDividendIncomeOperating",),
                "Interest income, gross",
                "gross, before interest expense",
                "the gross figure before interest expense",
            ),
            (
                ("InterestIncomeExpenseNet",),
                "Net interest income",
                "net of interest expense",
                "the figure net of interest expense",
            ),
        ),
    ),
    (
        "paid",
        "dividends",
        (
            (
                ("DividendsCommonStock", "DividendsCommonStockCash", "Dividends", "DividendsCash"),
                "Dividends declared",
                "declared, accrual basis",
                "the dividends declared",
            ),
            (
                ("PaymentsOfDividendsCommonStock", "PaymentsOfDividends"),
                "Dividends paid in cash",
                "cash basis, paid in the period",
                "the dividends paid in cash",
            ),
        ),
    ),
    (
        "paid",
        "restructuring",
        (
            (
                ("RestructuringCharges",),
                "Restructuring expensed",
                "expensed, accrual basis",
                "the restructuring charged to expense",
            ),
            (
                ("PaymentsForRestructuring",),
                "Restructuring paid in cash",
                "cash basis, paid in the period",
                "the restructuring paid in cash",
            ),
        ),
    ),
)
# subtype, topic → concepts of what separates the first basis from the last: gross less it is net, and interest incurred
# less what was capitalised is expensed
BRIDGES: dict[tuple[str, str], tuple[str, ...]] = {
    ("property", "property"): (
        "AccumulatedDepreciationDepletionAndAmortizationPropertyPlantAndEquipment",
        "PropertyPlantAndEquipmentOwnedAccumulatedDepreciation",
    ),
    ("amortisation", "intangibles"): ("FiniteLivedIntangibleAssetsAccumulatedAmortization",),
    ("valuation", "deferred tax assets"): ("DeferredTaxAssetsValuationAllowance",),
    ("tax effect", "stock compensation"): (
        "EmployeeServiceShareBasedCompensationTaxBenefitFromCompensationExpense",
        "AllocatedShareBasedCompensationExpenseTaxBenefit",
    ),
    ("property", "real estate"): ("RealEstateInvestmentPropertyAccumulatedDepreciation",),
    ("allowance", "receivables"): ("AllowanceForDoubtfulAccountsReceivableCurrent",),
    ("allowance", "inventories"): ("InventoryValuationReserves",),
    ("allowance", "loans"): (
        "LoansAndLeasesReceivableAllowance",
        "FinancingReceivableAllowanceForCreditLosses",
        "LoansAndLeasesReceivableAllowanceForLoanLosses",
    ),
    ("net of cost", "interest income"): ("InterestExpense",),
    ("interest", "interest"): ("InterestCostsCapitalized", "InterestCostsCapitalizedAdjustment"),
}
