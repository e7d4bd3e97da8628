"""Passages that no question is asked of: the same companies' other lines, and other companies' reports.

They are written as the orbits' own passages are. A company that is asked about keeps to its one period, and none of its
passages prints a topic that a question asks for; other companies may have several periods.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fiqkit.construct import wording
from fiqkit.construct.facts import FIGURES, family, line, passage_unit, source_name
from fiqkit.construct.holdings import Company
from fiqkit.construct.miners.setting import Setting, comparatives, leading, ratios, settings
from fiqkit.construct.orbits import Orbit, Row
from fiqkit.construct.topics import lines, topics
from fiqkit.records import Passage

_REPORTS = 3  # reports of a company that is not asked about


def statements(company: Company, orbits: Sequence[Orbit]) -> Iterator[Passage]:
    """A company's passages beside those of its orbits: results and position of each report, where they fill one."""
    asked = {topics()[orbit.topic].family for orbit in orbits}
    ends = {orbit.source.end for orbit in orbits}
    seen: set[str] = set()
    for setting in reversed(list(settings(company))):
        if (ends and setting.end not in ends) or setting.end in seen or len(seen) == _REPORTS:
            continue
        made = [passage for name, rows in _groups(setting, asked) for passage in _passages(setting, name, rows)]
        if made:
            seen.add(setting.end)
            yield from made


def _groups(setting: Setting, asked: set[str]) -> Iterator[tuple[str, list[Row]]]:
    """Results and position, or, in Chinese, where one table has both, all lines together."""
    groups: dict[str, list[Row]] = {"results": [], "position": []}
    for name, topic in topics().items():
        found = leading(setting, name) if topic.family not in asked else None
        if found:
            instant = setting.language == "en" and setting.span_of(found[0]) == setting.instant
            row = Row(lines()[found[0]].caption, found[1].quantity(), name)
            groups["position" if instant else "results"].append(row)
    others = (*comparatives(setting, "assets"), *ratios(setting, "assets"))
    groups["results"] += [row for row in others if family(row) not in asked]
    yield from groups.items()


def _passages(setting: Setting, name: str, rows: list[Row]) -> Iterator[Passage]:
    """A group in passages of equal length, none below the least number of figures."""
    least = FIGURES[setting.language]
    parts = min(len(rows) // least, 3)
    for part in range(parts):
        yield _passage(setting, f"{name}-{part + 1}", rows[part * len(rows) // parts : (part + 1) * len(rows) // parts])


def _passage(setting: Setting, name: str, rows: list[Row]) -> Passage:
    language, company, report = setting.language, setting.company, setting.report
    unit = passage_unit(rows, company.entity, language)
    period = setting.shown(setting.period(setting.instant if name.startswith("position") else None))
    start = wording.head(
        language=language,
        company=company.name,
        ticker=company.ticker,
        form=report.form,
        period=period,
        filed=report.filed,
        unit=unit,
    )
    return Passage(
        passage_id=f"{company.entity}-{setting.end}-{name}",
        text="\n".join([start, *(line(row, language, unit) for row in rows)]),
        company=company.name,
        ticker=company.ticker,
        form=report.form,
        filed=report.filed,
        period=setting.end,
        language=language,
        source=source_name(report.source, report.accession),
    )
