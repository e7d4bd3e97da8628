"""Tables exported by AKShare and CNINFO: one row a period with a column an item, or the other way round.

Columns 调整前 and 调整后 come in either order: the heading decides, and becomes the dimension `vintage`. A column of
the year before (去年同期) becomes a fact of that year. Year-to-date figures start on 1 January, as the reports do.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fiqkit.errors import UserError
from fiqkit.filings import cells
from fiqkit.filings.damage import reason
from fiqkit.filings.fact import Fact, Reading, TextFact, dims_json, exact, finest
from fiqkit.filings.measures import is_share


class NotOurs(UserError):
    """A file that no reader knows: skipped in a folder, an error when it was named."""


# What a heading says about the row. Headings are compared in lower case.
_ROLES = {
    "period": "报告期 报告日 报告日期 报告年度 截止日期 日期 report_date std_report_date period_end",
    "code": "股票代码 证券代码 代码 security_code secucode ticker code",
    "name": "股票简称 证券简称 简称 名称 股票名称 公司名称 公司简称 security_name_abbr company",
    "filed": "公告日期 最新公告日期 首次公告日期 公告日 notice_date",
    "form": "报告类型 类型 report_type filing_type",
    "currency": "币种 currency",
    "item": "指标 项目 科目 主要会计数据 主要财务指标 会计科目 指标名称",
    "nothing": "序号 index 选项 数据源 更新日期 是否审计 org_code security_type_code security_inner_code "
    "update_date 报表核心指标 报表全部指标 补充资料",
}
_ROLE = {heading: role for role, headings in _ROLES.items() for heading in headings.split()}

_NUMBERING = re.compile(
    r"^\*|^[一二三四五六七八九十]+、|^[(（][一二三四五六七八九十\d]+[)）]|^\d+[、.．]|^[加减其]中?[:：]"
)
_PRIOR = re.compile(r"^prior_year_|[-_]?(去年|上年)同期(数|值)?(?=$|调整)|上年同期")
_VINTAGE = re.compile(r"[-_(（\[\s]*(调整前|调整后|重述前|重述后|更正前|更正后)[)）\]]?")
_RATIO = re.compile(r"(?<!汇)率|比例|比$|倍数")
_PER_SHARE = re.compile(r"每股|eps|per_share")
_DAYS = re.compile(r"天数|周期$")
_CLOSING = re.compile(
    r"^(每股(净资产|资本公积金?|公积金?|未分配利润)|(保守)?[流速]动比率|产权比率|资产负债率)|期末.*余额|期末余额$"
)
_OPENING = re.compile(r"期初.*余额|期初余额$")
_BALANCE = re.compile(r"^(资产[合总]计|资产总[额计]|total_assets)$")
_FLOW = re.compile(r"利润|营业|现金流量净额|profit|income|netcash")


@dataclass(frozen=True, slots=True)
class _Item:
    """What a heading says about its figures."""

    concept: str
    scale: int
    unit: str
    percent: bool
    prior: bool
    vintage: str | None


@dataclass(frozen=True, slots=True)
class _Row:
    """One figure's cell, and what its row says of company and period."""

    item: _Item
    end: str
    text: str
    code: str | None
    name: str | None
    filed: str | None = None
    form: str | None = None
    currency: str = "CNY"


def read_export(data: bytes, path: Path, entity: str | None, name: str | None, reading: Reading) -> None:
    """Take an export table into `reading`; `entity` and `name` are for tables that name no company.

    Raises:
        NotOurs: no heading that an export table has.
        UserError: neither UTF-8 nor GBK, or damaged CSV.
    """
    table = _rows(_decode(data, path), path)
    place = next((n for n, row in enumerate(table[:20]) if _is_heading(row)), None)
    if place is None:
        raise NotOurs(f"{path}:1: no export table: neither 报告期, 股票代码 nor 指标 among its headings")
    above = " ".join(cell for row in table[:place] for cell in row)
    scale = cells.scale_of(above) or 0
    headings, body = table[place], table[place + 1 :]
    dates = [cells.period_end(_VINTAGE.sub("", heading)) for heading in headings]
    wide = "item" in map(_role, headings) and any(dates)
    rows = _by_item(headings, dates, body, scale) if wide else _by_period(headings, body, path, scale)
    stock = not wide and any(map(_BALANCE.search, map(_clean, headings))) and not any(map(_FLOW.search, headings[1:9]))
    code = entity or _code_in(path)
    facts = [fact for row in rows for fact in _facts(row, stock, code, name, path, reading)]
    if not facts and not reading.texts:
        raise NotOurs(f"{path}:{place + 1}: an export table without one period or figure; name the file …20241231…")
    kept, contradictions = finest(facts)
    reading.facts += kept
    if contradictions:
        reading.remarks["duplicates that contradict each other, all kept"] += contradictions
    if not all(fact.entity for fact in kept):
        reading.remarks["the table names no company: entity is null (--entity CODE --name NAME)"] += 1


def _decode(data: bytes, path: Path) -> str:
    for encoding in ("utf-8-sig", "gb18030"):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise UserError(f"{path}:1: neither UTF-8 nor GBK text; save the table again as UTF-8 CSV")


def _rows(text: str, path: Path) -> list[list[str]]:
    first = text[:4096]
    reader = csv.reader(io.StringIO(text), delimiter="\t" if first.count("\t") > first.count(",") else ",", strict=True)
    try:
        return [[cell.strip() for cell in row] for row in reader if any(row)]
    except csv.Error as error:
        raise UserError(
            f"{path}:{reader.line_num}: damaged CSV ({reason(error)}); save the table again as CSV"
        ) from error


def _role(heading: str) -> str | None:
    return _ROLE.get(heading.strip().strip("*:：").lower())


def _is_heading(row: Sequence[str]) -> bool:
    roles = {role for role in map(_role, row) if role}
    return len(row) > 1 and bool(roles & {"period", "code"} or ("item" in roles and any(map(cells.period_end, row))))


def _clean(heading: str) -> str:
    """An item's name without its numbering and 其中 / 加 / 减."""
    while (shorter := _NUMBERING.sub("", heading).strip()) != heading:
        heading = shorter
    return heading


def _item(heading: str, scale: int = 0) -> _Item:
    name, own, kind = cells.heading_unit(heading)
    vintage = _VINTAGE.search(name)
    name = _VINTAGE.sub("", name)
    prior = _PRIOR.search(name) is not None and not is_share(name)
    name = _clean(_PRIOR.sub("", name) if prior else name)
    group, _, part = name.partition("-")
    if part:  # 业绩快报: "营业收入-营业收入", "营业收入-同比增长"
        name = part if part == group else group + part
    low = name.lower()
    percent = kind in ("%", "％") or (not kind and is_share(name))
    return _Item(name, own or scale, _unit(low, kind), percent, prior, vintage[1] if vintage else None)


def _unit(name: str, kind: str) -> str:
    """Unit by the heading's own, else by what its name says it measures; money (no word for it) is the rest."""
    if kind == "股":
        return "shares"
    for unit, matches in (
        ("pure", kind in ("%", "％", "倍", "次")),
        ("CNY/shares", kind == "元/股" or _PER_SHARE.search(name)),
        ("D", kind == "天" or _DAYS.search(name)),
        ("pure", not kind and (is_share(name) or _RATIO.search(name))),
    ):
        if matches:
            return unit
    return "CNY"


def _by_period(headings: list[str], body: list[list[str]], path: Path, scale: int) -> Iterator[_Row]:
    """Rows of a table with a row a period (or a row a company, with the period in the file's name)."""
    roles = [_role(heading) for heading in headings]
    items = [(n, _item(h, scale)) for n, (h, role) in enumerate(zip(headings, roles, strict=True)) if not role and h]
    fallback = _period_in(path)

    def said(row: list[str], role: str) -> str | None:
        return next((row[n] for n, r in enumerate(roles) if r == role and n < len(row) and row[n]), None)

    for row in body:
        end = cells.period_end(said(row, "period") or "") or fallback
        if end is None:
            continue
        code, filed = said(row, "code"), said(row, "filed")
        filed = cells.period_end(filed) if filed else None
        if filed and filed < end:
            filed = None  # a report cannot precede its period's end
        stock = cells.stock_code(code) if code else None
        about = (stock, said(row, "name"), filed, said(row, "form"), said(row, "currency") or "CNY")
        yield from (_Row(item, end, row[n], *about) for n, item in items if n < len(row))


def _by_item(headings: list[str], dates: list[str | None], body: list[list[str]], scale: int) -> Iterator[_Row]:
    """Rows of a table with a row an item and a column a period."""
    at = next(n for n, heading in enumerate(headings) if _role(heading) == "item")
    vintages = [found[1] if (found := _VINTAGE.search(heading)) else None for heading in headings]
    for row in body:
        item = _item(row[at], scale) if len(row) > at and row[at] else None
        for n, end in enumerate(dates):
            if item and end and n < len(row):
                kind = _Item(item.concept, item.scale, item.unit, item.percent, item.prior, vintages[n] or item.vintage)
                yield _Row(kind, end, row[n], None, None)


def _facts(row: _Row, stock: bool, code: str | None, name: str | None, path: Path, reading: Reading) -> Iterator[Fact]:
    """The fact of one cell; a cell of text becomes a text fact."""
    item = row.item
    end = f"{int(row.end[:4]) - 1}{row.end[4:]}" if item.prior else row.end
    start: str | None = f"{end[:4]}-01-01"
    if _OPENING.search(item.concept):
        end, start = f"{int(end[:4]) - 1}-12-31", None
    elif stock or _CLOSING.search(item.concept):
        start = None
    elif "单季" in path.name:
        start = f"{end[:4]}-{max(1, int(end[5:7]) - 2):02d}-01"
    dims = dims_json({"vintage": item.vintage} if item.vintage else {})
    company = (row.code or code, row.name or name)
    try:
        cell = cells.parse(row.text, item.scale)
        if cell is None:
            return
        if item.percent and not cell.percent:
            cell = cells.Cell(cell.number, 0, True)
        value = exact(cell.value)
    except ValueError:
        reading.texts.append(
            TextFact(*company, item.concept, row.text, start, end, dims, row.form, None, row.filed, "export")
        )
        return
    if value == -1 and item.unit == "CNY":
        reading.left_out["an amount of -1, which stands for missing"] += 1
        return
    foreign = re.fullmatch(r"[A-Z]{3}", row.currency) and row.currency != "RMB"
    unit = item.unit.replace("CNY", row.currency) if foreign else item.unit
    yield Fact(
        *company,
        item.concept,
        value,
        unit,
        cell.decimals,
        start,
        end,
        dims,
        form=row.form,
        accession=None,
        filed=row.filed,
        source="export",
    )


def _code_in(path: Path) -> str | None:
    """A six-digit code in the file's name that is no year and month."""
    for found in re.findall(r"(?<!\d)\d{6}(?!\d)", path.name):
        if not re.fullmatch(r"(19|20)\d\d(0[1-9]|1[0-2])", found):
            return str(found)
    return None


def _period_in(path: Path) -> str | None:
    found = re.search(r"(?<!\d)(20\d{2})-?(\d{2})-?(\d{2})(?!\d)", path.name)
    return cells.period_end("-".join(found.groups())) if found else None
