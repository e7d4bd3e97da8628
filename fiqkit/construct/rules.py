"""The fourteen rules that an instance must keep (protocol, section 5); no model is called.

Each rule says what offends it, in a few words with the text, or "" when it is kept. `PAPER` has them as the paper
states them, `STRICTER` what this kit asks beyond that. Where an instance lists all readings of its orbit, R8, R11 and
R14 hold for every pair of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import combinations
from math import isclose
from typing import Any

from fiqkit import values
from fiqkit.construct.orbits import POINTS_APART, SHARE_APART
from fiqkit.records import Instance, Interpretation
from fiqkit.taxonomy import CATEGORIES, FIELDS
from fiqkit.values import Value

NAMES = tuple(f"R{number}" for number in range(1, 15))


@dataclass(frozen=True)
class Case:
    """An instance with what its rules look at.

    Attributes:
        passage: the passage's text; None when it is not at hand, and what needs it is then not held against it.
        candidate: the value that the constructor was given, where it is on record.
    """

    instance: Instance
    passage: str | None = None
    candidate: str | None = None

    @property
    def asked(self) -> str:
        """Q without the company's name, whose words settle nothing."""
        question = self.instance.question
        for name in sorted(company_forms(self.instance.company or ""), key=len, reverse=True):
            question = re.sub(re.escape(name), " ", question, flags=re.IGNORECASE)
        return question

    @property
    def readings(self) -> list[tuple[Interpretation, str]]:
        """The two readings, or all of the orbit where the instance lists them."""
        one = self.instance
        listed = one.extra.get("readings")
        if one.orbit and isinstance(listed, list):
            found = [_listed(item) for item in listed if isinstance(item, Mapping)]
            if len(found) > 1:
                return found
        return [(one.intended_interpretation, one.answer), (one.default_interpretation, one.default_answer)]


def _listed(item: Mapping[str, Any]) -> tuple[Interpretation, str]:
    fields = item.get("interpretation")
    fields = fields if isinstance(fields, Mapping) else {}
    known = {name: fields[name] for name in FIELDS if isinstance(fields.get(name), str)}
    return Interpretation(**known), str(item.get("value", ""))


Rule = Callable[[Case], str]


def broken(case: Case, rules: Mapping[str, Rule]) -> dict[str, str]:
    """Rule → what offends it, for the rules that an instance breaks."""
    return {name: offence for name, rule in rules.items() if (offence := rule(case))}


# --- names ----------------------------------------------------------------------------------------------------------

_LEGAL = re.compile(
    r"(?:[,\s]+|\b)(?:inc|incorporated|corp|corporation|co|company|companies|ltd|limited|plc|llc|lp|n\.?v|s\.?a|group|"
    r"holdings?|the)\b\.?|/\w*/?\s*$|股份有限公司|有限公司|集团",
    re.IGNORECASE,
)


def company_forms(company: str) -> set[str]:
    """The ways in which a question may name a company: in full, without its legal form, and by its first words."""
    if not company.strip():
        return set()
    short = " ".join(_LEGAL.sub(" ", company).split()).strip(" ,.&/")
    words = short.split()
    # The first word alone may be a common one ("General", "First"); two of them tell companies apart.
    shorter = {" ".join(words[:n]) for n in range(2, len(words))} | (
        {words[0]} if words and len(words[0]) > 4 else set()
    )
    return {form for form in {company.strip(), short, *shorter} if len(form) > 1}


def _plain(text: str) -> str:
    return re.sub(r"[^\w\u3400-\u9fff]+", " ", text).lower().strip()


# --- R1 to R6: the question -----------------------------------------------------------------------------------------

_YES_NO = re.compile(
    r"^\s*(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should)\b|[吗嘛]\s*[？?]?\s*$|是否|是不是|有没有",
    re.IGNORECASE,
)
_SETTLES = re.compile(
    r"\b(?:consolidated|segment|quarter(?:ly)?|fiscal|calendar|annual|year|ytd|trailing|ttm|gaap|non-gaap|adjusted|organic|"
    r"constant currency|restated|recast|originally reported|amended|point in time|over time|(?:19|20)\d\d|q[1-4])\b|"
    r"(?<!\d)(?:19|20)\d\d(?!\d)|合并口径|分部|母公司口径|季度|年度|半年|全年|今年|去年|扣非|扣除非经常|重述|更正|调整[前后]",
    re.IGNORECASE,
)
_SETTLES_TOO = re.compile(
    r"\b(?:attributable|noncontrolling|non-controlling|minority|parent|subsidiar\w+|group-wide|company-wide|quarter\w*|"
    r"annual\w*|year\w*|month\w*|latest|recent|current|prior|constant|basic|diluted|continuing|discontinued|reported|"
    r"original\w*|revised|asc|gross|net basis)\b|"
    r"\d{4}|合并|母公司|归母|归属|少数股东|今年|本期|上期|同期|月|扣除|非经常|调整|追溯|首次|口径|准则|总额法|净额法",
    re.IGNORECASE,
)
_METRICS = re.compile(
    r"income|revenue|sales|earnings|profit|margin|cost|expense|cash|debt|asset|liabilit|equity|capital|tax|dividend|loss|"
    r"shipment|deposit|loan|backlog|bookings|volume|price|value|growth|eps|interest|premium|receivable|payable|inventor|"
    r"goodwill|property|expenditure|yield|ratio|share|收入|利润|收益|成本|费用|现金|资产|负债|权益|毛利|净利|股息|股利|税|销售|营收|"
    r"业绩|增长|同比|比率|余额|率",
    re.IGNORECASE,
)
_RATE = re.compile(r"\b(?:\w+ )?(?:rate|margin|percent\w*|growth|ratio|yield)\b|率|占比|增速|百分", re.IGNORECASE)


def _r1(case: Case) -> str:
    return f"yes/no question: {case.instance.question}" if _YES_NO.search(case.instance.question) else ""


def _r2(case: Case) -> str:
    found = _SETTLES.search(case.asked)
    return f"the question says {found[0]!r}" if found else ""


def _r2_stricter(case: Case) -> str:
    found = _SETTLES.search(case.asked) or _SETTLES_TOO.search(case.asked)
    return f"the question says {found[0]!r}" if found else ""


def _r3(case: Case) -> str:
    """A is the candidate value, in whatever notation; without a candidate on record, a value of the intended span."""
    one = case.instance
    where = case.candidate or one.intended_evidence_span
    if not where.strip():
        return ""  # nothing to hold it against, which is R12's matter
    held = one.answer.strip() in where or any(
        _same_digits(found, ours)
        for ours in values.find(one.answer, one.language)
        for found in values.find(where, one.language)
    )
    return "" if held else f"{one.answer!r} is no value of {where[:80]!r}"


_FACTORS = (1.0, 1e2, 1e3, 1e4, 1e6, 1e8, 1e9)


def _same_digits(one: Value, other: Value) -> bool:
    """Equal in any notation: scale, sign and percent sign left out or not."""
    a, b = abs(one.number), abs(other.number)
    return any(isclose(a * factor, b, rel_tol=0.01) or isclose(a, b * factor, rel_tol=0.01) for factor in _FACTORS)


def _r3_stricter(case: Case) -> str:
    one = case.instance
    if one.answer not in one.intended_evidence_span:
        return f"{one.answer!r} does not stand in the intended span {one.intended_evidence_span[:80]!r}"
    if case.passage is not None and one.intended_evidence_span not in case.passage:
        return f"the passage does not hold the span {one.intended_evidence_span[:80]!r}"
    return ""


_PROPER = re.compile(r"(?<!^)(?<![.?!] )\b[A-Z][\w&.'’-]*|[\u3400-\u9fff]{2,}的|\b[A-Z]{2,}\b")


def _r4(case: Case) -> str:
    """Q names the company: a form of its name, or a proper noun, or a name in Chinese."""
    one = case.instance
    named = any(_plain(form) in _plain(one.question) for form in company_forms(one.company or ""))
    return "" if named or _PROPER.search(one.question) else f"no company in {one.question!r}"


def _r4_stricter(case: Case) -> str:
    one = case.instance
    forms = company_forms(one.company or "")
    if not forms:
        return "the instance names no company"
    named = any(_plain(form) in _plain(one.question) for form in forms)
    return "" if named else f"{one.company!r} in no form in {one.question!r}"


def _r5(case: Case) -> str:
    return "" if _METRICS.search(case.asked) else f"no financial metric in {case.instance.question!r}"


def _r6(case: Case) -> str:
    """A question for a rate is answered by a percentage, any other by an amount."""
    found = values.find(case.instance.answer, case.instance.language)
    if not found:
        return f"{case.instance.answer!r} holds no value"
    is_rate = _RATE.search(case.asked) is not None
    given = found[0].kind in ("percent", "points")
    return (
        ""
        if given == is_rate or found[0].kind == "plain"
        else f"{case.instance.answer!r} to {case.instance.question!r}"
    )


def _r6_stricter(case: Case) -> str:
    is_rate = _RATE.search(case.asked) is not None
    for text in (value for _, value in case.readings):
        found = values.find(text, case.instance.language)
        if len(found) != 1 or (found[0].kind in ("percent", "points")) != is_rate:
            return f"{text!r} to {case.instance.question!r}"
    return ""


# --- R7 to R14: the context, the golds, the readings ----------------------------------------------------------------


def _r7(case: Case) -> str:
    one = case.instance
    return f"the context says {one.answer!r}" if one.answer and values.mentions(one.context, one.answer) else ""


def _r7_stricter(case: Case) -> str:
    said = [value for _, value in case.readings if value and values.mentions(case.instance.context, value)]
    return f"the context says {said[0]!r}" if said else ""


def _r8(case: Case) -> str:
    for (one, a), (other, b) in combinations(case.readings, 2):
        if not one.differs_from(other):
            return f"{a!r} and {b!r} have one interpretation"
    return ""


def _r9(case: Case) -> str:
    unknown = [name for name in case.instance.categories if name not in CATEGORIES]
    return f"{unknown[0]!r} is no category" if unknown or not case.instance.categories else ""


def _r10(case: Case) -> str:
    """More than a bare digit, nought or everything."""
    found = values.find(case.instance.answer, case.instance.language)
    trivial = not found or all(abs(value.number) in (0.0, 1.0) for value in found)
    return f"{case.instance.answer!r} is trivial" if trivial else ""


def _r11(case: Case) -> str:
    one = case.instance
    if not one.default_answer.strip():
        return "no default answer"
    for (_, a), (_, b) in combinations(case.readings, 2):
        if a.strip() == b.strip():
            return f"two readings have the value {a!r}"
    return "" if one.answer.strip() != one.default_answer.strip() else f"both golds are {one.answer!r}"


def _r11_stricter(case: Case) -> str:
    if case.passage is None:
        return ""
    away = [value for _, value in case.readings if value not in case.passage]
    return f"the passage does not hold {away[0]!r}" if away else ""


def _r12(case: Case) -> str:
    empty = [name for name, span in _spans(case) if not span.strip()]
    return f"the {empty[0]} span is empty" if empty else ""


def _spans(case: Case) -> Iterator[tuple[str, str]]:
    yield "intended", case.instance.intended_evidence_span
    yield "default", case.instance.default_evidence_span


MOST_OVERLAP = 0.85


def _r13(case: Case) -> str:
    """At most 85% of the longer span's words stand, in order, in the other."""
    first, second = (re.findall(r"[\w.,]+|[^\w\s]", span) for _, span in _spans(case))
    matched = sum(block.size for block in SequenceMatcher(None, first, second, autojunk=False).get_matching_blocks())
    share = matched / max(len(first), len(second), 1)
    return f"spans overlap by {share:.0%}" if share > MOST_OVERLAP else ""


def _r14(case: Case) -> str:
    """Relative to A: more than 1.5 points for rates, more than 3% for values."""
    for a, b in _pairs(case):
        if _near(a, b):
            return f"{a.text} and {b.text} are within the tolerance"
    return ""


def _r14_stricter(case: Case) -> str:
    for a, b in _pairs(case):
        if _near(a, b) or _near(b, a):
            return f"{a.text} and {b.text} are within the tolerance"
    return ""


def _pairs(case: Case) -> Iterator[tuple[Value, Value]]:
    read = [values.find(text, case.instance.language) for _, text in case.readings]
    for one, other in combinations(read, 2):
        if one and other:
            yield one[0], other[0]


def _near(answer: Value, other: Value) -> bool:
    gap = abs(answer.number - other.number)
    if "percent" in (answer.kind, other.kind) or "points" in (answer.kind, other.kind):
        return gap <= POINTS_APART
    return gap <= SHARE_APART * abs(answer.number)


PAPER: dict[str, Rule] = dict(
    zip(NAMES, (_r1, _r2, _r3, _r4, _r5, _r6, _r7, _r8, _r9, _r10, _r11, _r12, _r13, _r14), strict=True)
)
STRICTER: dict[str, Rule] = {
    "R2": _r2_stricter,
    "R3": _r3_stricter,
    "R4": _r4_stricter,
    "R6": _r6_stricter,
    "R7": _r7_stricter,
    "R11": _r11_stricter,
    "R14": _r14_stricter,
}
