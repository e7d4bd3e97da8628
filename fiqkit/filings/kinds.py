"""What a file is, told from its first bytes, and into which parts it is read.

A part is what one process reads at a time and what one transaction writes: a file, one company of a bulk zip, or a
slice of a data set's largest table. Parts are small, so that memory does not grow with the file.
"""

from __future__ import annotations

import gzip
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fiqkit.errors import UserError
from fiqkit.filings.damage import DAMAGE, reason
from fiqkit.filings.exports import NotOurs

_SNIFF = 1 << 16


@dataclass(frozen=True, slots=True)
class Part:
    """A share of a file's content.

    Attributes:
        path: the file.
        part: which share, unique within the file: a zip's member or a slice; "" for the whole.
        kind: filing, companyfacts, companyfacts_zip, fsds, export or questions.
        bounds: first byte and byte after the last, for a slice.
        weight: bytes to read, for the progress bar.
        entity, name: the company, for export tables that name none.
    """

    path: str
    kind: str
    part: str = ""
    bounds: tuple[int, int] = (0, 0)
    weight: int = 0
    entity: str | None = None
    name: str | None = None


def content(path: Path) -> bytes:
    """All bytes of a file, unzipped where it is gzip.

    Raises:
        UserError: unreadable or a damaged gzip.
    """
    try:
        data = path.read_bytes()
        return gzip.decompress(data) if data[:2] == b"\x1f\x8b" or path.suffix.lower() == ".gz" else data
    except DAMAGE as error:
        raise UserError(f"{path}:1: cannot be read ({reason(error)}); fetch the file again") from error


def parts(path: Path, entity: str | None = None, name: str | None = None) -> list[Part]:
    """The parts of a file.

    Raises:
        NotOurs: no kind that a reader knows.
        UserError: unreadable or damaged.
    """
    try:
        head = _head(path)
        if head[:2] == b"PK":
            return list(_zip_parts(path))
    except DAMAGE as error:
        raise UserError(f"{path}:1: cannot be read ({reason(error)}); fetch the file again") from error
    return [Part(str(path), _kind(path, head), entity=entity, name=name, weight=path.stat().st_size)]


def _head(path: Path) -> bytes:
    with path.open("rb") as raw:
        magic = raw.read(2)
        raw.seek(0)
        packed = magic == b"\x1f\x8b" or path.suffix.lower() == ".gz"
        head = gzip.GzipFile(fileobj=raw).read(_SNIFF) if packed else raw.read(_SNIFF)
    if not head.strip():
        raise UserError(f"{path}:1: the file is empty; fetch it again")
    if path.suffix.lower() == ".zip" and magic != b"PK":
        raise UserError(f"{path}:1: not a zip in spite of its name; download it again")
    return head


def _kind(path: Path, head: bytes) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    if start in b"{[":
        return "companyfacts" if re.search(rb'"(entityName|cik)"', head) else "questions"
    if start == b"<" or any(s in (".htm", ".html", ".xml", ".xhtml") for s in suffixes) or b"<SEC-DOCUMENT>" in head:
        return "filing"
    if head.startswith(b"\xd0\xcf\x11\xe0"):
        raise NotOurs(f"{path}:1: an Excel workbook; save its sheet as CSV")
    if any(s in (".csv", ".tsv", ".xls") for s in suffixes):  # what Sina serves as .xls is text between tabs
        return "export"
    if any(s in (".json", ".jsonl") for s in suffixes):
        return "questions"  # its reader names the damage
    raise NotOurs(
        f"{path}:1: no kind of file that is read (XBRL, HTML, companyfacts, FSDS, export table, question set)"
    )


def _zip_parts(path: Path) -> Iterator[Part]:
    with zipfile.ZipFile(path) as archive:
        infos = archive.infolist()
        if any(info.filename.rpartition("/")[2] in ("num.txt", "num.tsv") for info in infos):
            from fiqkit.filings.fsds import slices

            for start, stop in slices(archive):
                yield Part(str(path), "fsds", f"num {start}-{stop}", bounds=(start, stop), weight=stop - start)
            return
        members = [info for info in infos if re.search(r"CIK\d+\.json$", info.filename)]
        if any(info.filename == "xl/workbook.xml" for info in infos):
            raise NotOurs(f"{path}:1: an Excel workbook; save its sheet as CSV")
        if not members:
            raise NotOurs(f"{path}:1: a zip with neither CIK….json nor num.txt; unpack it, or give the SEC's own")
        for info in members:
            yield Part(str(path), "companyfacts_zip", info.filename, weight=info.compress_size)
