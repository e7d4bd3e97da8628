"""Graders, judges and simulators held against answers, questions and replies that people ruled on.

One JSON object a line. A ruled reply, for example:

    {"id": "s1", "language": "en", "instance_question": "What was Acme's revenue?", "context": "The whole company.",
     "intended_interpretation": {"entity": "consolidated"}, "default_interpretation": {"entity": "cloud segment"},
     "question": "Do you mean a segment?", "reply": "no"}
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from fiqkit.datasets import read_jsonl
from fiqkit.errors import UserError
from fiqkit.metrics.agreement import RESAMPLES, agreement, confusion, macro_f1, macro_f1_interval
from fiqkit.metrics.corrected import Instrument
from fiqkit.records import Interpretation, Outcome
from fiqkit.roles.interfaces import REPLIES, UNKNOWN, Gold, Grader, Judge, Simulator, UserView
from fiqkit.taxonomy import CATEGORIES, FIELDS, LANGUAGES

_CENTRAL = (*CATEGORIES, "generic", "none")
Item = TypeVar("Item")


async def ruled_answers(path: Path, grader: Grader) -> dict[str, Any]:
    """Grade a file of ruled answers; items without a ruled outcome are not scored.

    Returns:
        {"grader", "n", "sensitivity" and "specificity" of telling intended from other answers with their "counts",
        "accuracy", "kappa", "macro_f1", "without_scale_missing", "unscored", "confusion", "wrong"}.

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
    scored = [pair for pair in zip(got, truth, strict=True) if pair[0] != Outcome.UNSCORED]
    sets, labels = ([[t] for t in truth], [[g] for g in got]), [str(outcome) for outcome in Outcome]
    return {
        "grader": grader.name,
        "n": len(items),
        **_instrument([(a == Outcome.INTENDED, b == Outcome.INTENDED) for a, b in scored]),
        "accuracy": _share(right),
        **_agreement(truth, got, "accuracy"),
        "macro_f1": macro_f1(*sets, labels),
        "macro_f1_ci": macro_f1_interval(*sets, labels),
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
        {"judge", "n", "sensitivity" and "specificity" of saying of a category that a question touches it, with their
        "counts" over questions and categories, "touched": share of exactly right sets, "central": share right,
        "macro_f1" over touched categories, "kappa" of the central one, "confusion" of the central one, "wrong"}.

    Raises:
        UserError: names the file, the line and the field of the first fault.
    """
    items = _read(path, _question)
    given = await asyncio.gather(*(judge.classify(item["question"]) for item in items))
    pairs = list(zip(items, given, strict=True))
    touched = [(i["touched"], set(g.touched or ())) for i, g in pairs if i["touched"] is not None]
    central = [(i["central"], g.central) for i, g in pairs if i["central"] is not None]
    truth, got = [a for a, _ in central], [b for _, b in central]
    sets = [a for a, _ in touched], [b for _, b in touched]
    told = [(c in g, c in ruled) for ruled, g in touched for c in CATEGORIES]
    return {
        "judge": judge.name,
        "n": len(items),
        **_instrument(told),
        "touched": _share([a == b for a, b in touched]),
        "central": _share([a == b for a, b in central]),
        "macro_f1": macro_f1(*sets, tuple(CATEGORIES)),
        "macro_f1_ci": macro_f1_interval(*sets, tuple(CATEGORIES)),
        **_agreement(truth, got, "central"),
        "unscored": got.count("unscored"),
        "confusion": confusion(truth, got),
        "wrong": [
            {"id": i["id"], "question": i["question"], "why": g.why}
            | {"ruled": {"touched": _ordered(i["touched"]), "central": i["central"]}}
            | {"given": {"touched": list(g.touched or ()), "central": g.central}}
            for i, g in pairs
            if i["touched"] not in (None, set(g.touched or ())) or i["central"] not in (None, g.central)
        ],
    }


def _instrument(pairs: Sequence[tuple[bool, bool]]) -> dict[str, Any]:
    """Sensitivity and specificity from (given, ruled), and the counts behind them."""
    found = Instrument.of(pairs)
    return {"sensitivity": found.sensitivity, "specificity": found.specificity, "counts": asdict(found)}


def _agreement(truth: Sequence[str], got: Sequence[str], raw: str) -> dict[str, Any]:
    """Kappa, and the intervals of it and of the raw share, which is called `raw`."""
    found = agreement(truth, got, resamples=RESAMPLES)
    return {"kappa": found["kappa"], "kappa_ci": found["kappa_ci"], f"{raw}_ci": found["raw_ci"]}


async def ruled_replies(path: Path, simulator: Simulator) -> dict[str, Any]:
    """Ask a simulated user a file of questions whose right replies are known; a null reply is not scored.

    Returns:
        {"n", "accuracy", "false_definite": how many wrong replies were yes or no, "wrong"}. A false yes or no misleads
        an agent, an i_dont_know only withholds, so the two are told apart.

    Raises:
        UserError: names the file, the line and the field of the first fault.
        fiqkit.models.engine.EngineError: a model gave no reply.
    """
    items = [item for item in _read(path, _reply) if item["reply"] is not None]
    given = await asyncio.gather(*(simulator.reply(item["question"], item["view"]) for item in items))
    pairs = list(zip(items, given, strict=True))
    return {
        "n": len(items),
        "accuracy": _share([i["reply"] == got for i, got in pairs]),
        "false_definite": sum(got not in (i["reply"], UNKNOWN) for i, got in pairs),
        "wrong": [
            {"id": i["id"], "question": i["question"], "ruled": i["reply"], "given": got}
            for i, got in pairs
            if got != i["reply"]
        ],
    }


def _read(path: Path, parse: Callable[[Mapping[str, Any], str], Item]) -> list[Item]:
    items = [parse(row, f"{path}:{number}") for number, row in read_jsonl(path)]
    if not items:
        raise UserError(f"{path}: holds no item; one JSON object a line is expected")
    return items


def parse_ruled(row: Mapping[str, Any], where: str) -> dict[str, Any]:
    """One ruled line, an answer (`final_answer`), a reply (`reply`) or a question; `where` (file:line) begins a fault.

    Raises:
        UserError: names the field of the first fault.
    """
    parse = _answer if "final_answer" in row else _reply if "reply" in row else _question
    return parse(row, where)


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


def _reply(row: Mapping[str, Any], where: str) -> dict[str, Any]:
    view = UserView(
        question=_text(row, "instance_question", where),
        context=_text(row, "context", where),
        intended=_interpretation(row, "intended", where),
        default=_interpretation(row, "default", where),
        language=_one_of(row, "language", LANGUAGES, where) or "en",
    )
    return {
        "id": row.get("id", where),
        "question": _text(row, "question", where),
        "view": view,
        "reply": _one_of(row, "reply", REPLIES, where),
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
    return Gold(_text(row, f"{side}_answer", where), _interpretation(row, side, where))


def _interpretation(row: Mapping[str, Any], side: str, where: str) -> Interpretation:
    reading = row.get(f"{side}_interpretation") or {}
    if not isinstance(reading, dict):
        raise UserError(f"{where}: field '{side}_interpretation' is {reading!r:.40}; an object is needed")
    return Interpretation(**{name: str(reading[name]) for name in FIELDS if reading.get(name) not in (None, "")})


def _ordered(touched: set[str] | None) -> list[str] | None:
    return None if touched is None else [name for name in CATEGORIES if name in touched]


def _share(hits: list[bool]) -> float | None:
    return sum(hits) / len(hits) if hits else None
