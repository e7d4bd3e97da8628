"""The words that give a value of an answer its part: comparison, component, bound, rejection, conclusion."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

from fiqkit.values import Value


def _any(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(alternatives), re.IGNORECASE)


_CLAUSE = re.compile(r"[,，、。;；：:\n]")

# --- rejected --------------------------------------------------------------------------------------------------------

_REJECTED_BEFORE = re.compile(
    r"(?:\b(?:is|was|are|were|does|did)\s+not\b|n['’]t\b|\bnot\b(?!\s+(?:only|until|before))|\b(?:rather|other)\s+than|\binstead\s+of|"
    r"\bas\s+opposed\s+to|\bcontrary\s+to|\bconfus(?:e|ed|ing)\s+(?:it\s+)?with|\bmist(?:aken(?:ly)?|ook)\b|\b(?:in|erroneous)correctly\b|"
    r"\berroneously\b|\b(?:often|widely|commonly|frequently)[\s-](?:cited|quoted|reported)|\b(?:some|other|many)\s+(?:sources|people|sites)\b|"
    r"\bignor(?:e|ing)\b|\bdisregard(?:ing)?\b|"
    r"不是|并非|而非|不等于|不为|误认为|误以为|误称|误报|误写|错误地|混淆|有人说|有的说|网传|传闻|而不用|不要用|不应(?:该)?(?:用|取|为|是))"
    r"(?:(?!\b(?:but|yet|although|however|so|it\s+(?:is|was))\b|而是|但|应|实际)[\s\w$:'’\-]){0,40}$",
    re.IGNORECASE,
)
_REJECTED_AFTER = re.compile(
    r"\s*[(（]?\s*(?:(?:figure|number|value|amount|one)\s+)?(?:(?:is|was|would\s+be|are|seems|looks|being)\s+)?(?:clearly\s+|actually\s+)?"
    r"(?:incorrect|wrong|mistaken|erroneous|a\s+mistake|an\s+error|inaccurate|not\s+(?:correct|right|the\s+(?:right|answer|figure|number)|what))\b"
    r"|\s*[(（]?\s*(?:这个|该|的)?(?:数字|数据|数值|说法|答案)?\s*(?:是|有|显然|并)?(?:不对|不正确|错误|错的|有误|错了|不准确|不是答案|作废)",
    re.IGNORECASE,
)
_TAKES_BACK = _any(
    r"(?:^|[.,;:!?\s(—–-])(?:actually|correction|wait|scratch\s+that|on\s+second\s+thought|let\s+me\s+(?:correct|revise|re-?check|fix)|"
    r"my\s+(?:mistake|apologies|error|bad)|sorry|apologies|I\s+mean|I\s+misspoke|I\s+stand\s+corrected|no,|oops|rather,)",
    r"\b(?:the\s+)?(?:right|correct(?:ed)?|actual|true|proper)\s+(?:answer|figure|value|number|amount|one)\s*(?:is|was|should\s+be|:|=|,)",
    r"\bshould\s+(?:be|have\s+been|read)\b(?!\s+(?:noted|mentioned|added|pointed|understood|considered|compared|taken|seen|viewed))",
    r"更正|纠正|修正为|改为|不对[，,。:]|不对$|应该?(?:是|为)|实际(?:上)?(?:是|为|应)|准确(?:地说|来说|的是|值)|正确(?:的)?(?:是|答案|数字|数据|数值|应)|"
    r"说错|写错|弄错|搞错|抱歉[，,]|等等[，,]|而是",
)

# --- conclusions -----------------------------------------------------------------------------------------------------

_FINAL = re.compile(
    r"(?P<strongest>\bfinal\s+(?:answer|figure|value|result)|最终(?:答案|结果|数字)|最后答案)"
    r"|(?P<strong>\b(?:my|the|short|correct|so\s+the|direct)\s+answer\s*(?:is|was|would\s+be|:)|(?<![A-Za-z])answer\s*(?::|$|\n|is\b)"
    r"|答案\s*(?:[:：是为应]|$|\n)|结论\s*(?:[:：是为]|$|\n)|\bconclusion\s*(?::|$|\n)"
    r"|\b(?:I|we)(?:['’]ll|\s+will|['’]d|\s+would)?\s+(?:report|go\s+with|choose|use|pick|take|answer)\b|\bsettled?\s+on\b"
    r"|我(?:选择|采用|的回答|回答))"
    r"|(?P<weak>\b(?:therefore|thus|hence|consequently|accordingly|so|overall)\b(?:,|\s(?:the|its|it)\b|\s(?=[$€£¥\d]))|(?:^|(?<=\n)|(?<=[.]\s))so\s(?!far|that|much|many|on\b)|"
    r"\b(?:figure|number|value|one)\s+(?:that\s+)?(?:you\s+)?asked\s+for\b|"
    r"\bin\s+(?:summary|conclusion|short|sum)|\bto\s+(?:sum\s+up|conclude|summarize)|\btotal\s*[:：]|"
    r"所问|所求|(?:^|(?<=[\s，。；：、|,;:•]))(?:合计|总计)|因此|综上|所以|故(?!障)|总之|可得|由此)",
    re.IGNORECASE,
)

_SUM_WORD = re.compile(r"total|合计|总计", re.IGNORECASE)
_DIGIT = re.compile(r"\d")

# "X, which is the answer": what follows a value can mark it as well.
_FINAL_AFTER = re.compile(
    r"\s*(?:[,，]\s*which\s+)?(?:is|was|为|是|才是)\s*(?:what\s+(?:you|was|is)\s+(?:ask|want|request|need|look)\w*"
    r"|(?:my\s+|the\s+)?(?:final\s+|right\s+|correct\s+|requested\s+|正确的?|最终的?|所求的?)*"
    r"(?:answer|number|figure|value|one\s+(?:asked|requested|you)|答案|数字|数值|结果)"
    r"(?!\s+(?:for|of|under|on|before|that)\b))|\s*为准",
    re.IGNORECASE,
)

# --- beside the figure -----------------------------------------------------------------------------------------------

# What such a word introduces is set beside the figure: to the end of its sentence, of its clause, or right after it.
_ASIDE_IN_SENTENCE = _any(
    r"其中|供参考|作为参考|作为对比|此外|另外|\b(?:of\s+which|driven\s+by|due\s+to|reflecting|contribut(?:ed|ing)|comprising|comprised\s+of|consisting\s+of|"
    r"for\s+(?:reference|context|comparison)|additionally|in\s+addition|moreover|furthermore|broken\s+down|breakdown|made\s+up\s+of)\b"
)
_ASIDE_IN_CLAUSE = re.compile(
    r"(?:\b(?:compared?\s+(?:to|with)|versus|vs|against|than)\b|\b(?:prior|previous)[\s-]+(?:fiscal\s+)?(?:year|period|quarter)\b|"
    r"上年|去年|同期|相比|较|比|[低高大小]于|不同于|区别于)(?:(?!\b(?:was|were|is|increas|decreas|declin|grew|rose|fell)|[为是]|增|减|降|升|跌)[^,，。；;：:)）\n]){0,60}[:：]?\s*[+]?$",
    re.IGNORECASE,
)
_ASIDE_AT_ONCE = re.compile(
    r"(?:\bincluding|\bincludes?|\bafter|\bfollowing|包括|包含|含)\s*(?:about|approximately|roughly|an?\b|约|人民币|[+\s])*$",
    re.IGNORECASE,
)
# "from X to Y" has a beginning and an end only where something moves.
_BASELINE = re.compile(
    r"(?:\bfrom|从|由|自)\s*(?:about|approximately|约|人民币|(?:[A-Za-z0-9'’]+\s){0,4}|[\u4e00-\u9fff\d]{0,12}的?)\s*$",
    re.IGNORECASE,
)
_MOVES = _any(
    r"\b(?:increas|decreas|declin|grew|grow|rose|rise|fell|fall|drop|down\b|up\b|climb|jump|improv|went|chang|moved|swung|surg|slip|expand|reduc)",
    r"[增减降升涨跌]|变为|转为|扩大|收窄|提高|改善|下滑",
)
_OF_IT = re.compile(
    r"\s+(?:of\s+(?:it|which|that|this|the\s+total)\b|higher|more\s+than|less\s+than|was\s+attributable)", re.IGNORECASE
)

_OPENS_PARTS = re.compile(
    r"(?:其中|of\s+which|including|comprising|consisting\s+of|made\s+up\s+of)\W{0,4}$", re.IGNORECASE
)
_BULLET = re.compile(r"[ \t]*(?:•|[-–]\s|\d{1,2}[.)、]\s?)")

# --- changes ---------------------------------------------------------------------------------------------------------

_CHANGED = re.compile(
    r"(?:\b(?:increas(?:ed?|es|ing)|rose|ris(?:e|es|en|ing)|grew|grow(?:n|s|th|ing)|up|gain(?:ed|s)?|climb(?:ed)?|jump(?:ed)?|surg(?:ed?|ing)|"
    r"soar(?:ed)?|expand(?:ed)?|advanc(?:ed?)|improv(?:ed|ement)|added|rebound(?:ed)?|decreas(?:ed?|es|ing)|declin(?:ed?|es|ing)|drop(?:ped|s)?|"
    r"fell|fall(?:en|s|ing)?|down|reduc(?:ed|tion)|shr[aiu]nk|contract(?:ed|ion)|slid|slump(?:ed)?|plung(?:ed?)|plummet(?:ed)?|tumbl(?:ed)?|"
    r"s[aiu]nk|slip(?:ped)?|dip(?:ped)?|collapsed?|chang(?:ed?|ing)|higher|lower)\b"
    r"|增长|增加|上升|上涨|提高|提升|增幅|增速|涨幅|升幅|下降|减少|下滑|下跌|降低|回落|锐减|下挫|降幅|跌幅|减幅|变动|多|少|增|减(?!去)|升|降|涨|跌)"
    r"(?:\s+in\s+(?:[A-Za-z'’&-]+\s+){1,4}?(?=of|by|was|is))?"
    r"(?:\s|by\b|of\b|an?\b|was\b|is\b|about\b|approximately\b|roughly\b|nearly\b|almost\b|over\b|rate\b|[a-z]+ly\b|year-over-year\b|yoy\b|"
    r"[:：,]|or\b|了|约|近|达到?|超过?|率|幅度?|额|金额|比例|人民币|同比|环比|或|为(?=\s*[-\d])){0,8}$",
    re.IGNORECASE,
)
_CHANGED_AFTER = re.compile(
    r"(?:\s(?!(?:of|in|to|and|or|was|is|but)\b)[a-z][a-z/-]*){0,2}\s(?:increase|decrease|decline|growth|drop|rise|gain|jump|improvement|reduction|"
    r"higher|lower|more|less)\b|\s?的?(?:增长|增幅|增加|降幅|下降|下滑|减少|跌幅|涨幅|增速|升幅)",
    re.IGNORECASE,
)

# --- bounds, terms, remarks ------------------------------------------------------------------------------------------

# "Over" and 超过 still put their number forward; these only fence it in.
_BOUND_BEFORE = re.compile(
    r"(?<!just )(?<!slightly )(?<!little )(?<!bit )"
    r"(?:\b(?:(?:less|fewer|lower)\s+than|no\s+more\s+than|under|below|at\s+(?:most|least)|up\s+to)|不超过|不足|低于|少于|不到)"
    r"\s*(?:about|approximately|人民币)?\s*$",
    re.IGNORECASE,
)
_BOUND_AFTER = re.compile(r"\s*(?:or\s+(?:less|more|lower|higher|above|below)\b|以上|以下|以内)", re.IGNORECASE)
# A term of a formula, "(new - old) / old × 100"; what follows the equals sign is its result.
_TERM_BEFORE = re.compile(
    r"(?:[×*/÷]|[\d)%]\s*\+|\b(?:multipl(?:y|ied)|divided?)\s+by)\s*\(?\s*$|[)\]]\s*[-−–]\s*$|[\d%)]\s+[−–]\s+$",
    re.IGNORECASE,
)
_TERM_AFTER = re.compile(r"\s*\)?\s*(?:[×÷]|\*(?!\*))")
# What a bare number, without any unit, must follow to be put forward as a value.
_STATED = re.compile(
    r"(?:\b(?:is|was|were|of|about|approximately|roughly|around|at|by|to|reached|totall?ed|equals|answer|figure)|[:：=≈~|$–—]|[为是约达])\s*$",
    re.IGNORECASE,
)
_CLOSES = re.compile(r"\s*(?:[。;；\n]|\.(?=\s|$)|$)")
_SURE_BEFORE = re.compile(
    r"(?:confiden(?:ce|t)(?:\s+(?:level|score|interval))?|certainty|certain|probability|likelihood|置信(?:度|水平|区间)?|信心|把握|可信度|确定性|概率)"
    r"[^\n.。;；]{0,20}$",
    re.IGNORECASE,
)
_SURE_AFTER = re.compile(
    r"[ \t]*(?:/\s*\d+\s*)?(?:confiden(?:ce|t)\b|sure\b|certain|probab|likely|的?(?:置信|把握|信心|概率|可能))",
    re.IGNORECASE,
)
_COUNTED_KINDS = ("percent", "plain")

_POINTS_BACK = re.compile(
    r"\s*[(（]?(?:this|that|these|it|the\s+(?:figure|value|number|data|amount)|note|该|此|以上|上述|这)", re.IGNORECASE
)
_NO_DATA = re.compile(r"\b(?:not|no|unable|cannot|could)\b|n['’]t\b|没有|未|无法", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Marks:
    """Where an answer sets aside and where it concludes, found once for the whole text: the ends of such words."""

    asides: list[int]
    finals: list[int]
    strengths: list[int]
    components: list[tuple[int, int]]

    @classmethod
    def of(cls, text: str) -> Marks:
        """The marks of a text."""
        finals = [mark for mark in _FINAL.finditer(text) if not _opens_a_list(mark, text)]
        strengths = [{"strongest": 3, "strong": 2, "weak": 1}[match.lastgroup or ""] for match in finals]
        asides = [match.end() for match in _ASIDE_IN_SENTENCE.finditer(text)]
        return cls(asides, [match.end() for match in finals], strengths, part_lines(text))

    def is_aside(self, low: int, high: int) -> bool:
        """Whether a word in [low, high), or the list that `high` is in, sets what follows beside the figure."""
        at = bisect_right(self.asides, high) - 1
        line = bisect_right(self.components, (high, high)) - 1
        return (at >= 0 and self.asides[at] > low) or (line >= 0 and self.components[line][1] >= high)

    def final(self, low: int, high: int) -> int:
        """How strongly the words in [low, high) mark what follows as the answer, 0 to 3."""
        first, last = bisect_right(self.finals, low), bisect_right(self.finals, high)
        return max(self.strengths[first:last], default=0)

    def last_final(self, low: int, high: int) -> int:
        """Where the last such word in [low, high) ends; `low` where there is none."""
        at = bisect_right(self.finals, high) - 1
        return self.finals[at] if at >= 0 and self.finals[at] > low else low


def is_total(heading: str) -> bool:
    """Whether a table's row adds up those above it."""
    return bool(_SUM_WORD.fullmatch(heading))


def _opens_a_list(mark: re.Match[str], text: str) -> bool:
    """Whether a total comes before its parts: only one that follows them is a conclusion."""
    return bool(_SUM_WORD.match(mark.group())) and not _DIGIT.search(text, 0, mark.start())


def concludes(text: str, end: int) -> bool:
    """Whether the words behind a value say that it is the answer."""
    return bool(_FINAL_AFTER.match(text, end))


def part_lines(text: str) -> list[tuple[int, int]]:
    """The stretches of a text that are the items of a list of components: those under a line that ends "of which:"."""
    found, start, opened = [], 0, False
    for line in text.split("\n"):
        end = start + len(line)
        if line.strip() and not _BULLET.match(line):
            opened = bool(_OPENS_PARTS.search(line.rstrip()))
        elif opened:
            found.append((start, end))
        start = end + 1
    return found


def last_clause(text: str) -> str:
    """What follows the last comma or colon."""
    return _CLAUSE.split(text)[-1]


def is_question(sentence: str) -> bool:
    """Whether a sentence asks."""
    ending = sentence[-12:].rstrip().rstrip(")）】]\"'”’")
    return ending.endswith(("?", "？")) or bool(re.search(r"[吗呢][。！]?$", ending))


def is_remark(value: Value, text: str, before: str, *, follows: bool) -> bool:
    """Whether a number says how sure the answer is rather than what it is.

    Args:
        follows: `before` begins at another value, which "confidence" may belong to ("95% confidence: 13.9%").
    """
    own = "" if follows and _SURE_AFTER.match(before) else before
    sure = _SURE_BEFORE.search(own) or _SURE_AFTER.match(text, value.span[1])
    return value.kind in _COUNTED_KINDS and bool(sure)


def is_rejected_by_words(clause: str, text: str, end: int) -> bool:
    """Whether the words around a value deny it ("not X", "rather than X", "X is wrong")."""
    return bool(_REJECTED_BEFORE.search(clause) or _REJECTED_AFTER.match(text, end))


def takes_back(gap: str) -> bool:
    """Whether the words between two values put the second in the place of the first ("Actually", 应该是)."""
    return bool(_TAKES_BACK.search(gap))


def is_stated(text: str, value: Value, before: str) -> bool:
    """Whether a bare number is put forward as a value.

    It fills its line, has a scale, follows "is", "为" or "=", or has decimals or separators and closes its sentence.
    """
    start, end = value.span
    line = text[max(0, start - 40) : start].rpartition("\n")[2] + text[end : end + 40].partition("\n")[0]
    if any(mark in value.text for mark in ".,") and _CLOSES.match(text, end):
        return True
    return len(line.strip()) <= 3 or value.scale != 1 or bool(_STATED.search(before))


def is_operand(before: str, text: str, end: int) -> bool:
    """Whether a value is a term of a formula."""
    return bool(_TERM_BEFORE.search(before) or _TERM_AFTER.match(text, end))


def is_bound(clause: str, text: str, end: int) -> bool:
    """Whether a value only fences the figure in."""
    return bool(_BOUND_BEFORE.search(clause) or _BOUND_AFTER.match(text, end))


def is_aside(before: str, sentence: str, text: str, end: int) -> bool:
    """Whether a value is compared with, is a component, or is where a change began."""
    if _ASIDE_IN_CLAUSE.search(before) or _ASIDE_AT_ONCE.search(before) or _OF_IT.match(text, end):
        return True
    return bool(_BASELINE.search(before) and _MOVES.search(sentence))


def is_change(before: str, text: str, end: int) -> bool:
    """Whether a value says by how much something rose or fell, rather than what it came to."""
    return bool(_CHANGED.search(before) or _CHANGED_AFTER.match(text, end))


def is_blank(lead: str) -> bool:
    """Whether nothing but a bullet stands before a value on its line."""
    return len(lead.strip(" •:：-—*>")) == 0


def lacks_data(sentence: str) -> bool:
    """Whether a sentence says what it lacks: its period is then not that of the next one's value."""
    return bool(_NO_DATA.search(sentence))


def points_back(sentence: str) -> bool:
    """Whether a sentence speaks of the value before it."""
    return bool(_POINTS_BACK.match(sentence))
