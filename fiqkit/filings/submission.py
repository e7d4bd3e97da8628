"""A full submission: the SGML around a filing's documents, and what its header says of the filing.

<SEC-HEADER>                                   <SUBMISSION>                    (the daily feed's .nc files)
ACCESSION NUMBER:          0001234567-25-000020        <ACCESSION-NUMBER>0001234567-25-000020
CONFORMED SUBMISSION TYPE: DEF 14A                     <TYPE>DEF 14A
…
<DOCUMENT><TYPE>EX-99.1 <FILENAME>b.htm <TEXT> … </TEXT></DOCUMENT>
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from fiqkit.filings.fact import iso_date_or_none
from fiqkit.filings.kinds import content
from fiqkit.filings.xbrl import Origin

_DOCUMENT = re.compile(rb"<DOCUMENT>(.*?)(?:</DOCUMENT>|\Z)", re.DOTALL | re.IGNORECASE)
_BODY = re.compile(rb"<TEXT>(.*?)(?:</TEXT>|\Z)", re.DOTALL | re.IGNORECASE)
_WRAP = re.compile(rb"\s*<(XBRL|XML)>(.*)</\1>\s*\Z", re.DOTALL | re.IGNORECASE)
_TYPE = re.compile(rb"<TYPE>[ \t]*([^\r\n<]+)", re.IGNORECASE)
_NAME = re.compile(rb"<FILENAME>[ \t]*([^\r\n<]+)", re.IGNORECASE)
_ACCESSION = re.compile(r"(?<!\d)(\d{10})-?(\d{2})-?(\d{6})(?!\d)")
_RENDERED = re.compile(r"R\d+\.(htm|xml)", re.IGNORECASE)
_NO_TEXT = re.compile(r"XML|GRAPHIC|ZIP|EXCEL|PDF|JSON|EX-101\.(?!INS).*", re.IGNORECASE)
# Field of the header → its name in a full submission and in the daily feed.
_HEADER = {
    "accession": ("ACCESSION NUMBER:", "<ACCESSION-NUMBER>"),
    "filed": ("FILED AS OF DATE:", "<FILING-DATE>"),
    "form": ("CONFORMED SUBMISSION TYPE:", "<TYPE>"),
    "period": ("CONFORMED PERIOD OF REPORT:", "<PERIOD>"),
    "entity": ("CENTRAL INDEX KEY:", "<CIK>"),
    "name": ("COMPANY CONFORMED NAME:", "<CONFORMED-NAME>"),
}


class Paper(NamedTuple):
    """A document of a submission; `type` and `name` are empty where the file is none."""

    type: str
    name: str
    body: bytes

    @property
    def is_text(self) -> bool:
        """Whether it can hold text that was filed: no picture, no schema, no page that the SEC made from the facts."""
        return not (_NO_TEXT.fullmatch(self.type) or _RENDERED.fullmatch(self.name) or self.body[:5] == b"<PDF>")


def papers(data: bytes) -> list[Paper]:
    """The documents inside a submission; the file itself when it is none."""
    if b"<DOCUMENT>" not in data[:100_000].upper():
        return [Paper("", "", data.strip())]
    found = []
    for document in _DOCUMENT.finditer(data):
        body = _BODY.search(document[1])
        content = body[1] if body else document[1]
        inner = _WRAP.match(content)
        found.append(
            Paper(_first(_TYPE, document[1]), _first(_NAME, document[1]), (inner or [b"", b"", content])[2].strip())
        )
    return found


def documents_beside(path: Path) -> list[Path]:
    """The files in a full submission's folder that are documents of it, equal up to white space.

    Raises:
        UserError: unreadable, or a damaged gzip.
    """
    found = []
    for paper in papers(content(path)):
        names = [paper.name, f"{paper.name}.gz"] if paper.name and Path(paper.name).name == paper.name else []
        for other in map(path.with_name, names):
            if other != path and other.is_file():
                (inner,) = papers(content(other))[:1]
                if inner.body.split() == paper.body.split():
                    found.append(other)
    return found


def _first(pattern: re.Pattern[bytes], document: bytes) -> str:
    found = pattern.search(document[:2000])
    return found[1].decode("latin-1").strip() if found else ""


def origin(data: bytes, path: Path) -> Origin:
    """Accession, filing date, form, period and filer: from the header, else what the path's own names say."""
    head = data[:20_000]
    said = _header(head.partition(b"<DOCUMENT>")[0].decode("latin-1")) if b"<" in head[:1000] else {}
    places = [said["accession"]] if "accession" in said else [path.name, path.parent.name]
    accession = next((found for place in places if (found := _ACCESSION.search(place))), None)
    return Origin(
        accession="-".join(accession.groups()) if accession else None,
        filed=_day(said.get("filed")),
        form=said.get("form") or _first(_TYPE, head) or None,
        entity=said["entity"].lstrip("0") or None if "entity" in said else None,
        name=said.get("name"),
        period=_day(said.get("period")),
        where=str(path),
    )


def _header(head: str) -> dict[str, str]:
    """The fields of a submission's header, the first filer's; none in a file without one."""
    form = next((n for n in (0, 1) if _HEADER["accession"][n] in head.upper()), None)
    if form is None:
        return {}
    said: dict[str, str] = {}
    for line in head.splitlines():
        for field, names in _HEADER.items():
            if field not in said and (value := line.strip().partition(names[form])[2].strip()):
                said[field] = value
    return said


def _day(text: str | None) -> str | None:
    return iso_date_or_none(f"{text[:4]}-{text[4:6]}-{text[6:8]}") if text and len(text) == 8 else None
