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
from typing import Any

from fiqkit.errors import UserError
from fiqkit.filings.damage import DAMAGE, reason
from fiqkit.filings.exports import NotOurs
from fiqkit.filings.lines import is_lines, is_table

_SNIFF = 1 << 16
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class Part:
    """A share of a file's content.

    Attributes:
        path: the file.
        part: which share, unique within the file: a zip's member or a slice; "" for the whole.
        kind: filing, companyfacts, companyfacts_zip, fsds, export, lines or questions.
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
    """All bytes of a file, unzipped where it is gzip, also where it was packed twice.

    Raises:
        UserError: unreadable or a damaged gzip.
    """
    try:
        data = path.read_bytes()
        packed = path.suffix.lower() == ".gz"
        while packed or data[:2] == _GZIP:
            data, packed = gzip.decompress(data), False
        return data
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
    """A file's first bytes, unzipped, as UTF-8 where they are UTF-16."""
    with path.open("rb") as raw:
        magic = raw.read(2)
        raw.seek(0)
        stream: Any = raw
        if path.suffix.lower() == ".gz" or magic == _GZIP:
            stream = gzip.GzipFile(fileobj=raw)
        head = stream.read(_SNIFF)
        if head[:2] == _GZIP:
            raw.seek(0)
            head = gzip.GzipFile("", "rb", fileobj=gzip.GzipFile(fileobj=raw)).read(_SNIFF)
    if not head.strip():
        raise UserError(f"{path}:1: the file is empty; fetch it again")
    if path.suffix.lower() == ".zip" and magic != b"PK":
        raise UserError(f"{path}:1: not a zip in spite of its name; download it again")
    return head.decode("utf-16", "replace").encode() if head[:2] in (b"\xff\xfe", b"\xfe\xff") else head


# What a filing's folder at the SEC holds beside its documents: the root element, or a part of the name, and what it is.
_BESIDE_BY_ROOT = {
    b"schema": "an XBRL taxonomy schema",
    b"linkbase": "an XBRL linkbase",
    b"FilingSummary": "the SEC's list of the pages that it renders",
    b"InstanceReport": "a page that the SEC renders from the facts",
}
_BESIDE_BY_NAME = (
    (re.compile(r"R\d+\.(html?|xml)(\.gz)?"), "a page that the SEC renders from the facts"),
    (re.compile(r".*-index(-headers)?\.html?"), "the SEC's list of the filing's files"),
    (re.compile(r"MetaLinks\.json"), "the SEC's list of the filing's elements"),
)
_ROOT = re.compile(rb"<(?:[\w.-]+:)?([A-Za-z][\w.-]*)")


def _refuse_beside(path: Path, head: bytes) -> None:
    """Files that stand beside a filing's documents and hold nothing of their own.

    Raises:
        NotOurs: it is one.
    """
    what = next((what for name, what in _BESIDE_BY_NAME if name.fullmatch(path.name)), None)
    if what is None and head.lstrip(b"\xef\xbb\xbf \r\n\t")[:1] == b"<" and (root := _ROOT.search(head)):
        what = _BESIDE_BY_ROOT.get(root[1])
    extract = re.fullmatch(r"(.+)_htm\.xml(\.gz)?", path.name)
    if extract and any(path.with_name(extract[1] + suffix).exists() for suffix in (".htm", ".htm.gz")):
        what = f"what the SEC extracts from {extract[1]}.htm, which is read"
    if what:
        raise NotOurs(f"{path}:1: {what}; nothing in it is read")


def _kind(path: Path, head: bytes) -> str:
    _refuse_beside(path, head)
    suffixes = [suffix.lower() for suffix in path.suffixes]
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    if (start == b"{" and is_lines(head)) or is_table(head):
        return "lines"
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
