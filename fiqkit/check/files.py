"""What a file is, and the faults that it shows by itself, line by line.

A file is told by the fields of its first object, a folder is an index:

    {"question": …, "context": …, "answer": …}       instances
    {"passage_id": …, "text": …}                     passages
    {"question": …, "touched": […]}                  ruled questions, answers (`final_answer`) or replies (`reply`)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from fiqkit.datasets import INSTANCE_FIELDS, parse_instance, parse_passage, read_jsonl
from fiqkit.errors import UserError
from fiqkit.index.manifest import FILE as MANIFEST
from fiqkit.records import Instance, Passage
from fiqkit.taxonomy import FIELDS
from fiqkit.verdicts.ruled import parse_ruled


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to know of a set; `fatal`: a run on it would measure nothing or something else."""

    where: str
    what: str
    fatal: bool

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


@dataclass(slots=True)
class Checked:
    """What the files hold, and what was found in them.

    Attributes:
        instances, passages: (file:line, record) of what could be read.
        questions: (file:line, id of the instance that it is about, where it names one) of ruled lines.
        indexes: folders.
    """

    instances: list[tuple[str, Instance]] = field(default_factory=list)
    passages: list[tuple[str, Passage]] = field(default_factory=list)
    questions: list[tuple[str, str | None]] = field(default_factory=list)
    indexes: list[Path] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def fault(self, where: str, what: str) -> None:
        """Note what a run cannot do with."""
        self.findings.append(Finding(where, what, fatal=True))

    def remark(self, where: str, what: str) -> None:
        """Note what a person should look at."""
        self.findings.append(Finding(where, what, fatal=False))


def read_file(path: Path, checked: Checked) -> None:
    """Take a file or an index's folder into `checked`, all of its faults with it.

    Raises:
        UserError: it is none of the kinds, or cannot be read at all.
    """
    if path.is_dir():
        if not (path / MANIFEST).exists():
            raise UserError(f"{path}: a folder without an index; name files, or a folder that `index build` made")
        checked.indexes.append(path)
        return
    faults: list[UserError] = []
    kind = ""
    for number, row in read_jsonl(path, faults):
        where = f"{path}:{number}"
        kind = kind or _kind(row, where)
        try:
            if kind == "instances":
                checked.findings += (Finding(where, what, fatal) for what, fatal in _spelling(row))
                checked.instances.append((where, parse_instance(row, where)))
            elif kind == "passages":
                checked.passages.append((where, parse_passage(row, where)))
            else:
                parse_ruled(row, where)
                about = row.get("instance_id")
                checked.questions.append((where, about if isinstance(about, str) else None))
        except UserError as error:
            faults.append(error)
    if not kind and not faults:
        raise UserError(f"{path}: holds nothing; one JSON object a line is expected")
    for fault in faults:
        where, _, what = str(fault).partition(": ")
        checked.fault(where, what)


def _kind(row: Mapping[str, Any], where: str) -> str:
    if "passage_id" in row and ("text" in row or "passage_text" in row) and "answer" not in row:
        return "passages"
    if {"touched", "central", "final_answer", "reply"} & row.keys():
        return "questions"
    if {"question", "context", "answer", "default_answer", "intended_interpretation"} & row.keys():
        return "instances"
    raise UserError(f"{where}: neither an instance, a passage nor a ruled question; `fiqkit check --template FOLDER`")


# Words that people write for a field of a reading.
_MEANT = {
    word: name
    for name, words in {
        "entity": "scope company segment 主体",
        "period": "time date year quarter fiscal_year 期间",
        "metric": "measure definition indicator 指标",
        "basis": "recognition policy accounting 口径",
        "vintage": "version restatement 版本",
    }.items()
    for word in words.split()
}


def _spelling(row: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    """(what, fatal) of fields and keys of readings that nothing reads, where they look like ones that are read."""
    for name in sorted(row.keys() - INSTANCE_FIELDS):
        if close := get_close_matches(name.lower(), INSTANCE_FIELDS, 1, 0.8):
            yield f"field {name!r} is not read; is {close[0]!r} meant?", False
    for side in ("intended_interpretation", "default_interpretation"):
        reading = row.get(side)
        if not isinstance(reading, dict):
            continue
        for key in sorted(reading.keys() - set(FIELDS)):
            plain = key.strip().lower()
            meant = _MEANT.get(plain) or next(iter(get_close_matches(plain, FIELDS, 1, 0.7)), None)
            hint = f"; is {meant!r} meant?" if meant else f"; the fields are {', '.join(FIELDS)}"
            yield f"{side} has the key {key!r}, which is not read{hint}", meant is not None and meant not in reading
