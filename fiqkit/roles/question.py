"""A clarifying question taken apart: what it proposes, and what makes it more than a yes/no proposal."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from fiqkit.roles import lexicon
from fiqkit.roles.lexicon import ANY, Mark
from fiqkit.roles.words import content_words
from fiqkit.roles.years import Year, find_years, split_comparison

_ILLUSTRATION = re.compile(
    r"\((?:e\.?g\.?|i\.?e\.? any|for example|for instance|such as|like|例如|如|比如|譬如)[^)]{0,200}\)?"
    r"|,? ?(?<![a-z])(?:e\.g\.|for example|for instance|such as|例如|比如|譬如)[^?;.()。]{0,200}"
)
_OPEN = re.compile(
    r"(?:^|[.?!;:,(] ?|(?<![a-z])(?:for|of|in|to|by|at|from|over|know|specify|clarify|tell me|confirm|and|say) )"
    r"(?:which|what|whose|when|where|how|who|why)(?![a-z])(?! you mean)"
    r"|(?<![a-z])(?:could|can|would|will|please)(?: you)?(?: please)? (?:specify|clarify|provide|tell|elaborate|explain|state|indicate|name)(?![a-z])"
    r"|(?<![a-z])(?:do|did) you (?:have|know)(?![a-z])|(?<![a-z])in mind(?![a-z])"
    r"|哪|什么|何时|多少|几(?=[个年季月])|谁|怎[么样]|请(?:您)?(?:具体)?(?:说明|指定|提供|告知)|能否(?:具体)?(?:说明|提供|告知|告诉)|(?:可以|能|可否)(?:明确|具体)?(?:告诉|告知)|是否有(?!误)"
)
_OR = re.compile(r"(?<![a-z])(?:or|vs?\.?|versus)(?![a-z])|还是|或者?|(?<=[一-鿿])/(?=[一-鿿])|(?<=[a-z])/(?=[a-z])")
_RETRIEVAL = re.compile(
    r"(?<![a-z])(?:look(?:ing)? (?:it |that |this )?up|search(?:es|ing)?|fetch(?:ing)?|retriev(?:e|ing)|access|browse|download|cite|estimate|approximat\w{0,5}|instructions)(?![a-z])"
    r"|检索|搜索|搜寻|访问|抓取|联网|在线|估算|近似|下载"
)
_VALUE = re.compile(
    r"(?:[$€£¥]|(?<![a-z])(?:usd?|rmb|cny|eur|hk\$)|人民币) ?-?\d[\d,.]*"
    r"|(?<![\w.])-?\d[\d,.]* ?(?:%|percent|per cent|million|billion|trillion|thousand|bn|mn|bps|basis points|亿|万|千元|百万|元)"
    r"|(?<![\w.])-?\d{1,3}(?:,\d{3})+(?:\.\d+)?|(?<![\w.])-?\d+\.\d+(?![\d.])"
)
_MEANS = re.compile(
    r"(?<![a-z])(?:mean|meant|refer(?:ring)? to|asking about|ask about|confirm|is (?:this|it|that))(?![a-z])|指|说的|问的|确认"
)


@dataclass(frozen=True, slots=True)
class Question:
    """A clarifying question in the lexicon's terms.

    Attributes:
        text: folded, illustrations ("for example 2023") left out: they propose nothing.
        marks: the lexicon's wordings; years: the years reported on; base_years: those compared against; words: names
            and other words that the lexicon does not know. Each but marks comes with whether the question rules it out.
    """

    text: str
    marks: tuple[Mark, ...]
    years: tuple[tuple[Year, bool], ...]
    base_years: tuple[tuple[Year, bool], ...]
    words: tuple[tuple[str, bool], ...]

    @classmethod
    def of(cls, question: str) -> Question:
        """Take a question apart."""
        text = _ILLUSTRATION.sub(" ", lexicon.fold(question))
        marks = lexicon.find_marks(text)
        found = find_years(text)
        stretches = lexicon.negations(text, marks)
        understood = [(item.start, item.end) for item in (*marks, *found)]

        def negated(start: int) -> bool:
            return any(begin <= start < end for begin, end in stretches)

        main, base = split_comparison(text, [year for year in found if not negated(year.start)])
        return cls(
            text=text,
            marks=tuple(marks),
            years=tuple((year, negated(year.start)) for year in found if year in main or negated(year.start)),
            base_years=tuple((year, False) for year in base),
            words=tuple((word.text, negated(word.start)) for word in content_words(text, understood)),
        )

    @property
    def is_open(self) -> bool:
        """Asks which or what, so that yes and no would say nothing."""
        return _OPEN.search(self.text) is not None

    @property
    def requests_action(self) -> bool:
        """Asks to be allowed or helped to fetch something."""
        return _RETRIEVAL.search(self.text) is not None

    @property
    def offers_alternatives(self) -> bool:
        """Leaves a choice between values that exclude one another ("GAAP or non-GAAP", "2022 or 2023", 还是)."""
        if "还是" in self.text:
            return True
        return any(True for _ in self.alternatives())

    def alternatives(self) -> list[tuple[str, str]]:
        """(category, category) of neighbouring proposals that stand on either side of an "or" and differ."""
        stated = [mark for mark in self.marks if not mark.negated and mark.value != ANY]
        found = [
            (a.category, b.category)
            for a, b in pairwise(stated)
            if a.category == b.category and not _compatible(a, b) and _OR.search(self.text, a.end, b.start)
        ]
        years = [year for year, negated in self.years if not negated]
        differing = [1 for a, b in pairwise(years) if not a.agrees(b)]
        return found + [(lexicon.TEMPORAL, lexicon.TEMPORAL)] * bool(differing)

    def names_value(self, known: str) -> bool:
        """Whether it proposes an amount; a number that the view itself uses (a security's name) is none."""
        return any(match.group().strip() not in known for match in _VALUE.finditer(self.text))

    @property
    def confirms_a_name(self) -> bool:
        """Whether all it can propose is a name ("Do you mean Workday, Inc.?")."""
        proposes = self.years or any(mark.value != ANY for mark in self.marks)
        return not proposes and _MEANS.search(self.text) is not None


def _compatible(a: Mark, b: Mark) -> bool:
    return (a.dimension, a.value) == (b.dimension, b.value) or a.end > b.start
