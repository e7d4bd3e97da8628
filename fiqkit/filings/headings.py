"""The headings of export tables: what a column says of its row, and what an item's figures are.

报告期 → period · 股票代码 → code · 公告日期 → filed · 净利润（万元） → an item in 10^4 CNY
净利润同比 → an item in per cent · 资产-货币资金 → an item · 2022年（调整后） → a period and the vintage 调整后
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from fiqkit.filings import cells
from fiqkit.filings.measures import is_balance, is_share

# What a heading says about the row. Headings are compared in lower case.
_ROLES = {
    "period": "报告期 报告日 报告日期 报表日期 报告年度 截止日期 日期 report_date std_report_date period_end",
    "period name": "report_date_name report_name quarter_name",
    "code": "股票代码 证券代码 代码 security_code secucode ticker code",
    "name": "股票简称 证券简称 简称 名称 股票名称 公司名称 公司简称 security_name_abbr company",
    "filed": "公告日期 最新公告日期 首次公告日期 公告日 notice_date",
    "form": "报告类型 类型 report_type filing_type",
    "currency": "币种 currency",
    "item": "指标 项目 科目 主要会计数据 主要财务指标 会计科目 指标名称 metric_name std_item_name item_name",
    "fiscal year": "fiscal_year",
    "nothing": "序号 index 选项 数据源 更新日期 是否审计 org_code org_type security_type_code security_inner_code "
    "update_date 报表核心指标 报表全部指标 补充资料 std_item_code date_type_code date_type report_period",
}
_ROLE = {heading: role for role, headings in _ROLES.items() for heading in headings.split()}
# The column that holds the figures of a table with a row an item and a period.
VALUES = frozenset("value amount 金额 数值 值 本期金额 item_value".split())  # noqa: SIM905
FORECASTS = frozenset(("预测指标", "预测数值", "预告类型", "业绩变动幅度"))
PRICES = frozenset(
    "开盘 收盘 最高 最低 今开 昨收 最新价 开盘价 收盘价 最高价 最低价 成交量 成交额 open close high low volume".split()  # noqa: SIM905
)

_NUMBERING = re.compile(
    r"^\*|^[一二三四五六七八九十]+、|^[(（][一二三四五六七八九十\d]+[)）]|^\d+[、.．]|^[加减其]中?[:：]"
)
_PRIOR = re.compile(r"^prior_year_|[-_]?(去年|上年)同期(数|值)?(?=$|调整)|上年同期")
_VINTAGE = re.compile(r"[-_(（\[\s]*(调整前|调整后|重述前|重述后|更正前|更正后)[)）\]]?")
_MODIFIER = re.compile(r"(季度|单季)?(同比|环比|增长|增减|占比)")
_RATIO = re.compile(r"(?<!汇)率|比例|比$|倍数")
_PER_SHARE = re.compile(r"每股|eps|per_share|^b[vp]ps$")
_COUNT = re.compile(r"[户人家]数$|数量$")
_DAYS = re.compile(r"天数|周期$")


@dataclass(frozen=True, slots=True)
class Item:
    """What a heading says about its figures.

    Attributes:
        unit: "money" and "money/shares" until the row's currency is known; shares, pure, D.
        scale, currency: of amounts; currency is empty where the heading names none.
        percent: the figures are written in per cent.
        prior: they are the year before's.
        vintage: 调整前 or 调整后 and their like.
    """

    concept: str
    unit: str
    scale: int = 0
    currency: str = ""
    percent: bool = False
    prior: bool = False
    vintage: str | None = None


def role(heading: str) -> str | None:
    """What a column says of its row, as "period" or "code"; None for a column of figures."""
    return _ROLE.get(heading.strip().strip("*:：").lower())


def period_text(heading: str) -> str:
    """What names the period in a heading or a cell, its vintage aside."""
    return _VINTAGE.sub("", heading)


def period(heading: str) -> cells.Period | None:
    """The period that a column stands for, its vintage aside."""
    return cells.period(period_text(heading))


def vintage(heading: str) -> str | None:
    """调整前, 调整后 and their like."""
    found = _VINTAGE.search(heading)
    return found[1] if found else None


def clean(heading: str) -> str:
    """An item's name without its numbering and 其中 / 加 / 减."""
    while (shorter := _NUMBERING.sub("", heading).strip()) != heading:
        heading = shorter
    return heading


def item(heading: str, above: cells.Unit) -> Item:
    """What a heading says about its figures; `above` is the unit that stands above the table."""
    name, own = cells.heading_unit(heading)
    when = vintage(name)
    name = _VINTAGE.sub("", name)
    share = not own.kind and is_share(name)
    prior = _PRIOR.search(name) is not None and not share
    name = clean(_PRIOR.sub("", name) if prior else name)
    # The vendors' groups: 营业收入-营业收入, 营业收入-同比增长; 1-2年以内 is none.
    if group := re.fullmatch(r"([^\d-]+)-(\D.*)", name):
        name = group[2] if group[1] == group[2] else group[1] + group[2] if _MODIFIER.match(group[2]) else name
    percent = own.kind in ("%", "％") or share
    unit = _unit(name.lower(), own, share)
    scale = own.scale if own.kind else above.scale if unit == "money" else 0
    return Item(name, unit, scale, own.currency or above.currency, percent, prior, when)


def _unit(name: str, own: cells.Unit, share: bool) -> str:
    """Unit by the heading's own, else by what its name says it measures; money (no word for it) is the rest."""
    for unit, matches in (
        ("money/shares", own.per_share or (own.kind in ("", "元") and _PER_SHARE.search(name))),
        ("shares", own.kind == "股"),
        ("pure", own.kind in ("%", "％", "倍", "次")),
        ("D", own.kind == "天" or (not own.kind and _DAYS.search(name))),
        ("pure", not own.kind and (share or _RATIO.search(name) or _COUNT.search(name))),
    ):
        if matches:
            return unit
    return "money"


def balances(concepts: Iterable[str]) -> frozenset[str]:
    """The items of a table that stand at a date: by their names, or by the others' where a name does not tell."""
    told = {concept: is_balance(concept) for concept in concepts}
    rest = True in told.values() and False not in told.values()
    return frozenset(concept for concept, verdict in told.items() if (rest if verdict is None else verdict))
