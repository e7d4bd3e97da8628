"""Units that stand before and after a number: scales, currencies, percentages, nouns that are counted.

Every unit is matched as a whole token: the b of "bps" is no billion and the m of "RMB" no million.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

SCALES: dict[str, float] = {
    "k": 1e3,
    "thousand": 1e3,
    "thousands": 1e3,
    "ten thousand": 1e4,
    "hundred thousand": 1e5,
    "hundred million": 1e8,
    "hundred billion": 1e11,
    "thousand million": 1e9,
    "m": 1e6,
    "mm": 1e6,
    "mn": 1e6,
    "mln": 1e6,
    "mil": 1e6,
    "mio": 1e6,
    "million": 1e6,
    "millions": 1e6,
    "b": 1e9,
    "bn": 1e9,
    "bln": 1e9,
    "bil": 1e9,
    "billion": 1e9,
    "billions": 1e9,
    "t": 1e12,
    "tn": 1e12,
    "trn": 1e12,
    "trillion": 1e12,
    "trillions": 1e12,
    "lakh": 1e5,
    "crore": 1e7,
}
CHINESE_SCALES: dict[str, float] = {
    "万亿": 1e12,
    "千亿": 1e11,
    "百亿": 1e10,
    "十亿": 1e9,
    "亿": 1e8,
    "億": 1e8,
    "千万": 1e7,
    "百万": 1e6,
    "十万": 1e5,
    "万": 1e4,
    "萬": 1e4,
    "千": 1e3,
}

_CODES = ("cny", "usd", "eur", "gbp", "jpy", "hkd", "chf", "cad", "aud", "sgd", "krw", "inr", "twd")
# Written before or after the number.
CURRENCIES: dict[str, str] = {
    "us$": "USD",
    "hk$": "HKD",
    "nt$": "TWD",
    "c$": "CAD",
    "a$": "AUD",
    "s$": "SGD",
    "r$": "BRL",
    "$": "USD",
    "€": "EUR",
    "£": "GBP",
    "¥": "CNY",
    "₩": "KRW",
    "₹": "INR",
    "rmb": "CNY",
    "人民币": "CNY",
    "港币": "HKD",
} | {code: code.upper() for code in _CODES}
CURRENCY_WORDS: dict[str, str] = {
    "美元": "USD",
    "美金": "USD",
    "港元": "HKD",
    "日元": "JPY",
    "欧元": "EUR",
    "英镑": "GBP",
    "韩元": "KRW",
    "新台币": "TWD",
    "人民币元": "CNY",
    "人民币": "CNY",
    "元人民币": "CNY",
    "元": "CNY",
    "圆": "CNY",
    "块": "CNY",
    "u.s. dollars": "USD",
    "us dollars": "USD",
    "hong kong dollars": "HKD",
    "canadian dollars": "CAD",
    "australian dollars": "AUD",
    "dollars": "USD",
    "dollar": "USD",
    "cents": "USD",
    "cent": "USD",
    "¢": "USD",
    "美分": "USD",
    "euros": "EUR",
    "euro": "EUR",
    "yuan": "CNY",
    "renminbi": "CNY",
    "yen": "JPY",
    "pounds sterling": "GBP",
    "pounds": "GBP",
    "won": "KRW",
}
_HUNDREDTHS = ("cents", "cent", "¢", "美分")
_NOUNS = (
    "shares|share|stores|employees|customers|units|vehicles|subscribers|users|members|tons|tonnes|barrels|people|"
    "restaurants|locations|contracts|cars|aircraft|ounces|ounce|segments|companies|subsidiaries|countries|ADSs|ADS|"
    "pages|searches|questions|passages|documents|sources|filings|geographies|regions|divisions|brands|patents|offices"
)
_MEASURES = "股|人|家|名|户|台|辆|吨|件|个(?!百分点|基点|月|季度)|套|座|间|项|位|份|桶|只|条|页|次|篇"


def _any(names: dict[str, str] | dict[str, float]) -> str:
    written = (re.escape(name) for name in sorted(names, key=len, reverse=True))
    return "|".join(re.sub(r"(?<=[a-z]{2})\\\$", r"\\s?\\$", name) for name in written)  # "HK $"


# What may stand right before a number: a sign or a bracket on either side of a currency.
PREFIX = re.compile(
    rf"(?P<outer>[-+−–]\s?|\(\s?)?(?P<currency>(?<![A-Za-z])(?:{_any(CURRENCIES)}))?(?P<space>\s?)(?P<inner>[-+−–]|\(\s?)?$",
    re.IGNORECASE,
)
MAY_PRECEDE = re.compile(r"[-+−–($€£¥₩₹A-Za-z币之负]\s?$")
CURRENCY_CODES = "|".join(name for name in CURRENCIES if name.isascii() and name.isalpha())

SUFFIX = re.compile(
    rf"""
      \s?(?P<percent>%|per\s?cent(?!age|[\s-]?point)\b|pct\b)
    | \s?(?P<points>个?百分点|percentage[\s-]points?\b|percent[\s-]points?\b|ppts?\b|pps?\b|pts?\b)
    | \s?-?(?P<bps>basis[\s-]points?\b|bps?\b|个?基点)
    | (?:\s?[多余]?(?P<zh_scale>{_any(CHINESE_SCALES)})|(?P<gap>[\s-]{{0,2}})(?P<scale>{_any(SCALES)})(?![A-Za-z]))?
      (?:\s?(?P<currency>{_any(CURRENCY_WORDS)}|(?:{CURRENCY_CODES}))(?![A-Za-z]))?
      (?:(?<=[A-Za-z])\s(?P<late>{_any(SCALES)})(?![A-Za-z]))?
      (?:\s?/\s?(?P<per>股|(?:ADS|share)\b)
        | \s(?:per|a)\s(?:(?:diluted|basic|common|ordinary|American)\s){{0,2}}(?P<per_word>share|ADS)\b
        | (?P<ratio>x(?![A-Za-z0-9])|[\s-]?times\b(?!\sa\b)|\s?倍)
        | \s?(?P<measure>{_MEASURES})
        | \s(?:(?:common|ordinary|weighted|average|diluted|basic|full-time|new|total)\s){{0,2}}(?P<noun>(?:{_NOUNS}))\b
      )?
    """,
    re.IGNORECASE | re.VERBOSE,
)
_MONEY = rf"(?:U\.?S\.?\sdollars|{_any(CURRENCIES)}|dollars|yuan)"
_MULTIPLE = r"thousands?|millions?|billions?|mn|bn|mm"
_ENGLISH = (
    rf"(?:in\s)?(?:(?P<before_{{0}}>{_MONEY})(?:[\s,]+in)?[\s,]*(?:in\s)?(?:of\s)?)?(?P<english_{{0}}>{_MULTIPLE})"
    rf"(?:[\s,]+(?:of\s)?(?P<after_{{0}}>{_MONEY}))?"
)
_CHINESE = r"(?:人民币)?\s?(?P<chinese_{0}>百万|千万|十亿|万|亿|千)?(?P<unit_{0}>美元|港元|欧元|日元|元)"
# "(in thousands)", "$ in millions, except per share data", "单位：万元": the scale of the bare numbers that follow.
CAPTION = re.compile(
    rf"""
      [(\[](?:[\w$., /]{{0,40}}?[\s,(])??{_ENGLISH.format("b")}
        (?:[,;][^()\n]{{0,60}}|\s(?:except|unless)[^()\n]{{0,60}})?[)\]]
    | [(\[](?:(?:in|amounts|figures)\s)?(?P<before_l>{_MONEY})\s?(?P<english_l>[kmb])[)\]]
    | (?<![A-Za-z])(?:{_MONEY}|amounts|figures|values|numbers|data)
        \s(?:(?:are|is|expressed|stated|presented|shown|reported)\s){{0,2}}
        in\s(?:the\s)?{_ENGLISH.format("a")}\b
    | (?<![A-Za-z])in\s(?P<before_i>{_MONEY})\s(?P<english_i>{_MULTIPLE})\b
    | (?<![A-Za-z])(?P<before_h>USD|RMB|CNY|US\$|\$)\s(?P<english_h>millions|billions|thousands|mn|bn)\s?[:|]
    | 单位\s?[:为是]?\s?{_CHINESE.format("u")}
    | \((?:单位\s?[:为]?\s?)?{_CHINESE.format("p").replace(")?(?P<unit", ")(?P<unit")}\)
    | [\u4e00-\u9fff]\((?P<chinese_s>亿|万|百万)\)
    """,
    re.IGNORECASE | re.VERBOSE,
)
# Straight after a number: "1,707,459 (thousands of dollars)", "15,803 (in millions)", "97.69 (USD billions)".
TRAILING_SCALE = re.compile(
    rf"""
      \s?\(?(?:amounts?\s)?(?:in\s)?(?P<english_w>thousand|million|billion)s?(?:\sof\s(?P<after_w>(?:U\.?S\.?\s)?dollars))?\b\)?
    | \s?\({_ENGLISH.format("t")}\)
    | \s?\((?P<before_l>{_MONEY})\s?(?P<english_l>[kmbt])\)
    | \s?\((?:单位\s?[:为]?\s?)?{_CHINESE.format("z").replace(")?(?P<unit", ")(?P<unit")}\)
    """,
    re.IGNORECASE | re.VERBOSE,
)
# Above these an amount is written out in full, whatever a caption says: no company reports as much.
_LARGEST = {"CNY": 1e14, "JPY": 1e16, "KRW": 1e17, "INR": 1e15}


@dataclass(frozen=True, slots=True)
class Caption:
    """The scale that a caption states, the currency if it names one, and where it ends."""

    end: int
    scale: float
    currency: str | None


def read_caption(match: re.Match[str]) -> Caption:
    """What a match of `CAPTION` or `TRAILING_SCALE` states."""
    scale, currency = 1.0, None
    for name, word in match.groupdict().items():
        if not word:
            continue
        if name.startswith(("english", "chinese")):
            scale = SCALES.get(word.lower()) or CHINESE_SCALES[word]
        else:
            currency, _ = currency_of(word)
    return Caption(match.end(), scale, currency)


def stated_scale(text: str) -> float:
    """The multiple in which a text wants its amounts ("in USD millions"); 1 when it names none."""
    match = CAPTION.search(text)
    return read_caption(match).scale if match else 1.0


def currency_of(written: str | None) -> tuple[str | None, float]:
    """The ISO code of a currency as it is written, and what one of that unit is worth in it (a cent 0.01)."""
    word = re.sub(r"\s(?=\$)", "", (written or "").lower())
    code = CURRENCY_WORDS.get(word) or CURRENCIES.get(word)
    return code, 0.01 if word in _HUNDREDTHS else 1.0


def largest(currency: str | None) -> float:
    """The largest amount in a currency that any company reports, roughly."""
    return _LARGEST.get(currency or "", 2e13)
