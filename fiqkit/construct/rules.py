"""The fourteen rules that an instance must keep (protocol, section 5); no model is called."""

from __future__ import annotations

import re
from collections.abc import Callable
from difflib import SequenceMatcher

from fiqkit import values
from fiqkit.records import Instance
from fiqkit.taxonomy import CATEGORIES

_YES_NO = re.compile(
    r"^\s*(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should)\b|[吗嘛]\s*[？?]?\s*$|是否|是不是|有没有",
    re.IGNORECASE,
)
# words that would settle one of the five categories, and every date or year
_DISAMBIGUATING = re.compile(
    r"\b(?:consolidated|segment|attributable|noncontrolling|non-controlling|minority|parent|subsidiar\w+|group-wide|"
    r"company-wide|quarter\w*|fiscal|calendar|annual\w*|year\w*|month\w*|ytd|trailing|ttm|latest|recent|current|prior|"
    r"gaap|non-gaap|adjusted|organic|constant|basic|diluted|continuing|discontinued|reported|restated|recast|original\w*|"
    r"amended|revised|asc|gross basis|net basis|point in time|over time|(?:19|20)\d\d|q[1-4])\b|"
    r"\d{4}|合并|分部|母公司|归母|归属|少数股东|季度|年度|半年|全年|今年|去年|本期|上期|同期|月|扣非|扣除|非经常|调整|追溯|重述|更正|"
    r"首次|口径|准则|总额法|净额法",
    re.IGNORECASE,
)
_METRICS = re.compile(
    r"income|revenue|sales|earnings|profit|margin|cost|expense|cash|debt|asset|liabilit|equity|capital|tax|dividend|"
    r"loss|shipment|deposit|loan|backlog|volume|price|value|收入|利润|收益|成本|费用|现金|资产|负债|权益|毛利|净利|股息|税|销售|"
    r"营收|增长率|同比|比率|余额",
    re.IGNORECASE,
)
_RATE_WORDS = re.compile(r"rate|margin|percent|growth|ratio|率|占比|增速|百分", re.IGNORECASE)
_MOST_OVERLAP = 0.85


def broken_rules(instance: Instance, passage: str) -> list[str]:
    """Names of the rules that an instance breaks, "R1" to "R14", given its passage's text; empty when it keeps them."""
    return [name for name, keeps in _RULES.items() if not keeps(instance, passage)]


def _names_company(instance: Instance, passage: str) -> bool:
    company = instance.company or ""
    return bool(company) and company.lower() in instance.question.lower()


def _substantive(instance: Instance, passage: str) -> bool:
    return bool(_METRICS.search(instance.question.replace(instance.company or "", "")))


def _type_fits(instance: Instance, passage: str) -> bool:
    answers = [values.find(text, instance.language) for text in (instance.answer, instance.default_answer)]
    if not all(len(found) == 1 for found in answers):
        return False
    is_rate = bool(_RATE_WORDS.search(instance.question))
    return all((found[0].kind in ("percent", "points")) == is_rate for found in answers)


def _context_is_silent(instance: Instance, passage: str) -> bool:
    return not any(values.mentions(instance.context, text) for text in (instance.answer, instance.default_answer))


def _answers_apart(instance: Instance, passage: str) -> bool:
    ours = values.find(instance.answer, instance.language)
    default = values.find(instance.default_answer, instance.language)
    if not ours or not default:
        return False
    a, b = ours[0].number, default[0].number
    if ours[0].kind in ("percent", "points"):
        return abs(a - b) > 1.5
    return abs(a - b) > 0.03 * max(abs(a), abs(b))


def _spans_differ(instance: Instance, passage: str) -> bool:
    """At most 85% of the longer span's words stand, in order, in the other."""
    first, second = (re.findall(r"[\w.,]+|[^\w\s]", span) for span in _spans(instance))
    matched = sum(block.size for block in SequenceMatcher(None, first, second, autojunk=False).get_matching_blocks())
    return matched <= _MOST_OVERLAP * max(len(first), len(second), 1)


def _spans(instance: Instance) -> tuple[str, str]:
    return instance.intended_evidence_span, instance.default_evidence_span


_RULES: dict[str, Callable[[Instance, str], bool]] = {
    "R1": lambda i, _: not _YES_NO.search(i.question),
    "R2": lambda i, _: not _DISAMBIGUATING.search(i.question.replace(i.company or "", "")),
    "R3": lambda i, passage: i.answer in i.intended_evidence_span and i.intended_evidence_span in passage,
    "R4": _names_company,
    "R5": _substantive,
    "R6": _type_fits,
    "R7": _context_is_silent,
    "R8": lambda i, _: bool(i.intended_interpretation.differs_from(i.default_interpretation)),
    "R9": lambda i, _: all(name in CATEGORIES for name in i.categories),
    "R10": lambda i, _: any(value.number not in (0.0, 1.0, 100.0) for value in values.find(i.answer, i.language)),
    "R11": lambda i, passage: i.default_answer != i.answer and i.default_answer in passage,
    "R12": lambda i, _: all(span.strip() for span in _spans(i)),
    "R13": _spans_differ,
    "R14": _answers_apart,
}
