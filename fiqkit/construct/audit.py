"""Anyone's set held against the fourteen rules and against what a set can give away; prints nothing, changes nothing.

Files are read more leniently than a run reads them: a row without a default answer is audited and breaks R11, where a
run would refuse the file.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fiqkit.construct.rules import NAMES, PAPER, STRICTER, Case, Rule, broken
from fiqkit.construct.shortcuts import askers, classifiers, grouped, no_ask
from fiqkit.datasets import parse_instance, read_jsonl
from fiqkit.errors import UserError
from fiqkit.records import Instance, Interpretation

_GOLDS = ("question", "context", "answer", "default_answer")
_READINGS = ("intended_interpretation", "default_interpretation")


def read_cases(path: Path, passages: Path | None = None) -> list[Case]:
    """Every instance of a file with its passage's text and candidate value, where a passage file is given.

    Raises:
        UserError: no row is an instance, or a row lacks what names one; names the file and the line.
    """
    texts, candidates = _passages(passages) if passages else ({}, {})
    cases = []
    for number, row in read_jsonl(path):
        where = f"{path}:{number}"
        if "question" not in row and isinstance(row.get("qc"), Mapping):
            continue  # the release's log of rejections holds candidates of which no instance was made
        if not row.keys() & {"question", "answer", "instance_id"}:
            raise UserError(f"{where}: no instance (none of question, answer, instance_id); give a file of instances")
        missing = [name for name in _GOLDS if not isinstance(row.get(name), str) or not row[name].strip()]
        unread = [name for name in _READINGS if not isinstance(row.get(name), dict) or not row[name]]
        read = row | dict.fromkeys(missing, "-") | {name: {"entity": "-"} for name in unread}
        instance = parse_instance(_named(read, number), where)
        # What was not there is read as a dash, so that the parser takes the row, and is empty again from here on.
        absent: dict[str, Any] = dict.fromkeys(missing, "") | dict.fromkeys(unread, Interpretation())
        instance = replace(instance, **absent)
        key = instance.passage_id or ""
        cases.append(Case(instance, texts.get(key) if texts else None, candidates.get(key)))
    if not cases:
        raise UserError(f"{path}: holds no instance; one JSON object a line is expected")
    return cases


def _named(row: Mapping[str, Any], number: int) -> dict[str, Any]:
    return {"instance_id": f"line {number}", "language": "en", **row}


def _passages(path: Path) -> tuple[dict[str, str], dict[str, str]]:
    texts: dict[str, str] = {}
    candidates: dict[str, str] = {}
    for number, row in read_jsonl(path):
        key, text = row.get("passage_id"), row.get("passage_text", row.get("text"))
        if not isinstance(key, str) or not isinstance(text, str):
            raise UserError(f"{path}:{number}: no passage (fields 'passage_id' and 'text'); give a file of passages")
        texts[key] = f"{texts[key]}\n{text}" if key in texts else text
        if isinstance(row.get("candidate_answer"), str):
            candidates[key] = row["candidate_answer"]
    if not texts:
        raise UserError(f"{path}: holds no passages; one JSON object a line is expected")
    return texts, candidates


def audit(cases: Sequence[Case]) -> dict[str, Any]:
    """The whole audit as a JSON object.

    Returns:
        n; passed: instances that keep R1 to R14 as the paper has them; rules, stricter: rule → failed (ids) and why
        (id → offending text); checks: see `_checks`.
    """
    rules, stricter = _held(cases, PAPER), _held(cases, STRICTER)
    failing = {name for found in rules.values() for name in found["failed"]}
    return {
        "n": len(cases),
        "passed": sum(case.instance.instance_id not in failing for case in cases),
        "rules": rules,
        "stricter": stricter,
        "checks": _checks(cases),
    }


def _held(cases: Sequence[Case], rules: Mapping[str, Rule]) -> dict[str, Any]:
    found: dict[str, dict[str, str]] = {name: {} for name in NAMES if name in rules}
    for case in cases:
        for name, offence in broken(case, rules).items():
            found[name][case.instance.instance_id] = offence
    return {name: {"failed": list(why), "why": why} for name, why in found.items()}


# --- what the rules do not see ----------------------------------------------------------------------------------------


def _checks(cases: Sequence[Case]) -> dict[str, Any]:
    instances = [case.instance for case in cases]
    groups = grouped(cases)
    whole = [case for case in cases if case.instance.answer and case.instance.default_answer]
    sizes = Counter(len(g.cases) for g in groups if g.cases[0].instance.orbit)
    return {
        "leaks": leaks(cases),
        "both_values_in_passage": _share(
            all(value in case.passage for _, value in case.readings) for case in cases if case.passage is not None
        ),
        "near_duplicates": near_duplicates(instances),
        "contradictory": contradictory(instances),
        "part_whole": part_whole(instances),
        "orbits": {
            "orbits": sum(sizes.values()),
            "in_orbits": sum(k * n for k, n in sizes.items()),
            "sizes": {str(k): n for k, n in sorted(sizes.items())},
            "incomplete": incomplete(groups),
        },
        "no_ask": no_ask(grouped(whole)) if whole else {},
        "classifiers": classifiers(whole) if whole else {},
        "asking": askers(instances),
    }


def _share(holds: Iterable[bool]) -> float | None:
    known = list(holds)
    return round(sum(known) / len(known), 4) if known else None


def leaks(cases: Sequence[Case]) -> list[str]:
    """Instances whose context, id or category stands in their own passage."""
    found = []
    for case in cases:
        text, one = case.passage or "", case.instance
        told = (one.context.rstrip(".。"), one.instance_id, *one.categories)
        if any(len(word) > 3 and word in text for word in told):
            found.append(one.instance_id)
    return found


def near_duplicates(instances: Sequence[Instance]) -> list[list[str]]:
    """Instances with the same golds for the same company that are no siblings: one fact asked for twice."""
    seen: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for one in instances:
        seen[one.cluster, *sorted((one.answer, one.default_answer)), one.orbit or one.context].append(one.instance_id)
        if one.orbit is None:
            seen[one.cluster, one.answer, one.default_answer].append(one.instance_id)
    pairs = {tuple(ids) for key, ids in seen.items() if len(ids) > 1 and len(key) == 3}
    return sorted(list(ids) for ids in pairs)


def contradictory(instances: Sequence[Instance]) -> list[list[str]]:
    """Instances that ask the same of the same company under the same context and hold different answers for right."""
    seen: dict[tuple[str, str], list[Instance]] = defaultdict(list)
    for one in instances:
        seen[" ".join(one.question.lower().split()), " ".join(one.context.lower().split())].append(one)
    return sorted([one.instance_id for one in same] for same in seen.values() if len({one.answer for one in same}) > 1)


def part_whole(instances: Sequence[Instance]) -> list[str]:
    """Instances whose default is a part and whose intended reading is the whole: nobody takes a part for the whole."""
    words = ("segment", "region", "subsidiary", "分部", "地区")
    found = []
    for one in instances:
        ours = (one.intended_interpretation.entity or "").lower()
        default = (one.default_interpretation.entity or "").lower()
        is_part = [any(word in text for word in words) for text in (ours, default)]
        if is_part == [False, True] and not one.headline_intended:
            found.append(one.instance_id)
    return found


def incomplete(groups: Iterable[Any]) -> list[str]:
    """Orbits that do not intend each of their readings once, or whose siblings differ in question or passage."""
    found = []
    for group in groups:
        one = group.cases[0].instance
        if one.orbit is None:
            continue
        intended = sorted(case.instance.answer for case in group.cases)
        listed = sorted(value for _, value in group.cases[0].readings)
        alike = len({(c.instance.question, c.instance.passage_id) for c in group.cases}) == 1
        if intended != listed or not alike:
            found.append(one.orbit)
    return found
