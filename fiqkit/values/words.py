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
    rf"\b(?:an?[ ](?:{'|'.join(_MULTIPLES)})|half[ ]an?[ ](?:million|billion|trillion)|{_NUMERAL})"
    rf"(?:[ -]{{1,2}}(?:and[ ])?(?:{_WORD}))*(?:[ ]and[ ]a[ ]half(?:[ ](?:million|billion|trillion))?)?\b",
    re.IGNORECASE,
)

_DIGITS = {c: i for i, c in enumerate("零一二三四五六七八九")}
_DIGITS |= {c: i for i, c in enumerate("〇壹贰叁肆伍陆柒捌玖")} | {"两": 2}
_PLACES = {"十": 10, "拾": 10, "百": 100, "佰": 100, "千": 1000, "仟": 1000}
_GROUPS = {"万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8}

CHINESE_NUMBER = re.compile(
    f"[{''.join(_DIGITS)}十拾][{''.join((*_DIGITS, *_PLACES, *_GROUPS))}]*(?:点[{''.join(_DIGITS)}]+[万亿百千]*)?"
)


def read_english(words: str) -> tuple[float, float] | None:
    """Value and step of a written-out English number ("forty-six point seven five billion"), None for none.

    The step is the worth of the last decimal place spoken, or of the last multiple.
    """
    tokens = [t for t in re.split(r"[ -]+", words.lower()) if t != "and"]
    total, group, decimals, last = 0.0, 0.0, "", 1.0
    pointed = False
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
            else:
                total, group = total + amount * last, 0.0
            last, decimals, pointed = last / 10 ** len(decimals), "", False
        elif pointed:
            if _ENGLISH[token] > 9:
                return None
            decimals += str(_ENGLISH[token])
        else:
            group, last = group + _ENGLISH[token], 1.0
    if decimals:
        return total + float(f"{group:.0f}.{decimals}"), 10.0 ** -len(decimals)
    return None if pointed else (total + group, last)


def read_chinese(words: str) -> tuple[float, float] | None:
    """Value and step of a written-out Chinese number ("四十六亿七千五百万", "十二点三亿"), None when it is not one."""
    whole, _, rest = words.partition("点")
    fraction = "".join(str(_DIGITS[c]) for c in rest if c in _DIGITS)
    multiplier = 1
    for c in rest[len(fraction) :]:
        multiplier *= _GROUPS.get(c) or _PLACES[c]
    number = _chinese_integer(whole)
    if number is None:
        return None
    if fraction:
        return float(f"{number}.{fraction}") * multiplier, multiplier / 10 ** len(fraction)
    return float(number), 1.0


def _chinese_integer(words: str) -> int | None:
    if len(words) > 1 and all(c in _DIGITS for c in words):
        return None  # a row of bare digits is a year or a code, not an amount
    total, group, digit = 0, 0, 0
    for c in words:
        if c in _DIGITS:
            digit = _DIGITS[c]
        elif c in _PLACES:
            group, digit = group + (digit or 1) * _PLACES[c], 0
        else:
            here = group + digit
            # 万 before 亿 multiplies what stands so far: 三万亿 is 3e12.
            total = (total + here) * _GROUPS[c] if here == 0 or _GROUPS[c] > total > 0 else total + here * _GROUPS[c]
            group, digit = 0, 0
    return total + group + digit
