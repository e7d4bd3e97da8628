"""The judge without a model: which ambiguity categories a clarifying question names, touches and is mainly about.

It sees the question's text alone (protocol, section 9):

* named: the question has a word of the category's matter (a company or a scope, a measure, a period, …).
* touched: it explicitly raises the category, that is asks the user to choose or confirm; what only repeats the user's
  own words (the company, "net income") touches nothing.
* central: its single most central category.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fiqkit.records import Judgement
from fiqkit.roles.language.lexicon import ANY, TEMPORAL, Mark
from fiqkit.roles.language.phrasing import cue
from fiqkit.roles.language.question import Question, focus
from fiqkit.taxonomy import CATEGORIES

GENERIC, NONE = "generic", "none"
METRIC, ENTITY, VINTAGE, RECOGNITION = "metric_definition", "entity_scope", "filing_vintage", "recognition_policy"

# Of a question that combines categories and offers a choice in none, the rarer qualifier is the point: periods are
# named in passing, recognition never is. A document named as the source is a weaker sign than a restated figure.
_RAREST_FIRST = (RECOGNITION, METRIC, ENTITY, VINTAGE, TEMPORAL)
_MEASURES = ("measure", "unit")
_ECHOES = (*_MEASURES, "breadth")  # dimensions that a question often only repeats from the user's own
_VERSIONS = ("first", "restated", "preliminary")
_REPORTS = {"年报", "annual"}  # a kind of report where another version stands beside it, else a period

_COMPANY = re.compile(r"(?<![a-z])(?:inc|corp(?:oration)?|co|plc|ltd|group|holdings)(?![a-z])|公司|集团")


class RulesJudge:
    """Classifies by the bilingual lexicon; the same question always gets the same verdict."""

    name = "rules"

    async def classify(self, question: str) -> Judgement:
        """Named and touched categories and the central one, with the words that led to them."""
        return classify_question(question)

    def describe(self) -> Mapping[str, Any]:
        """What the run's manifest records."""
        return {"kind": self.name}


def classify_question(text: str) -> Judgement:
    """Which categories a clarifying question names and touches, and which it is about; `why` quotes the words.

    Returns:
        central is a category, "generic" (asks to clarify, names no category) or "none" (outside the five).
    """
    whole = Question.of(text, examples=True)
    fetching = cue("retrieval").search(whole.text)
    if fetching:
        judged = Judgement((), NONE, f"about fetching data: {fetching.group()!r}")
    else:
        judged = _raised(Question.of(focus(text), examples=True))
    return replace(judged, named=_named(whole, judged.touched or ()))


def _named(asked: Question, touched: tuple[str, ...]) -> tuple[str, ...]:
    """The categories of every wording; a name that the lexicon does not know is a company's or a part's."""
    found = {mark.category for mark in asked.marks if mark.dimension != "breadth"} | set(touched)
    if asked.years or asked.base_years:
        found.add(TEMPORAL)
    if asked.names:
        found.add(ENTITY)
    return tuple(name for name in CATEGORIES if name in found)


def _raised(asked: Question) -> Judgement:
    aside = cue("off_topic").search(asked.text)
    if aside:
        return Judgement((), NONE, f"about something else: {aside.group()!r}")
    evidence = _qualifiers(asked)
    measure = _measure_at_issue(asked, alone=not evidence)
    if measure:
        evidence.setdefault(METRIC, measure)
    if not evidence and (named := _name_at_issue(asked)):
        evidence[ENTITY] = named
    beside = cue("elsewhere").search(asked.text)
    if not evidence and not beside and (verb := cue("inclusion").search(asked.text)):
        # Chinese shows no capital: a word that is not known may be anything.
        evidence[ENTITY if any(name.isascii() for name in asked.names) else METRIC] = repr(verb.group())
    touched = tuple(name for name in CATEGORIES if name in evidence)
    if not touched:
        return _untouched(asked)
    central, reason = _central(asked, touched)
    return Judgement(touched, central, f"{'; '.join(f'{name}: {evidence[name]}' for name in touched)} ({reason})")


def _qualifiers(asked: Question) -> dict[str, str]:
    """The words that touch each category, a measure's name left aside."""
    shown = cue("format").search(asked.text) is not None
    evidence = dict.fromkeys((TEMPORAL for _ in asked.years), "a year")
    for mark in asked.marks:
        echo = mark.dimension in _ECHOES or (shown and mark.dimension == "comparison")
        if not echo:
            evidence[mark.category] = repr(asked.text[mark.start : mark.end])
    periods = {asked.text[mark.start : mark.end] for mark in asked.marks if mark.category == TEMPORAL}
    in_passing = periods <= _REPORTS and not asked.years and VINTAGE in evidence
    if in_passing or (len(evidence) > 1 and cue("points_back").search(asked.text)):
        evidence.pop(TEMPORAL, None)  # a report beside a version, or "the earlier one" of what was said before
    return evidence


def _names_version(asked: Question) -> bool:
    return any(mark.dimension == "version" and mark.value in _VERSIONS for mark in asked.marks)


def _measure_at_issue(asked: Question, alone: bool) -> str | None:
    """The words that make the measure itself the question, rather than an echo of what the user asked for.

    That is a choice between measures, a measure given as the meaning of another word, or one that is all there is.
    """
    named = [mark for mark in asked.marks if mark.dimension in _MEASURES and mark.value != "rate"]
    values = {mark.value for mark in named}
    words = " / ".join(repr(asked.text[mark.start : mark.end]) for mark in named)
    if len(values) > 1 or values & {ANY, "money", "volume"}:
        return words
    sole = alone and values and not cue("elsewhere").search(asked.text) and not _is_echo(asked, values)
    return words if sole or (named and _explains(asked, named[0])) else None


def _explains(asked: Question, first: Mark) -> bool:
    """Whether the first naming of a measure opens a bracket, or follows "based on" and its like."""
    before = cue("illustration").sub("", asked.text[max(0, first.start - 30) : first.start])
    if any(len(before) - found.end() <= 12 for found in cue("basis").finditer(before)):
        return True
    opening = before.rfind("(")
    bracketed = range(first.start - len(before) + opening, first.start)
    alone = not any(
        mark.start in bracketed and mark.end < first.start and mark.category != METRIC for mark in asked.marks
    )
    return opening > before.rfind(")") and alone


def _is_echo(asked: Question, values: set[str]) -> bool:
    """Net income and revenue are what questions ask for; on their own they repeat it unless a growth or a tax is meant.

    So does operating income with a company's name.
    """
    usual = {"net_income", "revenue", "operating_income"} if asked.names else {"net_income", "revenue"}
    echo = values <= usual and not any(word in asked.text for word in ("growth", "tax", "税"))
    return echo and cue("meaning").search(asked.text) is None


def _name_at_issue(asked: Question) -> str | None:
    """The words that ask for a name to be confirmed, a company's or a part's ("Azure only", "is this Acme, Inc.?")."""
    if cue("elsewhere").search(asked.text) or not (asked.names or _COMPANY.search(asked.text)):
        return None
    only = cue("only").search(asked.text) if asked.names else None
    if only:
        return f"a name {only.group()!r}"
    measured = any(mark.dimension in _MEASURES for mark in asked.marks)
    return "a name to confirm" if asked.confirms_a_name and not measured and not asked.is_open else None


def _untouched(asked: Question) -> Judgement:
    beside = cue("elsewhere").search(asked.text)
    clear = cue("clarify").search(asked.text)
    shown = cue("format").search(asked.text)
    if ((asked.is_open and not shown) or (clear and not beside)) and not asked.names_value():
        return Judgement((), GENERIC, "asks for clarity, names no category")
    return Judgement((), NONE, f"about {beside.group()!r}" if beside else "names no category")


def _central(asked: Question, touched: tuple[str, ...]) -> tuple[str, str]:
    if len(touched) == 1:
        return touched[0], "the only one"
    offered = asked.alternatives() or {mark.category for mark in asked.marks if mark.negated}
    if len(offered & set(touched)) == 1:
        return (offered & set(touched)).pop(), "offers a choice in it"
    if _names_version(asked):
        return VINTAGE, "the rarest qualifier"
    return next(name for name in _RAREST_FIRST if name in touched), "the rarest qualifier"
