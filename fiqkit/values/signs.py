"""Signs of a number: the characters before it, accounting brackets, and words such as "decline of" or 亏损."""

from __future__ import annotations

import re
from bisect import bisect_right

_ABOUT = r"about|approximately|approx\.?|roughly|around|nearly|almost|some|only|just|over|(?:more|less)\s+than"
_FILL = (
    rf"(?:\s|by\b|of\b|rates?\b|growth\b|was\b|is\b|were\b|at\b|an?\b|the\b|total\b|{_ABOUT}|year-over-year\b|yoy\b|"
    r"year-on-year\b|y/y\b|sharply\b|slightly\b|significantly\b|:|[*]|同比|环比|了|约|近|大约|达到?|将近|逾|超过?|人民币|"
    r"(?:增长|增速)?(?:幅度|幅|比例|比率|率|总?额|增长|增速)(?:为|是)?)"
)
_FALL = (
    r"(?<![A-Za-z])(?:decreas(?:ed?|es|ing)|declin(?:ed?|es|ing)|drop(?:ped|s|ping)?|fell|fall(?:en|s|ing)?|down|reduc(?:ed|tion)|shrank|"
    r"shrunk|contract(?:ed|ion)|slid|slump(?:ed)?|plung(?:ed|e)|plummet(?:ed)?|tumbled|lower|negative|minus)\b"
    r"|下降|减少|下滑|降低|下跌|减小|回落|缩减|萎缩|降|跌|负"
)
_IN_WHAT = r"(?:\s+in(?:\s+(?!from\b)[A-Za-z'’&.-]+){1,5}?(?=\s+(?:of|by|was|is)\b))?"
_FALL_BEFORE = re.compile(rf"(?:{_FALL}){_IN_WHAT}{_FILL}{{0,12}}$", re.IGNORECASE)
_LOSS_BEFORE = re.compile(
    r"\b(?:net|operating|pre-?tax|comprehensive)\s+loss(?:es)?"
    r"(?:\s+(?!(?:income|profit|earnings|revenues?|sales|compared|versus|vs|and)\b)(?:[A-Za-z'’&-]+|(?:19|20)\d\d),?){0,10}?"
    rf"\s*(?:\b(?:to|of|was|were|is|totall?ed|reached|by)\b|:)?{_FILL}{{0,8}}$"
    rf"|\bloss(?:es)?(?:\s+per\s+(?:\w+\s+)?share)?\s+(?:of|was)\b{_FILL}{{0,6}}$"
    rf"|\blost\b{_FILL}{{0,4}}$"
    r"|亏损?(?:总?额|净额|扩大至|收窄至|增加至|减少至|扩大到)?(?:\s|约|近|达到?|为|了|人民币|:|[*]|逾|超过?|是){0,6}$",
    re.IGNORECASE,
)
_NOT_A_LOSS = re.compile(r"(?:impairment|credit|loan|disposal|减值|信用|扭|减)[\s\w]{0,4}$", re.IGNORECASE)
_FALL_AFTER = re.compile(
    r"\s?[*]{0,2}\s?(?:year-over-year\s|yoy\s|annual\s|net\s|operating\s)?"
    r"(?:decline|decrease|drop|reduction|fall|lower|contraction|loss(?!\s(?:on|from|ratio|reserve|provision|per)))\b"
    r"|\s?的(?:降幅|跌幅|下降|下滑|亏损)",
    re.IGNORECASE,
)
_TRIGGER = re.compile(rf"{_FALL}|\bloss(?:es)?\b|\blost\b|亏", re.IGNORECASE)
_WINDOW = 90


class FallWords:
    """The words of a text that can make a number after them negative, found once for the whole text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._ends = [match.end() for match in _TRIGGER.finditer(text)]

    def before(self, start: int) -> bool:
        """Whether the words right before `start` make the number there negative ("decline of", 亏损)."""
        at = bisect_right(self._ends, start) - 1
        if at < 0 or self._ends[at] < start - _WINDOW:
            return False
        before = self._text[max(0, start - _WINDOW) : start]
        if _FALL_BEFORE.search(before):
            return True
        loss = _LOSS_BEFORE.search(before)
        return loss is not None and not _NOT_A_LOSS.search(before[: loss.start()])


def falls_after(text: str, end: int) -> bool:
    """Whether the word right after `end` makes the number negative ("a 42.3% decline")."""
    return bool(_FALL_AFTER.match(text, end))


def is_minus(sign: str | None, text: str, at: int) -> bool:
    """Whether the sign that starts at `at` is a minus and not a bullet, a dash or the middle of a range."""
    if not sign or sign[0] not in "-−–":
        return False
    before = text[at - 1] if at else " "
    if sign[0] == "−":
        return not before.isdigit()
    if sign[0] == "–" and not (before.isspace() or before in "([|:="):
        return False
    return len(sign) == 1 and not (before.isascii() and before.isalnum()) and before not in "%)亿万元千股倍点至到"
