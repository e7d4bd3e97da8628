"""Graders and judges held against answers and questions that people ruled on (one JSON object a line)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from fiqkit.datasets import read_jsonl
from fiqkit.errors import UserError
from fiqkit.metrics.agreement import agreement, confusion, macro_f1
from fiqkit.records import Interpretation, Outcome
from fiqkit.roles.interfaces import Gold, Grader, Judge
from fiqkit.taxonomy import CATEGORIES, FIELDS, LANGUAGES

_CENTRAL = (*CATEGORIES, "generic", "none")
Item = TypeVar("Item")


async def ruled_answers(path: Path, grader: Grader) -> dict[str, Any]:
    """Grade a file of ruled answers; items without a ruled outcome are not scored.

    Returns:
        {"n", "accuracy", "kappa", "macro_f1", "without_scale_missing", "unscored", "confusion", "wrong"}.

    Raises:
        UserError: names the file, the line and the field of the first fault.
    """
    items = [item for item in _read(path, _answer) if item["outcome"] is not None]
    given = await asyncio.gather(
        *(grader.grade(i["question"], i["intended"], i["default"], i["answer"], i["language"]) for i in items)
    )
    truth, got = [i["outcome"] for i in items], [str(grade.outcome) for grade in given]
    right = [a == b for a, b in zip(truth, got, strict=True)]
    scaled = [hit for hit, i in zip(right, items, strict=True) if "scale_missing" not in i["flags"]]
    return {
        "n": len(items),
        "accuracy": _share(right),
        "kappa": agreement(truth, got)["kappa"],
        "macro_f1": macro_f1([[t] for t in truth], [[g] for g in got], [str(outcome) for outcome in Outcome]),
        "without_scale_missing": {"n": len(scaled), "accuracy": _share(scaled)},
        "unscored": got.count(str(Outcome.UNSCORED)),
        "confusion": confusion(truth, got),
        "wrong": [
            {"id": i["id"], "ruled": i["outcome"], "given": str(grade.outcome), "value": grade.value, "why": grade.why}
            | {"intended": i["intended"].answer, "default": i["default"].answer, "answer": i["answer"]}
            for i, grade, hit in zip(items, given, right, strict=True)
            if not hit
        ],
    }


async def ruled_questions(path: Path, judge: Judge) -> dict[str, Any]:
    """Judge a file of ruled clarifying questions; a null label is not scored.

    Returns:
        {"n", "touched": share of exactly right sets, "central": share right, "macro_f1" over touched categories,
        "kappa" of the central one, "confusion" of the central one, "wrong"}.

    Raises:
        UserError: names the file, the line and the field of the first fault.
    """
    items = _read(path, _question)
    given = await asyncio.gather(*(judge.classify(item["question"]) for item in items))
    pairs = list(zip(items, given, strict=True))
    touched = [(i["touched"], set(g.touched)) for i, g in pairs if i["touched"] is not None]
    central = [(i["central"], g.central) for i, g in pairs if i["central"] is not None]
    truth, got = [a for a, _ in central], [b for _, b in central]
    return {
        "n": len(items),
        "touched": _share([a == b for a, b in touched]),
        "central": _share([a == b for a, b in central]),
        "macro_f1": macro_f1([a for a, _ in touched], [b for _, b in touched], tuple(CATEGORIES)),
        "kappa": agreement(truth, got)["kappa"],
        "unscored": got.count("unscored"),
        "confusion": confusion(truth, got),
        "wrong": [
            {"id": i["id"], "question": i["question"], "why": g.why}
            | {"ruled": {"touched": _ordered(i["touched"]), "central": i["central"]}}
            | {"given": {"touched": list(g.touched), "central": g.central}}
            for i, g in pairs
            if i["touched"] not in (None, set(g.touched)) or i["central"] not in (None, g.central)
        ],
    }


def _read(path: Path, parse: Callable[[Mapping[str, Any], str], Item]) -> list[Item]:
    items = [parse(row, f"{path}:{number}") for number, row in read_jsonl(path)]
    if not items:
        raise UserError(f"{path}: holds no item; one JSON object a line is expected")
    return items


def _answer(row: Mapping[str, Any], where: str) -> dict[str, Any]:
    outcome = _one_of(row, "outcome", tuple(str(o) for o in Outcome if o != Outcome.UNSCORED), where)
    return {
        "id": row.get("id", where),
        "question": _text(row, "question", where),
        "intended": _gold(row, "intended", where),
        "default": _gold(row, "default", where),
        "answer": _text(row, "final_answer", where, empty=True),
        "language": _one_of(row, "language", LANGUAGES, where) or "en",
        "outcome": outcome,
        "flags": tuple(row["flags"]) if isinstance(row.get("flags"), list) else (),
    }


def _question(row: Mapping[str, Any], where: str) -> dict[str, Any]:
    touched = row.get("touched")
    if touched is not None and (not isinstance(touched, list) or not set(map(str, touched)) <= set(CATEGORIES)):
        raise UserError(f"{where}: field 'touched' is {touched!r:.60}; a list of {', '.join(CATEGORIES)} is needed")
    return {
        "id": row.get("id", where),
        "question": _text(row, "question", where),
        "touched": None if touched is None else set(touched),
        "central": _one_of(row, "central", _CENTRAL, where),
    }


def _text(row: Mapping[str, Any], name: str, where: str, *, empty: bool = False) -> str:
    value = row.get(name)
    if not isinstance(value, str) or not (value.strip() or empty):
        raise UserError(f"{where}: field {name!r} is {value!r:.40}; a text is needed")
    return value


def _one_of(row: Mapping[str, Any], name: str, allowed: tuple[str, ...], where: str) -> str | None:
    value = row.get(name)
    if value is not None and value not in allowed:
        raise UserError(f"{where}: field {name!r} is {value!r:.40}; one of {', '.join(allowed)} is needed, or null")
    return value


def _gold(row: Mapping[str, Any], side: str, where: str) -> Gold:
    reading = row.get(f"{side}_interpretation") or {}
    if not isinstance(reading, dict):
        raise UserError(f"{where}: field '{side}_interpretation' is {reading!r:.40}; an object is needed")
    fields = {name: str(reading[name]) for name in FIELDS if reading.get(name) not in (None, "")}
    return Gold(_text(row, f"{side}_answer", where), Interpretation(**fields))


def _ordered(touched: set[str] | None) -> list[str] | None:
    return None if touched is None else [name for name in CATEGORIES if name in touched]


def _share(hits: list[bool]) -> float | None:
    return sum(hits) / len(hits) if hits else None
