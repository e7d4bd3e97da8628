"""What a figure measures, told from its name: a share in per cent, a balance at a date, a flow over a period.

Export tables name their items and say little else, and a fact keeps a share as the fraction that it is; both the reader
and the rendering of facts therefore go by the name. Names are Chinese headings, the codes of data vendors
(`TOTAL_ASSETS_YOY`) or concepts of a taxonomy (`us-gaap:EffectiveIncomeTaxRateContinuingOperations`).
"""

from __future__ import annotations

import re

# 比率, 周转率 and 倍率 count times, 汇率 is a price; 增长额 and its like are amounts.
_SHARE = re.compile(
    r"(?:同比|环比|增长|增减|增幅|增速)(?!.*[额量数]$)|占比|比重|百分比|涨跌幅|振幅|(?<![比倍汇频])(?<!周转)率|"
    r"(?:^|_)(?i:yoy|qoq|roe|roa|roic|pct|percent|margin)(?:_|$)|\((?:ROE|ROA)\)|"
    r"(?:Percent(?:age)?|(?<!Exchange)(?<!Turnover)(?<!Conversion)Rate|Yield|Margin)(?![a-z])"
)

# The first that a name matches decides; None: the name alone does not tell.
_BALANCE_OR_FLOW: tuple[tuple[re.Pattern[str], bool | None], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), verdict)
    for pattern, verdict in (
        (r"余额|[流速]动比率|产权比率|资产负债率|权益乘数|权益比率|资本充足率|不良贷款率|拨备覆盖率", True),
        (r"^(发放贷款和垫款|吸收存款.*)$", True),  # of a bank
        (r"^其他综合收益$", None),  # a line of the balance sheet and one of the statement of income
        (
            r"^累计折旧|^(长期)?待摊费用$|^开发支出$|^(应[收付]|预[收付]|未分配|递延收益)(?!.*(减少|增加|损失|减值|周转))",
            True,
        ),
        (
            r"周转|减值|处置|折旧|摊销|变动|损益|损失|利得|收[到回]|支付|取得|偿还|发放|购建|吸收|增加|减少|流[入出]|现金流",
            False,
        ),
        (r"未分配利润|资产[总合]计|^每股(净资产|(资本)?公积金?)", True),
        (r"(资产|权益|资本).*(收益|利润|净利|报酬|回报|增长)", False),
        (r"资产$|负债$|(资产|负债|权益)[(（]?[^)）]*[)）]?([总合]计|总额)?$|^总(资产|负债)|净资产", True),
        (r"利润|营业|收入|成本|费用|支出|收益|所得税$|税金|股利|每股", False),
        (
            r"资产|负债|权益|货币资金|应[收付交]|预[收付]|存货|股本|资本|公积|商誉|借款|债券|库存股|备付金|准备金|存款|贷款|垫款",
            True,
        ),
        (r"拆[出入]资金|房地产|股权投资|到期投资|债权投资|在建工程|工程物资|清理$|总现金|股东户数", True),
        (r"netcash|cash_?flow|income|profit(?!.*(unassign|retained))|revenue|expense|cost|loss|earnings", False),
        (r"(^|_)(receive|pay|eps|ebit\w*|dps)(_|$)", False),
        (
            r"(^|_)(total_)?(assets?|liab\w*|equity|inventor(y|ies)|monetaryfunds|goodwill|cip|balance|b[vp]?ps)(_|$)",
            True,
        ),
        (
            r"(payable|rece|receivables?|loans?|reserve|share_capital|unassign_\w*|treasury_shares)(_|$)|total assets",
            True,
        ),
    )
)
_CHANGE = re.compile(r"[-_ ]?((同比|环比)(增长率?|增减)?|增长率|yoy|qoq)$", re.IGNORECASE)


def is_share(name: str) -> bool:
    """Whether a figure is a share, in per cent: 净利润同比, 占比, `DebtStatedPercentage`, `TOTAL_ASSETS_YOY`."""
    return _SHARE.search(name.rpartition(":")[2]) is not None


def is_balance(name: str) -> bool | None:
    """Whether a figure stands at a date (True) or runs over a period (False); None when its name does not tell.

    A rate of change is as what changes: 总资产同比 stands at a date.
    """
    base = _CHANGE.sub("", name) or name
    return next((verdict for pattern, verdict in _BALANCE_OR_FLOW if pattern.search(base)), None)
