"""Facts as passages in the kit's own words: a caption, the units, and a table of at least a dozen figures over periods.

These are the only passages that may be bundled: they hold public facts and no filer's prose.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date
from itertools import groupby
from typing import Any, NamedTuple

from fiqkit.filings.fact import Number
from fiqkit.filings.labels import label, sentence
from fiqkit.filings.store import FactStore
from fiqkit.records import Passage

DOZEN = 12  # figures that a passage holds at least
_LINES = 14  # rows of a passage at most
_COLUMNS = 4  # periods of a passage at most

Span = tuple[str | None, str]  # (start, end); start is None for an instant


class Figure(NamedTuple):
    """One fact as it is rendered."""

    concept: str
    unit: str | None
    dims: str
    start: str | None
    end: str
    value: Number


class Line(NamedTuple):
    """A row of a rendered table."""

    title: str
    unit: str
    values: dict[Span, Number]


# Caption (en, zh) → which lines belong under it; the first that matches has a line.
_TOPICS = (
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
    fewer than a dozen figures or with one period are not made.
    """
    rows = store.conn.execute(
        "SELECT entity, coalesce(accession, 'export ' || entity) AS filing, concept, unit, dims, start, end, value "
        "FROM facts WHERE entity IS NOT NULL AND (?1 IS NULL OR entity = ?1) ORDER BY 1, 2, rowid",
        (entity,),
    )
    for (code, filing), facts in groupby(rows, key=lambda row: row[:2]):
        figures: dict[Any, Figure] = {}
        for row in facts:
            figures.setdefault(row[2:7], Figure(*row[2:]))
        yield from _filing(list(figures.values()), _about(store, code, filing))


def _about(store: FactStore, entity: str, filing: str) -> dict[str, Any]:
    """Company, form and dates for the heads of a filing's passages."""
    export = filing.startswith("export ")
    which = "entity=? AND accession IS NULL" if export else "accession=?"
    row = store.conn.execute(
        f"SELECT max(f.name), max(f.form), coalesce(max(f.filed), max(g.filed)) "
        f"FROM facts f LEFT JOIN filings g USING (accession) WHERE f.{which}",
        (entity if export else filing,),
    ).fetchone()
    ticker = store.conn.execute(
        "SELECT value FROM text_facts WHERE entity=? AND concept='dei:TradingSymbol' LIMIT 1", (entity,)
    ).fetchone()
    return {
        "id": entity if export else filing,
        "company": row[0],
        "ticker": entity if export else ticker[0] if ticker else None,
        "form": None if export else row[1],
        "filed": None if export else row[2],
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
    by_axis: dict[str, list[Figure]] = {}
    for figure in figures:
        dims = json.loads(figure.dims)
        if len(dims) == 1:
            mine = by_axis.setdefault(next(iter(dims)), [])
            total = totals.get(figure[:2] + figure[3:5])
            if total and total not in mine[-40:]:
                mine.append(total)
            mine.append(figure)
    for axis, mine in by_axis.items():
        yield from _tables(mine, _heading(axis, about["language"]), about)


def _topic(figure: Figure) -> int:
    return next(number for number, (_, _, belongs) in enumerate(_TOPICS) if belongs(figure))


def _heading(axis: str, language: str) -> str:
    return f"按{label(axis)}" if language == "zh" else f"Breakdown by {label(axis).lower()}"


def _tables(figures: Sequence[Figure], caption: str, about: dict[str, Any]) -> Iterator[Passage]:
    """Tables of at most `_LINES` rows, for each length of period that the figures have."""
    lines: dict[tuple[str, str | None, str], Line] = {}
    for figure in figures:
        key = (figure.concept, figure.unit, figure.dims)
        line = lines.setdefault(key, Line(_title(figure, about["language"]), figure.unit or "", {}))
        line.values.setdefault((figure.start, figure.end), figure.value)
    for columns in _columns(figures, about["language"] == "zh"):
        rows = [line for line in lines.values() if any(span in line.values for span in columns)]
        for first in range(0, len(rows), _LINES):
            share = rows[first : first + _LINES]
            chosen = _enough(share, columns)
            if chosen:
                yield _passage(share, chosen, caption, about)


def _title(figure: Figure, language: str) -> str:
    members = [label(member) for member in json.loads(figure.dims).values()]
    name = sentence(figure.concept)
    if language == "zh":
        return f"{name}（{'、'.join(members)}）" if members else name
    return ": ".join([name, ", ".join(members)]) if members else name


def _columns(figures: Sequence[Figure], every: bool) -> Iterator[list[Span]]:
    """For each length of period the spans to show: the best attested and those around it, or (`every`) all in turn."""
    spans: dict[int, Counter[Span]] = {}
    for figure in figures:
        span = (figure.start, figure.end)
        spans.setdefault(_months(span), Counter())[span] += 1
    for counts in spans.values():
        ordered = sorted(counts, key=lambda span: span[1], reverse=True)
        if every:
            yield from (ordered[n : n + _COLUMNS] for n in range(0, len(ordered), 2))
        else:
            main = max(ordered, key=lambda span: counts[span])
            earlier = [span for span in ordered if span[1] < main[1] and counts[span] * 4 >= counts[main]]
            later = [span for span in ordered if span[1] > main[1] and counts[span] * 4 >= counts[main]]
            yield [*later[-1:], main, *earlier][:_COLUMNS]


def _months(span: Span) -> int:
    """Length of a period in months, an instant 0."""
    start, end = span
    return round((date.fromisoformat(end) - date.fromisoformat(start)).days / 30.44) if start else 0


def _enough(lines: Sequence[Line], columns: Sequence[Span]) -> list[Span]:
    """The first columns that give a dozen figures, two at least; none when all of them do not."""
    for count in range(2, len(columns) + 1):
        if sum(span in line.values for line in lines for span in columns[:count]) >= DOZEN:
            return list(columns[:count])
    return []


def _passage(lines: Sequence[Line], columns: Sequence[Span], caption: str, about: dict[str, Any]) -> Passage:
    fields = {name: about[name] for name in ("company", "ticker", "form", "filed", "language", "source")}
    text = render_table(lines, columns, caption, **{k: v for k, v in fields.items() if k != "source"})
    period = max(end for _, end in columns)
    topic = re.sub(r"\W+", "-", caption.lower()).strip("-")
    first = re.sub(r"\W+", "-", lines[0].title.lower()).strip("-")[:40]
    key = f"{about['id']}:{topic}:{_months(columns[0])}m-{period}:{first}"
    return Passage(passage_id=key, text=text, period=period, **fields)


def render_table(
    lines: Sequence[Line],
    columns: Sequence[Span],
    caption: str,
    *,
    company: str | None,
    ticker: str | None = None,
    form: str | None = None,
    filed: str | None = None,
    language: str = "en",
) -> str:
    """A captioned table of figures: head, units, a row a line and a column a period; a missing figure is a dash."""
    wording = _WORDING[language]
    scale = _scale([line for line in lines if _is_money(line.unit)], language)
    who = wording["who"].format(company=company or wording["nobody"], ticker=ticker) if ticker else company
    head = wording["head"].format(
        who=who or wording["nobody"],
        form=wording["form"].format(form=form) if form else "",
        filed=wording["filed"].format(filed=filed) if filed else "",
    )
    currencies = sorted({wording["currencies"].get(line.unit, line.unit) for line in lines if _is_money(line.unit)})
    units = wording["money"].format(unit=wording["scales"][scale], currency=", ".join(currencies)) if currencies else ""
    title = " | ".join([wording["line"], *(_period(span, language) for span in columns)])
    rows = (
        " | ".join([line.title, *(_figure(line.values.get(span), line.unit, scale, language) for span in columns)])
        for line in lines
    )
    return "\n".join([head, wording["caption"].format(caption=caption, units=units).strip(), title, *rows])


def _is_money(unit: str) -> bool:
    return re.fullmatch(r"[A-Z]{3}", unit) is not None


_WORDING: dict[str, dict[str, Any]] = {
    "en": {
        "who": "{company} ({ticker})",
        "nobody": "Company not named",
        "head": "{who}{form}{filed}.",
        "form": ", Form {form}",
        "filed": ", filed {filed}",
        "caption": "{caption}. {units}",
        "money": "Amounts in {unit}{currency}.",
        "scales": {6: "millions of ", 3: "thousands of ", 0: ""},
        "currencies": {},
        "line": "Line",
    },
    "zh": {
        "who": "{company}（{ticker}）",
        "nobody": "公司名称不详",
        "head": "{who}{form}{filed}。",
        "form": "，{form}",
        "filed": "，披露日期{filed}",
        "caption": "{caption}。{units}",
        "money": "金额单位：{currency}{unit}元。",
        "scales": {8: "亿", 4: "万", 0: ""},
        "currencies": {"CNY": "人民币"},
        "line": "项目",
    },
}


def _scale(lines: Sequence[Line], language: str) -> int:
    """The largest unit in which every amount is exact with at most two decimals (one in millions)."""
    values = [value for line in lines for value in line.values.values() if value]
    for scale in _WORDING[language]["scales"]:
        step = 10 ** max(0, scale - (2 if language == "zh" else 1)) if scale else 0
        if not step or all(value == int(value) and int(value) % step == 0 for value in values):
            return int(scale)
    return 0


def _figure(value: Number | None, unit: str, scale: int, language: str) -> str:
    if value is None:
        return "—"
    if _is_money(unit):
        return _digits(value, scale)
    if unit == "pure" and abs(value) < 10:
        return f"{_digits(round(value * 10**8) / 10**6, 0)}%" if isinstance(value, float) else f"{value:,}"
    if unit.endswith("/shares"):
        currency = unit.removesuffix("/shares")
        return f"{_digits(value, 0)}元" if language == "zh" and currency == "CNY" else f"{currency} {_digits(value, 0)}"
    return f"{_digits(value, 0)} {unit}".strip()


def _digits(value: Number, scale: int) -> str:
    """Thousands grouped, as many decimals as the value has."""
    from decimal import Decimal

    number = Decimal(str(value)).scaleb(-scale)
    text = f"{number:,f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _period(span: Span, language: str) -> str:
    start, end = span
    months = _months(span)
    if language == "zh":
        year, month, day = end.split("-")
        return (
            f"{year}年{int(month)}月{int(day)}日"
            if not start
            else f"{year}年" + ("度" if months == 12 else f"1-{int(month)}月")
        )
    return f"{months} months to {end}" if start else f"at {end}"
