"""The labels of an answer's values: which measure and which reading a value is put under, English and Chinese."""

from __future__ import annotations

import re
from functools import lru_cache


def _any(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(alternatives), re.IGNORECASE)


# A label with one of these names a reading of its own; without any it is the bare measure that was asked for.
READING = _any(
    r"归属|归母|总净利|净利润总额|母公司|上市公司股东|扣非|扣除|非经常|少数股东|合并|整体|分部|板块|集团口径|口径|重述|追溯|调整[前后]|经调整|非公认|子公司",
    r"\b(?:non-?)?gaap\b|\badjusted|\bdilut|\bbasic\b|\battributable|\bsegment|\bconsolidated|\bexcluding|\bincluding",
    r"(?:\bas[\s-]|['’]s\s|\b(?:the|its)\s)reported\b|\borganic|\bconstant[\s-]currency|\bcomparable|\bcontinuing|\bcore\b",
    r"\bsame[\s-]store|\brestated|\boriginally|\bwhole[\s-]|\bentire\b|\bcompany-?wide|\bdivision|\bsubsidiar|\bparent\b",
)
# "若按归属口径，为…": the value for another wish than the one that was expressed.
ALTERNATIVE = _any(r"若|如果|如按|如指|假如|否则", r"\bif\b|\botherwise\b")
# "A or B": the answer leaves the choice open.
CHOICE = re.compile(
    r"[\s,，、;；(（/]*(?:or|and/or|alternatively|或者?|(?:也|或|亦)?(?:可能|许)是?|还是|/)(?:[\s,，]*(?:alternatively|maybe|perhaps|possibly))?"
    r"(?:是|为)?[\s,，]*",
    re.IGNORECASE,
)
# "fell to X": what a change led to, not the change.
LEVEL = _any(r"\b(?:to|reaching)\s*(?:about\s+|approximately\s+)?$", r"[至到]\s*$")
# "A vs. B", "A / B": both, side by side.
VERSUS = re.compile(r"\s*(?:vs\.?|versus|/|\|)(?!\w)[^\d\n]{0,40}", re.IGNORECASE)
RANGE = re.compile(r"\s*(?:-|–|—|~|～|至|到|to|and|和|与|&)\s*", re.IGNORECASE)
# With both golds named, such words leave it open which of them is the answer.
UNDECIDED = _any(
    r"\bdepends?\b|\bdepending\b|\b(?:two|both|several|multiple)\s+(?:\w+\s+)?(?:figures|values|numbers|answers|readings|interpretations)",
    r"\b(?:could|may|might|can)\s+(?:also\s+)?(?:be|mean|refer)\b|\beither\b|\bpossibl[ey]\b|\bambiguous\b|\bunclear\b|\brespectively\b",
    r"\b(?:not\s+sure|unsure|cannot\s+tell|can['’]t\s+tell|don['’]t\s+know|not\s+clear)\s+(?:which|what|whether)\b",
    r"\bwhich\s+(?:one\s+|figure\s+)?(?:do\s+|did\s+|would\s+)?you\s+(?:want|mean|need|prefer|like)",
    r"取决于|可能(?:是|为)|(?:两|多)[个种](?:口径|数字|数值|答案|数据|版本)|口径[一二12AB]|分别[为是]|视[^，。]{0,8}(?:口径|而定)|各为|不确定",
)

_MEASURES: dict[str, re.Pattern[str]] = {
    "revenue": _any(r"\brevenues?\b|\bsales\b|\bturnover\b|\bbookings\b", r"收入|营收|销售额"),
    "operating": _any(
        r"\boperating\s+(?:income|profit|earnings|loss)|\b(?:income|loss|profit)\s+from\s+operations|\bebit\b",
        r"营业利润|经营利润",
    ),
    "net": _any(r"\bnet\s+(?:income|earnings|profit|loss)|\bbottom\s+line\b", r"净利|净亏|纯利|归母|扣非|净利润"),
    "gross": _any(r"\bgross\s+(?:profit|margin)", r"毛利"),
    "ebitda": _any(r"\bebitda\b"),
    "pretax": _any(r"\bpre-?tax|\bbefore\s+(?:income\s+)?tax", r"利润总额|税前"),
    "eps": _any(r"\beps\b|\bper\s+(?:\w+\s+){0,2}share", r"每股"),
    "costs": _any(r"\bexpenses?\b|\bcosts?\b|\bcapex\b|\bexpenditures?\b", r"费用|成本|支出"),
    "cash": _any(r"\bcash\b", r"现金"),
    "assets": _any(r"\bassets\b|\bliabilities\b|\bdebt\b|\bequity\b", r"资产|负债|权益(?!法)"),
    "dividends": _any(r"\bdividends?\b|\bbuybacks?\b|\brepurchase", r"股息|分红|股利|回购"),
    "minority": _any(r"\bnon-?controlling|\bminority\s+interests?", r"(?<!含)(?<!包括)少数股东(?:损益|权益)(?!后)"),
    "margin": _any(r"\bmargin\b", r"利润率|净利率|毛利率"),
}
# Names of a family of measures: whoever asks for "earnings" is answered by any of these.
_FAMILIES: tuple[tuple[re.Pattern[str], frozenset[str]], ...] = (
    (
        _any(r"(?<!net )(?<!operating )\bearnings\b(?!\s+(?:per|before))"),
        frozenset(("net", "eps", "operating", "ebitda")),
    ),
    (
        _any(
            r"(?<!net )(?<!operating )(?<!interest )(?<!comprehensive )\bincome\b"
            r"(?!\s+(?:from\s+operations|before|tax))"
        ),
        frozenset(("net", "operating", "pretax")),
    ),
    (
        _any(r"(?<!net )(?<!operating )(?<!gross )\bprofits?\b", r"(?<!净)(?<!营业)(?<!经营)(?<!毛)利润(?!总额|率)"),
        frozenset(("net", "operating", "gross", "pretax")),
    ),
    (
        _any(r"(?<!net )(?<!operating )\bloss(?:es)?\b(?!\s+(?:from\s+operations|per|on))", r"(?<!净)亏损"),
        frozenset(("net", "operating")),
    ),
)


@lru_cache(4096)  # a run grades many answers to the same questions
def measures(text: str) -> frozenset[str]:
    """The measures that a text names (revenue, net, operating, ...); "earnings" names several."""
    return _exact_measures(text) or frozenset(
        name for pattern, names in _FAMILIES if pattern.search(text) for name in names
    )


@lru_cache(4096)
def _exact_measures(text: str) -> frozenset[str]:
    return frozenset(name for name, pattern in _MEASURES.items() if pattern.search(text))


_CHANGE = _any(
    r"\bgrowth\b|\bincreas|\bdecreas|\bdeclin|\bchanged?\b|\brise\b|\brose\b|\bdrop|\bgrew\b|\bgrow\b",
    r"增长|增速|增幅|降幅|跌幅|涨幅|变动|变化|下降|减少|增加",
)


def asks_for_change(question: str) -> bool:
    """Whether a question asks by how much something rose or fell, not what it came to."""
    return bool(_CHANGE.search(question))


_VERB = _any(
    r"\b(?:is|was|were|are|reached|totall?ed|amounted|earned|reported|came|rose|fell|grew|increased|decreased)\b",
    r"[为是达]",
)
_WORD = re.compile(r"[A-Za-z][A-Za-z'’]*")
# Words of plain reporting: they say nothing about which figure it is.
_NEUTRAL = re.compile(
    r"a|an|the|and|or|of|in|for|on|at|to|by|with|from|as|its|it|it's|"
    r"it’s|is|was|were|are|be|been|being|has|had|have|that|this|these|those|"
    r"which|who|whose|their|there|here|so|then|thus|therefore|hence|also|only|"
    r"just|about|approximately|approx|roughly|around|nearly|almost|some|over|more|"
    r"than|less|up|down|per|according|based|i|we|you|my|our|your|answer|final"
    r"|figure|value|number|amount|result|report|reported|reports|reporting|shows|show"
    r"|shown|states|stated|disclosed|disclosing|posted|recorded|recorded|generated|"
    r"earned|made|achieved|delivered|booked|came|comes|reached|totaled|totalled|"
    r"amounted|amounts|stood|stands|gives|given|found|see|using|income|revenue|"
    r"revenues|sales|net|operating|earnings|profit|profits|loss|losses|gross|margin|"
    r"eps|ebitda|growth|rate|rates|increase|increased|decrease|decreased|decline|"
    r"declined|grew|rose|fell|grow|rise|change|changed|year|years|fiscal|calendar|"
    r"quarter|quarters|month|months|week|weeks|ended|ending|end|full|annual|annually"
    r"|period|fy|cy|q|january|february|march|april|may|june|july|august|september"
    r"|october|november|december|jan|feb|mar|apr|jun|jul|aug|sep|sept|oct|nov|"
    r"dec|most|recent|latest|last|company|inc|corp|co|corporation|plc|ltd|group|"
    r"form|k|filing|filings|results|statement|statements|page|note|data|search|"
    r"passage|document|source|usd|us|dollars|rmb|cny|yuan|eps|share|shares|from|"
    r"operations|year-over-year|yoy|not|available|real|time|did|do|does|while|but|"
    r"however"
)


@lru_cache(4096)
def _own_words(label: str, question: str) -> frozenset[str]:
    """The English words of a label that neither the question nor plain reporting accounts for."""
    asked = {word.lower().removesuffix("'s").removesuffix("’s") for word in _WORD.findall(question)}
    own = set()
    for word in _WORD.findall(label):
        folded = word.lower().removesuffix("'s").removesuffix("’s")
        ticker = word.isupper() and len(word) <= 5 and word not in ("GAAP", "FOA", "FoA")
        if folded not in asked and not _NEUTRAL.fullmatch(folded) and len(folded) > 1 and not ticker:
            own.add(folded)
    return frozenset(own)


def overlap(label: str, question: str) -> int:
    """How many of the question's own words a label repeats, plain reporting aside."""
    asked = {word.lower() for word in _WORD.findall(question) if len(word) > 3 and not _NEUTRAL.fullmatch(word.lower())}
    return len(asked & {word.lower() for word in _WORD.findall(label)})


def states(label: str) -> bool:
    """Whether a label makes a sentence of its value, with a verb: "income was", 为."""
    return bool(_VERB.search(label))


def is_qualified(label: str, question: str) -> bool:
    """Whether a label says more than the question: a reading, a scope, a part, one measure of several."""
    if READING.search(label) or _own_words(label, question):
        return True
    return bool(_exact_measures(label) - _exact_measures(question))


def is_unrelated(label: str, question: str) -> bool:
    """Whether a label names no measure and speaks of something else ("bought back", "was acquired for")."""
    return not measures(label) and len(_own_words(label, question)) > 1
