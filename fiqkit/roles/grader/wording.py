"""The words by which an answer without a value asks, declines and offers, English and Chinese."""

from __future__ import annotations

import re


def _any(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(alternatives), re.IGNORECASE)


_ZH_READING = r"(?:时间|期间|时期|年份|年度|季度|报告期|范围|口径|信息|细节|条件|事件|上下文|背景|类型)"
_SPECIFIC = r"(?:the\s+|an?\s+|more\s+)?(?:specific\s+|exact\s+|relevant\s+)?"

# An outright question or a request to fix the reading; it makes a question of any answer without a value.
_ASKS = _any(
    r"[?？]",
    r"\b(?:please|kindly)\s+(?:specify|clarify|confirm|indicate|tell|choose|pick|select|reply)",
    r"\b(?:could|can|would)\s+you\s+(?:please\s+)?(?:specify|clarify|provide|confirm|tell)",
    r"\blet\s+me\s+know\s+(?:which|what|whether|the|if\s+you(?:['’]d|\s+would)\s+like\s+me)",
    r"\btell\s+me\s+(?:which|what|the|whether)",
    r"\bI(?:['’]d)?\s+(?:would\s+)?need\s+(?:to\s+know|more|an?\s+specific|the\s+specific|additional|you\s+to)",
    rf"\bplease\s+provide\s+{_SPECIFIC}(?:fiscal|year|quarter|period|time|detail|context|metric)",
    r"请(?:您)?(?:提供|告知|告诉我)[^，。！？\n]{0,24}(?:年份|时间|期间|报告期|季度|口径|年度)",
    r"请(?!您?参考|参阅|查|访问|稍|注意)[^，。！？\n]{0,20}(?:明确|确认|说明|指定|选择|选一|任选|注明|补充|让我知道)",
    r"需要(?:知道)?您(?:确认|明确|想)|我需要(?:知道|一个|具体)|能否提供|可否",
    r"[您你](?:指|想|需要|要)[^。！\n]{0,12}哪",
)
# A softer request; it makes a question only where the obstacle is what the user left out.
_INVITES = _any(
    r"\bplease\s+(?:provide|share|let\s+me\s+know)|\blet\s+me\s+know\b",
    r"\bif\s+you\s+(?:can|could|provide|specify|clarify|have\s+(?:an?|any|more|specific)\b)",
    r"\b(?:need|have|help(?:ful)?)\s+to\s+(?:specify|provide|clarify)",
    r"请[^。！？\n]{0,12}(?:提供|告知|告诉|补充)|需要提供|建议您?提供|如果您?(?:能|可以)|如您?能|随时告知",
)
# An offer beyond the answer: "if you need another year, tell me which".
_COURTESY = _any(
    r"(?:\bif\s+you\s+(?:need|want|require|have\s+(?:any\s+)?(?:other|further)\s+questions)|\bfeel\s+free|"
    r"如需|若需|如果?您?(?:还|需要|想)|如有|如果您有(?:其他|任何)(?![^。]*提供))[^。.!！?？\n]*"
)
_USER_LEFT_OUT = _any(
    r"\bmissing\b|\bambigu|\bunclear\b|\bconfusion\b|\bmisunderstanding\b|\bnot\s+specified\b",
    r"\b(?:don['’]t|do\s+not)\s+know\s+(?:which|whether|what)",
    r"\b(?:need|have|help(?:ful)?)\s+to\s+(?:specify|provide|clarify)",
    r"\byou\s+(?:did\s+not|didn['’]t|have\s+not|haven['’]t)\s+(?:specif|provid|indicat|clarif)",
    r"\bwithout\s+(?:a\s+|more\s+|further\s+|any\s+)?specific(?!\s+(?:figures?|data|numbers?))",
    r"\bwithout\s+(?:a\s+|more\s+|further\s+|any\s+)?(?:knowing|detail|clarif|context|information)",
    r"(?:未能?|没有|尚未|并未|无法|不能?)(?:进一步|再次)?(?:明确|指定|提供|说明|限定|确定|获得|得到)"
    rf"[^。！？\n]{{0,16}}{_ZH_READING}",
    rf"(?:缺乏|缺少)[^。！？\n]{{0,12}}{_ZH_READING}",
    r"您(?:并?未|没有|不)(?:指定|提供|说明|明确|确定)|需要提供|建议您?提供|不确定具体",
)
_NO_DATA = _any(
    r"\b(?:unable|not\s+able|could\s?n['’]t|could\s+not|cannot|can['’]t|did\s+not|didn['’]t)\s+(?:to\s+)?(?:be\s+)?"
    r"(?:find|found|retrieve|locate|access|provide|determine)",
    r"\bnot?\s+(?:\w+\s+){0,2}(?:available|disclosed|applicable|meaningful|data)",
    r"\b(?:does|do|did)(?:\s+not|n['’]t)\s+(?:state|give|mention|include|disclose|report|contain|say|list|show|provide|specify)",
    r"\b(?:gives?|contains?|lists?|states?|mentions?|shows?|provides?|but)\s+no\b",
    r"(?:没有|未|不)(?:直接)?(?:给出|列出|说明|提及|包含|显示)",
    r"(?:没有|未能?|无法)(?:直接)?(?:找到|检索到|获取|查到|披露|提供)",
)


def asks_user(answer: str) -> bool:
    """Whether an answer without a value asks the user for what was left out of the question."""
    core = _COURTESY.sub("", answer)
    return bool(_ASKS.search(core) or (_USER_LEFT_OUT.search(answer) and _INVITES.search(core)))


def names_an_obstacle(answer: str) -> bool:
    """Whether an answer asks, or says what it lacks: an incidental number in it is then no reply."""
    return any(pattern.search(answer) for pattern in (_ASKS, _USER_LEFT_OUT, _NO_DATA))
