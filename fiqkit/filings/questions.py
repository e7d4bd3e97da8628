"""Question sets with evidence as passages: FinanceBench, TAT-QA and DocFinQA, by the fields of their publication.

The value that a question asks for is kept beside the passage as a candidate, never in its text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from fiqkit.errors import UserError
from fiqkit.filings.damage import reason
from fiqkit.filings.exports import NotOurs
from fiqkit.filings.fact import Reading
from fiqkit.filings.identity import passage_id
from fiqkit.filings.tables import written
from fiqkit.filings.text import Block, pack
from fiqkit.records import Passage


def read_questions(data: bytes, path: Path, reading: Reading) -> None:
    """Take a question set's evidence into `reading`, each passage once with every value that is asked of it.

    Raises:
        NotOurs: no layout that is known.
        UserError: not JSON, or an entry lacks a field of its layout; names the entry.
    """
    count = 0
    for count, (where, entry) in enumerate(_entries(data, path), 1):  # noqa: B007
        if other := next((name for name, fields in _OTHERS.items() if fields <= entry.keys()), None):
            raise NotOurs(f"{where}: a {other} file, which is not read; FinanceBench, TAT-QA and DocFinQA are")
        reader = next((read for field, read in _LAYOUTS.items() if field in entry), None)
        if reader is None:
            raise NotOurs(f"{where}: no question set: none of {', '.join(_LAYOUTS)} among its fields")
        try:
            reader(entry, reading)
        except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
            raise UserError(f"{where}: an entry without its usual fields ({error!r:.80}); mend or remove it") from error
    if not count:
        raise NotOurs(f"{path}:1: holds no entry")


def _entries(data: bytes, path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """(where, object) of a JSON array or of JSON lines."""
    try:
        text = data.decode("utf-8-sig")
        if text.lstrip()[:1] == "[":
            found = [(f"{path}: entry {n}", entry) for n, entry in enumerate(json.loads(text), 1)]
        else:
            lines = enumerate(text.split("\n"), 1)
            found = [(f"{path}:{n}", json.loads(line)) for n, line in lines if line.strip()]
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        raise UserError(f"{path}:{line}: damaged JSON ({reason(error)}); download the file again") from error
    for where, entry in found:
        if not isinstance(entry, dict):
            raise NotOurs(f"{where}: a JSON {type(entry).__name__} where an object is expected")
        yield where, entry


def _add(passage: Passage, question: str, value: Any, reading: Reading) -> None:
    if passage.passage_id not in reading.candidates:
        reading.passages.append(passage)
    known = reading.candidates.setdefault(passage.passage_id, [])
    if value not in (None, ""):
        known.append({"question": _tidy(str(question)), "value": _tidy(str(value))})


def _financebench(entry: Mapping[str, Any], reading: Reading) -> None:
    form = re.search(r"_(10K|10Q|8K|EARNINGS|Annual)", entry["doc_name"])
    for evidence in entry["evidence"]:
        text = _tidy(evidence.get("evidence_text_full_page") or evidence["evidence_text"])
        page = evidence.get("evidence_page_num", evidence.get("page_number"))
        place = f"{evidence.get('doc_name') or entry['doc_name']}:p{page}"
        passage = Passage(
            passage_id=passage_id(_tidy(place), entry["company"], text),
            text=text,
            company=_tidy(entry["company"]),
            form=form[1].replace("10", "10-").replace("8K", "8-K") if form else None,
            source="financebench",
        )
        _add(passage, entry["question"], entry["answer"], reading)


def _tatqa(entry: Mapping[str, Any], reading: Reading) -> None:
    rows = [[_tidy(cell) for cell in row] for row in entry["table"]["table"]]
    width = max(map(len, rows), default=0)
    table = written([*row, *[""] * (width - len(row))] for row in rows if any(row))
    paragraphs = [_tidy(p["text"]) for p in sorted(entry["paragraphs"], key=lambda p: p["order"])]
    text = "\n".join([*table, *paragraphs])
    place = _tidy(f"tatqa:{entry['table']['uid']}")
    passage = Passage(passage_id=passage_id(place, text), text=text, source="tatqa")
    for question in entry["questions"]:
        answer = question["answer"]
        value = "; ".join(map(str, answer)) if isinstance(answer, list) else str(answer)
        _add(passage, question["question"], f"{value} {question.get('scale', '')}".strip(), reading)


def _docfinqa(entry: Mapping[str, Any], reading: Reading) -> None:
    """A whole report for a context: in pieces, all of which carry the question's value as a candidate of the first."""
    context = entry["Context"]
    stem = sha256(context.encode("utf-8", "replace")).hexdigest()[:12]
    first = f"docfinqa:{stem}:0001"
    if first not in reading.candidates:
        lines = _tidy(context).split("\n")
        for number, text in enumerate(pack(Block(line, "") for line in lines), 1):
            reading.passages.append(Passage(passage_id=f"docfinqa:{stem}:{number:04d}", text=text, source="docfinqa"))
    known = reading.candidates.setdefault(first, [])
    known.append({"question": _tidy(str(entry["Question"])), "value": _tidy(str(entry["Answer"]))})


def _tidy(text: str) -> str:
    """Text without spare space, and without the halves of characters that JSON's escapes can spell."""
    lines = (" ".join(line.split()) for line in text.encode("utf-8", "replace").decode().split("\n"))
    return "\n".join(line for line in lines if line)


# Sets that share fields with those that are read → what tells them apart.
_OTHERS = {
    "FinQA or ConvFinQA": {"pre_text", "post_text"},
    "MultiHiertt": {"tables", "paragraphs", "qa"},
    "TAT-DQA": {"doc", "questions"},
}
# The field that gives a layout away → its reader.
_LAYOUTS = {"financebench_id": _financebench, "table": _tatqa, "Context": _docfinqa}
