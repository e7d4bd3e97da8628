"""The one value that an answer commits to, or why it commits to none."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from fiqkit.records import Outcome
from fiqkit.roles.grading.claims import Claim, Part, read_claims
from fiqkit.values import Value, same


@dataclass(frozen=True, slots=True)
class Commitment:
    """What an answer says.

    Attributes:
        outcome: None when it commits to `claim`; hedge, refusal, question or empty when it commits to nothing.
        claim: the value committed to, with its period.
        mentioned: every value in the answer that it does not deny.
        rule: the rule that decided, in a few words.
    """

    outcome: Outcome | None
    claim: Claim | None
    mentioned: tuple[Value, ...]
    rule: str


# A label with one of these names a reading of its own; without any it is the bare measure that was asked for.
_READING = re.compile(
    r"归属|归母|母公司|上市公司股东|扣非|扣除|少数股东|合并|整体|分部|非经常|"
    r"\b(?:non-?)?gaap\b|adjusted|dilut|\bbasic\b|attributable|segment|consolidated|excluding|including|reported|organic|"
    r"constant[\s-]currency|comparable|continuing|\bcore\b|same[\s-]store",
    re.IGNORECASE,
)
# "若按归属口径，为…": the value for another wish than the one that was expressed.
_ALTERNATIVE = re.compile(r"若|如果|如按|如指|\bif\b|\balternatively\b", re.IGNORECASE)

_ENOUGH = 12
_RANGE = re.compile(r"\s*(?:-|–|—|~|～|至|到|to|and|和)\s*", re.IGNORECASE)

_MEASURES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(pattern, re.IGNORECASE))
    for name, pattern in (
        ("revenue", r"\brevenues?\b|\b(?:net\s+)?sales\b|营业收入|营业总收入|营收|收入"),
        ("operating", r"\boperating\s+(?:income|profit|earnings|loss)|income\s+from\s+operations|\bebit\b|营业利润"),
        (
            "net",
            r"(?<!operating\s)(?<!gross\s)(?<!interest\s)(?<!comprehensive\s)\b(?:income|earnings|profit|loss)\b(?!\s+(?:from|per|before))|净利润|净亏损|纯利",
        ),
        ("gross", r"\bgross\s+(?:profit|margin)|毛利"),
        ("ebitda", r"\bebitda\b"),
        ("pretax", r"\b(?:pre-?tax|before\s+(?:income\s+)?tax)|利润总额"),
        ("eps", r"\beps\b|per\s+share|每股"),
        ("costs", r"\bexpenses?\b|\bcosts?\b|费用|成本"),
        ("cash", r"\bcash\b|现金"),
        ("assets", r"\bassets\b|资产"),
    )
)

# An outright question or a request to fix the reading; it makes a question of any answer without a value.
_ASKS = re.compile(
    r"[?？]|\b(?:please|kindly)\s+(?:specify|clarify|confirm|indicate|tell|choose|pick|select|reply)|"
    r"\b(?:could|can|would)\s+you\s+(?:please\s+)?(?:specify|clarify|provide|confirm|tell)|"
    r"\blet\s+me\s+know\s+(?:which|what|whether|the|if\s+you(?:['’]d|\s+would)\s+like\s+me)|\btell\s+me\s+(?:which|what|the|whether)|"
    r"\bI(?:['’]d)?\s+(?:would\s+)?need\s+(?:to\s+know|more|an?\s+specific|the\s+specific|additional|you\s+to)|"
    r"\bplease\s+provide\s+(?:the\s+|a\s+|more\s+)?(?:specific\s+|exact\s+|relevant\s+)?(?:fiscal|year|quarter|period|time|detail|context|metric)|"
    r"请(?:您)?(?:提供|告知|告诉我)[^，。！？\n]{0,24}(?:年份|时间|期间|报告期|季度|口径|年度)|"
    r"请(?!参考|参阅|查|访问|稍|注意|您参考)[^，。！？\n]{0,20}(?:明确|确认|说明|指定|选择|选一|任选|注明|补充|让我知道)|"
    r"需要(?:知道)?您(?:确认|明确|想)|我需要(?:知道|一个|具体)|能否提供|可否|[您你](?:指|想|需要|要)[^。！\n]{0,12}哪",
    re.IGNORECASE,
)
# A softer request; it makes a question only where the obstacle is what the user left out.
_INVITES = re.compile(
    r"\bplease\s+(?:provide|share|let\s+me\s+know)|\blet\s+me\s+know\b|\bif\s+you\s+(?:can|could|provide|specify|clarify|have\s+(?:an?|any|more|specific)\b)|"
    r"\b(?:need|have|help(?:ful)?)\s+to\s+(?:specify|provide|clarify)|"
    r"请[^。！？\n]{0,12}(?:提供|告知|告诉|补充)|您?需要提供|建议您?提供|如果您?(?:能|可以)|如您?能|随时告知",
    re.IGNORECASE,
)
# An offer beyond the answer: "if you need another year, tell me which".
_COURTESY = re.compile(
    r"(?:\bif\s+you\s+(?:need|want|require|have\s+(?:any\s+)?(?:other|further)\s+questions)|\bfeel\s+free|"
    r"如需|若需|如果?您?(?:还|需要|想)|如有|如果您有(?:其他|任何)(?![^。]*提供))[^。.!！?？\n]*",
    re.IGNORECASE,
)
_USER_LEFT_OUT = re.compile(
    r"\bmissing\b|\b(?:don['’]t|do\s+not)\s+know\s+(?:which|whether|what)|\bambigu|\bunclear\b|\bconfusion\b|\bmisunderstanding\b|\b(?:need|have|help(?:ful)?)\s+to\s+(?:specify|provide|clarify)|"
    r"\byou\s+(?:did\s+not|didn['’]t|have\s+not|haven['’]t)\s+(?:specif|provid|indicat|clarif)|"
    r"\bwithout\s+(?:a\s+|more\s+|further\s+|any\s+)?(?:specific(?!\s+(?:figures?|data|numbers?))|knowing|detail|clarif|context|information)|\bnot\s+specified\b|"
    r"(?:未能?|没有|尚未|并未|无法|不能?)(?:进一步|再次)?(?:明确|指定|提供|说明|限定|确定|获得|得到)[^。！？\n]{0,16}"
    r"(?:时间|期间|时期|年份|年度|季度|报告期|范围|口径|信息|细节|条件|事件|上下文|背景|类型)"
    r"|(?:缺乏|缺少)[^。！？\n]{0,12}(?:时间|期间|年份|范围|信息|细节|条件|口径|上下文|背景)|您(?:并?未|没有|不)(?:指定|提供|说明|明确|确定)"
    r"|您?需要提供|建议您?提供|不确定具体",
    re.IGNORECASE,
)
_NO_DATA = re.compile(
    r"\b(?:unable|not\s+able|could\s?n[o'’]t|could\s+not|cannot|can['’]t|did\s+not|didn['’]t)\s+(?:to\s+)?(?:be\s+)?(?:find|found|retrieve|locate|access|provide|"
    r"determine)|\bno(?:t)?\s+(?:\w+\s+){0,2}(?:available|disclosed|applicable|meaningful|data)|(?:没有|未能?|无法)(?:直接)?(?:找到|检索到|获取|查到|披露|提供)",
    re.IGNORECASE,
)


def read_commitment(answer: str | None, fits: Callable[[Value], int], question: str) -> Commitment:
    """What an answer commits to.

    Args:
        fits: rank of a value as a reply to the question, 0 best; only the best rank that occurs is considered.
    """
    if not answer or not answer.strip():
        return Commitment(Outcome.EMPTY, None, (), "no text")
    claims = read_claims(answer)
    mentioned = tuple(c.value for c in claims if c.part not in (Part.DENIED, Part.OPERAND))
    candidates, rank = _candidates(claims, fits, question)
    if rank and (_ASKS.search(answer) or _USER_LEFT_OUT.search(answer) or _NO_DATA.search(answer)):
        candidates = []  # a value in another unit does not outweigh the statement that there is none
    outcome, claim, rule = _decide(candidates, answer)
    return Commitment(outcome, claim, mentioned, rule)


def _candidates(claims: list[Claim], fits: Callable[[Value], int], question: str) -> tuple[list[Claim], int]:
    """The claims that could be the reply, all of the best fit, and that fit: 0 = unit and measure as asked for."""
    ranked = [(fits(claim.value), claim) for claim in claims if claim.part not in (Part.ASKED, Part.OPERAND)]
    best = min((rank for rank, _ in ranked), default=0)
    chosen = [claim for rank, claim in ranked if rank == best]
    asked = _measures(question)
    on_topic = [c for c in chosen if not _measures(c.label) or _measures(c.label) & asked]
    return on_topic or chosen, best if on_topic else best + 1


def _measures(text: str) -> set[str]:
    return {name for name, pattern in _MEASURES if pattern.search(text)}


def _decide(claims: list[Claim], answer: str) -> tuple[Outcome | None, Claim | None, str]:
    main = _distinct([c for c in claims if c.part is Part.MAIN])
    if not main:
        main = _distinct([c for c in claims if c.part is Part.ASIDE])[:1]
    if not main:
        return _no_value(claims, answer)
    if len(main) == 1:
        return None, main[0], "only value"
    final = _distinct([c for c in main if c.final])
    if len(final) == 1:
        return None, final[0], "marked as the answer"
    if not _ALTERNATIVE.search(main[0].label):
        main = [main[0], *(c for c in main[1:] if not _ALTERNATIVE.search(c.label))]
    first, *others = main
    if others and _RANGE.fullmatch(others[0].label):
        return Outcome.HEDGE, None, "a range"
    if not others:
        return None, first, "others only as alternatives"
    if any(_other_period(first, other) for other in others):
        return Outcome.HEDGE, None, "values of several periods"
    if not _READING.search(first.label):
        return None, first, "first value, under the bare measure"
    return Outcome.HEDGE, None, "values under several readings"


def _distinct(claims: list[Claim]) -> list[Claim]:
    """The claims with different values, the first of each; a few, since more than one is told apart no further."""
    kept: list[Claim] = []
    for claim in claims:
        if len(kept) == _ENOUGH:
            break
        if not any(same(claim.value, other.value, 0.002) for other in kept):
            kept.append(claim)
    return kept


def _other_period(a: Claim, b: Claim) -> bool:
    return bool(a.period and b.period and a.period.conflicts(b.period))


def _no_value(claims: list[Claim], answer: str) -> tuple[Outcome, None, str]:
    if _ASKS.search(_COURTESY.sub("", answer)) or (
        _USER_LEFT_OUT.search(answer) and _INVITES.search(_COURTESY.sub("", answer))
    ):
        return Outcome.QUESTION, None, "asks the user"
    for part, rule in ((Part.VAGUE, "only a bound"), (Part.DENIED, "only a denial")):
        if any(c.part is part for c in claims):
            return Outcome.REFUSAL, None, rule
    return Outcome.REFUSAL, None, "no value"
