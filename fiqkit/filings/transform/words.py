"""Numbers and durations written in English words."""

from __future__ import annotations

import re
from fractions import Fraction

_TO_TWELVE = "zero one two three four five six seven eight nine ten eleven twelve"
_TEENS = "thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_UNITS = {word: n for n, word in enumerate(f"{_TO_TWELVE} {_TEENS}".split())}
_UNITS |= {word: 10 * n for n, word in enumerate(_TENS.split(), 2)}
_UNITS |= {"a": 1, "an": 1, "fourty": 40}
_SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_NONE = {"no", "none", "nil", "zero", "not", "any", "neither"}
_FRACTIONS = {"half": 2, "halves": 2, "third": 3, "thirds": 3, "quarter": 4, "quarters": 4, "fourth": 4, "fourths": 4}
_FRACTIONS |= {"fifth": 5, "fifths": 5, "eighth": 8, "eighths": 8, "tenth": 10, "tenths": 10}
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?|\.\d+")


def number(text: str) -> Fraction:
    """The number that words spell: "twenty-one", "one hundred and five thousand", "no", "two and a half".

    Raises:
        ValueError: a word is not part of a number.
    """
    words = re.findall(r"[a-z]+|\d[\d,]*(?:\.\d+)?|\.\d+", text.lower().replace("\u00a0", " ")[:200])
    if words and all(word in _NONE for word in words):
        return Fraction(0)
    total = group = last = Fraction(0)
    for word in words:
        if word in _UNITS or _NUMBER.fullmatch(word):
            last = Fraction(_UNITS[word] if word in _UNITS else word.replace(",", ""))
            group += last
        elif word == "hundred":
            group, last = (group or Fraction(1)) * 100, Fraction(0)
        elif word == "dozen":
            group, last = (group or Fraction(1)) * 12, Fraction(0)
        elif word in _SCALES:
            total, group, last = total + (group or Fraction(1)) * _SCALES[word], Fraction(0), Fraction(0)
        elif word in _FRACTIONS:
            group = group - last + (last or Fraction(1)) / _FRACTIONS[word]
        elif word != "and":
            raise ValueError(f"{text[:40]!r} is not a number in words")
    if not words:
        raise ValueError("no number where one in words is expected")
    return total + group


def numeral(text: str) -> str:
    """The number that words spell, as a numeral with up to twelve decimals."""
    value = number(text)
    if value.denominator == 1:
        return str(value.numerator)
    return f"{float(value):.12f}".rstrip("0")


_PERIODS = {"year": "Y", "yr": "Y", "month": "M", "mo": "M", "week": "W", "day": "D", "hour": "H"}
_SPAN = re.compile(r"(.*?)\b(year|yr|month|mo|week|day|hour)s?\b['’]?", re.DOTALL)


def duration(text: str) -> str:
    """The ISO 8601 duration that words spell: "eighteen months" is P18M, "two and a half years" is P2Y6M.

    Raises:
        ValueError: no period is named, or its count is not a number.
    """
    text = text.lower().replace("\u00a0", " ").strip()[:200]
    spans = list(_SPAN.finditer(text))
    if not spans:
        return iso_duration(Fraction(0), "D") if text in _NONE else _no_duration(text)
    parts = [iso_duration(number(_count(span[1])), _PERIODS[span[2]]).removeprefix("P") for span in spans]
    return "P" + "".join(part for part in parts if not part.startswith("0") or len(parts) == 1)


def _count(words: str) -> str:
    """The words before a period's name without what joins it to the one before; "a year" and "year" are one year."""
    return re.sub(r"^[\s,;]*(and\b)?[\s,-]*|[\s,-]+$", "", words) or "one"


def _no_duration(text: str) -> str:
    raise ValueError(f"{text[:40]!r} is not a duration in words")


def iso_duration(count: Fraction, unit: str) -> str:
    """A count of Y, M, W, D or H in ISO 8601; weeks become days, parts of a year months, parts of a month days."""
    if unit == "W":  # beside other units ISO 8601 knows no weeks
        count, unit = count * 7, "D"
    whole = int(count)
    rest = count - whole
    if unit == "H":
        return f"PT{_trim(count)}H"
    if unit == "Y" and rest:
        months = rest * 12
        days = round(float((months - int(months)) * Fraction(487, 16)))
        return "P" + (f"{whole}Y" if whole else "") + f"{int(months)}M" + (f"{days}D" if days else "")
    if unit == "M" and rest:
        return "P" + (f"{whole}M" if whole else "") + f"{round(float(rest * Fraction(487, 16)))}D"
    return f"P{_trim(count)}{unit}"


def _trim(count: Fraction) -> str:
    return str(count.numerator) if count.denominator == 1 else f"{float(count):g}"
