"""A clarifying question taken apart: what it proposes, and what makes it more than a yes/no proposal."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from fiqkit.roles.language import lexicon
from fiqkit.roles.language.lexicon import ANY, BOTH, Mark
from fiqkit.roles.language.phrasing import cue
from fiqkit.roles.language.words import content_words
from fiqkit.values import Period, find_years, split_comparison
from fiqkit.values.sentences import sentence_ends


@dataclass(frozen=True, slots=True)
class Question:
    """A clarifying question in the lexicon's terms.

    Attributes:
        text: folded; illustrations ("for example 2023") are left out unless asked for: they propose nothing.
        marks: the lexicon's wordings.
        years, base_years: the years reported on and those compared against, each with whether it is ruled out.
        words: names and other words that the lexicon does not know, likewise.
        names: those of the words that are written as a name is (Latin ones by their capital or "'s"), folded.
        stretches: where the text rules out what it names, as [start, end).
    """

    text: str
    marks: tuple[Mark, ...]
    years: tuple[tuple[Period, bool], ...]
    base_years: tuple[tuple[Period, bool], ...]
    words: tuple[tuple[str, bool], ...]
    names: frozenset[str]
    stretches: tuple[tuple[int, int], ...]

    @classmethod
    @lru_cache(maxsize=4096)  # simulator and judge read the same question
    def of(cls, question: str, examples: bool = False) -> Question:
        """Take a question apart; its illustrations are left in when `examples` is set."""
        text = lexicon.fold(question)
        if not examples:
            text = cue("illustration").sub(" ", text)
        marks = lexicon.find_marks(text)
        found = find_years(text)
        stretches = lexicon.negations(text, marks)
        understood = [(item.start, item.end) for item in marks] + [year.span for year in found]
        understood += [match.span() for name in ("negation", "ruled_out") for match in cue(name).finditer(text)]

        def negated(start: int) -> bool:
            return any(begin <= start < end for begin, end in stretches)

        words = content_words(text, understood)
        main, base = split_comparison(text, [year for year in found if not negated(year.span[0])])
        return cls(
            text=text,
            marks=tuple(marks),
            years=tuple((year, negated(year.span[0])) for year in found if year in main or negated(year.span[0])),
            base_years=tuple((year, False) for year in base),
            words=tuple((word.text, negated(word.start)) for word in words),
            names=frozenset(word.text for word in words if _is_name(word.text, question)),
            stretches=tuple(stretches),
        )

    @property
    def proposed(self) -> set[tuple[str, str]]:
        """(dimension, value) of every wording that the question puts forward."""
        return {(mark.dimension, mark.value) for mark in self.marks if not mark.negated and mark.value != ANY}

    @property
    def is_open(self) -> bool:
        """Asks which or what, so that yes and no would say nothing ("regardless of when" asks nothing)."""
        void = [mark for mark in self.marks if mark.value == BOTH]
        asks = cue("open").finditer(self.text)
        return any(not any(mark.start < found.end() <= mark.end for mark in void) for found in asks)

    @property
    def is_about_facts(self) -> bool:
        """Asks what happened or what the figure is, not what the user meant."""
        return any(cue(name).search(self.text) for name in ("off_topic", "fact"))

    @property
    def subtracts(self) -> bool:
        """Takes a part out of a whole ("excluding Aerospace"), rather than holding the one against the other."""
        return cue("subtraction").search(self.text) is not None

    @property
    def requests_action(self) -> bool:
        """Asks to be allowed or helped to fetch something."""
        return any(cue(name).search(self.text) for name in ("retrieval", "offer"))

    @property
    def offers_alternatives(self) -> bool:
        """Leaves a choice ("GAAP or non-GAAP", "2022 or 2023", 还是): yes would not say which.

        An "or" inside a wording of the lexicon or in what the question rules out leaves none, nor does "or not".
        """
        settled = [*self.stretches, *((mark.start, mark.end) for mark in self.marks)]
        open_ones = (
            choice
            for choice in cue("either").finditer(self.text)
            if not any(start <= choice.start() < end for start, end in settled)
            and not cue("or_not").match(self.text, choice.start())
        )
        return next(open_ones, None) is not None or bool(self.alternatives())

    @property
    def denies(self) -> bool:
        """Whether all it says is what is not meant ("you don't want a segment, do you?"): yes may agree or contradict.

        A question that asks for the statement to be confirmed ("…, correct?") can be answered.
        """
        proposes = any(not mark.negated and mark.value != ANY for mark in self.marks)
        proposes = proposes or any(not negated for _, negated in (*self.years, *self.words))
        return not proposes and cue("denial").search(self.text) is not None and not cue("tag").search(self.text)

    @property
    def confirms_a_name(self) -> bool:
        """Whether all it can propose is a name ("Do you mean Workday, Inc.?")."""
        proposes = self.years or any(mark.value != ANY for mark in self.marks)
        return not proposes and cue("naming").search(self.text) is not None

    def alternatives(self) -> set[str]:
        """The categories in which neighbouring proposals differ and stand on either side of an "or"."""
        stated = [mark for mark in self.marks if not mark.negated and mark.value != ANY]
        found = {
            a.category
            for a, b in pairwise(stated)
            if a.category == b.category and not _same(a, b) and self._divided(a, b)
        }
        years = [year for year, negated in self.years if not negated]
        differ = any(not a.agrees(b) for a, b in pairwise(years))
        return found | {lexicon.TEMPORAL} if differ else found

    def _divided(self, a: Mark, b: Mark) -> bool:
        cues = ("either", "versus") if a.dimension == b.dimension else ("either",)
        return any(cue(name).search(self.text, a.end, b.start) for name in cues)

    def names_value(self, known: str = "") -> bool:
        """Whether it proposes an amount; a number that the view itself uses (a security's name) is none."""
        return any(match.group().strip() not in known for match in cue("value").finditer(self.text))


def focus(question: str) -> str:
    """The sentences of a question that ask, without what leads up to them ("The company has two segments. Do you …?").

    All of it where no sentence asks, or where those that do propose nothing ("…. Is that right?").
    """
    bounds = [0, *sentence_ends(question), len(question)]
    sentences = [question[start:end] for start, end in pairwise(bounds)]
    asking = "".join(s for s in sentences if re.search(r"[?？]\s*$", s) or cue("open").search(lexicon.fold(s)))
    if not asking or len(asking.strip()) == len(question.strip()):
        return question
    asked = Question.of(asking)
    proposes = asked.years or any(mark.value != ANY for mark in asked.marks) or asked.names
    return asking if proposes and not cue("points_back").search(asked.text) else question


def _is_name(word: str, question: str) -> bool:
    """Whether a folded word stands in the question with a capital or an "'s"; Chinese shows neither, so any does."""
    if not word.isascii():
        return True
    written = re.search(rf"(?<![A-Za-z0-9]){re.escape(word)}(?P<own>['’]s)?", question, re.IGNORECASE)
    return written is not None and (written.group()[:2] != written.group()[:2].lower() or written["own"] is not None)


def _same(a: Mark, b: Mark) -> bool:
    return (a.dimension, a.value) == (b.dimension, b.value) or a.end > b.start
