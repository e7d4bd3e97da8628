"""A capsule graded and judged again by the rules, on any machine: the same verdicts give the same text, to the byte."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

import fiqkit
from fiqkit import roles
from fiqkit.errors import UserError
from fiqkit.records import AnswerVerdict, QuestionVerdict, Verdict
from fiqkit.roles.assess import Assessor
from fiqkit.store.capsule import read_capsule, verify_capsule
from fiqkit.store.store import Store

_CODE = ("roles", "values", "taxonomy.py", "records.py")  # what a verdict of the rules can depend on


def code_version() -> dict[str, str]:
    """This kit's version, and the hash of the code that grades and judges by rules."""
    root = Path(fiqkit.__file__).parent
    files = [file for name in _CODE for file in sorted(root.joinpath(name).rglob("*")) or [root / name]]
    digest = hashlib.sha256()
    for file in files:
        if file.suffix in (".py", ".md", ".toml", ".tsv"):
            digest.update(file.relative_to(root).as_posix().encode() + b"\0" + file.read_bytes())
    return {"fiqkit": fiqkit.__version__, "rules": digest.hexdigest()}


def regrade(path: Path) -> dict[str, Any]:
    """Every answer graded and every question judged by the rules of this version.

    Returns:
        {"canonical": {"run", "hash", "outcomes", "verdicts"}, which two machines with the same rules print alike,
        "written_with" and "regraded_with": versions of the code, "same_rules", "changed": verdicts that are not those
        which the rules gave when the capsule was written}. The capsule itself is not changed.

    Raises:
        UserError: no capsule there, or one whose hashes do not hold.
    """
    faults = verify_capsule(path)
    if faults:
        raise UserError(f"{path}: a changed capsule ({faults[0]}); ask for it again")
    told, now = read_capsule(path), code_version()
    store = Store(path)
    try:
        verdicts, before = asyncio.run(_assess(store, told["run"]))
    finally:
        store.close()
    outcomes = Counter(v["outcome"] for v in verdicts if "outcome" in v)
    written = {name: told[name] for name in now if name in told}
    return {
        "canonical": {
            "run": told["run"],
            "hash": told["hash"],
            "outcomes": dict(sorted(outcomes.items())),
            "verdicts": verdicts,
        },
        "written_with": written,
        "regraded_with": now,
        "same_rules": written.get("rules") == now["rules"],
        "changed": [
            {"before": then, "now": verdict}
            for verdict, then in zip(verdicts, before, strict=True)
            if then is not None and then != _essence(verdict)
        ],
    }


async def _assess(store: Store, run: str) -> tuple[list[dict[str, Any]], list[dict[str, Any] | None]]:
    """The verdicts of today's rules, and beside each the one that the rules of then gave, None where they gave none."""
    assessor = Assessor(roles.open_grader("rules"), roles.open_judge("rules"))
    given, before = [], []
    for number, episode in store.episodes(run):
        then = {(v["kind"], v["turn"]): v for v in store.verdicts(number) if v["given_by"] == "rules"}
        instance = store.instance(episode.instance_id, episode.item)
        place = {name: getattr(episode, name) for name in ("model", "mode", "instance_id", "item", "sample")}
        for verdict in await assessor(episode, instance):
            row = place | _row(verdict)
            given.append(row)
            old = then.get(("answer", -1) if "outcome" in row else ("question", row["turn"]))
            before.append(None if old is None else {name: old[name] for name in _essence(row)})
    return given, before


def _row(verdict: Verdict) -> dict[str, Any]:
    if isinstance(verdict, AnswerVerdict):
        return {"outcome": verdict.outcome, "value": verdict.value}
    assert isinstance(verdict, QuestionVerdict)
    return {"turn": verdict.turn, **{k: v for k, v in asdict(verdict.judgement).items() if k in ("touched", "central")}}


def _essence(row: dict[str, Any]) -> dict[str, Any]:
    """What makes two verdicts the same."""
    return {name: row[name] for name in ("outcome", "value", "central") if name in row}
