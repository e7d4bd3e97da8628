"""Formats whose result is a plain numeral, a truth value or nothing."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

_SPACES = dict.fromkeys(map(ord, " \t\r\n\u00a0\u2002\u2003\u2007\u2008\u2009\u200a\u202f\u3000\u200b\ufeff"), None)
_APOSTROPHES = dict.fromkeys(map(ord, "'’`´′"), None)
_PLAIN = re.compile(r"\d+(\.\d*)?|\.\d+")
_DASHES = frozenset("-‐‑‒–—―−－")


def plain(text: str) -> str:
    """A numeral with nothing but digits and a decimal point; full-width digits are narrowed.

    Raises:
        ValueError: the text is anything else, empty, or longer than any figure in a filing.
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    if len(text) > 60 or not _PLAIN.fullmatch(text):
        raise ValueError(f"{text[:40]!r} is not a numeral")
    return text


def dot_decimal(text: str) -> str:
    """Point before the decimals; commas and spaces group, but not after the point ("1.234,5" is another format's)."""
    whole, point, decimals = text.translate(_SPACES).replace("，", ",").partition(".")
    return plain(whole.replace(",", "") + point + decimals)


def comma_decimal(text: str) -> str:
    """Comma before the decimals; points and spaces group, but not after the comma."""
    whole, comma, decimals = text.translate(_SPACES).partition(",")
    return plain(whole.replace(".", "") + comma.replace(",", ".") + decimals)


def unit_decimal(text: str) -> str:
    """Words for the units and the hundredths: "5 dollars 50 cents", "12円50銭"."""
    groups = re.findall(r"\d[\d,.'’ \u00a0]*", unicodedata.normalize("NFKC", text))
    digits = [re.sub(r"\D", "", group) for group in groups]
    if len(digits) != 2 or len(digits[1]) > 2:
        raise ValueError(f"{text[:40]!r} does not name units and hundredths")
    return plain(f"{digits[0]}.{digits[1]:0>2}")


def _apostrophes(rule: Callable[[str], str]) -> Callable[[str], str]:
    return lambda text: rule(text.translate(_APOSTROPHES))


def dash(text: str) -> str:
    """A dash that stands for zero."""
    if text.translate(_SPACES) not in _DASHES:
        raise ValueError(f"{text[:40]!r} is not a dash")
    return "0"


NUMERALS: dict[str, Callable[[str], str]] = {
    **dict.fromkeys(("numdotdecimal", "numdotdecimalin", "numcommadot", "numspacedot"), dot_decimal),
    **dict.fromkeys(("numcommadecimal", "numcomma", "numdotcomma", "numspacecomma"), comma_decimal),
    **dict.fromkeys(("numunitdecimal", "numunitdecimalin"), unit_decimal),
    "numdotdecimalapos": _apostrophes(dot_decimal),
    "numcommadecimalapos": _apostrophes(comma_decimal),
    "numunitdecimalapos": _apostrophes(unit_decimal),
    **dict.fromkeys(("numdash", "zerodash"), dash),
    "fixedzero": lambda text: "0",
    **dict.fromkeys(("fixedempty", "nocontent"), lambda text: ""),
    **dict.fromkeys(("fixedtrue", "booleantrue"), lambda text: "true"),
    **dict.fromkeys(("fixedfalse", "booleanfalse"), lambda text: "false"),
}
