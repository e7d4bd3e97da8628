"""What a question can ask for: topics, the concepts that a passage prints under each, and the words for both.

A topic is asked of a company once, and its passage is the only one of the company that prints a concept of the topic's
family: so that a question has the readings that its passage shows and no others.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

MONEY, PER_SHARE, PERCENT = "money", "per_share", "percent"


@dataclass(frozen=True, slots=True)
class Topic:
    """Something to ask for.

    Attributes:
        name: unique, as quotas and tables name it.
        words: how questions call it, most usual first, by language, the same whatever the category is; none where the
            words would settle a category ("current assets"), so that it is printed and never asked for.
        family: topics that would answer each other's questions; a passage that asks for one prints no other of them.
        kind: money, per_share or percent.
    """

    name: str
    words: dict[str, tuple[str, ...]]
    family: str
    kind: str = MONEY


@dataclass(frozen=True, slots=True)
class Line:
    """How a concept is printed."""

    concept: str
    topic: str
    caption: str


# topic | family | kind | words in English | words in Chinese
_TOPICS = """
revenue | revenue | money | revenue; sales | 营收; 收入
profit | profit | money | profit | 净利润
eps | eps | per_share | earnings per share | 每股收益
profit margin | profit | percent | profit margin | 利润率
revenue growth rate | revenue growth | percent | revenue growth rate; sales growth rate | 营收增长率
profit growth rate | profit growth | percent | profit growth rate | 净利润增长率; 净利润增速; 净利润同比增长率
net margin | profit | percent | | 净利率; 销售净利率
cash | cash | money | cash position; cash holdings | 现金余额
equity | equity | money | equity | 净资产
assets | assets | money | assets | 资产
liabilities | liabilities | money | liabilities | 负债
property | property | money | fixed assets; property and equipment | 固定资产
property at cost | property | money | |
intangibles | intangibles | money | intangible assets | 无形资产
goodwill | intangibles | money | goodwill | 商誉
deferred tax assets | deferred tax | money | deferred tax assets | 递延所得税资产
current deferred tax assets | deferred tax | money | |
deferred tax liabilities | deferred tax | money | deferred tax liabilities | 递延所得税负债
noncurrent deferred tax liabilities | deferred tax | money | noncurrent deferred tax liabilities | 非流动递延所得税负债
income taxes | income taxes | money | income taxes; income tax | 所得税
interest | interest | money | interest cost | 利息支出
stock compensation | stock compensation | money | stock compensation cost | 股权激励费用
lease liabilities | leases | money | operating lease liabilities | 租赁负债
lease cost | lease cost | money | lease cost | 租赁成本
real estate | property | money | real estate; investment property | 投资性房地产
loans | loans | money | loan book; loans | 贷款余额
interest income | interest income | money | interest income | 利息收入
premiums | premiums | money | premium income | 保费收入
depreciation | depreciation | money | depreciation and amortization | 折旧与摊销费用
receivables | receivables | money | receivables | 应收账款余额
inventories | inventories | money | inventory | 存货余额
payables | payables | money | accounts payable | 应付账款余额
long-term debt | debt | money | long-term debt | 长期债务
cost of sales | cost of sales | money | cost of sales | 营业成本
overheads | overheads | money | selling, general and administrative expenses | 销售和管理费用
research | research | money | research and development expenses | 研发费用
total expenses | total expenses | money | total costs and expenses | 总成本
capital expenditure | capital expenditure | money | capital expenditure | 资本支出
operating cash flow | operating cash flow | money | operating cash flow | 经营现金流
financing cash flow | financing cash flow | money | financing cash flow | 筹资现金流
investing cash flow | investing cash flow | money | investing cash flow | 投资现金流
dividends | dividends | money | dividends | 股利
buybacks | buybacks | money | share repurchase cost | 股份回购成本
retained earnings | retained earnings | money | accumulated earnings | 未分配利润
comprehensive income | comprehensive income | money | comprehensive income | 综合收益
other assets | other assets | money | other noncurrent assets | 其他非流动资产
other current assets | other assets | money | |
other liabilities | other liabilities | money | other noncurrent liabilities | 其他非流动负债
other current liabilities | other liabilities | money | |
accrued liabilities | other liabilities | money | accrued liabilities | 应计负债
current assets | assets | money | |
current liabilities | liabilities | money | |
deferred revenue | deferred revenue | money | |
treasury stock | treasury stock | money | treasury stock | 库存股价值
restructuring | restructuring | money | restructuring cost | 重组费用
other income | other income | money | other income | 其他收益
non-operating income | other income | money | |
operating revenue | revenue | money | |
gross profit | profit | money | |
operating income | profit | money | operating income |
continuing profit | profit | money | |
pre-tax profit | pre-tax profit | money | | 利润总额
operating profit | operating profit | money | | 营业利润
minority interest | minority interest | money | |
"""

# topic | concept | caption; the first concept of a topic is the one that statements lead with
_LINES = """
revenue | Revenues | Revenue
revenue | RevenueFromContractWithCustomerExcludingAssessedTax | Revenue
revenue | SalesRevenueNet | Net sales
revenue | RevenuesNetOfInterestExpense | Revenue, net of interest expense
revenue | RegulatedAndUnregulatedOperatingRevenue | Operating revenue
profit | NetIncomeLoss | Net income
profit | 净利润 | 净利润（含少数股东损益）
profit | net_profit_incl_minority | 净利润（含少数股东损益）
profit | 归母净利润 | 净利润（归属于母公司股东）
profit | net_profit_parent | 净利润（归属于母公司股东）
profit | 归属于母公司所有者的净利润 | 净利润（归属于母公司股东）
profit | ProfitLoss | Net income with noncontrolling interests
gross profit | GrossProfit | Gross profit
operating income | OperatingIncomeLoss | Operating income
continuing profit | IncomeLossFromContinuingOperations | Income from continuing operations
eps | EarningsPerShareDiluted | Diluted earnings per share
eps | EarningsPerShareBasic | Basic earnings per share
cash | CashAndCashEquivalentsAtCarryingValue | Cash and cash equivalents
equity | StockholdersEquity | Shareholders' equity
assets | Assets | Total assets
liabilities | Liabilities | Total liabilities
property | PropertyPlantAndEquipmentNet | Property, plant and equipment, net
property at cost | PropertyPlantAndEquipmentGross | Property, plant and equipment, at cost
intangibles | IntangibleAssetsNetExcludingGoodwill | Intangible assets, net
intangibles | FiniteLivedIntangibleAssetsNet | Intangible assets, net
goodwill | Goodwill | Goodwill
deferred tax assets | DeferredTaxAssetsNet | Deferred tax assets
current deferred tax assets | DeferredTaxAssetsNetCurrent | Deferred tax assets, current
deferred tax liabilities | DeferredIncomeTaxLiabilities | Deferred tax liabilities
noncurrent deferred tax liabilities | DeferredTaxLiabilitiesNoncurrent | Deferred tax liabilities, noncurrent
income taxes | IncomeTaxExpenseBenefit | Income tax expense
interest | InterestExpense | Interest expense
stock compensation | ShareBasedCompensation | Stock compensation
stock compensation | AllocatedShareBasedCompensationExpense | Stock compensation expense
lease liabilities | OperatingLeaseLiability | Operating lease liability
depreciation | DepreciationDepletionAndAmortization | Depreciation and amortization
depreciation | DepreciationAndAmortization | Depreciation and amortization
depreciation | DepreciationAmortizationAndAccretionNet | Depreciation and amortization
receivables | AccountsReceivableNetCurrent | Accounts receivable, net
receivables | ReceivablesNetCurrent | Receivables, net
inventories | InventoryNet | Inventories
payables | AccountsPayableCurrent | Accounts payable
long-term debt | LongTermDebtNoncurrent | Long-term debt
long-term debt | LongTermDebt | Long-term debt
long-term debt | LongTermDebtAndCapitalLeaseObligations | Long-term debt
cost of sales | CostOfRevenue | Cost of revenue
cost of sales | CostOfGoodsAndServicesSold | Cost of goods and services sold
cost of sales | CostOfGoodsSold | Cost of goods sold
overheads | SellingGeneralAndAdministrativeExpense | Selling, general and administrative expenses
research | ResearchAndDevelopmentExpense | Research and development expenses
total expenses | CostsAndExpenses | Total costs and expenses
capital expenditure | PaymentsToAcquirePropertyPlantAndEquipment | Purchases of property, plant and equipment
capital expenditure | PaymentsToAcquireProductiveAssets | Capital expenditure
operating cash flow | NetCashProvidedByUsedInOperatingActivities | Cash from operating activities
financing cash flow | NetCashProvidedByUsedInFinancingActivities | Cash from financing activities
investing cash flow | NetCashProvidedByUsedInInvestingActivities | Cash from investing activities
dividends | PaymentsOfDividends | Dividends paid
dividends | PaymentsOfDividendsCommonStock | Dividends paid
buybacks | PaymentsForRepurchaseOfCommonStock | Shares repurchased
retained earnings | RetainedEarningsAccumulatedDeficit | Retained earnings
comprehensive income | ComprehensiveIncomeNetOfTax | Comprehensive income
other assets | OtherAssetsNoncurrent | Other noncurrent assets
other current assets | OtherAssetsCurrent | Other current assets
other liabilities | OtherLiabilitiesNoncurrent | Other noncurrent liabilities
other current liabilities | OtherLiabilitiesCurrent | Other current liabilities
accrued liabilities | AccruedLiabilitiesCurrent | Accrued liabilities
current assets | AssetsCurrent | Current assets
current liabilities | LiabilitiesCurrent | Current liabilities
deferred revenue | DeferredRevenueCurrent | Deferred revenue, current
deferred revenue | ContractWithCustomerLiabilityCurrent | Deferred revenue, current
treasury stock | TreasuryStockValue | Treasury stock, at cost
restructuring | RestructuringCharges | Restructuring charges
other income | OtherNonoperatingIncomeExpense | Other income, net
non-operating income | NonoperatingIncomeExpense | Non-operating income, net
revenue | 营业总收入 | 营业总收入
revenue | 总营收 | 营业总收入
revenue | revenue | 营业总收入
operating revenue | 营业收入 | 营业收入
pre-tax profit | 利润总额 | 利润总额
minority interest | 少数股东损益 | 少数股东损益
minority interest | minority_interest_profit | 少数股东损益
income taxes | 所得税费用 | 所得税费用
operating profit | 营业利润 | 营业利润
operating cash flow | 经营活动现金流净额 | 经营活动产生的现金流量净额
equity | 归母净资产 | 归属于母公司股东的净资产
assets | 总资产 | 总资产
equity | 归属于母公司所有者权益合计 | 归属于母公司股东的净资产
assets | 资产总额 | 资产总额
assets | 资产合计 | 资产合计
liabilities | 负债合计 | 负债合计
"""


@cache
def topics() -> dict[str, Topic]:
    """Every topic by name."""
    found = {}
    for row in _TOPICS.strip().splitlines():
        name, family, kind, en, zh = (cell.strip() for cell in row.split("|"))
        words = {"en": _words(en), "zh": _words(zh)}
        found[name] = Topic(name, words, family, kind)
    return found


def _words(cell: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in cell.split(";") if word.strip())


@cache
def lines() -> dict[str, Line]:
    """How each concept is printed, by its name without prefix."""
    rows = ([cell.strip() for cell in row.split("|")] for row in _LINES.strip().splitlines())
    return {concept: Line(concept, topic, caption) for topic, concept, caption in rows}


@cache
def concepts(topic: str) -> tuple[str, ...]:
    """The concepts of a topic, the leading one first."""
    return tuple(line.concept for line in lines().values() if line.topic == topic)
