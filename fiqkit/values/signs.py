"""Signs of a number: the characters before it, accounting brackets, and words such as "decline of" or 亏损."""

from __future__ import annotations

import re
from bisect import bisect_right

_ABOUT = (
    r"about|approximately|approx\.?|around|some|just|over|a\s(?:bit|little|further)|as\smuch\sas|(?:more|less)\sthan"
)
_ON_YEAR = r"(?:year|quarter)[\s-](?:over|on|to)[\s-](?:year|quarter)|yoy|qoq|y/y|q/q|annually|on\sthe\syear"
_SINCE = (
    r"(?:from|versus|vs\.?|compared\s(?:to|with)|over|against|on)\s(?:the\s|its\s)?"
    r"(?:prior|previous|last|preceding)[\s-](?:fiscal\s)?year"
)
_FILL = (
    rf"(?:\s|by\b|of\b|rates?\b|growth\b|was\b|is\b|were\b|at\b|an?\b|the\b|total\b|{_ABOUT}|(?:{_ON_YEAR})\b|(?:{_SINCE})\b|[a-z]+ly\b|"
    r"in\s(?:fiscal\s(?:year\s)?|FY\s?)?(?:19|20)\d\d\b|[:,]|"
    r"同比|环比|较上年|比上年|上年|同期|了|约|近|大约|高?达到?|将近|逾|超过?|人民币|大幅|"
    r"(?:增长|增速)?(?:幅度|幅|比例|比率|率|总?额|金额|数额|增长|增速)(?:为|是)?)"
)
_FALL = (
    r"(?<![A-Za-z])(?:decreas(?:ed?|es|ing)|declin(?:ed?|es|ing)|drop(?:ped|s|ping)?|fell|fall(?:en|s|ing)?|down(?:turn)?|reduc(?:ed|tion|es)|"
    r"shr[aiu]nk|shrinkage|contract(?:ed|ion)|sl(?:id|ide[sd]?|iding)|slump(?:ed|s)?|plung(?:ed?|es)|plummet(?:ed|s)?|tumbl(?:ed?|es)|"
    r"s[aiu]nk|slip(?:ped|s)?|dip(?:ped|s)?|collaps(?:ed?|es)|crash(?:ed)?|crater(?:ed)?|retreat(?:ed)?|weaken(?:ed)?|soften(?:ed)?|"
    r"eas(?:ed|es)|erod(?:ed|es)|diminish(?:ed)?|dwindl(?:ed?|es)|deteriorat(?:ed|ion)|(?:nose)?div(?:ed?|es)|dove|"
    r"lower|negative|minus|pull(?:ed)?[\s-]?back|(?:was|were|is|are)\soff|cut\sby)\b"
    r"|(?:下降|减少|下滑|降低|下跌|减小|回落|缩减|萎缩|锐减|下挫|缩水|走低|下行|倒退|"
    r"滑落|滑坡|递减|骤[降减跌]|[大暴猛剧]跌|(?<![升])降|(?<!涨)跌|(?<!增)减|负)"
)
_IN_WHAT = r"(?:\s+in(?:\s+(?!from\b)[A-Za-z'’&.-]+){1,5}?(?=\s+(?:of|by|was|is)\b))?"
_FALL_BEFORE = re.compile(rf"(?:{_FALL}){_IN_WHAT}{_FILL}{{0,12}}$", re.IGNORECASE)
_LOSS_BEFORE = re.compile(
    r"\b(?:net|operating|pre-?tax|comprehensive)\s+loss(?:es)?"
    r"(?:\s+(?!(?:income|profit|earnings|revenues?|sales|compared|versus|vs|and)\b)(?:[A-Za-z'’&-]+|(?:19|20)\d\d),?){0,10}?"
    rf"\s*(?:\b(?:to|of|was|were|is|totall?ed|reached|by)\b|:)?{_FILL}{{0,8}}$"
    rf"|\bloss(?:es)?(?:\s+per\s+(?:\w+\s+)?share)?\s*(?:\b(?:of|was|were|is|totall?ed|reached)\b|:){_FILL}{{0,6}}$"
    rf"|\blost\b{_FILL}{{0,4}}$"
    r"|(?:亏损?|净损失)(?:总?额|净额|金额|数额|规模|扩大至|收窄至|增加至|减少至|扩大到)?(?:[(][^()\n]{0,20}[)])?"
    r"(?:\s|约|近|高?达到?|为|了|人民币|:|逾|超过?|是|共计?|合计){0,6}$",
    re.IGNORECASE,
)
_NOT_A_LOSS = re.compile(r"(?:impairment|credit|loan|disposal|减值|信用|扭|减)[\s\w]{0,4}$", re.IGNORECASE)
_OF_WHAT = (
    r"(?:\s(?!(?:of|in|to|and|or|was|is|but|while|vs|versus|compared|after|despite|as|from|for|on|with|than|due)\b)"
    r"[a-z][a-z/-]*){0,3}"
)
_FALL_AFTER = re.compile(
    rf"{_OF_WHAT}\s(?:decline|decrease|drop|reduction|fall|contraction|slump|slide|plunge|dip|downturn|shrinkage|slip|collapse)s?\b"
    r"|\s(?:net\s|operating\s|annual\s|pre-?tax\s|quarterly\s)?loss(?!\s(?:on|from|ratio|reserve|provision|per))\b"
    r"|(?<=[%t])\s(?:lower|down|less|below)\b"
    r"|\s?的?(?:降幅|跌幅|减幅|下降|下滑|减少|下跌|(?:净|归母净?|扣非净?|经营|营业)?亏损)",
    re.IGNORECASE,
)
_TRIGGER = re.compile(rf"{_FALL}|\bloss(?:es)?\b|\blost\b|亏|净损失", re.IGNORECASE)
_WINDOW = 90
# Between an amount and the same amount in another unit: "decreased $2.5 billion, or 14.5%".
_RESTATES = re.compile(
    r"[\s,，]*(?:\(|\b(?:or|i\.?e\.?,?|that\s+is,?|equivalent\s+to|equal\s+to|representing)|或者?|即|相当于|约合)\s*"
    r"(?:a|an|about|approximately|roughly|some|of|约)?\s*",
    re.IGNORECASE,
)


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


def restates(gap: str) -> bool:
    """Whether the words between two numbers make the second the first in another unit, sign and all."""
    return len(gap) <= 30 and bool(_RESTATES.fullmatch(gap))


def is_minus(sign: str | None, text: str, at: int) -> bool:
    """Whether the sign at `at` is a minus and not a bullet, a dash, an operator or the middle of a range."""
    if not sign or sign[0] not in "-−–":
        return False
    before = text[at - 1] if at else " "
    if len(sign) > 1 or text[at + 1 : at + 2].isspace():  # set off by a space: a dash, unless nothing can precede it
        return sign[0] == "−" and text[max(0, at - 8) : at].rstrip()[-1:] in ("", "(", ":", "=", "|")
    if sign[0] == "−":
        return not before.isdigit()
    if sign[0] == "–" and not (before.isspace() or before in "([|:="):
        return False
    return not (before.isascii() and before.isalnum()) and before not in "%)亿万元千股倍点"
