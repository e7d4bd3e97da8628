"""Names of companies as people say them, from those of a register."""

from __future__ import annotations

import re
import unicodedata
from functools import cache


def is_chinese(name: str) -> bool:
    """Whether it is written in Chinese."""
    return re.search(r"[\u4e00-\u9fff]", name) is not None


def one_name(one: str, other: str) -> bool:
    """Whether two names can be one company's at one time: their first words are alike; in Chinese, all of them is.

    Spelling aside: capitals, full-width letters, spaces, hyphens and apostrophes (Wal-Mart), a leading "The", and the
    class of shares that closes a Chinese name (深中华A).
    """
    (first, whole), (second, other_whole) = _told_by(one), _told_by(other)
    longest = max(first, second, key=len)
    in_both = whole.startswith(longest) and other_whole.startswith(longest)
    return first == second or (len(longest) > _SHORT and in_both)


_SHORT = 4  # letters that other names begin with by chance


def _told_by(name: str) -> tuple[str, str]:
    """The first word of a name and all of it without spaces; a Chinese name is one word."""
    plain = unicodedata.normalize("NFKC", name).casefold()
    if is_chinese(plain):
        whole = re.sub(r"\s+|[ab]$", "", plain)
        return whole, whole
    plain = _spellings().get(_letters(short_name(name)), plain).casefold()  # "GRAINGER W W" is "W.W. Grainger"
    words = [word for word in re.findall(r"\w+", re.sub("['\u2019]", "", plain)) if word != "the"]
    return (words[0] if words else ""), "".join(words)


_REGISTER = re.compile(r"\s*/[A-Za-z]*/?\s*$|\s*\\[A-Z]+\\?\s*$")
_KIND = re.compile(
    r",?\s+(?:incorporated|inc|corporation|corp|company|co|limited|ltd|plc|llc|l\.?\s?l\.?\s?c|l\.?\s?p|lp|n\.?v|s\.?a|"
    r"& co|and company|& company|/new|the)\.?\s*$",
    re.IGNORECASE,
)
# Names that the register's capitals, or its order of words, hide.
_SPELLED = """
AGL Resources; AK Steel Holding; AMETEK; AMC Entertainment Holdings; AmerisourceBergen; AngloGold Ashanti; Aon
AvalonBay Communities; BlackRock; BorgWarner; CARBO Ceramics; CenterPoint Energy; CME Group; Coca-Cola
Coca-Cola Enterprises; ConocoPhillips; CONSOL Energy; DaVita; DIRECTV; DIRECTV Group; DIRECTV Holdings; DTE Energy
DENTSPLY International; eBay; EDGAR Online; EOG Resources; FedEx; FirstEnergy; FLIR Systems; Foster Wheeler AG
Fresenius Medical Care AG & Co. KGaA; Gap
GrafTech International; Harley-Davidson; Hewlett-Packard; ICU Medical; IntercontinentalExchange; J.C. Penney
JPMorgan Chase; KeyCorp; Kimberly-Clark; Kohl's; L-3 Communications; L-3 Communications Holdings
Marsh & McLennan Companies; McAfee; McDermott International; McDonald's; McGraw-Hill Companies; McKesson
MDU Resources Group; MEMC Electronic Materials; MetLife; Moody's; NII Holdings; NVIDIA; NYSE Euronext; ONEOK
ONEOK Partners; ORIX; Owens-Illinois; PACCAR; Parker-Hannifin; Papa John's International; Patterson-UTI Energy
RRI Energy; SandRidge Energy; Sherwin-Williams; Sigma-Aldrich; SPDR Gold Trust; St. Jude Medical; STMicroelectronics
SunTrust Banks; VeriSign; WellPoint; WNS Holdings; XTO Energy; Yum! Brands
"""
_ORDERED = {
    "bard c r": "C.R. Bard",
    "c h robinson worldwide": "C.H. Robinson Worldwide",
    "dupont e i de nemours": "DuPont",
    "federal national mortgage association fannie mae": "Fannie Mae",
    "freeport mcmoran copper & gold": "Freeport-McMoRan Copper & Gold",
    "grainger w w": "W.W. Grainger",
    "heinz h j": "H.J. Heinz",
    "j p morgan chase": "JPMorgan Chase",
    "lilly eli": "Eli Lilly",
    "lowes companies": "Lowe's",
    "price t rowe group": "T. Rowe Price Group",
    "schwab charles": "Charles Schwab",
    "starwood hotel & resorts worldwide": "Starwood Hotels & Resorts Worldwide",
    "us bancorp": "U.S. Bancorp",
    "v f": "VF",
}
_PARTS = """
Baby, Feminine & Family Care; Boeing Defense, Space & Security; Building Solutions North America; Data Center
EME Homer City; Europe, Middle East & Africa; Exploration & Production; Fabric & Home Care; Frito-Lay North America
Industrial Intermediates & Infrastructure; MedTech; Midstream Gas & Liquids; Optum Health; OptumRx
Packaging & Specialty Plastics; PECO Energy; Performance Materials & Coatings; Pratt & Whitney
Raytheon Intelligence & Space; Raytheon Missiles & Defense; UnitedHealthcare; U.S. Retail Coffee; U.S. Markets
Walmart U.S.
"""
_SMALL = frozenset(("and", "of", "the", "for", "in", "at", "de"))


def short_name(name: str) -> str:
    """A company's name as people say it: without the register's marks, the legal form and capitals.

    "APPLE INC" is "Apple", "BOEING CO, THE" and "The Boeing Company" are "Boeing", "KIMBERLY CLARK CORP" is
    "Kimberly-Clark".
    """
    plain = name.strip()
    for pattern in (_REGISTER, _KIND, _KIND):
        shorter = pattern.sub("", plain).strip(" ,")
        plain = shorter if len(shorter) > 1 else plain
    plain = re.sub(r"^the\s+(?=\S)", "", plain, flags=re.IGNORECASE)
    if (spelled := _spellings().get(_letters(plain))) is not None:
        return spelled
    if plain.upper() != plain:
        return plain
    words = plain.split()
    return " ".join(_cased(word, first=place == 0, alone=len(words) == 1) for place, word in enumerate(words))


def part_name(name: str) -> str | None:
    """A segment's or subsidiary's name as its company writes it, where the identifier does not show it."""
    return _part_spellings().get(_letters(name.replace(" and ", " ")).replace("&", ""))


@cache
def _spellings() -> dict[str, str]:
    said = [*_listed(_SPELLED), *_ORDERED.values()]
    return {_letters(name): name for name in said} | {_letters(name): n for name, n in _ORDERED.items()}


@cache
def _part_spellings() -> dict[str, str]:
    return {_letters(name).replace("&", ""): name for name in _listed(_PARTS)}


def _listed(names: str) -> list[str]:
    return [name.strip() for line in names.strip().splitlines() for name in line.split(";")]


def _letters(name: str) -> str:
    """What two spellings of one name share: its letters and digits."""
    return re.sub(r"[^a-z0-9&]", "", name.casefold())


def _cased(word: str, first: bool, alone: bool) -> str:
    """A word in capitals as it is written: initials stay, that is a short name by itself or letters without a vowel."""
    if not first and word.lower() in _SMALL:
        return word.lower()
    if "&" in word or (len(word) <= 3 and (alone or not re.search(r"[AEIOUY]", word))):
        return word
    return "-".join(part.capitalize() for part in word.split("-"))
