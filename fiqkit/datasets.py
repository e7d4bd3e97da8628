"""Instances and passages in and out of JSONL files.

Everything is validated here, once: what has been read is trusted from there on.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from math import log2
from pathlib import Path
from typing import Any

from fiqkit.errors import UserError
from fiqkit.records import Instance, Interpretation, Passage
from fiqkit.taxonomy import CATEGORIES, FIELDS, LANGUAGES
from fiqkit.whole_file import written_whole


def read_jsonl(path: Path, faults: list[UserError] | None = None) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number, object) of a JSONL file, plain or gzip, one line in memory at a time.

    Args:
        faults: where given, the fault of a bad line is put there and reading goes on with the next line.

    Raises:
        UserError: the file cannot be read, or a line is not a JSON object; names the file and the line.
    """
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rb") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    if line.strip():
                        yield number, _object(path, number, line)
                except UserError as fault:
                    if faults is None:
                        raise
                    faults.append(fault)
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{path}: cannot be read as JSONL ({error}); check the path and the file") from error


def _object(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line.decode("utf-8-sig"), parse_constant=_no_constant)
        if rb"\ud" in line.lower():  # half a surrogate pair is valid JSON, and nothing could store it
            json.dumps(value, ensure_ascii=False).encode()
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise UserError(f"{path}:{number}: not valid JSON ({error}); one JSON object a line is expected") from error
    if not isinstance(value, dict):
        raise UserError(f"{path}:{number}: a JSON {type(value).__name__} where an object is expected")
    return value


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON number")


def write_jsonl(path: Path, rows: Iterable[Mapping[str, Any]]) -> int:
    """Write rows as JSONL, whole or not at all, so that a failure leaves the old file. Returns the count.

    Raises:
        UserError: the file cannot be written.
    """
    count = 0
    with written_whole(path) as scratch, scratch.open("w", encoding="utf-8") as out:
        for count, row in enumerate(rows, 1):  # noqa: B007
            out.write(json.dumps(row, ensure_ascii=False) + "\n")
    return count


# --- instances ------------------------------------------------------------------------------------------------------

_TEXT = ("instance_id", "question", "context", "answer", "default_answer", "language")
_OPTIONAL = (
    "passage_id",
    "intended_evidence_span",
    "default_evidence_span",
    "company",
    "ticker",
    "source",
    "filing_type",
    "filing_date",
    "orbit",
)
INSTANCE_FIELDS = {
    *_TEXT,
    *_OPTIONAL,
    *("intended_interpretation", "default_interpretation", "categories", "axes", "h0", "headline_intended"),
}


def read_instances(path: Path) -> list[Instance]:
    """Read instances from JSONL: this kit's own format, or the FinInteract release's (`axes` for `categories`).

    Raises:
        UserError: names the file, the line and the field of the first fault; duplicate ids are a fault.
    """
    seen: dict[str, int] = {}
    instances = []
    for number, row in read_jsonl(path):
        instance = parse_instance(row, f"{path}:{number}")
        first = seen.setdefault(instance.instance_id, number)
        if first != number:
            raise UserError(
                f"{path}:{number}: instance_id {instance.instance_id!r} already stands in line {first}; ids must differ"
            )
        instances.append(instance)
    if not instances:
        raise UserError(f"{path}: holds no instance; one JSON object a line is expected")
    return instances


def parse_instance(row: Mapping[str, Any], where: str) -> Instance:
    """One instance from a JSON object; `where` (file:line) begins each error message."""
    text = {name: _text(row, name, where) for name in _TEXT}
    if text["language"] not in LANGUAGES:
        raise UserError(f"{where}: language {text['language']!r} is none of {', '.join(LANGUAGES)}")
    categories = _categories(row, where)
    return Instance(
        **text,
        **{name: row[name] for name in _OPTIONAL if isinstance(row.get(name), str) and row[name] != ""},
        intended_interpretation=_interpretation(row, "intended_interpretation", where),
        default_interpretation=_interpretation(row, "default_interpretation", where),
        categories=categories,
        h0=_entropy(row, categories, where),
        headline_intended=row.get("headline_intended") is True,
        extra={name: value for name, value in row.items() if name not in INSTANCE_FIELDS},
    )


def instance_row(instance: Instance) -> dict[str, Any]:
    """The JSON object of an instance; `parse_instance` reads it back to an equal one."""
    row = {f.name: getattr(instance, f.name) for f in fields(Instance) if f.name != "extra"}
    row["categories"] = list(instance.categories)
    for name in ("intended_interpretation", "default_interpretation"):
        row[name] = {field: value for field in FIELDS if (value := getattr(row[name], field)) is not None}
    if not instance.headline_intended:
        del row["headline_intended"]
    return {k: v for k, v in row.items() if v is not None} | dict(instance.extra)


def _text(row: Mapping[str, Any], name: str, where: str) -> str:
    value = row.get(name)
    if not isinstance(value, str) or not value.strip():
        found = "is missing" if value is None else f"is {value!r:.40}"
        raise UserError(f"{where}: field {name!r} {found}; a non-empty string is needed")
    return value


def _interpretation(row: Mapping[str, Any], name: str, where: str) -> Interpretation:
    value = row.get(name)
    if not isinstance(value, dict) or not value:
        raise UserError(f"{where}: field {name!r} must be an object with some of {', '.join(FIELDS)}")
    return Interpretation(**{f: str(value[f]) for f in FIELDS if value.get(f) not in (None, "")})


def _categories(row: Mapping[str, Any], where: str) -> tuple[str, ...]:
    value = row.get("categories", row.get("axes"))
    if not isinstance(value, list) or not value:
        raise UserError(f"{where}: field 'categories' must be a list with one to three of {', '.join(CATEGORIES)}")
    unknown = [name for name in value if name not in CATEGORIES]
    if unknown:
        raise UserError(f"{where}: category {unknown[0]!r} is none of {', '.join(CATEGORIES)}")
    return tuple(dict.fromkeys(value))


def _entropy(row: Mapping[str, Any], categories: tuple[str, ...], where: str) -> float:
    value = row.get("h0")
    if value is None:
        return round(sum(log2(CATEGORIES[name].readings) for name in categories), 4)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 64:
        raise UserError(f"{where}: field 'h0' is {value!r:.40}; a number of bits is needed, or leave it out")
    return float(value)


def record_hash(instance: Instance) -> str:
    """Hash of an instance's record; with the instance's id it names an item, in whatever file or subset it stands."""
    return hashlib.sha256(_canonical(instance)).hexdigest()[:16]


def dataset_hash(instances: Iterable[Instance]) -> str:
    """Hash of the instances as records, whatever file they came from."""
    digest = hashlib.sha256()
    for instance in instances:
        digest.update(_canonical(instance) + b"\n")
    return digest.hexdigest()[:16]


def _canonical(instance: Instance) -> bytes:
    return json.dumps(instance_row(instance), sort_keys=True, ensure_ascii=False).encode()


# --- passages -------------------------------------------------------------------------------------------------------


def read_passages(path: Path) -> list[Passage]:
    """Read passages from JSONL: this kit's own format, or the release's (`passage_text`, `filing_type`, `filing_date`).

    A row that repeats another is taken once; two different passages under one id are an error, since an instance or a
    stored run that names the id could mean either. Construction fields such as `candidate_answer` are dropped, so that
    they can never be indexed. A filing date before the period's end cannot be right and becomes None.

    Raises:
        UserError: names the file, the line and the field of the first fault.
    """
    found: dict[str, tuple[int, Passage]] = {}
    for number, row in read_jsonl(path):
        passage = parse_passage(row, f"{path}:{number}")
        first, other = found.setdefault(passage.passage_id, (number, passage))
        if passage != other:
            what = next(f.name for f in fields(Passage) if getattr(passage, f.name) != getattr(other, f.name))
            raise UserError(
                f"{path}:{number}: passage_id {passage.passage_id!r:.80} already stands in line {first} with another "
                f"{what}; give each passage an id of its own"
            )
    if not found:
        raise UserError(f"{path}: holds no passages; one JSON object a line is expected")
    return [passage for _, passage in found.values()]


def parse_passage(row: Mapping[str, Any], where: str) -> Passage:
    """One passage from a JSON object; `where` (file:line) begins each error message."""
    text_field = "passage_text" if "passage_text" in row else "text"
    period = _date(row.get("period"))
    filed = _date(row.get("filed") or row.get("filing_date"))
    if filed and period and filed < period:
        filed = None
    language = row.get("language", "en")
    if language not in LANGUAGES:
        raise UserError(f"{where}: language {language!r:.40} is none of {', '.join(LANGUAGES)}")
    return Passage(
        passage_id=_text(row, "passage_id", where),
        text=_text(row, text_field, where),
        form=_text_or_none(row, "form", where) or _text_or_none(row, "filing_type", where),
        filed=filed,
        period=period,
        language=language,
        **{name: _text_or_none(row, name, where) for name in ("company", "ticker", "source")},
    )


def _text_or_none(row: Mapping[str, Any], name: str, where: str) -> str | None:
    """A text that may be left out; a number would have lost its leading zeros (ticker 538 for 000538)."""
    value = row.get(name)
    if value is not None and not isinstance(value, str):
        raise UserError(f"{where}: field {name!r} is {value!r:.40}; a string is needed, or leave it out")
    return value or None


def passage_row(passage: Passage) -> dict[str, Any]:
    """The JSON object of a passage; `parse_passage` reads it back to an equal one."""
    return {name: value for name, value in _passage_dict(passage).items() if value is not None}


def _passage_dict(passage: Passage) -> dict[str, Any]:
    return {f.name: getattr(passage, f.name) for f in fields(Passage)}


def _date(value: object) -> str | None:
    """ISO date of "20241231" or "2024-12-31"; anything else passes through as text, nothing as None."""
    if not isinstance(value, str) or not value.strip():
        return None
    text = value.strip()
    return f"{text[:4]}-{text[4:6]}-{text[6:]}" if len(text) == 8 and text.isdigit() else text
