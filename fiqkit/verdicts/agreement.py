"""How two graders, or two judges, agree on the same recorded episodes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from fiqkit import values
from fiqkit.metrics.agreement import RESAMPLES, agreement, confusion, macro_f1, macro_f1_interval
from fiqkit.metrics.scored import Scored
from fiqkit.records import Ending, Judgement
from fiqkit.store.load import RECORDED, find_giver, load_scored, verdict_givers
from fiqkit.store.store import Store
from fiqkit.taxonomy import CATEGORIES


def grader_agreement(store: Store, runs: Sequence[str], grader: str, against: str | None = None) -> dict[str, Any]:
    """How a grader agrees with another over the same episodes.

    Args:
        against: the other grader; by default, for each run, the recorded one or the first other one there is.

    Returns:
        {"grader", "agreement": {"intended": …, "default": …}, "answered": the same over episodes with an answer alone,
        "disagreements": [one object each, with the value taken, the golds and the reason], "both_ways": instances and
        values that the other grader labelled both right and wrong}.
    """
    pairs = [pair for run in runs for pair in _pairs(store, store.resolve(run)["run"], grader, against)]
    answered = [(mine, theirs) for mine, theirs in pairs if mine.ending == Ending.ANSWERED]
    details = _details(store, grader)
    return {
        "grader": grader,
        "against": sorted({theirs.grader for _, theirs in pairs}),
        "agreement": _agreement(pairs),
        "answered": _agreement(answered),
        "disagreements": [
            _disagreement(gold, mine, theirs, details.get(mine.episode, {}))
            for mine, theirs in pairs
            for gold in ("intended", "default")
            if _labels(gold, mine, theirs) is not None and len(set(_labels(gold, mine, theirs) or ())) == 2
        ],
        "both_ways": _both_ways(answered, details),
    }


def _pairs(store: Store, run: str, grader: str, against: str | None) -> list[tuple[Scored, Scored]]:
    others = [name for name in verdict_givers(store, run, "answer") if name != grader]
    if against:
        other: str | None = find_giver(store, run, "answer", against)
    else:
        other = RECORDED if RECORDED in others else next(iter(others), None)
    if other is None:
        return []
    return list(zip(load_scored(store, [run], grader), load_scored(store, [run], other), strict=True))


def _labels(gold: str, mine: Scored, theirs: Scored) -> tuple[bool, bool] | None:
    one, two = getattr(mine, f"is_{gold}"), getattr(theirs, f"is_{gold}")
    return None if one is None or two is None else (one, two)


def _agreement(pairs: Sequence[tuple[Scored, Scored]]) -> dict[str, Any]:
    result = {}
    for gold in ("intended", "default"):
        labels = [both for mine, theirs in pairs if (both := _labels(gold, mine, theirs)) is not None]
        result[gold] = agreement([one for one, _ in labels], [two for _, two in labels], resamples=RESAMPLES)
    return result


def _details(store: Store, grader: str) -> dict[int, Mapping[str, Any]]:
    """What a person needs to see why: the grader's value and reason, the answer and both golds, by episode."""
    rows = store.db.query(
        "SELECT e.episode, e.answer, v.outcome, v.value, v.why, i.question, "
        "json_extract(i.record, '$.answer') AS intended, json_extract(i.record, '$.default_answer') AS default_answer "
        "FROM verdicts v JOIN episodes e USING (episode) JOIN instances i USING (instance_id, item) "
        "WHERE v.kind = 'answer' AND v.given_by = ?",
        (grader,),
    )
    return {row["episode"]: row for row in rows}


def _disagreement(gold: str, mine: Scored, theirs: Scored, detail: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "run": mine.run,
        "model": mine.model,
        "mode": mine.mode,
        "instance_id": mine.instance_id,
        "label": gold,
        mine.grader: getattr(mine, f"is_{gold}"),
        theirs.grader: getattr(theirs, f"is_{gold}"),
        "outcome": detail.get("outcome") or str(mine.ending),
        "value": detail.get("value"),
        "intended": detail.get("intended"),
        "default": detail.get("default_answer"),
        "why": detail.get("why", f"the episode ended as {mine.ending}"),
        "question": detail.get("question"),
        "answer": detail.get("answer"),
    }


def _both_ways(pairs: Sequence[tuple[Scored, Scored]], details: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
    """Instances on which the other grader labelled one and the same value both right and wrong."""
    seen: dict[tuple[str, str], set[bool]] = defaultdict(set)
    for mine, theirs in pairs:
        value = details.get(mine.episode, {}).get("value")
        if value and theirs.is_intended is not None:
            seen[mine.instance_id, _canonical(value)].add(theirs.is_intended)
    twice = sorted(key for key, labels in seen.items() if len(labels) == 2)
    return {"values": len(seen), "n": len(twice), "instances": [list(key) for key in twice]}


def _canonical(value: str) -> str:
    """One spelling for equal values: the number to six digits and its kind, or the text itself."""
    found = values.find(value)
    return f"{found[0].number:.6g} {found[0].kind}" if found else value


# --- agreement of two judges ----------------------------------------------------------------------------------------


def judge_agreement(store: Store, runs: Sequence[str], judge: str) -> dict[str, Any]:
    """How a judge's central categories agree with the recorded judge's, question by question.

    The recorded judge of the release gave one label a question, and was shown the true category: printed, not aimed at.
    """
    mine, theirs = [], []
    for run in (store.resolve(name)["run"] for name in runs):
        if RECORDED in verdict_givers(store, run, "question"):
            one, two = (load_scored(store, [run], judge=name) for name in (judge, RECORDED))
            both = [
                (q, r)
                for e, f in zip(one, two, strict=True)
                for q, r in zip(e.questions, f.questions, strict=False)
                if "unscored" not in (q.central, r.central)
            ]
            mine += [q for q, _ in both]
            theirs += [r for _, r in both]
    recorded, given = ([q.targets("central") or () for q in side] for side in (theirs, mine))
    return {
        "judge": judge,
        "n": len(mine),
        "central": agreement([q.central for q in theirs], [q.central for q in mine], resamples=RESAMPLES),
        "touched_contains_recorded": _share(
            [wanted <= {*(q.touched or ())} for q, r in zip(mine, theirs, strict=True) if (wanted := _told(r))]
        ),
        "macro_f1": macro_f1(recorded, given, tuple(CATEGORIES)),
        "macro_f1_ci": macro_f1_interval(recorded, given, tuple(CATEGORIES)),
        "confusion": confusion([q.central for q in theirs], [q.central for q in mine]),
    }


def _told(judgement: Judgement) -> set[str]:
    """What a judge said that a question raises: its touched categories, or the one label where it gave no more."""
    return {*(judgement.targets("touch") or judgement.targets("central") or ())}


def _share(hits: Sequence[bool]) -> float | None:
    return sum(hits) / len(hits) if hits else None
