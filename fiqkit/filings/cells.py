"""The cells of Chinese export tables: amounts with 亿 and 万, percentages, units, currencies, periods and codes.

A cell holds one value or none, so its whole text must be understood; values inside running text are `fiqkit.values`.
What could mean two things ("2024-4": April or the fourth quarter) is not read.
"""

from __future__ import annotations

import calendar
import re
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import NamedTuple

MISSING = frozenset(("", "false", "--", "-", "—", "——", "nan", "none", "null", "nat", "n/a", "na", "不适用", "无"))
_SCALES = {"": 0, "十": 1, "百": 2, "千": 3, "万": 4, "十万": 5, "百万": 6, "千万": 7, "亿": 8, "十亿": 9, "百亿": 10}
_SCALES |= {"千亿": 11, "万亿": 12}
_CURRENCIES = {
    name: code
    for code, names in {
        "CNY": "人民币 元 rmb cny",
        "HKD": "港币 港元 hkd hk$",
        "USD": "美元 美金 usd us$",
        "EUR": "欧元 eur",
        "JPY": "日元 日圆 jpy",
        "GBP": "英镑 gbp",
        "SGD": "新加坡元 新加坡币 新元",
        "CAD": "加拿大元 加元",
        "AUD": "澳大利亚元 澳元",
        "TWD": "新台币",
        "MOP": "澳门元 澳门币",
        "CHF": "瑞士法郎",
    }.items()
    for name in names.split()
}
_MONEY = "|".join(sorted(map(re.escape, _CURRENCIES), key=len, reverse=True))
_SCALE = "[十百千]?万?亿?|[十百千]"
_NUMBER = re.compile(
    rf"([-+(（]?)(\d[\d,，]*(?:\.\d*)?|\.\d+)(?:[eE]([-+]?\d{{1,2}}))?({_SCALE})({_MONEY}|股)?([%％]?)[)）]?",
    re.IGNORECASE,
)
_UNIT = re.compile(rf"({_MONEY})?({_SCALE})({_MONEY}|股|%|％|天|次|倍)?(/股)?", re.IGNORECASE)
_HEADING_UNIT = re.compile(r"\s*[(（\[]\s*(?:单位[:：])?([^()（）\[\]]{1,10})[)）\]]\s*$")
_ABOVE = re.compile(rf"单位\s*[:：]?\s*({_MONEY})?({_SCALE})({_MONEY})", re.IGNORECASE)
_ABOVE_CURRENCY = re.compile(rf"币种\s*[:：]?\s*({_MONEY})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Cell:
    """A number as the cell writes it: `number` × 10^`scale`, exact to `decimals`; `currency` where it names one."""

    number: Decimal
    scale: int
    percent: bool
    currency: str = ""

    @property
    def value(self) -> Decimal:
        """The number with its scale; a percentage as a fraction."""
        return self.number.scaleb(self.scale - (2 if self.percent else 0))

    @property
    def decimals(self) -> str:
        """Power of ten that the written digits are exact to."""
        return str(-int(self.number.as_tuple().exponent) - self.scale + (2 if self.percent else 0))


def parse(text: str, scale: int = 0) -> Cell | None:
    """The number in a cell; `scale` is that of the heading and applies where the cell names none. None: it is missing.

    Raises:
        ValueError: the cell holds text.
    """
    text = text.strip().replace("−", "-").replace("－", "-")
    if text.lower() in MISSING:
        return None
    found = _NUMBER.fullmatch(text.replace(" ", "")[:60])
    if not found or found[4] not in _SCALES:
        raise ValueError(f"{text[:40]!r} is not a number")
    sign, digits, power, word, unit, percent = found.groups()
    if (sign in ("(", "（")) != text.endswith((")", "）")):
        raise ValueError(f"{text[:40]!r} has half a bracket")
    number = Decimal(digits.replace(",", "").replace("，", "")).scaleb(int(power or 0))
    negative = sign in ("-", "(", "（")
    named = "" if unit in (None, "元", "股") else currency(unit) or ""
    return Cell(-number if negative else number, _SCALES[word] or (0 if percent else scale), bool(percent), named)


def guarded(text: str) -> str:
    """A cell's text without what keeps a spreadsheet from reading a code as a number: ="000001", '000001."""
    text = text.strip()
    found = re.fullmatch(r'="?(.*?)"?', text)
    return (found[1] if found else text.removeprefix("'")).strip()


class Unit(NamedTuple):
    """What figures are counted in: a power of ten, a currency (empty: none named), and 元, 股, %, 天, 次 or 倍."""

    scale: int = 0
    currency: str = ""
    kind: str = ""
    per_share: bool = False


def unit(text: str) -> Unit | None:
    """A unit in words: 万元, 百万港元, 美元/股, %; None when it is none."""
    found = _UNIT.fullmatch(text.strip())
    if not found or not any(found.groups()) or found[2] not in _SCALES:
        return None
    before, word, kind, per_share = found.groups()
    money = [name for name in (before, kind) if name and name.lower() in _CURRENCIES]
    foreign = [name for name in money if name != "元"]
    kind = kind if kind in ("股", "%", "％", "天", "次", "倍") else "元"
    return Unit(_SCALES[word], currency(foreign[0]) or "" if foreign else "", kind, bool(per_share))


def heading_unit(heading: str) -> tuple[str, Unit]:
    """A heading without its unit, and the unit: "净利润（万元）" → 净利润, 10^4 元."""
    found = _HEADING_UNIT.search(heading)
    own = unit(found[1]) if found else None
    return (heading[: found.start()].strip(), own) if found and own else (heading.strip(), Unit())


def unit_above(text: str) -> Unit:
    """The unit that stands above a table, as in "单位：百万元 币种：人民币"."""
    found, named = _ABOVE.search(text), _ABOVE_CURRENCY.search(text)
    own = unit("".join(part or "" for part in found.groups())) if found else None
    stated = currency(named[1]) or "" if named else ""
    return (own or Unit())._replace(currency=(own.currency if own else "") or stated)


def currency(text: str) -> str | None:
    """ISO code of a currency in words or letters: 港币 → HKD; None when it is none that is known."""
    text = text.strip().lower()
    return _CURRENCIES.get(text) or (text.upper() if re.fullmatch(r"[a-z]{3}", text) else None)


class Period(NamedTuple):
    """A period as a cell names it; `start` only where the cell says so, as 三季度 does and 三季报 does not."""

    end: str
    start: str | None = None


_DAY = re.compile(
    r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?:[ T].*)?|(\d{4})()(\d\d)(\d\d)|(\d{4})()年(\d{1,2})月(\d{1,2})日"
)
_MONTH = re.compile(r"(\d{4})[-/.](\d\d|[5-9])|(\d{4})年(\d{1,2})月[份末底]?|(\d{4})(\d\d)")
_YEAR = re.compile(r"(?:FY)?((?:19|20)\d\d)\s*(?:年度?|财年)?\s*[-_/]?\s*(.*)")
_MONTHS = re.compile(r"[(（]?(\d{1,2})[-~至到—](\d{1,2})月(?:份|累计)?[)）]?")
_NAMES = tuple(
    (re.compile(pattern, re.IGNORECASE), first, last)
    for pattern, first, last in (
        (r"年?(年?度?报告?|年度|全年|度|四季报|Q4|第四季度(报告|累计))?", None, 12),
        (r"年?(第?一季报?度?(报告?|累计)?|Q1|1Q)", None, 3),
        (r"年?(半年度?(报告?)?|上半年|中报|中期报告|二季报|第?二季度(报告|累计)|H1|1H|Q2)", None, 6),
        (r"年?(三季报|第?三季度(报告|累计)|前三季度?|Q3|9M)", None, 9),
        (r"年?第?二季度?(单季)?|Q2单季", 4, 6),
        (r"年?第?三季度?(单季)?|Q3单季", 7, 9),
        (r"年?第?四季度?(单季)?|Q4单季", 10, 12),
    )
)


def period(text: str) -> Period | None:
    """A period in words: 2024-12-31, 20241231, 2024-12, 2024年三季报, 2024年第三季度报告, 2024Q3, 2024; else None."""
    text = re.sub(r"\.0$", "", text.strip())
    text = re.sub(r"(?<=[第年])([1-4])(?=季)", lambda digit: "一二三四"[int(digit[1]) - 1], text)
    if found := _DAY.fullmatch(text):
        year, _, month, day = (part for part in found.groups() if part is not None)
        try:
            return Period(date(int(year), int(month), int(day)).isoformat())
        except ValueError:
            return None
    if found := _MONTH.fullmatch(text):
        year, month = (part for part in found.groups() if part is not None)
        return _to_months_end(year, int(month))
    found = _YEAR.fullmatch(text)
    if not found:
        return None
    year, name = found[1], re.sub(r"^(Q[1-4])累计$", r"\1", found[2].strip())
    if months := _MONTHS.fullmatch(name):
        first, last = int(months[1]), int(months[2])
        return _to_months_end(year, last, first if first > 1 else None) if 1 <= first <= last else None
    return next((_to_months_end(year, last, first) for p, first, last in _NAMES if p.fullmatch(name)), None)


def _to_months_end(year: str, month: int, first: int | None = None) -> Period | None:
    if not 1 <= month <= 12:
        return None
    end = date(int(year), month, calendar.monthrange(int(year), month)[1])
    return Period(end.isoformat(), f"{year}-{first:02d}-01" if first else None)


_EXCHANGE = re.compile(r"(?:(HK|SH|SZ|BJ)\.?(\d{1,6})|(\d{1,6})\.(HK|SH|SZ|BJ|SS|XSHG|XSHE))", re.IGNORECASE)


def stock_code(text: str, foreign: bool = False) -> str | None:
    """Six-digit code of "600519", "SH600519", "600519.SH" or of a number that lost its leading zeros.

    A company of Hong Kong has five digits, as in "00700" and "700.HK".

    Args:
        foreign: the row counts in another currency than the yuan, so that a short number is one of Hong Kong's.
    """
    text = text.strip()
    if found := _EXCHANGE.fullmatch(text):
        exchange, digits = (found[1], found[2]) if found[1] else (found[4], found[3])
        if exchange.upper() == "HK":
            return digits.zfill(5) if len(digits) <= 5 else None
        return digits.zfill(6)
    digits = re.sub(r"\.0$", "", text)
    if not re.fullmatch(r"\d{1,6}", digits):
        return None
    # Shanghai's and Shenzhen's codes have six digits; without their zeros those that begin with 000 to 003 have four.
    return digits.zfill(5) if len(digits) == 5 or (foreign and len(digits) < 6) else digits.zfill(6)
