"""Simulated users without a model: `rules`, and two variants of it, `noisy` and `free-form` (protocol, section 8).

The rules user compares what a question proposes with the intended reading, part by part: every part holds, yes; one is
contradicted, no; anything else (alternatives, open questions, questions about values, parts the view is silent on),
i_dont_know. It is given a `UserView`, which has no answer.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache
from typing import Any

from fiqkit.records import Interpretation
from fiqkit.roles.draws import seed_of
from fiqkit.roles.interfaces import NO, REPLIES, UNKNOWN, YES, UserView
from fiqkit.roles.language import lexicon
from fiqkit.roles.language.lexicon import ANY, Mark
from fiqkit.roles.language.question import Question, focus
from fiqkit.roles.language.quotation import verbatim
from fiqkit.roles.language.statement import Reading, complete, read_interpretation, read_text
from fiqkit.taxonomy import FIELDS
from fiqkit.values import Period

# "Consolidated" and "attributable to the parent" are opposed in use though they are two dimensions.
_LEVEL = {"attribution": "scope"}


_CLAUSE_END = re.compile(r"[;；。，]\s*|(?<=[a-z)])\.\s+|(?<=\D),\s+")


_SECOND_SENSE = ("preferred_dividends", "operations")

# Values of a dimension that take a part of the figure, as every region does.
_PARTIAL = {
    "scope": {"segment", "parent_only"},
    "attribution": {"parent", "minority"},
    "timing": {"point", "over"},
    "share_class": {"common", "preferred", "class_a", "class_b"},
}


class Part(Enum):
    """What the view makes of one part of a question."""

    HOLDS = auto()
    CONTRADICTED = auto()
    SILENT = auto()  # the view does not tell


class RulesSimulator:
    """Answers by structured comparison with the two interpretations; the same question always gets the same reply."""

    name = "rules"

    async def reply(self, question: str, view: UserView) -> str:
        """One of `REPLIES`."""
        return reply_to(question, view)

    def describe(self) -> Mapping[str, Any]:
        """What the run's manifest records."""
        return {"kind": self.name}


class NoisySimulator:
    """The rules user, a share of whose replies is replaced by another one (protocol, section 3: 15%).

    Which replies are replaced depends on the seed, the instance and the question alone, so a run repeats whatever the
    order in which its episodes proceed.
    """

    name = "noisy"

    def __init__(self, seed: int = 0, rate: float = 0.15) -> None:
        self.seed = seed
        self.rate = rate

    async def reply(self, question: str, view: UserView) -> str:
        """One of `REPLIES`."""
        true = reply_to(question, view)
        draw = random.Random(seed_of(self.seed, view.question, view.context, question, *filter(None, [view.draw])))
        if draw.random() >= self.rate:
            return true
        return draw.choice([reply for reply in REPLIES if reply != true])

    def describe(self) -> Mapping[str, Any]:
        """What the run's manifest records."""
        return {"kind": self.name, "seed": self.seed, "rate": self.rate}


class FreeFormSimulator:
    """The rules user who, asked an open question, says the clause of C that settles it; never a value."""

    name = "free-form"

    async def reply(self, question: str, view: UserView) -> str:
        """A clause of C in its own words, or one of `REPLIES`."""
        asked = Question.of(question)
        if asked.names_value() or not (asked.is_open or asked.offers_alternatives):
            return reply_to(question, view)
        return _clause_about(asked, view) or UNKNOWN

    def describe(self) -> Mapping[str, Any]:
        """What the run's manifest records."""
        return {"kind": self.name}


def reply_to(question: str, view: UserView) -> str:
    """The rules user's reply: yes, no or i_dont_know."""
    asking = focus(question)
    own = (view.context, *_fields(view.intended).values())
    others = [words for name, words in _fields(view.default).items() if words != getattr(view.intended, name)]
    quoted = next(filter(None, (verbatim(text, own, others) for text in dict.fromkeys((question, asking)))), None)
    if quoted in (YES, NO):
        return quoted
    asked = Question.of(asking)
    knowledge = _knowledge(view)
    if asked.is_about_facts or asked.denies or asked.is_open or asked.offers_alternatives or asked.requests_action:
        return UNKNOWN
    if asked.names_value(knowledge.text):
        return UNKNOWN
    parts = set(_parts(asked, knowledge))
    if Part.CONTRADICTED in parts:
        return NO
    return YES if parts == {Part.HOLDS} and quoted is None else UNKNOWN


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What the user knows, in the lexicon's terms.

    Attributes:
        intended, default: the two readings.
        context: C, which fills in where the intended reading is silent.
        names: the content words of Q, that is the company's.
        text: Q, C and the intended reading, folded: words that are the user's own.
    """

    intended: Reading
    default: Reading
    context: Reading
    names: frozenset[str]
    text: str

    @property
    def is_part(self) -> bool:
        """Whether the intended figure is a part of a larger one, so that "total" does not mean it."""
        values = self.intended.values
        return "region" in values or any(values.get(name, frozenset()) & parts for name, parts in _PARTIAL.items())


def _fields(reading: Interpretation) -> dict[str, str]:
    return {name: getattr(reading, name) for name in FIELDS if getattr(reading, name)}


@lru_cache(maxsize=4096)
def _knowledge(view: UserView) -> Knowledge:
    default = read_interpretation(view.default, view.question)
    intended = complete(read_interpretation(view.intended, view.question), default)
    return Knowledge(
        intended=intended,
        default=default,
        context=read_text(view.context),
        names=read_text(view.question).words,
        text=" | ".join((lexicon.fold(view.question), lexicon.fold(view.context), intended.text)),
    )


def _parts(asked: Question, known: Knowledge) -> Iterator[Part]:
    against = {_LEVEL.get(dimension, dimension) for dimension, _ in asked.proposed}
    judged: list[tuple[Mark, Part]] = []
    for mark in asked.marks:
        if not _says_something(mark, asked, known):
            continue
        part = _judge_mark(mark, known)
        foil = mark.negated and _LEVEL.get(mark.dimension, mark.dimension) in against
        if part is not Part.SILENT or not foil:  # "the full year rather than a quarter" proposes the full year
            judged.append((mark, part))
    for mark, part in judged:
        # "attributable to common shareholders" says two things, of which a view may know one.
        known_too = mark.dimension in _SECOND_SENSE and any(
            other.start < mark.end and mark.start < other.end and of_it is not Part.SILENT for other, of_it in judged
        )
        if part is not Part.SILENT or not known_too:
            yield part
    yield from _judge_years(asked, known)
    yield from _judge_words(asked, known)


def _says_something(mark: Mark, asked: Question, known: Knowledge) -> bool:
    """Whether a wording is a part of what the question proposes, or only goes with another one."""
    dimensions = {other.dimension for other in asked.marks if other.value != ANY}
    if mark.value == ANY:  # a component's name alone is a part that nothing settles
        return mark.dimension in lexicon.components() and mark.dimension not in dimensions
    if mark.dimension == "breadth":
        return known.is_part and not mark.negated
    if mark.negated and (mark.dimension, mark.value) in asked.proposed:
        return False  # "a fiscal year other than the latest fiscal year" does not rule fiscal years out
    if mark.value in ("year", "fiscal"):
        if "version" in dimensions and asked.text[mark.start : mark.end] in ("年报", "annual"):
            return False  # the report that stands beside another version
        within = any(dimension == "span" and value != "year" for dimension, value in asked.proposed)
        return mark.negated or not within  # else the year that a quarter is of
    return True


def _judge_mark(mark: Mark, known: Knowledge) -> Part:
    """One wording against the intended reading, then C, then whatever tells the default reading apart."""
    if mark.value == ANY:
        return Part.SILENT
    for source in (known.intended, known.context):
        stated = source.values.get(mark.dimension, frozenset())
        if mark.value in stated:
            return _part(not mark.negated)
        if stated or mark.value in source.excluded.get(mark.dimension, ()):
            return _part(mark.negated)
    if mark.value in known.default.values.get(mark.dimension, ()) and not _qualifies_another_measure(mark, known):
        return _part(mark.negated)
    return Part.SILENT


def _qualifies_another_measure(mark: Mark, known: Knowledge) -> bool:
    """Whether it only says how the default's measure is taken: "GAAP net income" makes no "diluted EPS" non-GAAP."""
    intended, default = (reading.values.get("measure", frozenset()) for reading in (known.intended, known.default))
    return mark.dimension in ("adjustment", "dilution", "operations") and bool(intended and default - intended)


def _judge_years(asked: Question, known: Knowledge) -> Iterator[Part]:
    yield from (
        _judge_year(year, negated, known.intended.years or known.context.years) for year, negated in asked.years
    )
    bases = known.intended.base_years or known.context.base_years
    yield from (_judge_year(year, negated, bases) for year, negated in asked.base_years)


def _judge_year(year: Period, negated: bool, stated: tuple[Period, ...]) -> Part:
    if not stated:
        return Part.SILENT
    # A reading may name its year twice, by label and by closing date ("fiscal 2024 … ended 2025-02-02"): like is held
    # against like, because the closing date alone would let the neighbouring label pass.
    alike = [other for other in stated if (other.closes is None) == (year.closes is None)]
    if not alike and year.closes and year.closes[1] != 12 and any(year.agrees(other) for other in stated):
        return Part.SILENT  # of a year that is only named, nobody knows when it ended
    if not alike and year.closes is None and not any(year.year == other.year for other in stated):
        # "Fiscal 2024" of a year that ended in January 2025: some companies call it so.
        return Part.SILENT if any(year.agrees(other) for other in stated) else _part(negated)
    return _part(any(year.agrees(other) for other in alike or stated) != negated)


def _judge_words(asked: Question, known: Knowledge) -> Iterator[Part]:
    """Words outside the lexicon, such as a segment's name: the intended reading's own, the default's, or neither's."""
    strange = Part.CONTRADICTED if _names_another_segment(asked, known) else Part.SILENT
    for word, negated in asked.words:
        if word in known.names:
            continue
        if known.intended.owns(word, known.default):
            yield _part(negated == known.intended.denies(word))
        elif known.default.owns(word, known.intended):
            # A whole from which a part is taken is another figure than the whole: "excluding Aerospace".
            taken = negated and asked.subtracts and "consolidated" in known.intended.values.get("scope", ())
            yield Part.SILENT if taken else _part(negated != known.default.denies(word))
        elif not negated and not _says(known.text, word):
            yield strange
    if asked.confirms_a_name and any(name in asked.text for name in known.names):
        yield Part.HOLDS


def _names_another_segment(asked: Question, known: Knowledge) -> bool:
    """Whether the question names a segment, the user means one too, and none of its words is in that one's name."""
    both = ("scope", "segment") in asked.proposed and known.intended.values.get("scope") == {"segment"}
    return both and not any(known.intended.owns(word, known.default) for word, _ in asked.words)


def _says(text: str, word: str) -> bool:
    if word.isascii():
        return re.search(rf"(?<![a-z0-9]){re.escape(word)}(?![a-z0-9])", text) is not None
    return all(word[i : i + 2] in text for i in range(len(word) - 1))


def _part(holds: bool) -> Part:
    return Part.HOLDS if holds else Part.CONTRADICTED


def _clause_about(asked: Question, view: UserView) -> str | None:
    """The clauses of C about the categories that the question touches; None when C has none or they state a value."""
    touched = {mark.category for mark in asked.marks} | ({lexicon.TEMPORAL} if asked.years else set())
    clauses = (clause.strip(" .") for clause in _CLAUSE_END.split(view.context))
    said = [clause for clause in clauses if clause and touched & read_text(clause).categories]
    text = "; ".join(said) if view.language == "en" else "；".join(said)
    return text if text and not Question.of(text).names_value() else None
