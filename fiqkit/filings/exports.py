"""Tables exported by AKShare and CNINFO: a row a period, a row an item, or a row for each item and period.

    报告期,净利润,净利润同比增长率        指标,20241231,20231231        REPORT_DATE,STD_ITEM_NAME,AMOUNT
    2024-12-31,862.28亿,15.38%        净利润,862.28亿,747.34亿        2024-12-31,存货,41258000000

Columns 调整前 and 调整后 come in either order: the heading decides, and becomes the dimension `vintage`. A column of
the year before (去年同期) becomes a fact of that year. Year-to-date figures start with the fiscal year, as the reports
do; a single quarter starts with the quarter, and balances stand at a date. What cannot be read for certain is left out
and counted.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path

from fiqkit.errors import UserError
from fiqkit.filings import cells, headings
from fiqkit.filings.damage import reason
from fiqkit.filings.fact import Fact, Reading, TextFact, dims_json, exact, finest

_OPENING = re.compile(r"期初.*余额|期初余额$")
_SINGLE = re.compile(r"单季|quarterly", re.IGNORECASE)
# 三季度 is one quarter and 三季报 three; but beside 半年度 and 年度, 三季度 names the report too.
_SINGLE_NAME = re.compile(r"(?:\d{4}年?)?第?[一二三四1-4]季度")
_REPORT_NAME = re.compile(r"半年|中报|年度|年报")


class NotOurs(UserError):
    """A file that no reader knows: skipped in a folder, an error when it was named."""


@dataclass(frozen=True, slots=True)
class _About:
    """What a row or a table says of its figures; None or empty where it says nothing."""

    code: str | None = None
    name: str | None = None
    filed: str | None = None
    form: str | None = None
    currency: str = ""
    abroad: bool = False  # a code that is none of Shanghai, Shenzhen or Beijing
    single: bool = False  # one quarter, not the year to date
    year_end: str = "12-31"  # of the fiscal year, as MM-DD


@dataclass(frozen=True, slots=True)
class _Row:
    """One figure's cell, and what its row says of company and period."""

    item: headings.Item
    period: cells.Period
    text: str
    about: _About


def read_export(data: bytes, path: Path, entity: str | None, name: str | None, reading: Reading) -> None:
    """Take an export table into `reading`; `entity` and `name` are for tables that name no company.

    Raises:
        NotOurs: no heading that an export table has, or a table of prices.
        UserError: not a text in a known encoding, or damaged CSV.
    """
    table = _rows(_decode(data, path), path)
    _refuse_others(table[:20], path)
    place = next((n for n, row in enumerate(table[:20]) if _is_heading(row)), None)
    if place is None:
        raise NotOurs(f"{path}:1: no export table: neither 报告期, 股票代码 nor 指标 among its headings")
    above = cells.unit_above(" ".join(cell for row in table[:place] for cell in row))
    head, body = table[place], table[place + 1 :]
    about = _About(entity or _code_in(path), name, single=_SINGLE.search(path.name) is not None)
    rows = list(_read(head, body, above, about, path, reading))
    balances = headings.balances(dict.fromkeys(row.item.concept for row in rows))
    facts = [fact for row in rows for fact in _facts(row, row.item.concept in balances, reading)]
    if not facts and not reading.texts:
        why = "".join(f"; {count} {what}" for what, count in reading.left_out.most_common(1))
        raise NotOurs(f"{path}:{place + 1}: an export table without one period or figure{why}; name it …20241231…")
    kept, contradictions = finest(facts)
    reading.facts += kept
    if contradictions:
        reading.remarks["duplicates that contradict each other, all kept"] += contradictions
    if not all(fact.entity for fact in kept):
        reading.remarks["the table names no company: entity is null (--entity CODE --name NAME)"] += 1


def _decode(data: bytes, path: Path) -> str:
    utf16 = data[:2] in (b"\xff\xfe", b"\xfe\xff")
    for encoding in ("utf-16",) if utf16 else ("utf-8-sig", "gb18030"):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise UserError(f"{path}:1: neither UTF-8 nor GBK text; save the table again as UTF-8 CSV")


def _rows(text: str, path: Path) -> list[list[str]]:
    first = text[:4096]
    reader = csv.reader(io.StringIO(text), delimiter="\t" if first.count("\t") > first.count(",") else ",", strict=True)
    try:
        return [[cells.guarded(cell) for cell in row] for row in reader if any(row)]
    except csv.Error as error:
        raise UserError(
            f"{path}:{reader.line_num}: damaged CSV ({reason(error)}); save the table again as CSV"
        ) from error


def _refuse_others(rows: Sequence[Sequence[str]], path: Path) -> None:
    """Tables that share headings with statements and are none."""
    for row in rows:
        names = {cell.lower() for cell in row}
        if len(names & headings.PRICES) >= 3:
            raise NotOurs(f"{path}:1: prices, not statements; nothing in it is read")
        if names & headings.FORECASTS:
            raise NotOurs(f"{path}:1: forecasts of results, not results; nothing in it is read")
        if "ts_code" in names:
            raise NotOurs(
                f"{path}:1: a Tushare table, whose report types (consolidated, parent, single quarter) are not told "
                "apart here; export the statements from AKShare or CNINFO"
            )


def _is_heading(row: Sequence[str]) -> bool:
    roles = {role for role in map(headings.role, row) if role}
    return len(row) > 1 and bool(roles & {"period", "code"} or ("item" in roles and any(map(headings.period, row))))


def _read(
    head: list[str], body: list[list[str]], above: cells.Unit, about: _About, path: Path, reading: Reading
) -> Iterator[_Row]:
    roles = [headings.role(heading) for heading in head]
    whole = [row for row in body if not any(row[len(head) :])]
    if len(whole) < len(body):
        reading.left_out["row with more cells than the heading has"] += len(body) - len(whole)
    named = [roles.index(role) for role in ("item", "period") if role in roles]
    if named and any(map(headings.period, head)):
        yield from _by_item(head, named[0], whole, above, about, reading)
    elif "item" in roles and "period" in roles:
        yield from _long(head, roles, whole, above, about, path, reading)
    else:
        items = [(n, headings.item(h, above)) for n, (h, r) in enumerate(zip(head, roles, strict=True)) if not r and h]
        for row, period, said in _periods(roles, whole, about, path, reading):
            yield from (_Row(item, period, row[n], said) for n, item in items if n < len(row))


def _periods(
    roles: list[str | None], body: list[list[str]], about: _About, path: Path, reading: Reading
) -> Iterator[tuple[list[str], cells.Period, _About]]:
    """Each row with its period (the file's name tells it where no column does) and what it says of itself."""
    in_name = None if "period" in roles else _period_in(path)
    named = [
        cell
        for row in body
        for role, cell in zip(roles, row, strict=False)
        if role in ("period name", "form", "period")
    ]
    reports = any(map(_REPORT_NAME.search, named))
    about = replace(about, single=about.single or (not reports and any(map(_SINGLE_NAME.fullmatch, named))))
    for row in body:
        said: dict[str, list[str]] = {}
        for role, cell in zip(roles, row, strict=False):
            if role and cell:
                said.setdefault(role, []).append(cell)
        texts = said.get("period", [])
        period = next(filter(None, (_period(text, reports) for text in texts)), in_name)
        if period is None:
            what = f"row of {texts[0][:20]!r}, no period that can be read" if texts else "row without a period"
            reading.left_out[what] += 1
        else:
            yield row, period, _about(said, period, about)


def _period(text: str, reports: bool) -> cells.Period | None:
    """The period that a cell names; where the table names reports (`reports`), a quarter's is the year to date."""
    period = cells.period(headings.period_text(text))
    return period._replace(start=None) if period and reports and "季度" in text else period


def _about(said: dict[str, list[str]], period: cells.Period, about: _About) -> _About:
    """What a row says, and the table where the row says nothing."""
    first = {role: texts[0] for role, texts in said.items()}
    currency = first.get("currency", "")
    foreign = cells.currency(currency) not in (None, "CNY")
    codes = sorted(said.get("code", []), key=lambda text: text.isdecimal())  # 00700.HK tells more than 700
    code = next(filter(None, (cells.stock_code(code, foreign) for code in codes)), None if codes else about.code)
    filed = cells.period(first.get("filed", ""))
    return replace(
        about,
        code=code,
        abroad=bool(codes) and (code is None or len(code) == 5),
        name=first.get("name", about.name),
        filed=filed.end if filed and filed.end >= period.end else None,  # a report cannot precede its period's end
        form=first.get("form"),
        currency=currency or about.currency,
        year_end=next((t for t in said.get("fiscal year", []) if re.fullmatch(r"\d\d-\d\d", t)), about.year_end),
    )


def _long(
    head: list[str],
    roles: list[str | None],
    body: list[list[str]],
    above: cells.Unit,
    about: _About,
    path: Path,
    reading: Reading,
) -> Iterator[_Row]:
    """Rows of a table with a row for each item and period."""
    at = roles.index("item")
    values = [n for n, heading in enumerate(head) if heading.lower() in headings.VALUES]
    if len(values) != 1:
        raise NotOurs(
            f"{path}:1: a row for each {head[at]} and period, and not one column of figures "
            f"({', '.join(sorted(headings.VALUES))}) beside them; give a table with a column for each item"
        )
    beside = [n for n, r in enumerate(roles) if r is None and n != values[0]]
    # Its column of quarters only names the report; the figures of `value` are the year to date.
    roles = [None if r == "period name" else r for r in roles]
    for row, period, said in _periods(roles, body, about, path, reading):
        if lost := sum(bool(cell) for n, cell in enumerate(row) if n in beside):
            reading.left_out["figure in a column beside the values of a long table"] += lost
        if max(at, values[0]) < len(row) and row[at]:
            yield _Row(headings.item(row[at], above), period, row[values[0]], said)


def _by_item(
    head: list[str], at: int, body: list[list[str]], above: cells.Unit, about: _About, reading: Reading
) -> Iterator[_Row]:
    """Rows of a table with a row an item and a column a period; rows 单位 and 币种 speak of the columns."""
    reports = any(map(_REPORT_NAME.search, head))
    columns = [(n, period, headings.vintage(h)) for n, h in enumerate(head) if (period := _period(h, reports))]
    others = [n for n, h in enumerate(head) if n != at and h and not headings.role(h) and not headings.period(h)]
    units: dict[int, cells.Unit] = {}
    for row in body:
        name = row[at] if at < len(row) else ""
        if name in ("单位", "币种"):
            units |= {n: own for n, own in ((n, cells.unit(cell)) for n, cell in enumerate(row)) if own}
            continue
        lost = sum(n < len(row) and bool(row[n]) for n in others) if name else 0
        if lost:
            reading.left_out["figure in a column without a period that can be read"] += lost
        for n, period, vintage in columns:
            if name and n < len(row):
                item = headings.item(name, units.get(n, above))
                yield _Row(replace(item, vintage=vintage or item.vintage), period, row[n], about)


def _facts(row: _Row, balance: bool, reading: Reading) -> Iterator[Fact]:
    """The fact of one cell; a cell of text becomes a text fact."""
    item, about = row.item, row.about
    start, end = _span(row, balance)
    parent = {"scope": "母公司"} if "母公司" in (about.form or "") else {}  # the parent alone, not the group
    dims = dims_json(parent | ({"vintage": item.vintage} if item.vintage else {}))
    tail = (about.form, None, about.filed, "export")
    try:
        cell = cells.parse(row.text, item.scale)
        if cell is None:
            return
        percent = item.percent and not cell.percent
        cell = replace(cell, scale=0, percent=True) if percent else cell
        value = exact(cell.value)
    except ValueError:
        reading.texts.append(TextFact(about.code, about.name, item.concept, row.text, start, end, dims, *tail))
        return
    if value == -1 and item.unit == "money":
        reading.left_out["an amount of -1, which stands for missing"] += 1
        return
    unit: str | None = item.unit
    if item.unit.startswith("money"):
        currency = _currency(row, cell)
        if currency == "":
            reading.left_out[f"amount in a currency that is not known: {about.currency[:20]!r}"] += 1
            return
        unit = item.unit.replace("money", currency) if currency else None
    elif cell.percent:
        unit = "pure"
    yield Fact(about.code, about.name, item.concept, value, unit, cell.decimals, start, end, dims, *tail)


def _currency(row: _Row, cell: cells.Cell) -> str | None:
    """The currency of an amount: as its cell, heading, row or table names it; empty when the row's is not known.

    A company of Shanghai or Shenzhen reports in yuan; of one elsewhere nothing follows (None).
    """
    if cell.currency or row.item.currency:
        return cell.currency or row.item.currency
    if row.about.currency:
        return cells.currency(row.about.currency) or ""
    return None if row.about.abroad or len(row.about.code or "") == 5 else "CNY"


def _span(row: _Row, balance: bool) -> tuple[str | None, str]:
    """First and last day that a figure is about; the first is None for a balance."""
    end = _year_before(row.period.end) if row.item.prior else row.period.end
    year_end = row.about.year_end
    last_year = f"{int(end[:4]) - (end[5:] <= year_end)}-{year_end}"  # the end of the fiscal year before
    if _OPENING.search(row.item.concept):
        return None, last_year
    if balance:
        return None, end
    if row.period.start:
        return _year_before(row.period.start) if row.item.prior else row.period.start, end
    if row.about.single or "单季" in row.item.concept:
        return f"{end[:4]}-{max(1, int(end[5:7]) - 2):02d}-01", end
    return (date.fromisoformat(last_year) + timedelta(days=1)).isoformat(), end


def _year_before(day: str) -> str:
    return f"{int(day[:4]) - 1}{day[4:].replace('02-29', '02-28')}"


def _code_in(path: Path) -> str | None:
    """A code in the file's name: six digits that are no year and month, or five of Hong Kong's that begin with 0."""
    for found in re.findall(r"(?<!\d)(?:\d{6}|0\d{4})(?!\d)", path.name):
        if not re.fullmatch(r"(19|20)\d\d(0[1-9]|1[0-2])", found):
            return str(found)
    return None


def _period_in(path: Path) -> cells.Period | None:
    found = re.search(r"(?<!\d)(20\d{2})-?(\d{2})-?(\d{2})(?!\d)", path.name)
    return cells.period("-".join(found.groups())) if found else None
