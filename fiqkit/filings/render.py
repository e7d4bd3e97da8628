"""Facts as passages in the kit's own words: a caption, the units, and a table of at least a dozen figures over periods.

These are the only passages that may be bundled: they hold public facts and no filer's prose. A table is of one filing
(or of one company's export tables) and of one currency; a figure that the filing states twice with two values is left
out of it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from fiqkit.filings.fact import Number, agree, precision
from fiqkit.filings.identity import passage_id
from fiqkit.filings.labels import label, sentence
from fiqkit.filings.measures import is_share
from fiqkit.filings.store import FactStore
from fiqkit.filings.wording import Line, Span, currency_of, months, render_table
from fiqkit.records import Passage

DOZEN = 12  # figures that a passage holds at least
_LINES = 14  # rows of a passage at most
_COLUMNS = 4  # periods of a passage at most


class Figure(NamedTuple):
    """One fact as it is rendered."""

    concept: str
    unit: str | None
    dims: str
    start: str | None
    end: str
    value: Number
    decimals: str | None
    filed: str


_TOPICS: tuple[tuple[str, str, Callable[[Figure], object]], ...] = (
    ("Shares and figures per share", "每股指标", lambda f: "share" in (f.unit or "")),
    ("Ratios and other measures", "比率及其他指标", lambda f: not re.fullmatch(r"[A-Z]{3}", f.unit or "")),
    ("Financial position", "财务状况", lambda f: f.start is None),
    (
        "Cash flows",
        "现金流量",
        lambda f: re.search(r"Cash|^[\w-]+:(Payments|Proceeds|Repayments|IncreaseDecrease)|现金", f.concept),
    ),
    ("Results of operations", "经营成果", lambda f: True),
)


def render_passages(store: FactStore, entity: str | None = None) -> Iterator[Passage]:
    """Passages of one entity, or of all, from the facts in a store.

    A filing gives tables of its main periods by topic, then by each axis on which it breaks figures down. Passages with
    fewer than a dozen figures or with one period are not made. Facts of export tables are rendered in Chinese, those of
    filings in English, each table in the currency that its facts are in.
    """
    rows = store.conn.execute(
        "SELECT entity, source = 'export', accession, CASE WHEN accession IS NULL AND source <> 'export' THEN file END "
        "AS single, concept, unit, dims, start, end, value, decimals, coalesce(filed, '') "
        "FROM facts WHERE entity IS NOT NULL AND (?1 IS NULL OR entity = ?1) ORDER BY 1, 2, 3, 4, rowid",
        (entity,),
    )
    for (code, export, accession, file), facts in groupby(rows, key=lambda row: row[:4]):
        about = _about(store, code, bool(export), accession, file)
        yield from _filing(_certain(Figure(*row[4:]) for row in facts), about)


def _certain(figures: Iterable[Figure]) -> list[Figure]:
    """Each figure once, at its finest and as last filed; those with two values that contradict each other left out."""
    kept: dict[Any, Figure] = {}
    contradicted: dict[Any, str] = {}
    for figure in figures:
        key = figure[:5]
        known = kept.setdefault(key, figure)
        if figure.filed != known.filed:
            kept[key] = max(known, figure, key=lambda f: f.filed)
        elif not agree(known, figure):
            contradicted[key] = figure.filed
        elif precision(figure.decimals) > precision(known.decimals):
            kept[key] = figure
    return [figure for key, figure in kept.items() if contradicted.get(key) != figure.filed]


def _about(store: FactStore, entity: str, export: bool, accession: str | None, file: int | None) -> dict[str, Any]:
    """Company, form and dates for the heads of a filing's passages."""
    which, key = (
        ("accession=?", accession) if accession else ("file=?", file) if file else ("source='export' AND ?=1", 1)
    )
    name, form, filed = store.conn.execute(
        f"SELECT max(f.name), max(f.form), coalesce(max(f.filed), max(g.filed)) "
        f"FROM facts f LEFT JOIN filings g USING (accession) WHERE f.entity=? AND f.{which}",
        (entity, key),
    ).fetchone()
    ticker = store.conn.execute(
        "SELECT value FROM text_facts WHERE entity=? AND concept='dei:TradingSymbol' LIMIT 1", (entity,)
    ).fetchone()
    path = store.conn.execute("SELECT path FROM files WHERE file=?", (file,)).fetchone()
    return {
        "place": accession or (Path(path[0]).name.partition(".")[0] if path else entity),
        "entity": entity,
        "company": name,
        "ticker": entity if export else ticker[0] if ticker else None,
        "form": None if export else form,
        "filed": None if export else filed,
        "language": "zh" if export else "en",
        "source": "facts",
    }


def _filing(figures: list[Figure], about: dict[str, Any]) -> Iterator[Passage]:
    """The passages of one filing: whole-company figures by topic, then one table an axis."""
    whole = [figure for figure in figures if figure.dims == "{}"]
    for number, (en, zh, _) in enumerate(_TOPICS):
        mine = [figure for figure in whole if _topic(figure) == number]
        yield from _tables(mine, zh if about["language"] == "zh" else en, about)
    totals = {figure[:2] + figure[3:5]: figure for figure in whole}
    by_axis: dict[str, dict[Figure, None]] = {}
    for figure in figures:
        dims = json.loads(figure.dims)
        if len(dims) == 1:
            mine_too = by_axis.setdefault(next(iter(dims)), {})
            if total := totals.get(figure[:2] + figure[3:5]):
                mine_too[total] = None
            mine_too[figure] = None
    for axis, several in by_axis.items():
        yield from _tables(list(several), _heading(axis, about["language"]), about)


def _topic(figure: Figure) -> int:
    return next(number for number, (_, _, belongs) in enumerate(_TOPICS) if belongs(figure))


def _heading(axis: str, language: str) -> str:
    return f"按{label(axis)}" if language == "zh" else f"Breakdown by {label(axis).lower()}"


def _tables(figures: Sequence[Figure], caption: str, about: dict[str, Any]) -> Iterator[Passage]:
    """Tables of at most `_LINES` rows, for each currency and each length of period that the figures have."""
    for mine in _by_currency(figures):
        lines: dict[tuple[str, str | None, str], Line] = {}
        for figure in mine:
            line = lines.setdefault(figure[:3], _line(figure, about["language"]))
            line.values.setdefault((figure.start, figure.end), figure.value)
        for columns in _columns(mine, about["language"] == "zh"):
            rows = [line for line in lines.values() if any(span in line.values for span in columns)]
            for first in range(0, len(rows), _LINES):
                share = rows[first : first + _LINES]
                chosen = _enough(share, columns)
                if chosen:
                    yield _passage(share, chosen, caption, about)


def _by_currency(figures: Sequence[Figure]) -> list[list[Figure]]:
    """The figures of each currency; those that have none go with the first."""
    found = dict.fromkeys(filter(None, (currency_of(figure.unit) for figure in figures)))
    first = next(iter(found), "")
    groups: dict[str, list[Figure]] = {}
    for figure in figures:
        groups.setdefault(currency_of(figure.unit) or first, []).append(figure)
    return list(groups.values())


def _line(figure: Figure, language: str) -> Line:
    members = [label(member) for member in json.loads(figure.dims).values()]
    name = sentence(figure.concept)
    if members:
        name = f"{name}（{'、'.join(members)}）" if language == "zh" else f"{name}: {', '.join(members)}"
    return Line(name, figure.unit or "", {}, is_share(figure.concept))


def _columns(figures: Sequence[Figure], every: bool) -> Iterator[list[Span]]:
    """For each length of period the spans to show: the best attested and those around it, or (`every`) all in turn."""
    spans: dict[int, Counter[Span]] = {}
    for figure in figures:
        span = (figure.start, figure.end)
        spans.setdefault(months(span), Counter())[span] += 1
    for counts in spans.values():
        ordered = sorted(counts, key=lambda span: span[1], reverse=True)
        if every:
            yield from (ordered[n : n + _COLUMNS] for n in range(0, len(ordered), 2))
        else:
            main = max(ordered, key=lambda span: counts[span])
            earlier = [span for span in ordered if span[1] < main[1] and counts[span] * 4 >= counts[main]]
            later = [span for span in ordered if span[1] > main[1] and counts[span] * 4 >= counts[main]]
            yield [*later[-1:], main, *earlier][:_COLUMNS]


def _enough(lines: Sequence[Line], columns: Sequence[Span]) -> list[Span]:
    """The first columns that give a dozen figures, two at least; none when all of them do not."""
    for count in range(2, len(columns) + 1):
        if sum(span in line.values for line in lines for span in columns[:count]) >= DOZEN:
            return list(columns[:count])
    return []


def _passage(lines: Sequence[Line], columns: Sequence[Span], caption: str, about: dict[str, Any]) -> Passage:
    fields = {name: about[name] for name in ("company", "ticker", "form", "filed", "language")}
    text = render_table(lines, columns, caption, **fields)
    period = max(end for _, end in columns)
    topic, first = (re.sub(r"\W+", "-", words.lower()).strip("-")[:40] for words in (caption, lines[0].title))
    place = f"{about['place']}:{topic}:{months(columns[0])}m-{period}:{first}"
    key = passage_id(place, about["entity"], text)
    return Passage(passage_id=key, text=text, period=period, source=about["source"], **fields)
