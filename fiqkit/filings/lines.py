"""Facts as lines of JSON: dumps of read filings, and pairs that others mined from filings by category.

A dump has one fact a line, as another reader of inline XBRL leaves it:

    {"cik": "320193", "name": "Apple Inc.", "form": "10-K", "accession": "0000320193-24-000123",
     "c": "us-gaap:NetIncomeLoss", "v": 93736000000, "u": "USD", "dec": "-6",
     "start": "2023-10-01", "end": "2024-09-28", "dims": {}}

The same as a CSV, for tables that were read by hand, with these columns and any others:

    entity,name,concept,value,unit,start,end,dims,form
    50863,Intel Corporation,us-gaap:GrossProfit,6145000000,USD,2022-10-01,2022-12-31,"{""measure"": ""non-GAAP""}",8-K

A mined pair states two or more facts, by one of the layouts in `_LAYOUTS`; only the facts are taken, never the
judgement that they are a pair. Figures that a row says were derived, and −1 where it stands for missing, are left out
and counted.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

from fiqkit.errors import UserError
from fiqkit.filings.damage import reason
from fiqkit.filings.exports import NotOurs
from fiqkit.filings.fact import Fact, Reading, TextFact, dims_json, exact, iso_date
from fiqkit.filings.fsds import start_of

Row = Mapping[str, Any]


CSV = ("entity", "name", "concept", "value", "unit", "start", "end", "dims", "form")


def is_lines(head: bytes) -> bool:
    """Whether the first line of a file is a fact or a mined pair, or the header of a table of facts."""
    if is_table(head):
        return True
    try:
        row = json.loads(head.split(b"\n", 1)[0].decode("utf-8-sig"))
    except ValueError:
        return False
    return isinstance(row, dict) and _layout(row) is not None


def is_table(data: bytes) -> bool:
    """Whether this is a CSV of facts."""
    header = data.split(b"\n", 1)[0].decode("utf-8-sig", "replace").strip().split(",")
    return set(CSV) <= set(header)


def _rows(data: bytes, path: Path) -> Iterator[tuple[str, Any]]:
    """(where, row) of each line that holds one."""
    text = data.decode("utf-8-sig", "replace")
    if is_table(data):
        reader = csv.DictReader(io.StringIO(text))
        for row in reader:
            yield f"{path}:{reader.line_num}", {name: value or None for name, value in row.items() if name}
        return
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                yield f"{path}:{number}", json.loads(line)
            except (ValueError, RecursionError) as error:
                raise UserError(f"{path}:{number}: damaged JSON ({reason(error)}); fetch the file again") from error


def read_lines(data: bytes, path: Path, reading: Reading) -> None:
    """Take every fact of a file of JSON lines, or of a table of facts, into `reading`.

    Raises:
        NotOurs: a line of no known layout.
        UserError: a line that is no JSON object, or that lacks a field of its layout; names the line.
    """
    seen: set[Fact] = set()
    for where, row in _rows(data, path):
        layout = _layout(row) if isinstance(row, dict) else None
        if layout is None:
            raise NotOurs(f"{where}: no fact and no mined pair: none of the fields that a known layout has")
        try:
            for fact in layout(row, reading):
                if fact not in seen:
                    seen.add(fact)
                    reading.facts.append(fact)
        except (KeyError, TypeError, ValueError, ArithmeticError) as error:
            raise UserError(f"{where}: a line without its usual fields ({error!r:.80}); mend or remove it") from error


def _layout(row: Row) -> Callable[[Row, Reading], Iterator[Fact]] | None:
    return next((read for fields, read in _LAYOUTS if all(field in row for field in fields)), None)


def _fact(row: Row, concept: str, value: object, **known: Any) -> Fact:
    """A fact of a mined row; what `known` leaves open is read from the row's own fields."""
    entity = str(row["cik"]).lstrip("0") if "cik" in row else str(row["code"]).zfill(6)
    name = row.get("name") or row.get("company")
    end = known.pop("end", None) or row["end"]
    quarters = row.get("qtrs")
    start = row.get("start")
    if "-" not in end:
        end = f"{end[:4]}-{end[4:6]}-{end[6:]}"
    if quarters is not None:
        start = start_of(end, int(quarters))
    fields: dict[str, Any] = {
        "unit": row.get("unit", "USD"),
        "decimals": row.get("dec"),
        "start": start,
        "end": iso_date(end),
        "dims": dims_json(row.get("dims") or {}),
        "form": row.get("form"),
        "accession": row.get("accession"),
        "filed": _day(row.get("filed")),
        "source": "mined",
    } | known
    if not isinstance(row.get("dims") or {}, Mapping):
        raise TypeError(f"dims is {row['dims']!r:.40}")
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise ValueError(f"{concept} is {value!r:.40}")
    number = exact(Decimal(str(value)))
    fields = {"entity": entity or None} | fields
    return Fact(name=name, concept=_prefixed(concept), value=number, **fields)


def _prefixed(concept: str) -> str:
    return concept if ":" in concept or not concept.isascii() else f"us-gaap:{concept}"


def _day(text: str | None) -> str | None:
    if not text:
        return None
    return iso_date(text if "-" in text else f"{text[:4]}-{text[4:6]}-{text[6:]}")


def _unit_of(concept: str) -> str:
    return "USD/shares" if "PerShare" in concept else "USD"


# --- layouts --------------------------------------------------------------------------------------------------------


def _dumped(row: Row, reading: Reading) -> Iterator[Fact]:
    if "T" in row["end"] or "T" in (row["start"] or ""):
        reading.left_out["period with a time of day"] += 1
        return
    yield _fact(row, row["c"], row["v"], unit=row["u"], source="inline")


def _by_hand(row: Row, _: Reading) -> Iterator[Fact]:
    yield _fact(
        {"code": row["entity"], "company": row["name"], **{n: row[n] for n in ("start", "end", "form")}},
        row["concept"],
        float(row["value"]),
        entity=row["entity"],
        unit=row["unit"],
        dims=dims_json(json.loads(row["dims"] or "{}")),
        accession=row.get("accession"),
        filed=_day(row.get("filed")),
        source="hand",
    )


def _two_concepts(row: Row, _: Reading) -> Iterator[Fact]:
    for side in ("a", "b"):
        yield _fact(row, row[side], row[f"{side}_value"], unit=_unit_of(row[side]))


def _whole_and_segment(row: Row, _: Reading) -> Iterator[Fact]:
    yield _fact(row, row["concept"], row["consolidated"])
    axis = "us-gaap:StatementBusinessSegmentsAxis"
    yield _fact(row, row["concept"], row["segment_value"], dims=dims_json({axis: row["member"]}))


def _whole_and_part(row: Row, _: Reading) -> Iterator[Fact]:
    yield _fact(row, row["concept"], row["consolidated"])
    yield _fact(row, row["concept"], row["part_value"], dims=dims_json({row["axis"]: row["member"]}))


def _two_filings(row: Row, reading: Reading) -> Iterator[Fact]:
    if row.get("scale_suspect") or row.get("rounding_suspect"):
        reading.left_out["version in another scale or rounding"] += 1
        return
    for side, value in (("orig", "as_originally_reported"), ("new", "restated")):
        yield _fact(
            row,
            row["concept"],
            row[value],
            unit=row.get("unit") or _unit_of(row["concept"]),
            form=row[f"{side}_form"],
            accession=row.get(f"{side}_accession"),
            filed=_day(row.get(f"{side}_filed")),
        )


_FINGLM = ("营业总收入", "营业收入", "净利润", "少数股东损益", "归母净利润")
_HALF_YEAR = ("总营收", "归母净利润", "扣非净利润", "利润总额", "所得税费用")
_DERIVED = ("净利润_推算", "少数股东损益_推算")


def _annual_profit(row: Row, reading: Reading) -> Iterator[Fact]:
    year = int(row["year"])
    for concept in _FINGLM:
        if concept == "归母净利润" and row["归母_source"] != "reported":
            reading.left_out["derived figure"] += 1
        elif _there(row.get(concept), reading):
            yield _yuan(row, concept, row[concept], f"{year}-01-01", f"{year}-12-31", "年报")


def _half_year_profit(row: Row, reading: Reading) -> Iterator[Fact]:
    reading.left_out["derived figure"] += sum(row.get(name) is not None for name in _DERIVED)
    for concept in _HALF_YEAR:
        if _there(row.get(concept), reading):
            yield _yuan(row, concept, row[concept], "2018-01-01", "2018-06-30", "半年报")


def _express_and_final(row: Row, reading: Reading) -> Iterator[Fact]:
    """业绩快报 beside 半年报; an express report that is dated after the final one is no first report."""
    year = row["period"][:4]
    if row["快报日期"] >= row["公告日期"]:
        reading.left_out["express report dated after the final report"] += 1
        return
    span = (f"{year}-01-01", f"{year}-06-30")
    yield _yuan(row, row["metric"], row["业绩快报"], *span, "业绩快报", filed=row["快报日期"])
    yield _yuan(row, row["metric"], row["正式半年报"], *span, "半年报", filed=row["公告日期"])


def _adjusted(row: Row, reading: Reading) -> Iterator[Fact]:
    if not row["code"].isdigit():
        reading.left_out["row without a stock code"] += 1
        return
    year = row["year"]
    balance = row["metric"] in ("总资产", "资产总额", "归母净资产")
    start = None if balance else f"{year}-01-01"
    for vintage in ("调整前", "调整后"):
        dims = dims_json({"vintage": vintage, "disclosed_in": row["disclosed_in"]})
        yield _yuan(row, row["metric"], row[vintage], start, f"{year}-12-31", "年报", dims=dims)


def _yuan(row: Row, concept: str, value: object, start: str | None, end: str, form: str, **known: Any) -> Fact:
    fields = {"unit": "CNY", "start": start, "form": form, "filed": None, "accession": None} | known
    return _fact(row, concept, value, end=end, **fields)


def _there(value: object, reading: Reading) -> bool:
    """Whether a figure is given; such tables write −1, 0 or nothing for a missing one."""
    if value is None or value in (-1, 0, 1):
        reading.left_out["missing figure"] += 1
        return False
    return True


def _ticker(row: Row, reading: Reading) -> Iterator[Fact]:
    """A listing: a text fact, so that passages and questions may use the symbol."""
    entity = str(row["cik"]).lstrip("0")
    end = iso_date(row["period_end"])
    text = TextFact(entity, None, "dei:TradingSymbol", row["ticker"], None, end, "{}", None, None, None, "mined")
    reading.texts.append(text)
    return iter(())


def _nothing(why: str, row: Row, reading: Reading) -> Iterator[Fact]:
    reading.left_out[why] += 1
    return iter(())


# Fields that give a layout away → its reader; the first that matches has the row.
_LAYOUTS: tuple[tuple[tuple[str, ...], Callable[[Row, Reading], Iterator[Fact]]], ...] = (
    (("c", "v", "u", "cik", "dims"), _dumped),
    (CSV, _by_hand),
    (("cik", "ticker", "period_end"), _ticker),
    (("a", "b", "a_value", "b_value"), _two_concepts),
    (("consolidated", "segment_value", "member"), _whole_and_segment),
    (("consolidated", "part_value", "axis", "member"), _whole_and_part),
    (("as_originally_reported", "restated", "orig_form"), _two_filings),
    (
        ("as_originally_reported", "restated", "via"),
        partial(_nothing, "restatement inside one filing: read the filing"),
    ),
    (("归母_source", "营业总收入"), _annual_profit),
    (("notice_date", "扣非净利润"), _half_year_profit),
    (("业绩快报", "正式半年报"), _express_and_final),
    (("调整前", "调整后", "metric"), _adjusted),
)
