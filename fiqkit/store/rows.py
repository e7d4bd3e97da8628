"""Records as rows of the store's tables, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from fiqkit.datasets import instance_row
from fiqkit.records import Ending, Episode, Instance, QuestionVerdict, Turn, Verdict

EPISODE = (
    *("episode", "run", "model", "mode", "instance_id", "item", "sample", "retrieval", "parent", "fork_turn"),
    *("started_at", "ending", "answer", "confidence", "n_turns", "n_asks", "n_searches", "n_refused"),
    *("prompt_tokens", "output_tokens", "seconds", "flags", "error", "opening", "extra"),
)
VERDICT = (
    *("episode", "kind", "turn", "given_by", "outcome", "is_intended", "is_default", "value", "also", "named"),
    *("touched", "central", "confidence", "flags", "why"),
)
INSERT_INSTANCE = "INSERT OR IGNORE INTO instances VALUES (" + ",".join("?" * 11) + ")"
INSERT_EPISODE = f"INSERT INTO episodes VALUES ({','.join('?' * len(EPISODE))})"
INSERT_TURN = "INSERT INTO turns VALUES (" + ",".join("?" * 13) + ")"
INSERT_VERDICT = f"INSERT OR REPLACE INTO verdicts VALUES ({','.join('?' * len(VERDICT))})"


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()


def _json_or_null(value: Any) -> str | None:
    return None if value is None else _json(value)


def instance_values(item: str, i: Instance) -> tuple[Any, ...]:
    """Columns of `instances`."""
    return (
        i.instance_id,
        item,
        i.language,
        i.primary,
        json.dumps(i.categories),
        i.h0,
        i.cluster,
        i.orbit,
        i.headline_intended,
        i.question,
        json.dumps(instance_row(i), ensure_ascii=False),
    )


def episode_values(number: int, run: str, e: Episode) -> tuple[Any, ...]:
    """Columns of `episodes`."""
    return (
        number,
        run,
        e.model,
        e.mode,
        e.instance_id,
        e.item,
        e.sample,
        e.retrieval,
        e.parent,
        e.fork_turn,
        e.started_at,
        str(e.ending),
        e.answer,
        e.confidence,
        e.extra.get("n_turns", len(e.turns)),
        e.extra.get("n_asks", e.count("interact")),
        e.extra.get("n_searches", e.count("search")),
        sum(t.refused is not None for t in e.turns),
        sum(t.prompt_tokens for t in e.turns),
        sum(t.output_tokens for t in e.turns),
        e.seconds,
        _json(e.flags),
        e.error,
        _json(e.opening),
        _json(e.extra),
    )


def turn_values(number: int, index: int, t: Turn) -> tuple[Any, ...]:
    """Columns of `turns`."""
    return (
        number,
        index,
        t.action,
        _json(t.content),
        t.text,
        t.reasoning,
        t.observation,
        t.refused,
        t.prompt_tokens,
        t.output_tokens,
        t.seconds,
        _json_or_null(t.prompt_ids or None),
        _json_or_null(t.output_ids or None),
    )


def verdict_values(number: int, verdict: Verdict) -> tuple[Any, ...]:
    """Columns of `verdicts`."""
    if isinstance(verdict, QuestionVerdict):
        j = verdict.judgement
        return (
            *(number, "question", verdict.turn, verdict.given_by),
            *(None, None, None, None, None),
            *(_json_or_null(j.named), _json_or_null(j.touched), j.central),
            *(j.confidence, "[]", j.why),
        )
    return (
        *(number, "answer", -1, verdict.given_by),
        *(verdict.outcome, verdict.is_intended, verdict.is_default, verdict.value),
        None if verdict.outcome is None else _json(verdict.also),
        *(None, None, None),
        *(verdict.confidence, _json(verdict.flags), verdict.why),
    )


def read_turn(values: Sequence[Any]) -> Turn:
    """The turn of a row."""
    _, _, action, content, *rest, prompt_ids, output_ids = values
    fields = (action, json.loads(content), *rest, read_tuple(prompt_ids) or (), read_tuple(output_ids) or ())
    return Turn(*fields)


def read_tuple(text: str | None) -> tuple[Any, ...] | None:
    """A JSON list; None where there is none, or where it is null."""
    value = orjson.loads(text) if text else None
    return None if value is None else tuple(value)


def read_episode(row: Mapping[str, Any], turns: tuple[Turn, ...]) -> Episode:
    """The episode of a row, with its turns."""
    return Episode(
        instance_id=row["instance_id"],
        model=row["model"],
        mode=row["mode"],
        ending=Ending(row["ending"]),
        answer=row["answer"],
        confidence=row["confidence"],
        turns=turns,
        opening=tuple(json.loads(row["opening"])),
        flags=tuple(json.loads(row["flags"])),
        error=row["error"],
        seconds=row["seconds"],
        item=row["item"],
        sample=row["sample"],
        retrieval=row["retrieval"],
        parent=row["parent"],
        fork_turn=row["fork_turn"],
        started_at=row["started_at"],
        extra=json.loads(row["extra"]),
    )
