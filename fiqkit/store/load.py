"""From the rows of a store to the one input of every metric."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fiqkit.errors import UserError
from fiqkit.metrics.scored import ENUMERATE, Scored
from fiqkit.records import (
    AnswerVerdict,
    Ending,
    Episode,
    Instance,
    Judgement,
    QuestionVerdict,
    Verdict,
    giver_setting,
)
from fiqkit.store.rows import EPISODE, VERDICT, episode_values, read_tuple, verdict_values
from fiqkit.store.store import Store

RECORDED = "recorded"  # grader and judge of imported labels
RULES = "rules"
_GRADE = ("outcome", "is_intended", "is_default", "value", "also")
_NO_VALUE = ("refusal", "question", "empty")  # outcomes of answers that name nothing


def load_scored(
    store: Store, run_ids: Sequence[str], grader: str | None = None, judge: str | None = None
) -> list[Scored]:
    """Every episode of some runs with one grader's and one judge's verdicts, sorted within a run (`Scored.place`).

    Args:
        grader, judge: whose verdicts to take. By default the recorded ones of an imported run and those of `rules`
            of a live one, or the only ones there are.

    Raises:
        UserError: no such run, or the run has no verdict of the grader or judge that was named.
    """
    return [scored for name in run_ids for scored in _of_run(store, store.resolve(name), grader, judge)]


def score(episode: Episode, instance: Instance, verdicts: Sequence[Verdict], grader: str, judge: str) -> Scored:
    """An episode that is in no store, with the verdicts just given on it, as `load_scored` would have it."""
    answer = next((v for v in verdicts if isinstance(v, AnswerVerdict)), None)
    given = dict(zip(VERDICT, verdict_values(0, answer), strict=True)) if answer else dict.fromkeys(VERDICT)
    row = dict(zip(EPISODE, episode_values(0, "", episode), strict=True)) | {name: given[name] for name in _GRADE}
    return _scored(
        row | {"marks": given["flags"]},
        instance,
        grader=grader,
        judge=judge,
        dataset="",
        siblings=1,
        questions=[v.judgement for v in verdicts if isinstance(v, QuestionVerdict)],
        dialogue=[
            (t.content["question"], t.observation) for t in episode.turns if t.action == "interact" and not t.refused
        ],
    )


def verdict_givers(store: Store, run: str, kind: str) -> list[str]:
    """Names of those who gave verdicts of a kind ("answer" or "question") on a run's episodes."""
    rows = store.conn.execute(
        "SELECT DISTINCT given_by FROM verdicts JOIN episodes USING (episode) WHERE run=? AND kind=? ORDER BY 1",
        (run, kind),
    )
    return [name for (name,) in rows]


def _of_run(store: Store, run: Mapping[str, Any], grader: str | None, judge: str | None) -> list[Scored]:
    usual = RECORDED if run["kind"] == "import" else RULES
    grader = _giver(store, run["run"], "answer", grader, usual)
    judge = _giver(store, run["run"], "question", judge, usual)
    questions = _questions(store, run["run"], judge)
    dialogues = _dialogues(store, run["run"])
    instances = store.instances(run["dataset"])
    siblings = Counter(instance.orbit for instance in instances.values() if instance.orbit)
    rows = store.db.query(
        "SELECT e.*, v.outcome, v.is_intended, v.is_default, v.value, v.also, v.flags AS marks FROM episodes e "
        "LEFT JOIN verdicts v ON v.episode = e.episode AND v.kind = 'answer' AND v.turn = -1 AND v.given_by = ? "
        "WHERE e.run = ? AND e.parent IS NULL",
        (grader, run["run"]),
    )
    scored = [
        _scored(
            row,
            instance := instances[row["instance_id"]],
            grader=grader,
            judge=judge,
            dataset=run["dataset"],
            siblings=siblings.get(instance.orbit or "", 1),
            questions=questions.get(row["episode"], ()),
            dialogue=dialogues.get(row["episode"], ()),
        )
        for row in rows
    ]
    return sorted(scored, key=lambda e: e.place)


def find_giver(store: Store, run: str, kind: str, named: str) -> str:
    """Who gave a run verdicts of a kind under a name, or by the setting (a card, `cascade:CARD`) that made them.

    Raises:
        UserError: none of those there are, or several.
    """
    there = verdict_givers(store, run, kind)
    found = [name for name in there if named in (name, giver_setting(name))]
    if named in found or not there:
        return named
    if len(found) == 1:
        return found[0]
    role, command = {"answer": ("grader", "grade"), "question": ("judge", "judge")}[kind]
    if found:
        raise UserError(f"{store.path}: run {run} has verdicts of {' and of '.join(found)}; name one of them in full")
    raise UserError(
        f"{store.path}: run {run} has no verdict of {role} {named!r}, only of {', '.join(there)}; "
        f"add them with: fiqkit {command} --{role} {giver_setting(named)} --store {store.path} {run}"
    )


def _giver(store: Store, run: str, kind: str, named: str | None, usual: str) -> str:
    if named is not None:
        return find_giver(store, run, kind, named)
    there = verdict_givers(store, run, kind)
    return there[0] if len(there) == 1 else usual


def _questions(store: Store, run: str, judge: str) -> dict[int, tuple[Judgement, ...]]:
    rows = store.conn.execute(
        "SELECT v.episode, v.touched, v.central, v.why, v.named, v.confidence "
        "FROM verdicts v JOIN episodes e USING (episode) WHERE e.run=? "
        "AND v.kind='question' AND v.given_by=? ORDER BY v.episode, v.turn",
        (run, judge),
    )
    found: dict[int, list[Judgement]] = {}
    for episode, touched, central, why, named, confidence in rows:
        judgement = Judgement(read_tuple(touched), central, why, read_tuple(named), confidence)
        found.setdefault(episode, []).append(judgement)
    return {episode: tuple(questions) for episode, questions in found.items()}


def _dialogues(store: Store, run: str) -> dict[int, list[tuple[str, str]]]:
    """(question, reply) of every question that reached the user, in the order asked, by episode."""
    rows = store.conn.execute(
        "SELECT t.episode, json_extract(t.content, '$.question'), t.observation FROM turns t "
        "JOIN episodes e USING (episode) WHERE e.run=? AND t.action='interact' AND t.refused IS NULL "
        "ORDER BY t.episode, t.turn",
        (run,),
    )
    found: dict[int, list[tuple[str, str]]] = {}
    for episode, question, reply in rows:
        found.setdefault(episode, []).append((question or "", reply))
    return found


def _scored(
    row: Mapping[str, Any],
    instance: Instance,
    *,
    questions: Iterable[Judgement],
    dialogue: Sequence[tuple[str, str]],
    **names: Any,
) -> Scored:
    ending = Ending(row["ending"])
    marks = tuple(json.loads(row["marks"])) if row["marks"] else ()
    intended, default = _labels(row, ending, marks)
    return Scored(
        run=row["run"],
        model=row["model"],
        mode=row["mode"],
        instance_id=row["instance_id"],
        language=instance.language,
        categories=instance.categories,
        h0=instance.h0,
        cluster=instance.cluster,
        ending=ending,
        outcome=row["outcome"],
        is_intended=intended,
        is_default=default,
        confidence=row["confidence"],
        n_asks=row["n_asks"],
        n_turns=row["n_turns"],
        n_searches=row["n_searches"],
        n_refused=row["n_refused"],
        questions=tuple(questions),
        flags=(*json.loads(row["flags"]), *marks),
        episode=row["episode"],
        asks=tuple(question for question, _ in dialogue),
        replies=tuple(reply for _, reply in dialogue),
        item=row["item"],
        sample=row["sample"],
        retrieval=row["retrieval"],
        named_golds=_named_golds(row),
        golds=(instance.answer, instance.default_answer),
        value=row["value"],
        orbit=instance.orbit,
        headline_intended=instance.headline_intended,
        filing_date=instance.filing_date,
        **names,
    )


def _named_golds(row: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Which golds the answer names; None where the grader did not tell."""
    if row["ending"] != Ending.ANSWERED or row["outcome"] in _NO_VALUE:
        return ()
    return read_tuple(row["also"])


def _labels(row: Mapping[str, Any], ending: Ending, marks: Sequence[str]) -> tuple[bool | None, bool | None]:
    """Whether the episode gave the intended and the default value; None when that is not known.

    An episode without an accepted answer gave neither, by its ending alone; an engine error or a bug says nothing.
    """
    if ending in (Ending.ENGINE_ERROR, Ending.BUG):
        return None, None
    if ending != Ending.ANSWERED:
        return False, False
    if row["mode"] == ENUMERATE and row["outcome"] not in (None, "unscored"):
        return "covers_intended" in marks or "covers_both" in marks, "covers_both" in marks
    return _truth(row["is_intended"]), _truth(row["is_default"])


def _truth(value: int | None) -> bool | None:
    return None if value is None else bool(value)
