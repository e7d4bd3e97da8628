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

# Countries and Canada's provinces as EDGAR codes them on its forms: two characters that are neither postal nor ISO.
EDGAR = _table("""
A0 Alberta; A1 British Columbia; A2 Manitoba; A3 New Brunswick; A4 Newfoundland; A5 Nova Scotia; A6 Ontario; A7 Prince
Edward Island; A8 Quebec; A9 Saskatchewan; B0 Yukon; Z4 Canada; B2 Afghanistan; B3 Albania; B4 Algeria; B6 Andorra; B7
Angola; 1A Anguilla; B9 Antigua and Barbuda; C1 Argentina; 1B Armenia; 1C Aruba; C3 Australia; C4 Austria; 1D
Azerbaijan; C5 Bahamas; C6 Bahrain; C7 Bangladesh; C8 Barbados; 1F Belarus; C9 Belgium; D1 Belize; G6 Benin; D0
Bermuda; D2 Bhutan; D3 Bolivia; 1E Bosnia and Herzegovina; B1 Botswana; D5 Brazil; D9 Brunei Darussalam; E0 Bulgaria;
X2 Burkina Faso; E2 Burundi; E3 Cambodia; E4 Cameroon; E8 Cape Verde; E9 Cayman Islands; F0 Central African Republic;
F2 Chad; F3 Chile; F4 China; F4 Peoples Republic of China; F8 Colombia; F9 Comoros; G0 Congo; G1 Cook Islands; G2
Costa Rica; L7 Cote dIvoire; 1M Croatia; G3 Cuba; G4 Cyprus; 2N Czech Republic; G7 Denmark; 1G Djibouti; G9 Dominica;
G8 Dominican Republic; H1 Ecuador; H2 Egypt; H3 El Salvador; H4 Equatorial Guinea; 1J Eritrea; 1H Estonia; H5
Ethiopia; H7 Falkland Islands; H6 Faroe Islands; H8 Fiji; H9 Finland; I0 France; I3 French Guiana; I4 French
Polynesia; I5 Gabon; I6 Gambia; 2Q Georgia; 2M Germany; J0 Ghana; J1 Gibraltar; J3 Greece; J4 Greenland; J5 Grenada;
J6 Guadeloupe; J8 Guatemala; Y7 Guernsey; J9 Guinea; S0 GuineaBissau; K0 Guyana; K1 Haiti; K2 Honduras; K3 Hong Kong;
K5 Hungary; K6 Iceland; K7 India; K8 Indonesia; K9 Iran; L0 Iraq; L2 Ireland; Y8 Isle of Man; L3 Israel; L6 Italy; L8
Jamaica; M0 Japan; Y9 Jersey; M2 Jordan; 1P Kazakhstan; M3 Kenya; J2 Kiribati; M5 South Korea; M5 Korea Republic of;
M6 Kuwait; 1N Kyrgyzstan; M7 Laos; 1R Latvia; M8 Lebanon; M9 Lesotho; N0 Liberia; N1 Libya; N2 Liechtenstein; 1Q
Lithuania; N4 Luxembourg; N5 Macau; 1U Macedonia; N6 Madagascar; N7 Malawi; N8 Malaysia; N9 Maldives; O0 Mali; O1
Malta; 1T Marshall Islands; O2 Martinique; O3 Mauritania; O4 Mauritius; O5 Mexico; 1S Moldova; O9 Monaco; P0 Mongolia;
Z5 Montenegro; P2 Morocco; P3 Mozambique; T6 Namibia; P6 Nepal; P7 Netherlands; P8 Netherlands Antilles; Q2 New
Zealand; Q3 Nicaragua; Q4 Niger; Q5 Nigeria; Q8 Norway; P4 Oman; R0 Pakistan; R1 Panama; R2 Papua New Guinea; R4
Paraguay; R5 Peru; R6 Philippines; R9 Poland; S1 Portugal; S3 Qatar; S5 Romania; 1Z Russia; 1Z Russian Federation; S6
Rwanda; U7 Saint Kitts and Nevis; U9 Saint Lucia; V1 Saint Vincent and the Grenadines; Y0 Samoa; S8 San Marino; T0
Saudi Arabia; T1 Senegal; Z2 Serbia; T2 Seychelles; T8 Sierra Leone; U0 Singapore; 2B Slovakia; 2A Slovenia; T3 South
Africa; U3 Spain; F1 Sri Lanka; V3 Suriname; V7 Sweden; V8 Switzerland; F5 Taiwan; 2D Tajikistan; W0 Tanzania; W1
Thailand; W2 Togo; W5 Trinidad and Tobago; W6 Tunisia; W8 Turkey; 2E Turkmenistan; W7 Turks and Caicos Islands; W9
Uganda; 2H Ukraine; C0 United Arab Emirates; X0 United Kingdom; X1 United States; X3 Uruguay; 2K Uzbekistan; X5
Venezuela; Q1 Viet Nam; Q1 Vietnam; D8 British Virgin Islands; D8 Virgin Islands British; Y4 Zambia; Y5 Zimbabwe;
Y6 Aland Islands; B5 American Samoa; F6 Christmas Island; Y3 Democratic Republic of the Congo; X4 Holy See; M4 North
Korea; 2P Mayotte; 1K Micronesia; P1 Montserrat; E1 Myanmar; P5 Nauru; 1W New Caledonia; Q6 Niue; Q7 Norfolk Island; 1V
Northern Mariana Islands; 1Y Palau; R8 Pitcairn; S4 Reunion; Z0 Saint Barthelemy; U8 Saint Helena; Z1 Saint Martin; V0
Saint Pierre and Miquelon; S9 Sao Tome and Principe; D7 Solomon Islands; U1 Somalia; V2 Sudan; V6 Swaziland; V6
Eswatini; V9 Syria; Z3 TimorLeste; W3 Tokelau; W4 Tonga; 2G Tuvalu; 2L Vanuatu; X8 Wallis and Futuna; T7 Yemen
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
