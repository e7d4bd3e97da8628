"""Names on a filing's cover page and the codes that the SEC's formats turn them into."""

from __future__ import annotations


def _table(lines: str) -> dict[str, str]:
    """Lower-case name → code, from "CODE Name; CODE Name"."""
    pairs = (entry.split(maxsplit=1) for entry in " ".join(lines.split()).split("; "))
    return {name.lower(): code for code, name in pairs}


# States, territories and Canadian provinces: postal codes.
STATES = _table("""
AL Alabama; AK Alaska; AZ Arizona; AR Arkansas; CA California; CO Colorado; CT Connecticut; DE Delaware; DC District
of Columbia; FL Florida; GA Georgia; HI Hawaii; ID Idaho; IL Illinois; IN Indiana; IA Iowa; KS Kansas; KY Kentucky;
LA Louisiana; ME Maine; MD Maryland; MA Massachusetts; MI Michigan; MN Minnesota; MS Mississippi; MO Missouri; MT
Montana; NE Nebraska; NV Nevada; NH New Hampshire; NJ New Jersey; NM New Mexico; NY New York; NC North Carolina; ND
North Dakota; OH Ohio; OK Oklahoma; OR Oregon; PA Pennsylvania; PR Puerto Rico; RI Rhode Island; SC South Carolina;
SD South Dakota; TN Tennessee; TX Texas; UT Utah; VT Vermont; VA Virginia; WA Washington; WV West Virginia; WI
Wisconsin; WY Wyoming; GU Guam; VI Virgin Islands; AB Alberta; BC British Columbia; MB Manitoba; NB New Brunswick;
NL Newfoundland; NS Nova Scotia; ON Ontario; PE Prince Edward Island; QC Quebec; SK Saskatchewan
""")

# Countries: ISO 3166 codes, as in the `country` taxonomy.
COUNTRIES = _table("""
AE United Arab Emirates; AR Argentina; AT Austria; AU Australia; BE Belgium; BM Bermuda; BR Brazil; BS Bahamas; CA
Canada; CH Switzerland; CL Chile; CN China; CO Colombia; CR Costa Rica; CW Curacao; CY Cyprus; CZ Czech Republic; DE
Germany; DK Denmark; EG Egypt; ES Spain; FI Finland; FR France; GB United Kingdom; GG Guernsey; GI Gibraltar; GR
Greece; HK Hong Kong; HU Hungary; ID Indonesia; IE Ireland; IL Israel; IM Isle of Man; IN India; IS Iceland; IT
Italy; JE Jersey; JP Japan; KR South Korea; KY Cayman Islands; KZ Kazakhstan; LI Liechtenstein; LR Liberia; LU
Luxembourg; MC Monaco; MH Marshall Islands; MO Macau; MU Mauritius; MX Mexico; MY Malaysia; NG Nigeria; NL
Netherlands; NO Norway; NZ New Zealand; PA Panama; PE Peru; PH Philippines; PL Poland; PT Portugal; PY Paraguay; QA
Qatar; RO Romania; RU Russia; SA Saudi Arabia; SE Sweden; SG Singapore; TH Thailand; TR Turkey; TW Taiwan; UA
Ukraine; US United States; US United States of America; UY Uruguay; VG British Virgin Islands; VN Vietnam; ZA South
Africa
""")

EXCHANGES = {
    "new york stock exchange": "NYSE",
    "new york stock exchange llc": "NYSE",
    "new york stock exchange inc": "NYSE",
    "nyse": "NYSE",
    "nyse american": "NYSEAMER",
    "nyse american llc": "NYSEAMER",
    "nyse mkt": "NYSEAMER",
    "nyse arca": "NYSEArca",
    "nyse arca inc": "NYSEArca",
    "nyse chicago": "CHX",
    "nyse chicago inc": "CHX",
    "chicago stock exchange": "CHX",
    "nasdaq": "NASDAQ",
    "nasdaq stock market": "NASDAQ",
    "nasdaq stock market llc": "NASDAQ",
    "nasdaq global select market": "NASDAQ",
    "nasdaq global market": "NASDAQ",
    "nasdaq capital market": "NASDAQ",
    "nasdaq stock exchange": "NASDAQ",
    "nasdaq stock exchange llc": "NASDAQ",
    "cboe bzx exchange": "BATS",
    "cboe bzx exchange inc": "BATS",
    "investors exchange": "IEX",
    "long term stock exchange": "LTSE",
    "longterm stock exchange": "LTSE",
}

FILER_CATEGORIES = {
    "large accelerated filer": "Large Accelerated Filer",
    "accelerated filer": "Accelerated Filer",
    "nonaccelerated filer": "Non-accelerated Filer",
    "non accelerated filer": "Non-accelerated Filer",
}
