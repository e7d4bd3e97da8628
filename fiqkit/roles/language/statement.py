"""An interpretation in the lexicon's terms: which value it states for each dimension, its years, its own words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

from fiqkit.records import Interpretation
from fiqkit.roles.language import lexicon
from fiqkit.roles.language.lexicon import ANY, BOTH
from fiqkit.roles.language.words import content_words
from fiqkit.taxonomy import FIELDS
from fiqkit.values import Period, find_years, split_comparison

# Within a reading, a value on the left settles the dimension whatever weaker wording stands beside it: "年报披露口径
# （扣非）" is 扣非, and the annual period of a year-over-year change is the current one.
_DOMINANT = {
    "adjustment": ("adjusted", "organic", "constant_currency", "comparable", "acquired"),
    "timing": (BOTH,),
    "span": ("quarter", "half", "ytd", "ttm", "month"),
    "recency": ("latest",),
    "attribution": ("parent",),
    "scope": ("consolidated",),
}


@dataclass(frozen=True)
class Reading:
    """What a text states.

    Attributes:
        values: the values stated, by dimension; several where the text names several.
        excluded: the values ruled out, by dimension.
        years, base_years: the years reported on, and those compared against.
        text: the folded text.
    """

    values: dict[str, frozenset[str]] = field(default_factory=dict)
    excluded: dict[str, frozenset[str]] = field(default_factory=dict)
    years: tuple[Period, ...] = ()
    base_years: tuple[Period, ...] = ()
    text: str = ""

    @cached_property
    def words(self) -> frozenset[str]:
        """Content words outside the lexicon."""
        understood = [(mark.start, mark.end) for mark in lexicon.find_marks(self.text)]
        return frozenset(word.text for word in content_words(self.text, understood))

    def denies(self, word: str) -> bool:
        """Whether the text has the word only in what it rules out ("without deferred taxes")."""
        stretches = lexicon.negations(self.text, lexicon.find_marks(self.text))
        at = [found.start() for found in re.finditer(re.escape(word), self.text)]
        return bool(at) and all(any(start <= i < end for start, end in stretches) for i in at)

    @property
    def categories(self) -> set[str]:
        """The ambiguity categories that the text speaks of."""
        named = {lexicon.categories()[dimension] for dimension in (*self.values, *self.excluded)}
        return named | ({lexicon.TEMPORAL} if self.years else set())

    def owns(self, word: str, other: Reading) -> bool:
        """Whether this reading has the word and the other has not."""
        if word.isascii():
            return word in self.words and word not in other.words
        return word in self.text and word not in other.text


@lru_cache(maxsize=4096)
def read_text(text: str) -> Reading:
    """What a free text states, C for example."""
    folded = lexicon.fold(text)
    marks = [mark for mark in lexicon.find_marks(folded) if mark.value != ANY]
    stretches = lexicon.negations(folded, marks)
    years = [y for y in find_years(folded) if not any(start <= y.span[0] < end for start, end in stretches)]
    main, base = split_comparison(folded, years)
    values = _collect((m.dimension, m.value) for m in marks if not m.negated)
    return Reading(
        values={dimension: _settled(dimension, stated) for dimension, stated in values.items()},
        excluded=_collect((m.dimension, m.value) for m in marks if m.negated),
        years=tuple(main),
        base_years=tuple(base),
        text=folded,
    )


_PART_ONLY = re.compile(r"(?<![a-z])(?:only|subset)(?![a-z])|仅")


def read_interpretation(interpretation: Interpretation, question: str) -> Reading:
    """What an interpretation states, its conventions spelled out.

    An entity that is the bare company is the whole company; EBITDA is no measure of an accounting standard; a year
    alone is the full fiscal year, and the calendar year too where it ends in December or names no other end.
    """
    fields = {name: getattr(interpretation, name) for name in FIELDS if getattr(interpretation, name)}
    reading = read_text("; ".join(fields.values()))
    values = dict(reading.values)
    entity = read_text(fields.get("entity", ""))
    if entity.text and not entity.categories:
        part = _PART_ONLY.search(entity.text) or not entity.words & read_text(question).words
        values["scope"] = frozenset({"segment" if part else "consolidated"})
    if reading.years:
        values.setdefault("span", frozenset({"year"}))
    if "ebitda" in values.get("measure", ()):
        values.setdefault("adjustment", frozenset({"adjusted"}))
    if values.get("span") == {"year"}:
        values["calendar"] = values.get("calendar", frozenset()) | _calendars(reading)
    excluded = dict(reading.excluded)
    if "attribution" in values and "scope" not in values:  # what is split among shareholders is consolidated
        excluded["scope"] = excluded.get("scope", frozenset()) | {"parent_only"}
    return Reading(values, excluded, reading.years, reading.base_years, reading.text)


def complete(intended: Reading, default: Reading) -> Reading:
    """The intended reading with what follows from how it differs from the default one.

    Readings differ somewhere. Where the default has a component (restricted cash), the intended says nothing of it and
    nothing else differs, the intended has it not; beside "attributable to the parent", "consolidated" is all owners'.
    A calendar year beside a fiscal one is no fiscal year, although either may be called both.
    """
    values = dict(intended.values)
    differ = {d for d in values.keys() & default.values.keys() if not values[d] & default.values[d]}
    for dimension, (within, without) in lexicon.components().items():
        stated = default.values.get(dimension, frozenset())
        whole = dimension == "attribution" and values.get("scope") == {"consolidated"}
        if dimension not in values and (not differ or whole) and stated in ({within}, {without}):
            values[dimension] = frozenset({without if stated == {within} else within})
    calendars = [{v for v in ("fiscal", "calendar") if v in reading.text} for reading in (intended, default)]
    if calendars == [{"calendar"}, {"fiscal"}]:
        values["calendar"] = frozenset({"calendar"})
    return replace(intended, values=values)


def _calendars(reading: Reading) -> frozenset[str]:
    ends = {year.closes[1] for year in reading.years if year.closes}
    by_calendar = ends <= {12} and not (not ends and "fiscal" in reading.text)
    return frozenset({"fiscal", "calendar"} if by_calendar else {"fiscal"})


def _collect(pairs: Iterable[tuple[str, str]]) -> dict[str, frozenset[str]]:
    collected: dict[str, set[str]] = {}
    for dimension, value in pairs:
        collected.setdefault(dimension, set()).add(value)
    return {dimension: frozenset(values) for dimension, values in collected.items()}


def _settled(dimension: str, stated: frozenset[str]) -> frozenset[str]:
    if dimension == "timing" and stated >= {"point", "over"}:
        return frozenset({BOTH})
    strong = stated & frozenset(_DOMINANT.get(dimension, ()))
    return strong or stated
