"""Constructor `facts`: an orbit to its instances and passage, by rule; one orbit and seed give the same texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from math import log2
from typing import Any

from fiqkit.construct import wording
from fiqkit.construct.orbits import Orbit, Row
from fiqkit.construct.prescan import prescan
from fiqkit.construct.topics import MONEY, topics
from fiqkit.records import Instance, Passage
from fiqkit.taxonomy import CATEGORIES, FIELDS

FIGURES = {"en": 8, "zh": 6}  # a passage holds at least so many
_MOST = 12
CANARY = "fiqkit-benchmark canary 6f0d0c1e-5b1e-4b7f-9d53-1a0f7c2b8e44: keep out of training corpora"


def render(orbit: Orbit, seed: int, asked: Iterable[str] = ()) -> tuple[list[Instance], Passage] | None:
    """The siblings of an orbit and their passage; None when too few lines are left for a passage.

    Args:
        asked: other topics that are asked of the company, whose families this passage must not print.
    """
    language = orbit.source.language
    away = {topics()[name].family for name in asked} | {topics()[orbit.topic].family}
    around = [row for row in orbit.around if family(row) not in away]
    rng = wording.draw(orbit, seed, "lines")
    wanted = _MOST - len(orbit.alternatives)
    if len(around) > wanted:
        keep = set(rng.sample(range(len(around)), wanted))
        around = [row for place, row in enumerate(around) if place in keep]
    rows = [alternative.row for alternative in orbit.alternatives]
    rng.shuffle(rows)
    place = rng.randint(0, len(around))
    rows = [*around[:place], *rows, *around[place:]]
    if len(rows) < FIGURES[language] or len({row.caption for row in rows}) < len(rows):
        return None
    unit = passage_unit(rows, orbit.source.code, language)
    spans = {row.caption: line(row, language, unit) for row in rows}
    passage = _passage(orbit, spans.values(), unit)
    return [_sibling(orbit, n, seed, spans, unit, passage) for n in range(len(orbit.alternatives))], passage


def line(row: Row, language: str, unit: str) -> str:
    """A line of a passage."""
    return f"{row.caption} | {wording.value(row.quantity, language, unit)}"


def passage_unit(rows: Sequence[Row], code: str, language: str) -> str:
    """The unit in which a Chinese passage writes its amounts; nothing in English, where each amount carries its own."""
    if language == "en":
        return ""
    return wording.unit_of([row.quantity.value for row in rows if row.quantity.kind == MONEY], code)


def family(row: Row) -> str:
    """The family of a line's topic; a line that no question asks for is its own."""
    topic = topics().get(row.topic)
    return topic.family if topic else row.topic


def _passage(orbit: Orbit, lines: Iterable[str], unit: str) -> Passage:
    source = orbit.source
    start = wording.head(
        language=source.language,
        company=source.company,
        ticker=source.ticker,
        form=source.form,
        period=source.period,
        filed=source.filed,
        unit=unit,
    )
    return Passage(
        passage_id=orbit.key,
        text="\n".join([start, *lines]),
        company=source.company,
        ticker=source.ticker,
        form=source.form,
        filed=source.filed,
        period=source.end,
        language=source.language,
        source=source_name(source.kind, source.accession),
    )


def source_name(kind: str, accession: str | None) -> str:
    """Where a passage's facts come from: the kind of file, and the filing's accession number where there is one."""
    return f"{kind}:{accession}" if accession else kind


def default_of(orbit: Orbit, intended: int) -> int:
    """The headline; where it is itself intended, the most salient other reading."""
    return 0 if intended else 1


def categories(orbit: Orbit, intended: int) -> tuple[str, ...]:
    """First the category that separates a reading from its default, then those of other readings of the orbit."""
    ours = orbit.alternatives[intended].interpretation
    apart = ours.differs_from(orbit.alternatives[default_of(orbit, intended)].interpretation)
    by_field = {category.field: category.name for category in CATEGORIES.values()}
    mine = [by_field[name] for name in apart]
    mine.sort(key=lambda name: name != orbit.category)
    others = {name for a in orbit.alternatives for name in ours.differs_from(a.interpretation)}
    return tuple(dict.fromkeys([*mine, *(by_field[name] for name in FIELDS if name in others)]))


def _sibling(orbit: Orbit, intended: int, seed: int, spans: dict[str, str], unit: str, passage: Passage) -> Instance:
    source, default = orbit.source, default_of(orbit, intended)
    ours, other = orbit.alternatives[intended], orbit.alternatives[default]
    language = source.language
    return Instance(
        instance_id=f"{orbit.key}-{intended + 1}",
        question=wording.question(orbit, seed),
        context=wording.constraint(orbit, intended, seed),
        answer=wording.alternative_text(ours, language, unit),
        default_answer=wording.alternative_text(other, language, unit),
        intended_interpretation=ours.interpretation,
        default_interpretation=other.interpretation,
        categories=categories(orbit, intended),
        h0=round(log2(len(orbit.alternatives)), 4),
        language=language,
        passage_id=passage.passage_id,
        intended_evidence_span=spans[ours.row.caption],
        default_evidence_span=spans[other.row.caption],
        company=source.company,
        ticker=source.ticker,
        source=passage.source,
        filing_type=source.form,
        filing_date=source.filed,
        orbit=orbit.key,
        headline_intended=intended == 0,
        extra={
            "company_code": source.code,
            "topic": orbit.topic,
            "readings": [_reading(orbit, n, spans, unit) for n in range(len(orbit.alternatives))],
            "certificate": _certificate(orbit, intended),
            "prescan": _scanned(orbit),
            "canary": CANARY,
        },
    )


def _reading(orbit: Orbit, place: int, spans: dict[str, str], unit: str) -> dict[str, Any]:
    alternative = orbit.alternatives[place]
    fields = {name: text for name, text in asdict(alternative.interpretation).items() if text}
    return {
        "interpretation": fields,
        "value": wording.alternative_text(alternative, orbit.source.language, unit),
        "span": spans[alternative.row.caption],
    }


def _scanned(orbit: Orbit) -> dict[str, float]:
    """Candidate categories of the passage's readings, each with its salience (primary ÷ any)."""
    source = orbit.source
    return prescan([a.row for a in orbit.alternatives], source.kind, source.language).categories


def _certificate(orbit: Orbit, intended: int) -> dict[str, Any]:
    """How each reading's value follows from facts of a store; `fiqkit verify` recomputes it."""
    return {
        "miner": orbit.miner,
        "intended": intended,
        "readings": [
            {
                "operation": a.row.quantity.proof.operation,
                "facts": list(a.row.quantity.proof.facts),
                "value": a.row.quantity.value,
            }
            for a in orbit.alternatives
        ],
    }
