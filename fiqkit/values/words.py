"""Numbers written out in words, English and Chinese."""

from __future__ import annotations

import re

_ONES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_TEENS = ("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen")
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_ENGLISH: dict[str, int] = {word: number for number, word in enumerate((*_ONES, *_TEENS))}
_ENGLISH |= {word: 10 * number for number, word in enumerate(_TENS, 2)}
_MULTIPLES = {"hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}

_NUMERAL = "|".join(sorted(_ENGLISH, key=len, reverse=True))
_WORD = "|".join(sorted((*_ENGLISH, *_MULTIPLES, "point"), key=len, reverse=True))
ENGLISH_NUMBER = re.compile(
    rf"(?<![A-Za-z])(?:an?[ ](?:{'|'.join(_MULTIPLES)})|half[ ]an?[ ](?:million|billion|trillion)|{_NUMERAL})"
    rf"(?:[ -]{{1,2}}(?:and[ ])?(?:{_WORD}))*(?:[ ]and[ ]a[ ]half(?:[ ](?:million|billion|trillion))?)?(?![A-Za-z])",
    re.IGNORECASE,
)

_DIGITS = {c: i for i, c in enumerate("零一二三四五六七八九")}
_DIGITS |= {c: i for i, c in enumerate("〇壹贰叁肆伍陆柒捌玖")} | {"两": 2}
_PLACES = {"十": 10, "拾": 10, "百": 100, "佰": 100, "千": 1000, "仟": 1000}
_GROUPS = {"万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8}

CHINESE_NUMBER = re.compile(
    f"[{''.join(_DIGITS)}十拾][{''.join((*_DIGITS, *_PLACES, *_GROUPS))}]*(?:点[{''.join(_DIGITS)}]+[万亿百千]*)?"
)
_AMOUNT_TOKEN = re.compile(r"\d[\d,]*(?:\.\d+)?|\D")
# Digits and characters in turn: 12亿3400万, 121亿8千7百万.
MIXED_NUMBER = re.compile(
    r"(?<![\d.,])\d[\d,]{0,12}(?:\.\d{1,4})?[亿億万萬千](?:\d[\d,]{0,6}(?:\.\d{1,6})?[千百十]?[万萬千百]){1,4}(?!亿)"
)


def read_english(words: str) -> tuple[float, float, float] | None:
    """Value, step and scale of a written-out English number ("forty-six point seven five billion"), None for none.

    The step is the worth of the last decimal place spoken, or of the last multiple; the scale the largest multiple.
    """
    tokens = [t for t in re.split(r"[ -]+", words.lower()) if t != "and"]
    total, group, decimals, last = 0.0, 0.0, "", 1.0
    pointed = False
    scale = float(max((_MULTIPLES[token] for token in tokens if token in _MULTIPLES and token != "hundred"), default=1))
    if tokens[0] == "half":
        tokens, group = tokens[2:], 0.5
    elif tokens[0] in ("a", "an"):
        tokens, group = tokens[1:], 1.0
    if "half" in tokens:  # "two and a half billion"
        at = tokens.index("half")
        tokens[at - 1 : at + 1] = ["point", "five"]
    for token in tokens:
        if token == "point":
            if pointed:
                return None
            pointed = True
        elif token in _MULTIPLES:
            last = float(_MULTIPLES[token])
            amount = float(f"{group:.0f}.{decimals}") if decimals else (group or 1.0)
            if last == 100:
                group = amount * 100
            else:  # "forty-six thousand million": a greater multiple multiplies all that stands so far
                total, group = (total + amount) * last if last > total else total + amount * last, 0.0
            last, decimals, pointed = last / 10 ** len(decimals), "", False
        elif pointed:
            if _ENGLISH[token] > 9:
                return None
            decimals += str(_ENGLISH[token])
        else:
            group, last = group + _ENGLISH[token], 1.0
    if decimals:
        return total + float(f"{group:.0f}.{decimals}"), 10.0 ** -len(decimals), scale
    return None if pointed else (total + group, last, scale)


def read_chinese(words: str) -> tuple[float, float, float] | None:
    """Value, step and scale of a written-out Chinese number, None when it is not one.

    "四十六亿七千五百万", "十二点三亿", "12亿3400万"; "一万三" is 13,000.
    """
    whole, _, rest = words.partition("点")
    scale = float(max((_GROUPS[c] for c in words if c in _GROUPS), default=1))
    fraction = "".join(str(_DIGITS[c]) for c in rest if c in _DIGITS)
    multiplier = 1
    for c in rest[len(fraction) :]:
        multiplier *= _GROUPS.get(c) or _PLACES[c]
    number = _chinese_amount(whole)
    if number is None:
        return None
    if fraction:
        return float(f"{number:.0f}.{fraction}") * multiplier, multiplier / 10 ** len(fraction), scale
    return number, 1.0, scale


def _chinese_amount(words: str) -> float | None:
    if len(words) > 1 and all(c in _DIGITS for c in words):
        return None  # a row of bare digits is a year or a code, not an amount
    total, group, digit = 0.0, 0.0, 0.0
    unit = 1.0  # what the last place or group was worth
    for token in _AMOUNT_TOKEN.findall(words):
        if token in _GROUPS:
            here = group + digit
            # 万 before 亿 multiplies what stands so far: 三万亿 is 3e12.
            together = here == 0 or _GROUPS[token] > total > 0
            total = (total + here) * _GROUPS[token] if together else total + here * _GROUPS[token]
            group, digit, unit = 0.0, 0.0, float(_GROUPS[token])
        elif token in _PLACES:
            group, digit, unit = group + (digit or 1) * _PLACES[token], 0.0, float(_PLACES[token])
        else:
            digit = float(token.replace(",", "")) if token[0].isdecimal() else float(_DIGITS[token])
            unit = unit if digit else 1.0  # 一万零三 is 10,003, 一万三 is 13,000
    return total + group + digit * max(unit / 10, 1.0)
