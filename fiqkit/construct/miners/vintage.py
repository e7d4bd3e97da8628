"""Filing vintage: which version of a figure is meant, the one reported before or the one that a later filing puts in
its place. Whether the earlier one was the very first no store can tell: filings may be lacking, and a balance sheet has
the year before beside its own.

Readings come from two filings of one company that state the same concept for the same period, or from a table that has
both (调整前 / 调整后, 业绩快报 / 年报). What differs for other reasons is no restatement and is left out: share splits
and figures per share, changed scale or sign, figures that revert, tags that were redefined (the later figure is what
the first filing reported under another name), and changes beyond any restatement.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from fiqkit.construct.holdings import Company, Figure, Report, Span, months
from fiqkit.construct.miners.chinese import shows_the_group
from fiqkit.construct.miners.setting import (
    PARENT,
    Setting,
    around,
    leading,
    orbit,
    period_words,
    ratios,
    reading,
    spoken,
)
from fiqkit.construct.orbits import Alternative, Orbit, Row, apart
from fiqkit.construct.topics import MONEY, lines, topics

_NAME = "filing_vintage"
_OWN = 5  # lines that a later quarterly report must itself state of the period
_MOST = 0.75  # a larger change, relative to the first figure, is a mistake or another company


def mine(company: Company) -> Iterator[Orbit]:
    """Orbits over the version that is meant."""
    if company.language == "zh":
        yield from _express(company)
        yield from _tables(company)
        return
    for (first, later), spans in sorted(_revised(company).items()):
        yield from _revisions(company, company.reports[first], company.reports[later], spans)


def _revised(company: Company) -> dict[tuple[int, int], dict[Span, dict[str, tuple[Figure, Figure]]]]:
    """(place of the first report, of the revising one) → span → concept → its two versions."""
    found: dict[tuple[int, int], dict[Span, dict[str, tuple[Figure, Figure]]]] = {}
    for concept, line in lines().items():
        topic = topics()[line.topic]
        if topic.kind != MONEY:
            continue
        versions: dict[Span, list[tuple[int, Figure]]] = {}
        for place, report in enumerate(company.reports):
            for span in report.whole.get(concept, {}):
                if figure := report.figure(concept, span):
                    versions.setdefault(span, []).append((place, figure))
        for span, stated in versions.items():
            pair = revision(stated)
            if not pair:
                continue
            (first, before), (later, after) = pair
            reports = company.reports[first], company.reports[later]
            if redefined(reports[0], reports[1], concept, span, before, after):
                continue
            found.setdefault((first, later), {}).setdefault(span, {})[concept] = (before, after)
    return found


def revision(stated: Sequence[tuple[int, Figure]]) -> tuple[tuple[int, Figure], tuple[int, Figure]] | None:
    """The first version and the one that replaced it; None where there is none, more than one, or one that reverts."""
    first = stated[0]
    changed = [item for item in stated if not _same(item[1].value, first[1].value)]
    if not changed or any(not _same(item[1].value, changed[0][1].value) for item in changed):
        return None
    # Whoever reports the first figure again after the change takes the change back.
    if any(item[0] > changed[0][0] and _same(item[1].value, first[1].value) for item in stated):
        return None
    before, after = first[1].value, changed[0][1].value
    if before <= 0 or after <= 0 or not apart(before, after, MONEY) or abs(after - before) > _MOST * before:
        return None
    return first, changed[0]


def _same(one: float, other: float) -> bool:
    """Equal, or a rounding of one another to three digits."""
    return abs(one - other) <= 0.005 * max(abs(one), abs(other))


def redefined(first: Report, later: Report, concept: str, span: Span, before: Figure, after: Figure) -> bool:
    """Whether the tag changed its meaning: the later figure stood in the first filing, or the first stands in the later
    one, under another name; or a balance is apart from its first by one that either filing names."""
    gap = abs(after.value - before.value)
    for report, value in ((first, after.value), (later, before.value)):
        for other, spans in report.whole.items():
            figure = spans.get(span)
            if figure is None or other == concept:
                continue
            moved = span[0] is None and abs(abs(figure.value) - gap) <= 0.001 * gap
            if moved or _same(figure.value, value):
                return True
    return False


def _revisions(
    company: Company, first: Report, later: Report, spans: dict[Span, dict[str, tuple[Figure, Figure]]]
) -> Iterator[Orbit]:
    if not first.filed or not later.filed or first.filed >= later.filed:
        return
    for span, revised in spans.items():
        flow = span if span[0] else _flow_to(first, span[1])
        setting = Setting(company, later, span[1], flow, (None, span[1]))
        rows, own = _lines_of(setting, first)
        if own < _OWN and (later.form or "").startswith("10-Q"):
            continue  # next to nothing of a year ago's balance sheet or flows is in it
        seen = set()
        for concept, pair in revised.items():
            topic = lines()[concept].topic
            if topic in seen or not topics()[topic].words["en"]:
                continue
            seen.add(topic)
            family = topics()[topic].family
            made = orbit(
                f"{_NAME}/revised",
                topic,
                setting,
                _versions(setting, concept, topic, pair, (first, later)),
                other=[row for row in rows if topics()[row.topic].family != family],
            )
            if made:
                yield replace(made, source=replace(made.source, form=f"{first.form} and {later.form}"))


def _versions(
    setting: Setting, concept: str, topic: str, pair: tuple[Figure, Figure], reports: tuple[Report, Report]
) -> list[Alternative]:
    """The later version leads: it is what the filing at hand and every data vendor show."""
    said = (
        (
            "before revision, as in Form {form}, {filed}",
            "as reported before the revision",
            "the figure as reported before it was revised",
        ),
        ("as revised in Form {form}, {filed}", "as restated later", "the figure as it was revised later"),
    )
    found = [
        reading(
            setting,
            f"{lines()[concept].caption}, {caption.format(form=report.form, filed=spoken(report.filed or ''))}",
            figure.quantity(),
            topic,
            constraint,
            vintage=vintage,
        )
        for figure, report, (caption, vintage, constraint) in zip(pair, reports, said, strict=True)
    ]
    return found[::-1]


def _lines_of(setting: Setting, first: Report) -> tuple[list[Row], int]:
    """One line a topic for the setting's period, from its own filing and, where it has none, from the first; and how
    many are its own. What a later filing states otherwise is none: its passage would print one version of two."""
    own = {name: found for name in topics() if (found := leading(setting, name))}
    earlier = replace(setting, report=first)
    firsts = {name: found for name in topics() if name not in own and (found := leading(earlier, name))}
    kept = {name: found for name, found in firsts.items() if not _restated_later(earlier, *found)}
    every = [(name, *found) for name in topics() if (found := own.get(name) or kept.get(name))]
    return [Row(lines()[concept].caption, figure.quantity(), name) for name, concept, figure in every], len(own)


def _restated_later(setting: Setting, concept: str, figure: Figure) -> bool:
    """Whether any report after the setting's states the figure otherwise."""
    reports, span = setting.company.reports, setting.span_of(concept)
    after = reports[reports.index(setting.report) + 1 :]
    return any((other := r.figure(concept, span)) and not _same(other.value, figure.value) for r in after)


def _flow_to(report: Report, end: str) -> Span | None:
    spans = report.spans(end)
    return next((spans[length] for length in (12, 3, 6, 9) if length in spans), None)


# --- Chinese --------------------------------------------------------------------------------------------------------

_ZH = {  # 扣非净利润 is none: asked for as 净利润 it would be what nobody means at first
    "营业总收入": "revenue",
    "营业收入": "revenue",
    "归母净利润": "profit",
    "经营活动现金流净额": "operating cash flow",
    "归母净资产": "equity",
    "总资产": "assets",
    "资产总额": "assets",
}
_SAID = {  # concept → how it is printed, where that is not its name
    "归母净利润": "归属于母公司股东的净利润",
    "经营活动现金流净额": "经营活动产生的现金流量净额",
    "归母净资产": "归属于母公司股东的净资产",
}
_PARENTS = ("归母净利润", "归母净资产")


class _Version(NamedTuple):
    """One of two versions: what stands behind a line's name, the interpretation's field, and what a user says."""

    caption: str
    vintage: str
    constraint: str


def _express(company: Company) -> Iterator[Orbit]:
    """业绩快报 beside the report that followed it."""
    express = [r for r in company.reports if r.form == "业绩快报" and r.filed]
    final = [r for r in company.reports if r.form in ("年报", "半年报") and r.filed]
    for early in express:
        for late in (r for r in final if (r.filed or "") > (early.filed or "")):
            versions = (
                _Version("业绩快报", "业绩快报，首次披露", "业绩快报里的数据"),
                _Version(f"正式{late.form}", f"正式{late.form}", f"正式{late.form}里的数据"),
            )
            for concept, topic in _ZH.items():
                for span, before in early.whole.get(concept, {}).items():
                    after = late.figure(concept, span)
                    if not after:
                        continue
                    setting = Setting(company, late, span[1], span if span[0] else None, None)
                    if topic != "profit" or not any(shows_the_group(table) for table in _beside(setting)):
                        yield from _pair(
                            setting,
                            concept,
                            (before, after),
                            versions,
                            [_marked(row, f"正式{late.form}") for row in _lines_beside(setting, topic)],
                            f"业绩快报与{late.form}",
                            dated=False,
                        )


def _beside(setting: Setting) -> list[Setting]:
    """The same period in every table that states it, but for the express report."""
    return [replace(setting, report=report) for report in setting.company.reports if report.form != "业绩快报"]


def _lines_beside(setting: Setting, topic: str) -> list[Row]:
    rows: dict[str, Row] = {}
    for table in _beside(setting):
        for row in (*around(table, topic), *ratios(table, topic)):
            rows.setdefault(row.caption, row)
    return list(rows.values())


def _marked(row: Row, report: str) -> Row:
    """A line that only one of the two reports states, captioned by it."""
    caption = f"{row.caption[:-1]}，{report}）" if row.caption.endswith("）") else f"{row.caption}（{report}）"
    return replace(row, caption=caption)


def _tables(company: Company) -> Iterator[Orbit]:
    """调整前 beside 调整后, from the report of a later year.

    A figure before adjustment that an earlier report had put in another's place is no first version, and left out.
    """
    for report in company.reports:
        restated = _restated(report)
        for (concept, axis, member), spans in report.parts.items():
            if axis != "vintage" or "调整前" not in member or concept not in _ZH:
                continue
            revised = report.parts.get((concept, axis, member.replace("调整前", "调整后")), {})
            name = _disclosed_in(member)
            for span, before in spans.items():
                after = revised.get(span)
                if not after or (concept, span, before.value) in restated:
                    continue
                setting = Setting(company, report, span[1], span if span[0] else None, None if span[0] else span)
                rows = _around_table(setting, _ZH[concept], name)
                yield from _pair(setting, concept, (before, after), _adjusted(name, span[1]), rows, name or report.form)


def _disclosed_in(member: str) -> str:
    """The report that has a table, "2012年年报"; nothing where the table does not say."""
    return "".join(part for part in member.split("|") if "调整" not in part)


def _restated(report: Report) -> set[tuple[str, Span, float]]:
    """Every figure after adjustment: (concept, span, value)."""
    return {
        (concept, span, figure.value)
        for (concept, axis, member), spans in report.parts.items()
        if axis == "vintage" and "调整后" in member
        for span, figure in spans.items()
    }


def _adjusted(name: str, end: str) -> tuple[_Version, _Version]:
    """Both versions of a table; only the report of the next year is sure to adjust what was first disclosed."""
    before = "首次披露" if name.startswith(f"{int(end[:4]) + 1}年") else "重述前"
    of = f"{name}里" if name else ""
    return (
        _Version("调整前", f"{before}（{name}调整前）", f"{of}调整前的数据"),
        _Version("调整后", f"重述后（{name}调整后）", f"{of}调整后的数据"),
    )


def _pair(
    setting: Setting,
    concept: str,
    figures: tuple[Figure, Figure],
    versions: tuple[_Version, _Version],
    rows: list[Row],
    form: str | None,
    *,
    dated: bool = True,
) -> Iterator[Orbit]:
    """Both versions of a figure; the passage is headed by the report, or the two of them, that print both.

    Two reports have no one date of disclosure.
    """
    topic = _ZH[concept]
    if min(figure.value for figure in figures) <= 0:
        return
    entity = {"entity": PARENT["zh"]} if concept in _PARENTS else {}
    alternatives = [
        reading(
            setting,
            f"{_SAID.get(concept, concept)}（{version.caption}）",
            figure.quantity(),
            topic,
            version.constraint,
            vintage=version.vintage,
            **entity,
        )
        for figure, version in zip(figures, versions, strict=True)
    ]
    period = period_words((f"{setting.end[:4]}-01-01", setting.end), "zh")
    made = orbit(f"{_NAME}/revised", topic, setting, alternatives[::-1], other=rows, period=f"{period}数据")
    if made:
        filed = made.source.filed if dated else None
        yield replace(made, source=replace(made.source, form=form, filed=filed))


def _around_table(setting: Setting, topic: str, name: str) -> list[Row]:
    """Other lines of the same report, before and after adjustment; of one that is not named its plain lines too."""
    plain = () if name else around(setting, topic)
    rows = {(row.topic, ""): row for row in plain}
    for (concept, axis, member), spans in setting.report.parts.items():
        if axis != "vintage" or _disclosed_in(member) != name:
            continue
        other = _ZH.get(concept) or (lines()[concept].topic if concept in lines() else None)
        if other is None or topics()[other].family == topics()[topic].family or (other, "") in rows:
            continue
        figure = next((f for span, f in spans.items() if span[1] == setting.end and months(span) in (0, 12)), None)
        word = "调整前" if "调整前" in member else "调整后"
        if figure:
            rows[other, word] = Row(f"{_SAID.get(concept, concept)}（{word}）", figure.quantity(), other)
    return list(rows.values())
