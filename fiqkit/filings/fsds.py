"""SEC Financial Statement Data Sets: a quarter's filings as tab-separated tables in one zip (sub, num, tag, pre).

`num` is read in slices of bytes, so that several processes can share one file. What the tables state is kept: `ddate`
is the period's end rounded to a month's end, and a period of `qtrs` quarters starts the day after the month's end that
lies so many quarters before. Co-registrants (`coreg`) are a dimension. The data sets with notes (`.tsv`) name the other
dimensions by a hash, `dimh`, which the table `dim` spells out. Source: the readme inside each zip.
"""

from __future__ import annotations

import calendar
import io
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from pathlib import Path

from fiqkit.errors import UserError
from fiqkit.filings.damage import DAMAGE, Guarded, reason
from fiqkit.filings.fact import Fact, Filing, Reading, dims_json, exact

SLICE = 8 << 20  # bytes of `num` in one part
_SUB = ("adsh", "cik", "name", "form", "period", "filed")
_NUM = ("adsh", "tag", "version", "ddate", "qtrs", "uom", "value")


def slices(archive: zipfile.ZipFile) -> list[tuple[int, int]]:
    """(first byte, byte after the last) of each part of `num`."""
    size = archive.getinfo(_member(archive, "num")).file_size
    return [(start, min(start + SLICE, size)) for start in range(0, size, SLICE)]


def read_fsds(path: Path, bounds: tuple[int, int], reading: Reading) -> None:
    """Take the facts whose lines begin between two bytes of `num`; filings and labels come with the first slice.

    Raises:
        UserError: damaged zip, or a table or column is missing.
    """
    try:
        archive = zipfile.ZipFile(path)
    except DAMAGE as error:
        raise UserError(f"{path}:1: damaged data set ({reason(error)}); download the zip again") from error
    with archive:
        filings = _filings(archive, path)
        if bounds[0] == 0:
            reading.filings += filings.values()
            reading.labels.update(_labels(archive, path))
        _facts(archive, path, bounds, filings, reading)


def _member(archive: zipfile.ZipFile, table: str) -> str:
    names = [name for name in archive.namelist() if name.rpartition("/")[2] in (f"{table}.txt", f"{table}.tsv")]
    if not names:
        raise UserError(f"{archive.filename}: holds no {table}.txt; is this a Financial Statement Data Set?")
    return names[0]


@contextmanager
def _table(archive: zipfile.ZipFile, table: str) -> Iterator[io.BufferedReader[Guarded]]:
    where = f"{archive.filename}/{table}.txt"
    try:
        stream = archive.open(_member(archive, table))
    except DAMAGE as error:
        raise UserError(f"{where}:1: damaged data set ({reason(error)}); download the zip again") from error
    with stream:
        yield io.BufferedReader(Guarded(stream, where), 1 << 20)


def _columns(line: bytes, wanted: tuple[str, ...], where: str) -> dict[str, int]:
    header = line.decode("utf-8-sig", "replace").rstrip("\r\n").split("\t")
    columns = {name: place for place, name in enumerate(header)}
    missing = [name for name in wanted if name not in columns]
    if missing:
        raise UserError(f"{where}:1: no column {missing[0]!r}; is this a Financial Statement Data Set?")
    return columns


def _filings(archive: zipfile.ZipFile, path: Path) -> dict[str, Filing]:
    filings = {}
    with _table(archive, "sub") as stream:
        at = _columns(stream.readline(), _SUB, f"{path}/sub.txt")
        for line in stream:
            cells = line.decode("utf-8", "replace").rstrip("\r\n").split("\t")
            if len(cells) == len(at):
                adsh, cik, name, form, period, filed = (cells[at[column]] for column in _SUB)
                entity = cik.lstrip("0") or None
                filings[adsh] = Filing(adsh, entity, name or None, form or None, _known_day(period), _known_day(filed))
    return filings


def _labels(archive: zipfile.ZipFile, path: Path) -> dict[str, str]:
    """Labels of the standard taxonomies; a filer's own tags are labelled by their name."""
    labels = {}
    with _table(archive, "tag") as stream:
        wanted = ("tag", "version", "tlabel")
        at = _columns(stream.readline(), wanted, f"{path}/tag.txt")
        for line in stream:
            cells = line.decode("utf-8", "replace").rstrip("\r\n").split("\t")
            if len(cells) == len(at):
                tag, version, label = (cells[at[column]] for column in wanted)
                if label and "/" in version:
                    labels[_concept(tag, version)] = label
    return labels


def _concept(tag: str, version: str) -> str:
    """us-gaap/2009 gives `us-gaap:Tag`; a filer's own tag has its filing's accession for a version."""
    return f"{version.partition('/')[0]}:{tag}"


def _facts(
    archive: zipfile.ZipFile, path: Path, bounds: tuple[int, int], filings: dict[str, Filing], reading: Reading
) -> None:
    with _table(archive, "num") as stream:
        at = _columns(stream.readline(), _NUM, f"{path}/num.txt")
        segments = _segments(str(path), path.stat().st_mtime_ns) if "dimh" in at else {}
        offset = stream.tell()
        if bounds[0] > offset:
            # The line that this byte cuts belongs to the slice before.
            stream.seek(bounds[0] - 1)
            stream.readline()
            offset = stream.tell()
        while offset < bounds[1] and (line := stream.readline()):
            offset += len(line)
            try:
                reading.facts.append(_fact(line.decode("utf-8").rstrip("\r\n").split("\t"), at, filings, segments))
            except _LeftOut as reason:
                reading.left_out[str(reason)] += 1
            except (ValueError, IndexError, InvalidOperation):
                reading.left_out["line of num that is damaged"] += 1


class _LeftOut(Exception):
    """Why a line gives no fact."""


_NO_DIMENSIONS = "0x00000000"
_EXACT = "32767"  # of `dcml`, where the filer says INF


@lru_cache(maxsize=1)
def _segments(path: str, modified: int) -> dict[str, str]:
    """Hash → dimensions, as "BusinessSegments=East;", of a data set with notes; kept from slice to slice.

    Raises:
        UserError: the table is missing or damaged.
    """
    with zipfile.ZipFile(path) as archive, _table(archive, "dim") as stream:
        at = _columns(stream.readline(), ("dimhash", "segments"), f"{path}/dim.tsv")
        rows = (line.decode("utf-8", "replace").rstrip("\r\n").split("\t") for line in stream)
        return {cells[at["dimhash"]]: cells[at["segments"]] for cells in rows if len(cells) == len(at)}


def _fact(cells: list[str], at: dict[str, int], filings: dict[str, Filing], segments: dict[str, str]) -> Fact:
    if len(cells) != len(at):
        raise ValueError("number of cells")
    adsh, tag, version, ddate, qtrs, unit, value = (cells[at[column]] for column in _NUM)
    if not value:
        raise _LeftOut("nil")
    filing = filings.get(adsh)
    if filing is None:
        raise _LeftOut("filing that sub does not list")
    end = _day(ddate)
    if end is None or not tag:
        raise ValueError("date or tag")
    number = exact(Decimal(value[:100]))
    spelled = cells[at["segments"]] if "segments" in at else ""
    if "dimh" in at and (key := cells[at["dimh"]]) not in ("", _NO_DIMENSIONS):
        if key not in segments:
            raise _LeftOut("dimensions that the table dim does not spell out")
        spelled = segments[key]
    dims = _dims(spelled, cells[at["coreg"]] if "coreg" in at else "")
    digits = cells[at["dcml"]] if "dcml" in at else ""
    decimals = "INF" if digits == _EXACT else digits or None
    tail = (filing.form, adsh, filing.filed, "fsds")
    concept = _concept(tag, version)
    return Fact(
        filing.entity, filing.name, concept, number, unit or None, decimals, start_of(end, int(qtrs)), end, dims, *tail
    )


@lru_cache(4096)
def _dims(segments: str, coreg: str) -> str:
    pairs = dict(part.split("=", 1) for part in segments.split(";") if "=" in part)
    return dims_json(pairs | ({"coreg": coreg} if coreg else {}))


@lru_cache(4096)
def _day(text: str) -> str | None:
    """ISO date of 20090630; None when empty.

    Raises:
        ValueError: not a date.
    """
    if not text:
        return None
    return date(int(text[:4]), int(text[4:6]), int(text[6:])).isoformat()


def _known_day(text: str) -> str | None:
    """ISO date, None when it is empty or no date."""
    try:
        return _day(text)
    except ValueError:
        return None


@lru_cache(4096)
def start_of(end: str, quarters: int) -> str | None:
    """First day of a period of so many quarters; None for an instant (no quarters)."""
    if quarters == 0:
        return None
    year, month, _ = map(int, end.split("-"))
    months = year * 12 + month - 1 - 3 * quarters
    if not 0 < quarters < 400 or months < 12:
        raise ValueError("qtrs")
    year, month = months // 12, months % 12 + 1
    return str(date(year, month, calendar.monthrange(year, month)[1]) + timedelta(days=1))
