"""Filing vintage: which version of a figure is meant, the one first reported or the one that a later filing puts in its
place.

Readings come from two filings of one company that state the same concept for the same period, or from a table that has
both (调整前 / 调整后, 业绩快报 / 年报). What differs for other reasons is no restatement and is left out: share splits
and figures per share, changed scale or sign, figures that revert, tags that were redefined (the later figure is what
the first filing reported under another name), and changes beyond any restatement.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from fiqkit.construct.holdings import Company, Figure, Report, Span, months
from fiqkit.construct.miners.setting import Setting, orbit, period_words, reading, spoken
from fiqkit.construct.orbits import Alternative, Orbit, Row, apart
from fiqkit.construct.topics import MONEY, lines, topics

_NAME = "filing_vintage"
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
            for span, figure in report.whole.get(concept, {}).items():
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
    one, under another name."""
    return any(
        other != concept and (figure := spans.get(span)) is not None and _same(figure.value, value)
        for report, value in ((first, after.value), (later, before.value))
        for other, spans in report.whole.items()
    )


def _revisions(
    company: Company, first: Report, later: Report, spans: dict[Span, dict[str, tuple[Figure, Figure]]]
) -> Iterator[Orbit]:
    if not first.filed or not later.filed or first.filed >= later.filed or not _one_filer(first, later):
        return
    for span, revised in spans.items():
        flow, instant = (span, None) if span[0] else (None, span)
        setting = Setting(company, later, span[1], flow, instant)
        rows = _lines_of(first, later, span)
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
                period=period_words(span, "en"),
            )
            if made:
                yield made


def _one_filer(first: Report, later: Report) -> bool:
    """Whether both filings go by one name: after a reverse merger a register number has another company's figures."""
    names = [(report.name or "").casefold().replace(",", " ").split() for report in (first, later)]
    return names[0][:1] == names[1][:1]


def _versions(
    setting: Setting, concept: str, topic: str, pair: tuple[Figure, Figure], reports: tuple[Report, Report]
) -> list[Alternative]:
    """The later version leads: it is what the filing at hand and every data vendor show."""
    said = (
        ("as first reported in Form {form}, {filed}", "as first reported", "the figure as it was first reported"),
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


def _lines_of(first: Report, later: Report, span: Span) -> list[Row]:
    """One line a topic for the span, from the later filing and, where it has none, from the first."""
    rows: dict[str, Row] = {}
    spans = [span] if span[0] else [span, *_flows_to(first, span[1])]
    for report in (later, first):
        for at in spans:
            for concept, line in lines().items():
                figure = report.figure(concept, at)
                if figure and figure.value and line.topic not in rows:
                    rows[line.topic] = Row(line.caption, figure.quantity(), line.topic)
    if span[0]:
        for report in (later, first):
            for concept, line in lines().items():
                figure = report.figure(concept, (None, span[1]))
                if figure and figure.value and line.topic not in rows:
                    rows[line.topic] = Row(line.caption, figure.quantity(), line.topic)
    return list(rows.values())


def _flows_to(report: Report, end: str) -> list[Span]:
    spans = report.spans(end)
    return [spans[length] for length in (12, 3, 6, 9) if length in spans][:1]


# --- Chinese --------------------------------------------------------------------------------------------------------

_ZH = {
    "营业总收入": "revenue",
    "营业收入": "revenue",
    "归母净利润": "profit",
    "扣非净利润": "profit",
    "经营活动现金流净额": "operating cash flow",
    "归母净资产": "equity",
    "总资产": "assets",
    "资产总额": "assets",
}
_CAPTION = {
    "归母净利润": "净利润（归属于母公司股东）",
    "经营活动现金流净额": "经营活动产生的现金流量净额",
    "归母净资产": "归属于母公司股东的净资产",
}


def _express(company: Company) -> Iterator[Orbit]:
    """业绩快报 beside the report that followed it."""
    express = [r for r in company.reports if r.form == "业绩快报" and r.filed]
    final = [r for r in company.reports if r.form in ("年报", "半年报") and r.filed]
    for early in express:
        for late in (r for r in final if (r.filed or "") > (early.filed or "")):
            for concept, topic in _ZH.items():
                for span, before in early.whole.get(concept, {}).items():
                    after = late.figure(concept, span)
                    if after and before.value > 0 and after.value > 0:
                        setting = Setting(company, late, span[1], span if span[0] else None, None)
                        yield from _pair(setting, concept, topic, (before, after), ("业绩快报", f"正式{late.form}"))


def _tables(company: Company) -> Iterator[Orbit]:
    """调整前 beside 调整后, from the report of a later year."""
    for report in company.reports:
        for (concept, axis, member), spans in report.parts.items():
            if axis != "vintage" or "调整前" not in member or concept not in _ZH:
                continue
            revised = report.parts.get((concept, axis, member.replace("调整前", "调整后")), {})
            for span, before in spans.items():
                after = revised.get(span)
                if after and before.value > 0 and after.value > 0:
                    setting = Setting(company, report, span[1], span if span[0] else None, None if span[0] else span)
                    yield from _pair(setting, concept, _ZH[concept], (before, after), ("调整前", "调整后"))


def _pair(
    setting: Setting, concept: str, topic: str, figures: tuple[Figure, Figure], said: tuple[str, str]
) -> Iterator[Orbit]:
    caption = _CAPTION.get(concept, concept)
    vintages = ("首次披露", "重述后") if said[0] == "调整前" else ("业绩快报，首次披露", "正式报告")
    alternatives = [
        reading(
            setting, f"{caption}（{word}）", figure.quantity(), topic, f"{word}的数据", vintage=f"{vintage}（{word}）"
        )
        for figure, word, vintage in zip(figures, said, vintages, strict=True)
    ]
    rows = _around_table(setting, topic)
    made = orbit(f"{_NAME}/revised", topic, setting, alternatives[::-1], other=rows)
    if made:
        yield made


def _around_table(setting: Setting, topic: str) -> list[Row]:
    """Other lines of the same table, in the version after adjustment; of a plain report its other lines."""
    from fiqkit.construct.miners.setting import around

    rows = {row.topic: row for row in around(replace(setting), topic)}
    end = setting.end
    for (concept, axis, member), spans in setting.report.parts.items():
        if axis != "vintage" or "调整后" not in member:
            continue
        other = _ZH.get(concept) or (lines()[concept].topic if concept in lines() else None)
        if other is None or topics()[other].family == topics()[topic].family or other in rows:
            continue
        figure = next((f for span, f in spans.items() if span[1] == end and months(span) in (0, 12)), None)
        if figure:
            rows[other] = Row(f"{_CAPTION.get(concept, concept)}（调整后）", figure.quantity(), other)
    return list(rows.values())
