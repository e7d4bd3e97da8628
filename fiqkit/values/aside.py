"""What a text names beside its subject: a period that it compares with, the date of a document."""

from __future__ import annotations

import re

WITH = (
    r"(?:(?<![A-Za-z])(?:compared?\s+(?:to|with)|versus|vs?\.?|against|relative\s+to|(?<!year[\s-])over|from|than(?:\s+in)?|between|since|"
    r"up\s+from|down\s+from|prior\s+to)"
    r"|[较比与对]|相较于|相比于?|对比)"
)
_COMPARED = re.compile(
    rf"{WITH}\s*(?:(?:[A-Za-z]+\s+){{0,4}}[^\sA-Za-z]\S{{0,20}}\s+(?:(?:million|billion|trillion|thousand|percent)\s+)?(?:in|for|during|of)\s+)?"
    r"(?:the\s+)?(?:(?:prior|previous|same|full|period|of|in|fiscal|calendar|year|years|ended|quarter|FY|上年|同期)\s*){0,4}\(?$",
    re.IGNORECASE,
)
# The date of a document or of someone's knowledge is no period either.
_DATED_BEFORE = re.compile(
    r"\b(?:filed|dated|published|released|issued|updated?|announced|submitted|accessed|retrieved|cut-?off|knowledge)"
    r"(?:\s+(?:with\s+the\s+SEC|on|in|of|as\s+of|is|date))*\s*:?\s*$",
    re.IGNORECASE,
)
_DATED_AFTER = re.compile(r"\s?(?:披露|发布|公告|公布|更新|提交|签署)")
# "a rise of $5 million on 2022": a bare year is nothing that happens on a day.
_ON = re.compile(r"\bon\s*$", re.IGNORECASE)


def is_aside(text: str, start: int, end: int) -> bool:
    """Whether the period in [start, end) is only compared with ("up from 2022"), or dates a document."""
    before = text[max(0, start - 60) : start]
    if _ON.search(before) and text[start:end].isdecimal():
        return True
    return bool(_COMPARED.search(before) or _DATED_BEFORE.search(before) or _DATED_AFTER.match(text, end))
