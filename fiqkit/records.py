"""The records that every room passes around, and their JSONL files.

Records are frozen; they are validated once, where a file is read, and trusted from there on.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from math import log2
from pathlib import Path
from typing import Any

from fiqkit.errors import UserError
from fiqkit.taxonomy import CATEGORIES, FIELDS, LANGUAGES


class Ending(StrEnum):
    """How an episode ended. Only `ANSWERED` carries a final answer; `ENGINE_ERROR` is never a wrong answer."""

    ANSWERED = "answered"
    EARLY_ANSWER = "early_answer"  # answered before the mode allowed it (forced-interact): wrong by its rule
    BUDGET = "budget"
    PARSE_FAILURE = "parse_failure"
    TRUNCATED = "truncated"
    CONTEXT_OVERFLOW = "context_overflow"
    ENGINE_ERROR = "engine_error"


class Outcome(StrEnum):
    """What a final answer amounts to when it is held against both golds (protocol, section 4)."""

    INTENDED = "intended"
    DEFAULT = "default"
    OTHER = "other"
    HEDGE = "hedge"
    REFUSAL = "refusal"
    QUESTION = "question"
    EMPTY = "empty"
    UNSCORED = "unscored"


@dataclass(frozen=True, slots=True)
class Interpretation:
    """One reading of a question. A field that the reading does not fix is None."""

    entity: str | None = None
    period: str | None = None
    metric: str | None = None
    basis: str | None = None
    vintage: str | None = None

    def differs_from(self, other: Interpretation) -> tuple[str, ...]:
        """Names of the fields in which two readings differ, in the taxonomy's order."""
        return tuple(name for name in FIELDS if getattr(self, name) != getattr(other, name))


@dataclass(frozen=True, slots=True)
class Instance:
    """An ambiguous question with its default and its intended reading (protocol, section 1).

    Attributes:
        question: Q, names the company and asks for one value.
        context: C, the least set of constraints that leaves one reading; never holds the answer.
        answer, default_answer: A and A_d as written in the filing, for example "$46.75B" or "9.34亿元".
        categories: primary category first, then zero to two secondary ones.
        h0: prior entropy in bits, log2 of the number of plausible readings.
        extra: fields of the file that this kit does not use, kept as they were.
    """

    instance_id: str
    question: str
    context: str
    answer: str
    default_answer: str
    intended_interpretation: Interpretation
    default_interpretation: Interpretation
    categories: tuple[str, ...]
    h0: float
    language: str
    passage_id: str | None = None
    intended_evidence_span: str = ""
    default_evidence_span: str = ""
    company: str | None = None
    ticker: str | None = None
    source: str | None = None
    filing_type: str | None = None
    filing_date: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def primary(self) -> str:
        """The primary category."""
        return self.categories[0]

    @property
    def cluster(self) -> str:
        """Key under which instances of one company belong together in splits and in clustered statistics."""
        return self.ticker or self.company or self.instance_id


@dataclass(frozen=True, slots=True)
class Passage:
    """Text of a filing as the search index holds it. `filed` and `period` are ISO dates or None."""

    passage_id: str
    text: str
    company: str | None = None
    ticker: str | None = None
    form: str | None = None
    filed: str | None = None
    period: str | None = None
    language: str = "en"
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """One completion of the agent and what the environment made of it.

    Attributes:
        action: the action's name, or "invalid" when none could be read.
        content: the action's own fields (query, question, response, confidence, state).
        text: everything the agent wrote, reasoning left out; kept in full.
        reasoning: the text of its think block, if any.
        observation: what the environment replied; empty on the last turn.
        refused: why the environment refused the action, or None.
        seconds: wall time of the completion, its wait in the queue included.
    """

    action: str
    content: Mapping[str, Any]
    text: str = ""
    reasoning: str = ""
    observation: str = ""
    refused: str | None = None
    prompt_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Episode:
    """One agent on one instance in one mode, complete.

    Attributes:
        opening: the messages that the agent was given before its first turn.
        answer: the committed response, None unless `ending` is answered or early_answer.
        confidence: stated confidence 0 to 100, None when none was stated.
        flags: marks such as "answer_unstructured" or "repaired".
        error: the engine's fault, for `engine_error`.
    """

    instance_id: str
    model: str
    mode: str
    ending: Ending
    answer: str | None = None
    confidence: float | None = None
    turns: tuple[Turn, ...] = ()
    opening: tuple[Mapping[str, str], ...] = ()
    flags: tuple[str, ...] = ()
    error: str | None = None
    seconds: float = 0.0
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def asks(self) -> tuple[str, ...]:
        """The clarifying questions that reached the user, in order."""
        return tuple(t.content["question"] for t in self.turns if t.action == "interact" and t.refused is None)

    def count(self, action: str) -> int:
        """How many actions of this name the environment accepted."""
        return sum(t.action == action and t.refused is None for t in self.turns)


@dataclass(frozen=True, slots=True)
class Grade:
    """A grader's verdict on a final answer.

    Attributes:
        outcome: one of `Outcome`; `UNSCORED` when the grader could not decide, with the reason in `why`.
        value: the committed value as written in the answer, None when there is none.
        also: the answer mentions the other gold beside the one that it commits to.
        flags: for example "scale_missing".
    """

    outcome: Outcome
    value: str | None = None
    also: bool = False
    flags: tuple[str, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True)
class Judgement:
    """A judge's verdict on a clarifying question.

    Attributes:
        touched: every category that the question raises, in the taxonomy's order.
        central: a category, "generic" (asks, names no category), "none" (outside the five) or "unscored".
    """

    touched: tuple[str, ...]
    central: str
    why: str = ""


# --- JSONL ----------------------------------------------------------------------------------------------------------


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
    """Write rows as JSONL through a temporary file, so that a failure leaves the old file whole. Returns the count."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(path.name + ".part")
    count = 0
    with scratch.open("w", encoding="utf-8") as out:
        for count, row in enumerate(rows, 1):  # noqa: B007
            out.write(json.dumps(row, ensure_ascii=False) + "\n")
    scratch.replace(path)
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
)
_READ = {*_TEXT, *_OPTIONAL, "intended_interpretation", "default_interpretation", "categories", "axes", "h0"}


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
        extra={name: value for name, value in row.items() if name not in _READ},
    )


def instance_row(instance: Instance) -> dict[str, Any]:
    """The JSON object of an instance; `parse_instance` reads it back to an equal one."""
    row = {f.name: getattr(instance, f.name) for f in fields(Instance) if f.name != "extra"}
    row["categories"] = list(instance.categories)
    for name in ("intended_interpretation", "default_interpretation"):
        row[name] = {k: v for k, v in asdict(row[name]).items() if v is not None}
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


# --- passages -------------------------------------------------------------------------------------------------------


def read_passages(path: Path) -> list[Passage]:
    """Read passages from JSONL: this kit's own format, or the release's (`passage_text`, `filing_type`, `filing_date`).

    Rows that share an id are merged. Construction fields such as `candidate_answer` are dropped, so that
    they can never be indexed. A filing date before the period's end cannot be right and becomes None.

    Raises:
        UserError: names the file, the line and the field of the first fault.
    """
    merged: dict[str, Passage] = {}
    for number, row in read_jsonl(path):
        passage = parse_passage(row, f"{path}:{number}")
        before = merged.get(passage.passage_id)
        if before and passage.text not in before.text:
            passage = Passage(**{**_passage_dict(before), "text": f"{before.text}\n{passage.text}"})
        elif before:
            passage = before
        merged[passage.passage_id] = passage
    return list(merged.values())


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
