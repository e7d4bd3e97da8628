"""The cells of Chinese export tables: amounts with 亿 and 万, percentages, dates, codes, headings with a unit.

A cell holds one value or none, so its whole text must be understood; values inside running text are `fiqkit.values`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

MISSING = frozenset(("", "false", "--", "-", "—", "——", "nan", "none", "null", "nat", "n/a", "na", "不适用", "无"))
_SCALES = {"": 0, "千": 3, "万": 4, "百万": 6, "千万": 7, "亿": 8, "百亿": 10, "千亿": 11, "万亿": 12}
_NUMBER = re.compile(
    r"([-+(（]?)(\d[\d,，]*(?:\.\d*)?|\.\d+)(?:[eE]([-+]?\d{1,2}))?([千百万亿]{0,2})[元股]?([%％]?)[)）]?"
)
_HEADING_UNIT = re.compile(
    r"\s*[(（\[]\s*(?:人民币|单位[:：])?([千百万亿]{0,2})(元/股|元|股|%|％|天|次|倍)?\s*[)）\]]\s*$"
)
_DAY = re.compile(r"(\d{4})[-/.年]?(\d{1,2})[-/.月]?(\d{1,2})日?(?:[ T].*)?")
_PERIOD = re.compile(
    r"((?:19|20)\d{2})\s*(?:年度?)?\s*(?:-?\s*(Q[1-4]|一季报?|中报|半年报?|三季报?|年报|第?[一二三四]季度?)?)"
)
_PERIOD_ENDS = {"1": "-03-31", "2": "-06-30", "3": "-09-30", "4": "-12-31"}
_PERIOD_NAMES = {"一": "1", "中": "2", "半": "2", "二": "2", "三": "3", "四": "4", "年": "4"}


@dataclass(frozen=True, slots=True)
class Cell:
    """A number as the cell writes it: `number` × 10^`scale`, exact to `decimals`."""

    number: Decimal
    scale: int
    percent: bool

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
    sign, digits, power, word, percent = found.groups()
    if (sign in ("(", "（")) != text.endswith((")", "）")):
        raise ValueError(f"{text[:40]!r} has half a bracket")
    number = Decimal(digits.replace(",", "").replace("，", "")).scaleb(int(power or 0))
    negative = sign in ("-", "(", "（")
    return Cell(-number if negative else number, _SCALES[word] or (0 if percent else scale), bool(percent))


def heading_unit(heading: str) -> tuple[str, int, str]:
    """A heading without its unit, the unit's scale and its kind (元, 元/股, %, …): "净利润（万元）" → 净利润, 4, 元."""
    found = _HEADING_UNIT.search(heading)
    if not found or not (found[1] or found[2]) or found[1] not in _SCALES:
        return heading.strip(), 0, ""
    return heading[: found.start()].strip(), _SCALES[found[1]], found[2] or "元"


def scale_of(unit: str) -> int | None:
    """Power of ten of a unit in words, as in "单位：万元"; None when it is none."""
    found = re.search(r"单位\s*[:：]\s*(?:人民币)?\s*([千百万亿]{0,2})元", unit)
    return _SCALES.get(found[1]) if found else None


def period_end(text: str) -> str | None:
    """ISO date of a period's end: 2024-12-31, 20241231, 2024年三季报, 2024Q3, 2024; None when it is none."""
    text = text.strip()
    if found := _DAY.fullmatch(text):
        try:
            return date(int(found[1]), int(found[2]), int(found[3])).isoformat()
        except ValueError:
            return None
    found = _PERIOD.fullmatch(text.removesuffix(".0"))
    if not found:
        return None
    name = (found[2] or "Q4").lstrip("第")
    quarter = name[1] if name[0] == "Q" else _PERIOD_NAMES[name[0]]
    return found[1] + _PERIOD_ENDS[quarter]


def stock_code(text: str) -> str | None:
    """Six-digit stock code of "600519", "SH600519", "600519.SH" or of a number that lost its leading zeros."""
    digits = re.fullmatch(r"(?:[a-zA-Z]{2}\.?)?(\d{1,6})(?:\.0|\.[a-zA-Z]{2})?", text.strip())
    return digits[1].zfill(6) if digits else None
