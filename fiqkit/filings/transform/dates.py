"""Formats whose result is a date, a month of a year (YYYY-MM) or a day of the year (--MM-DD).

A format's name spells the order of its parts, so one function serves them all: the text's numbers and month names are
taken in that order.
"""

from __future__ import annotations

import calendar
import re
import unicodedata
from collections.abc import Callable
from datetime import date, timedelta
from functools import partial

# The first letters that tell a language's months apart, January first.
_MONTHS = {
    "en": "jan feb mar apr may jun jul aug sep oct nov dec",
    "bg": "яну фев мар апр май юни юли авг сеп окт ное дек",
    "cs": "led úno|uno bře|bre dub kvě|kve červn|cervn červe|cerve srp zář|zar říj|rij lis pro",
    "cy": "ion chw maw ebr mai meh gor aws med hyd tac rha",
    "da": "jan feb mar apr maj jun jul aug sep okt nov dec",
    "de": "jan|jän feb mär|mar apr mai jun jul aug sep okt nov dez",
    "el": "ιαν φεβ μαρ|μάρ απρ μαι|μάι|μαΐ ιουν|ιούν ιουλ|ιούλ αυγ|αύγ σεπ οκτ νοε|νοέ δεκ",
    "es": "ene feb mar abr may jun jul ago sep oct nov dic",
    "et": "jaan veeb|veb mär|mar apr mai juun juul aug sep okt nov det",
    "fi": "tam hel maal huh tou kes hei elo syy lok marr jou",
    "fr": "janv|jan fév|fev mars|mar avr mai juin juil aoû|aou sep oct nov déc|dec",
    "hr": "sij velj ožu|ozu tra svi lip srp kol ruj lis stu pro",
    "hu": "jan feb már|mar ápr|apr máj|maj jún|jun júl|jul aug szept okt nov dec",
    "it": "gen feb mar apr mag giu lug ago set ott nov dic",
    "lt": "sau vas kov bal geg bir lie rugp rugs spa|spl lap gru",
    "lv": "janv feb mar apr mai jūn|jun jūl|jul aug sept okt nov dec",
    "nl": "jan feb maa|mrt apr mei jun jul aug sep okt nov dec",
    "no": "jan feb mar apr mai jun jul aug sep okt nov des",
    "pl": "sty lut mar kwi maj cze lip sie wrz paź|paz lis gru",
    "pt": "jan fev mar abr mai jun jul ago set out nov dez",
    "ro": "ian feb mar apr mai iun iul aug sep oct noi|nov dec",
    "sk": "jan feb mar apr máj|maj jún|jun júl|jul aug sep okt nov dec",
    "sl": "jan feb mar apr maj jun jul avg sep okt nov dec",
    "sv": "jan feb mar apr maj jun jul aug sep okt nov dec",
}
_MONTHS["dk"] = _MONTHS["da"]
_MONTHS["in"] = "जन फर|फ़र मार्च अप्र मई जून जुल अग सित अक्ट|अक्तू नव दिस"
_MONTHS["hi"] = _MONTHS["in"]
_ROMAN = {numeral: n for n, numeral in enumerate("i ii iii iv v vi vii viii ix x xi xii".split(), 1)}  # noqa: SIM905
_ERAS = {"明治": 1867, "明": 1867, "大正": 1911, "大": 1911, "昭和": 1925, "昭": 1925, "平成": 1988, "平": 1988}
_ERAS |= {"令和": 2018, "令": 2018, "m": 1867, "t": 1911, "s": 1925, "h": 1988, "r": 2018}
_TOKEN = re.compile(r"\d+|[^\W\d_]+[\u0900-\u097f]*[^\W\d_]*|[\u0900-\u097f]+")


def _date(text: str, order: str, language: str) -> str:
    """`order` has one letter a part: d day, m month as number or name, y year, e Japanese era before its year."""
    tokens = _TOKEN.findall(unicodedata.normalize("NFKC", text).lower())
    if "e" in order:
        text = unicodedata.normalize("NFKC", text).lower().replace("元年", "1年")
        era = next((name for name in _ERAS if text.strip().startswith(name)), None)
        numbers = re.findall(r"\d+", text)
        if era is None or len(numbers) < len(order) - 1:
            raise ValueError(f"{text[:40]!r} is not a date of a Japanese era")
        tokens = [str(_ERAS[era] + int(numbers[0])), *numbers[1:]]
        order = order.replace("e", "")
    parts = dict(zip(order, _meaningful(tokens, language), strict=False))
    if len(parts) < len(order):
        raise ValueError(f"{text[:40]!r} is not a date")
    return _iso(parts, text)


def _meaningful(tokens: list[str], language: str) -> list[int]:
    """Numbers and months among the words of a date; weekdays, ordinals' endings and "de" fall away."""
    return [n for token in tokens if (n := int(token) if token.isdigit() else _month(token, language)) is not None]


def _month(word: str, language: str) -> int | None:
    for number, stems in enumerate(_MONTHS.get(language, _MONTHS["en"]).split(), 1):
        if any(word.startswith(stem) for stem in stems.split("|")):
            return number
    return _ROMAN.get(word)


def _iso(parts: dict[str, int], text: str) -> str:
    year, month, day = (parts.get(part) for part in "ymd")
    if year is not None and year < 100:
        year += 2000
    try:
        date(year or 2000, month or 1, day or 1)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{text[:40]!r} is not a date ({error})") from error
    if day is None:
        return f"{year:04d}-{month:02d}"
    return f"--{month:02d}-{day:02d}" if year is None else f"{year:04d}-{month:02d}-{day:02d}"


_PART = {"day": "d", "monthname": "m", "monthroman": "m", "month": "m", "year": "y", "erayear": "ey"}
_ORDERS = ("dm", "dmy", "md", "mdy", "my", "ydm", "ym", "ymd")
_SPELLED = {letter: [word for word, short in _PART.items() if short == letter] for letter in "dmy"}


def _names(order: str) -> list[str]:
    """Every way in which the registries spell an order of parts: dmy is daymonthyear, daymonthnameyear, …"""
    spelled = [""]
    for letter in order:
        spelled = [head + word for head in spelled for word in _SPELLED[letter]]
    return spelled


def _all() -> dict[str, Callable[[str], str]]:
    rules: dict[str, Callable[[str], str]] = {}
    for order in _ORDERS:
        for name in _names(order):
            rules["date" + name] = partial(_date, order=order, language="en")
            rules["date" + name + "cjk"] = partial(_date, order=order, language="en")
            for language in _MONTHS:
                rules["date" + name + language] = partial(_date, order=order, language=language)
    for order, name in (("eymd", "erayearmonthday"), ("eym", "erayearmonth")):
        rules[f"date{name}jp"] = rules[f"datejpn{name}"] = partial(_date, order=order, language="en")
    return rules


# The months of India's national calendar, Chaitra first, by their first letters.
_SAKA = (
    "चैत्र|cait|chait वैशाख|vai ज्येष्ठ|jya|jye आषा|asad|asha|āsād श्राव|srav|shra भाद्र|bhad|bhād "
    "आश्विन|अश्विन|asv|ashv|āsv कार्त|kart|kārt अग्रह|मार्ग|agra|marg|mārg पौष|paus|paush माघ|magh|māgh फाल्ग|phal|phāl"
)


def _saka_date(text: str) -> str:
    """A day of India's national calendar as one of ours: Chaitra begins on 22 March, in our leap years on the 21st."""
    tokens = _TOKEN.findall(unicodedata.normalize("NFKC", text).lower())
    parts = [int(token) if token.isdigit() else _saka_month(token) for token in tokens]
    if len(parts) != 3 or None in parts:
        raise ValueError(f"{text[:40]!r} is not a date of India's national calendar")
    day, month, year = (part or 0 for part in parts)
    year += 1900 if year < 100 else 0
    leap = calendar.isleap(year + 78)
    lengths = [31 if leap else 30, *[31] * 5, *[30] * 6]
    if not (1 <= month <= 12 and 1 <= day <= lengths[month - 1] and 1 <= year < 9900):
        raise ValueError(f"{text[:40]!r} is not a date of India's national calendar")
    first = date(year + 78, 3, 21 if leap else 22)
    return (first + timedelta(days=sum(lengths[: month - 1]) + day - 1)).isoformat()


def _saka_month(word: str) -> int | None:
    stems = enumerate(_SAKA.split(), 1)
    return next((n for n, names in stems if any(word.startswith(name) for name in names.split("|"))), None)


# The first registry named dates after their look in one country.
_FIRST = {
    "dmy": ("slasheu", "doteu", "longuk", "shortuk"),
    "mdy": ("slashus", "dotus", "longus", "shortus"),
    "dm": ("slashdaymontheu", "longdaymonthuk", "shortdaymonthuk"),
    "md": ("slashmonthdayus", "longmonthdayus", "shortmonthdayus"),
    "my": ("longmonthyear", "shortmonthyear"),
    "ym": ("longyearmonth", "shortyearmonth"),
}

DATES: dict[str, Callable[[str], str]] = {
    **_all(),
    **dict.fromkeys(("calindaymonthyear", "dateinddaymonthyear", "dateinddaymonthnameyearhi"), _saka_date),
} | {f"date{name}": partial(_date, order=order, language="en") for order, names in _FIRST.items() for name in names}
