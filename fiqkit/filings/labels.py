"""Names for people: of concepts, axes and members, made from their identifiers and from a short list of own wordings.

The taxonomies' own labels are kept in the store's table `labels`; they are not used here, so that what is rendered is
in the kit's words.
"""

from __future__ import annotations

import re

# Lines that nearly every statement has, in plain words.
PLAIN = {
    "Revenues": "Revenue",
    "RevenueFromContractWithCustomerExcludingAssessedTax": "Revenue from contracts with customers",
    "RevenueFromContractWithCustomerIncludingAssessedTax": "Revenue from contracts with customers, taxes included",
    "SalesRevenueNet": "Net sales",
    "CostOfRevenue": "Cost of revenue",
    "CostOfGoodsAndServicesSold": "Cost of goods and services sold",
    "GrossProfit": "Gross profit",
    "OperatingIncomeLoss": "Operating income",
    "NetIncomeLoss": "Net income attributable to the company's shareholders",
    "ProfitLoss": "Net income including noncontrolling interests",
    "NetIncomeLossAvailableToCommonStockholdersBasic": "Net income available to common shareholders",
    "NetIncomeLossAttributableToNoncontrollingInterest": "Net income attributable to noncontrolling interests",
    "EarningsPerShareBasic": "Earnings per share, basic",
    "EarningsPerShareDiluted": "Earnings per share, diluted",
    "WeightedAverageNumberOfSharesOutstandingBasic": "Average shares outstanding, basic",
    "WeightedAverageNumberOfDilutedSharesOutstanding": "Average shares outstanding, diluted",
    "ResearchAndDevelopmentExpense": "Research and development expense",
    "SellingGeneralAndAdministrativeExpense": "Selling, general and administrative expense",
    "IncomeTaxExpenseBenefit": "Income tax expense",
    "IncomeTaxesPaidNet": "Income taxes paid, net of refunds",
    "InterestExpense": "Interest expense",
    "Assets": "Total assets",
    "AssetsCurrent": "Current assets",
    "Liabilities": "Total liabilities",
    "LiabilitiesCurrent": "Current liabilities",
    "LiabilitiesAndStockholdersEquity": "Total liabilities and equity",
    "StockholdersEquity": "Equity attributable to the company's shareholders",
    "StockholdersEquityIncludingPortionAttributableToNoncontrollingInterest": "Equity with noncontrolling interests",
    "MinorityInterest": "Noncontrolling interests",
    "CashAndCashEquivalentsAtCarryingValue": "Cash and cash equivalents",
    "CashCashEquivalentsRestrictedCashAndRestrictedCashEquivalents": "Cash and cash equivalents, restricted included",
    "NetCashProvidedByUsedInOperatingActivities": "Cash from operating activities",
    "NetCashProvidedByUsedInInvestingActivities": "Cash from investing activities",
    "NetCashProvidedByUsedInFinancingActivities": "Cash from financing activities",
    "PaymentsToAcquirePropertyPlantAndEquipment": "Purchases of property, plant and equipment",
    "PaymentsForRepurchaseOfCommonStock": "Share repurchases",
    "PaymentsOfDividends": "Dividends paid",
    "PropertyPlantAndEquipmentNet": "Property, plant and equipment, net",
    "AccountsReceivableNetCurrent": "Receivables, net",
    "InventoryNet": "Inventories",
    "RetainedEarningsAccumulatedDeficit": "Retained earnings",
    "OperatingSegmentsMember": "operating segments",
    "IntersegmentEliminationMember": "eliminations between segments",
    "TransferredAtPointInTimeMember": "transferred at a point in time",
    "StatementBusinessSegmentsAxis": "business segment",
    "StatementGeographicalAxis": "region",
    "StatementEquityComponentsAxis": "component of equity",
    "StatementClassOfStockAxis": "class of stock",
    "ProductOrServiceAxis": "product or service",
    "ConsolidationItemsAxis": "level of consolidation",
    "coreg": "co-registrant",
    "TimingOfTransferOfGoodOrServiceAxis": "timing of transfer",
    "TransferredOverTimeMember": "transferred over time",
    "revenue": "营业总收入",
    "net_profit_incl_minority": "净利润（含少数股东损益）",
    "net_profit_parent": "归属于母公司股东的净利润",
    "minority_interest_profit": "少数股东损益",
    "net_profit_parent_excl_nonrecurring": "归属于母公司股东的扣除非经常性损益后的净利润",
}

_ENDING = re.compile(r"(Member|Axis|Domain|Abstract|LineItems)$")
_WORDS = re.compile(r"[A-Z]{2,}s?(?=[A-Z][a-z]|\d|$)|i?[A-Z][a-z]+|[A-Z]+|[a-z]+|\d+(?:\.\d+)?|[^\W\d_a-zA-Z]+")
_SMALL = frozenset(("And", "Or", "Of", "In", "The", "For", "To", "By", "At", "On", "With", "From", "Per", "As", "Not"))


def label(name: str) -> str:
    """A readable name: "aapl:IPhoneMember" is "iPhone", "us-gaap:NonUsMember" is "Non Us".

    A typed member (`typed:VALUE`) is its value; a name in Chinese stays as it is.
    """
    if name.startswith("typed:"):
        return name.removeprefix("typed:")
    local = name.rpartition(":")[2]
    if local in PLAIN:
        return PLAIN[local]
    local = _ENDING.sub("", local) or local
    local = re.sub(r"^I(?=P[a-z])", "i", local)
    words = _WORDS.findall(local)
    if not words or not local.isascii():
        return local
    text = " ".join(word.lower() if word in _SMALL else word for word in words)
    return text[:1].upper() + text[1:] if not text.startswith("iP") else text


def sentence(name: str) -> str:
    """A concept's readable name as a line of a statement: only the first word and acronyms keep their capitals."""
    text = label(name)
    first, *rest = text.split(" ")
    return " ".join([first, *(word if word.isupper() or not word.isascii() else word.lower() for word in rest)])
