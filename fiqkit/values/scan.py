"""Finds the financial values of a text: one pass over its numbers, each read with what stands around it."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, replace

from fiqkit.values import signs, units
from fiqkit.values.beside import PeriodIndex
from fiqkit.values.markup import plain
from fiqkit.values.sentences import sentence_ends
from fiqkit.values.tokens import Number, numbers
from fiqkit.values.value import Value

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
    """Every financial value in a text, in order, never overlapping; markup is looked through.

    Years, dates, stock codes, list numbers, page references and numbers inside names are not values. Of a range both
    ends are found, each with the unit that they share.

    Args:
        text: any text; the spans of the result are offsets in it.
        language: "en" or "zh" limits which written-out numbers are read; None reads both.
    """
    stripped = plain(text)
    at = stripped.at
    found = find_in_plain(stripped.text, language)
    spans = [(at[value.span[0]], at[value.span[1] - 1] + 1) for value in found]
    return [replace(v, span=span, text=text[slice(*span)]) for v, span in zip(found, spans, strict=True)]


def find_in_plain(text: str, language: str | None = None) -> list[Value]:
    """`find` for a text that has no markup any more (see `plain`)."""
    periods = PeriodIndex(text)
    context = _Context(text, signs.FallWords(text), [m.end() for m in _PER_SHARE.finditer(text)])
    captions = [units.read_caption(match) for match in units.CAPTION.finditer(text)]
    values: list[Value] = []
    for number in numbers(text, language):
        if values and number.start < values[-1].span[1]:
            continue
        value = _read(context, number)
        if value is None:
            continue
        value = _captioned(value, captions)
        if values:
            values[-1], value = _share_unit(values[-1], value, text)
            value = _share_sign(values[-1], value, text)
        values.append(value)
    beside = periods.beside([value.span for value in values], sentence_ends(text))
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
    size = number.magnitude * tail.scale
    negative = head.minus or bracketed or closing
    negative = negative or context.falls.before(head.start) or signs.falls_after(text, tail.end)
    return Value(
        number=-size if negative and size else size,
        kind=kind,
        currency=currency if kind in ("currency", "per_share") else None,
        scale=tail.scale * number.scale,
        step=number.step * tail.scale,
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
    currency, _ = units.currency_of(match["currency"])
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
    scale *= units.SCALES.get((unit["late"] or "").lower(), 1.0) if scale == 1 else 1.0
    currency, share = units.currency_of(unit["currency"])
    kind = _kind(unit, currency or head.currency)
    tail = _Tail(match.end(), scale * share, kind, currency)
    if scale == share == number.scale == 1 and kind in (None, "currency"):
        trailing = units.TRAILING_SCALE.match(text, match.end())
        caption = units.read_caption(trailing) if trailing else None
        if caption and number.magnitude * caption.scale <= units.largest(caption.currency or currency):
            tail = replace(tail, end=caption.end, scale=caption.scale, currency=currency or caption.currency)
    return tail


def _kind(unit: dict[str, str | None], currency: str | None) -> str | None:
    if unit["per"] or unit["per_word"]:
        return "per_share"
    if unit["ratio"]:
        return "ratio"
    if (unit["measure"] or unit["noun"]) and not currency:
        return "count"
    return None


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


def _captioned(value: Value, captions: list[units.Caption]) -> Value:
    """The value under the last table caption before it, when it states no scale and is not written out in full."""
    at = bisect_right(captions, value.span[0], key=lambda caption: caption.end) - 1
    if at < 0 or value.scale != 1 or value.kind not in ("plain", "currency"):
        return value
    caption = captions[at]
    currency = value.currency or caption.currency
    if abs(value.number) * caption.scale > units.largest(currency):
        return value
    return replace(
        value,
        number=value.number * caption.scale,
        kind="currency" if currency else value.kind,
        currency=currency,
        scale=caption.scale,
        step=value.step * caption.scale,
    )


def _share_unit(first: Value, second: Value, text: str) -> tuple[Value, Value]:
    """Both ends of a range with the unit that only one of them carries: "5-7%", "$10 to 12 billion"."""
    gap = text[first.span[1] : second.span[0]]
    if len(gap) > 6 or not (_RANGE.fullmatch(gap) or _LIST.fullmatch(gap)):
        return first, second
    alike = 1e-3 <= abs(first.number * second.scale / (second.number or 1)) <= 1e3
    if first.kind in ("plain", "currency") and first.scale == 1 and second.scale != 1 and alike:
        step = first.step * second.scale
        first = replace(first, number=first.number * second.scale, step=step, scale=second.scale)
    if first.kind == "plain" and second.kind != "plain":
        first = replace(first, kind=second.kind, currency=second.currency)
    if (
        first.kind == second.kind in ("percent", "points")
        and first.number < 0 < second.number
        and text[first.span[0]] not in "-−("
        and _RANGE.fullmatch(gap)
    ):
        second = replace(second, number=-second.number)  # a decline of 5% to 7%
    if second.kind == "plain" and first.kind == "currency":
        second = replace(second, kind="currency", currency=first.currency)
    return first, second


def _share_sign(first: Value, second: Value, text: str) -> Value:
    """The second of "decreased $2.5 billion, or 14.5%": the first in another unit, so just as negative."""
    by_words = first.number < 0 < second.number and text[first.span[0]] not in "-−–("
    if by_words and first.kind != second.kind and signs.restates(text[first.span[1] : second.span[0]]):
        return replace(second, number=-second.number)
    return second
