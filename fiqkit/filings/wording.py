"""A table of figures in plain words, in English or Chinese: head, caption with the unit, a line a row.

Acme Rockets Inc. (ACME), Form 10-K.
Results of operations. Amounts in millions of USD.
Line | 12 months to 2023-12-31 | 12 months to 2022-12-31
Revenue | 1,234 | 1,100
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import Any, NamedTuple

from fiqkit.filings.fact import Number

Span = tuple[str | None, str]  # (start, end); start is None for an instant


class Line(NamedTuple):
    """A row of a rendered table; `share`: its figures are shares, written in per cent."""

    title: str
    unit: str
    values: dict[Span, Number]
    share: bool = False


_WORDING: dict[str, dict[str, Any]] = {
    "en": {
        "who": "{company} ({ticker})",
        "nobody": "Company not named",
        "head": "{who}{form}{filed}.",
        "form": ", Form {form}",
        "filed": ", filed {filed}",
        "caption": "{caption}. {units}",
        "money": "Amounts in {scale}{currency}.",
        "scales": {6: "millions of ", 3: "thousands of ", 0: ""},
        "money of": "{currency} {digits}",
        "units": {"D": " days"},
        "line": "Line",
    },
    "zh": {
        "who": "{company}（{ticker}）",
        "nobody": "公司名称不详",
        "head": "{who}{form}{filed}。",
        "form": "，{form}",
        "filed": "，披露日期{filed}",
        "caption": "{caption}。{units}",
        "money": "金额单位：{scale}{currency}。",
        "scales": {8: "亿", 4: "万", 0: ""},
        "money of": "{digits}{currency}",
        "units": {"shares": "股", "D": "天"},
        "line": "项目",
    },
}
_CURRENCIES_ZH = {"CNY": "元", "HKD": "港元", "USD": "美元", "EUR": "欧元", "JPY": "日元", "GBP": "英镑"}


def currency_of(unit: str | None) -> str:
    """The currency of an amount or of a figure per share; empty where it has none."""
    found = re.fullmatch(r"([A-Z]{3})(?:/.*)?", unit or "")
    return found[1] if found else ""


def months(span: Span) -> int:
    """Length of a period in months, an instant 0."""
    start, end = span
    return round((date.fromisoformat(end) - date.fromisoformat(start)).days / 30.44) if start else 0


def render_table(
    lines: Sequence[Line],
    columns: Sequence[Span],
    caption: str,
    *,
    company: str | None,
    ticker: str | None = None,
    form: str | None = None,
    filed: str | None = None,
    language: str = "en",
) -> str:
    """A captioned table of figures: head, units, a row a line and a column a period; a missing figure is a dash.

    Raises:
        ValueError: amounts in two currencies, which one caption cannot name.
    """
    wording = _WORDING[language]
    money = [line for line in lines if _is_money(line.unit)]
    currencies = {line.unit for line in money}
    if len(currencies) > 1:
        raise ValueError(f"amounts in {', '.join(sorted(currencies))} under one caption")
    scale = _scale(money, language)
    who = wording["who"].format(company=company or wording["nobody"], ticker=ticker) if ticker else company
    head = wording["head"].format(
        who=who or wording["nobody"],
        form=wording["form"].format(form=form) if form else "",
        filed=wording["filed"].format(filed=filed) if filed else "",
    )
    units = "".join(_money(currency, scale, language) for currency in currencies)
    title = " | ".join([wording["line"], *(_period(span, language) for span in columns)])
    rows = (
        " | ".join([line.title, *(_figure(line.values.get(span), line, scale, language) for span in columns)])
        for line in lines
    )
    return "\n".join([head, wording["caption"].format(caption=caption, units=units).strip(), title, *rows])


def _money(currency: str, scale: int, language: str) -> str:
    wording = _WORDING[language]
    scale_word = wording["scales"][scale]
    if language == "zh" and currency == "CNY":
        return str(wording["money"].format(scale=f"人民币{scale_word}", currency="元"))
    return str(wording["money"].format(scale=scale_word, currency=_currency_name(currency, language)))


def _currency_name(currency: str, language: str) -> str:
    return _CURRENCIES_ZH.get(currency, currency) if language == "zh" else currency


def _is_money(unit: str) -> bool:
    return re.fullmatch(r"[A-Z]{3}", unit) is not None


def _scale(lines: Sequence[Line], language: str) -> int:
    """The largest unit in which every amount is exact with at most two decimals (one in millions)."""
    values = [value for line in lines for value in line.values.values() if value]
    for scale in _WORDING[language]["scales"]:
        step = 10 ** max(0, scale - (2 if language == "zh" else 1)) if scale else 0
        if not step or all(value == int(value) and int(value) % step == 0 for value in values):
            return int(scale)
    return 0


def _figure(value: Number | None, line: Line, scale: int, language: str) -> str:
    if value is None:
        return "—"
    if _is_money(line.unit):
        return _digits(value, scale)
    if line.unit == "pure":
        return f"{_digits(value, -2)}%" if line.share else _digits(value, 0)
    wording = _WORDING[language]
    if line.unit.endswith("/shares") and (currency := currency_of(line.unit)):
        return str(wording["money of"].format(currency=_currency_name(currency, language), digits=_digits(value, 0)))
    return f"{_digits(value, 0)}{wording['units'].get(line.unit, f' {line.unit}')}".strip()


def _digits(value: Number, scale: int) -> str:
    """Thousands grouped, as many decimals as the value has."""
    number = Decimal(str(value)).scaleb(-scale)
    text = f"{number:,f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _period(span: Span, language: str) -> str:
    start, end = span
    if language == "en":
        return f"{months(span)} months to {end}" if start else f"at {end}"
    year, month, day = (int(part) for part in end.split("-"))
    if not start:
        return f"{year}年{month}月{day}日"
    first_year, first_month, _ = (int(part) for part in start.split("-"))
    if (first_year, first_month, month) == (year, 1, 12):
        return f"{year}年度"
    first = f"{first_year}年{first_month}" if first_year == year else f"{first_year}年{first_month}月"
    last = f"{month}月" if first_year == year else f"{year}年{month}月"
    return f"{first}月" if (first_year, first_month) == (year, month) else f"{first}-{last}"
