"""Finds the financial values of a text: one pass over its numbers, each read with what stands around it."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, replace

from fiqkit.values import signs, units
from fiqkit.values.beside import PeriodIndex
from fiqkit.values.sentences import sentence_ends
from fiqkit.values.tokens import Number, numbers
from fiqkit.values.value import Value

# Full-width forms, one character for one, so that spans stay those of the caller's text. The full-width comma
# separates clauses and is left alone but inside a full-width number.
_NARROW = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F) if code != 0xFF0C}
_NARROW |= {
    0x3000: 0x20,
    0xA0: 0x20,
    0x2009: 0x20,
    0x202F: 0x20,
    0xFFE5: 0xA5,
    0x2010: 0x2D,
    0x2011: 0x2D,
    0xFE63: 0x2D,
}
_WIDE_COMMA = re.compile(r"(?<=[０-９])，(?=[０-９]{3})")

# Bare numbers that are none: years, A-share codes, anything with a leading zero.
_NO_VALUE = re.compile(r"(?:19|20)\d\d|0\d+|(?:60[0135]|68[89]|30[01]|83\d|87\d|43\d|920)\d{3}")
_RANGE = re.compile(r"\s?(?:-|–|—|~|～|至|到|to)\s?")
_LIST = re.compile(r"\s?(?:and|or|和|或)\s?")
_PER_SHARE = re.compile(r"\bEPS\b|\bper (?:[a-z]+ ){0,2}(?:share|ADS)\b|\bpar value\b|每股", re.IGNORECASE)
_CLAUSE_END = re.compile(r"[,，;；。！？!?\n]|\.\s")
_ONE_LETTER = ("k", "m", "b", "t", "mm")
_PERCENT_BEFORE = re.compile(r"([-−])?百分之\s?([-−负])?$")


@dataclass(frozen=True, slots=True)
class _Head:
    """What stands before a number: where it begins, its currency, a minus, an opening bracket, 百分之."""

    start: int
    currency: str | None = None
    minus: bool = False
    bracket: bool = False
    percent: bool = False


@dataclass(frozen=True, slots=True)
class _Tail:
    """What stands after a number: its scale, its unit, and where all that ends."""

    end: int
    scale: float = 1.0
    kind: str | None = None
    currency: str | None = None
    smaller: float = 0.0  # the 3400万 of 12亿3400万
    step: float | None = None  # the precision of that part


@dataclass(frozen=True, slots=True)
class _Context:
    """A text with what is looked up in it for every number."""

    text: str
    falls: signs.FallWords
    per_share: list[int]  # where words such as EPS and 每股 end

    def is_per_share(self, start: int) -> bool:
        """Whether the clause before `start` speaks of an amount per share."""
        at = bisect_right(self.per_share, start) - 1
        return (
            at >= 0
            and self.per_share[at] >= start - 60
            and not _CLAUSE_END.search(self.text, self.per_share[at], start)
        )


def find(text: str, language: str | None = None) -> list[Value]:
    """Every financial value in a text, in order; the time it takes is linear in the text's length.

    Years, dates, durations, stock codes, list numbers, names of forms and standards are not values. Of a range both
    ends are found, each with the unit that they share.

    Args:
        text: any text; the spans of the result are offsets in it.
        language: "en" or "zh" limits which written-out numbers are read; None reads both.
    """
    flat = _WIDE_COMMA.sub(",", text).translate(_NARROW)
    periods = PeriodIndex(flat)
    context = _Context(flat, signs.FallWords(flat), [m.end() for m in _PER_SHARE.finditer(flat)])
    captions = [(match.end(), units.caption_scale(match)) for match in units.CAPTION.finditer(flat)]
    values: list[Value] = []
    for number in numbers(flat, language):
        if values and number.start < values[-1].span[1]:
            continue
        value = _read(context, number)
        if value is None:
            continue
        value = _captioned(value, captions)
        if values:
            values[-1], value = _share_unit(values[-1], value, flat)
        values.append(value)
    beside = periods.beside([value.span for value in values], sentence_ends(flat))
    return [
        replace(value, text=text[slice(*value.span)], period=period)
        for value, period in zip(values, beside, strict=True)
    ]


def _read(context: _Context, number: Number) -> Value | None:
    """The value around a number, None when the number is no financial value."""
    text = context.text
    head = _head(text, number)
    bracketed = head.bracket and text[number.end : number.end + 1] == ")"
    tail = _tail(text, number, number.end + bracketed, head)
    closing = head.bracket and not bracketed and _fills_its_cell(text, head.start, tail.end)
    if head.bracket and not bracketed and not closing:
        head = replace(head, start=text.index("(", head.start) + 1)
    if not _is_value(number, head, tail, text):
        return None
    currency = head.currency or tail.currency
    if currency == "CNY" and tail.currency == "JPY":
        currency = "JPY"
    kind = "percent" if head.percent else tail.kind or ("currency" if currency else "plain")
    if kind in ("currency", "plain") and tail.scale == 1 and context.is_per_share(head.start):
        kind = "per_share"
    size = number.magnitude * tail.scale + tail.smaller
    negative = head.minus or bracketed or closing
    negative = negative or context.falls.before(head.start) or signs.falls_after(text, tail.end)
    return Value(
        number=-size if negative and size else size,
        kind=kind,
        currency=currency if kind in ("currency", "per_share") else None,
        scale=tail.scale,
        step=tail.step or number.step * tail.scale,
        span=(head.start, tail.end + closing),
        text="",
    )


def _head(text: str, number: Number) -> _Head:
    low = max(0, number.start - 16)
    before = text[low : number.start]
    if not units.MAY_PRECEDE.search(before):
        return _Head(number.start)
    percent = _PERCENT_BEFORE.search(before)
    if percent:
        return _Head(low + percent.start(), minus=bool(percent[1] or percent[2]), percent=True)
    match = units.PREFIX.search(before)
    if match is None or not match.group().strip():
        return _Head(number.start)
    outer, inner = match["outer"], match["inner"]
    currency = units.CURRENCIES[match["currency"].lower()] if match["currency"] else None
    at = low + match.start() + len(match.group()) - len(match.group().lstrip())
    minus = signs.is_minus(outer, text, at) or bool(inner and inner in "-−–" and (currency or match["space"] == ""))
    if inner and inner in "-−–" and not currency:
        minus = signs.is_minus(inner, text, number.start - 1)
    bracket = any(sign and sign.startswith("(") for sign in (outer, inner))
    if outer and not minus and not outer.startswith("("):
        at += len(outer)
    if inner and not currency and not minus and not bracket:
        at = number.start
    return _Head(at, currency, minus, bracket)


def _tail(text: str, number: Number, start: int, head: _Head) -> _Tail:
    match = units.SUFFIX.match(text, start)
    assert match is not None  # every part of it is optional
    unit = match.groupdict()
    if unit["percent"]:
        return _Tail(match.end(), kind="percent")
    if unit["points"]:
        return _Tail(match.end(), kind="points")
    if unit["bps"]:
        return _Tail(match.end(), kind="points", scale=0.01)
    latin = (unit["scale"] or "").lower()
    alone = not head.currency and not unit["currency"]
    if (
        latin in _ONE_LETTER
        and alone
        and (latin == "t" or not number.written or (unit["gap"] and "." not in number.written))
    ):
        return _Tail(start)  # "5 m" is a length, "5t" a weight
    scale = units.SCALES.get(latin, 1.0) * units.CHINESE_SCALES.get(unit["zh_scale"] or "", 1.0)
    word = (unit["currency"] or "").lower()
    currency = units.CURRENCY_WORDS.get(word) or units.CURRENCIES.get(word)
    kind = _kind(unit, currency or head.currency)
    tail = _Tail(match.end(), scale, kind, currency)
    if scale == 1 and kind in (None, "currency"):
        trailing = units.TRAILING_SCALE.match(text, match.end())
        if trailing:
            tail = replace(tail, end=trailing.end(), scale=units.caption_scale(trailing))
    if unit["zh_scale"] and match.end() == match.end("zh_scale"):
        tail = _compound(text, tail)
    return tail


def _kind(unit: dict[str, str | None], currency: str | None) -> str | None:
    if unit["per"] or unit["per_word"]:
        return "per_share"
    if unit["ratio"]:
        return "ratio"
    if (unit["measure"] or unit["noun"]) and not currency:
        return "count"
    return None


def _compound(text: str, tail: _Tail) -> _Tail:
    """Chinese amounts in two parts: 12亿3400万元."""
    rest = units.SMALLER_GROUP.match(text, tail.end)
    if rest is None or units.CHINESE_SCALES[rest[2]] >= tail.scale:
        return tail
    scale = units.CHINESE_SCALES[rest[2]]
    after = units.SUFFIX.match(text, rest.end())
    word = after["currency"] if after else None
    end = after.end("currency") if after and word else rest.end()
    currency = units.CURRENCY_WORDS.get((word or "").lower()) or tail.currency
    smaller = float(rest[1].replace(",", "")) * scale
    return replace(tail, end=end, currency=currency, smaller=smaller, step=scale)


def _is_value(number: Number, head: _Head, tail: _Tail, text: str) -> bool:
    united = bool(head.currency or tail.currency or tail.kind or head.percent or tail.scale != 1)
    if not number.written:
        counted = tail.kind == "count" and number.magnitude < 100
        return (united and not counted) or (number.magnitude >= 1e4 and number.end - number.start > 2)
    if united:
        return True
    if head.bracket and len(number.written) == 6 and number.written.isdigit():
        return False  # "(302132)" behind a company's name
    following = text[tail.end : tail.end + 1]
    return not _NO_VALUE.fullmatch(number.written) and not (following.isascii() and following.isalpha())  # 5G, 3D


def _fills_its_cell(text: str, start: int, end: int) -> bool:
    """Whether a bracket with number and unit, "(4.5%)", is all of a table cell; in running text it is an aside."""
    if text[end : end + 1] != ")":
        return False
    left, right = text[max(0, start - 2) : start], text[end + 1 : end + 3]
    return (not left.strip(" ") or left[-1] in "|\t\n" or left.endswith("| ")) and (
        not right.strip(" ") or right[0] in "|\t\n" or right.startswith(" |")
    )


def _captioned(value: Value, captions: list[tuple[int, float]]) -> Value:
    """The value under the last table caption before it, when it states no scale of its own."""
    at = bisect_right(captions, (value.span[0], 0.0)) - 1
    if at < 0 or value.scale != 1 or value.kind not in ("plain", "currency"):
        return value
    factor = captions[at][1]
    return replace(value, number=value.number * factor, scale=factor, step=value.step * factor)


def _share_unit(first: Value, second: Value, text: str) -> tuple[Value, Value]:
    """Both ends of a range with the unit that only one of them carries: "5-7%", "$10 to 12 billion"."""
    gap = text[first.span[1] : second.span[0]]
    if len(gap) > 6 or not (_RANGE.fullmatch(gap) or _LIST.fullmatch(gap)):
        return first, second
    if first.kind in ("plain", "currency") and first.scale == 1 and second.scale != 1:
        step = first.step * second.scale
        first = replace(first, number=first.number * second.scale, step=step, scale=second.scale)
    if first.kind == "plain" and second.kind != "plain":
        first = replace(first, kind=second.kind, currency=second.currency)
    if (
        first.kind == second.kind
        and first.number < 0 < second.number
        and text[first.span[0]] not in "-−("
        and _RANGE.fullmatch(gap)
    ):
        second = replace(second, number=-second.number)  # a decline of 5% to 7%
    if second.kind == "plain" and first.kind == "currency":
        second = replace(second, kind="currency", currency=first.currency)
    return first, second
