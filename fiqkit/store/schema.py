"""The tables of a run store, and records as their rows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from fiqkit.records import Ending, Episode, QuestionVerdict, Turn, Verdict

VERSION = 1  # of these tables; a store of another version is refused

SCHEMA = """
CREATE TABLE runs (
    run TEXT PRIMARY KEY,
    kind TEXT NOT NULL,          -- run, import or merge
    status TEXT NOT NULL,        -- running, partial or done
    created TEXT NOT NULL,
    finished TEXT,
    dataset TEXT NOT NULL,       -- hash of the instances, key into instances
    manifest TEXT NOT NULL       -- JSON: all that is needed to repeat the run
);
CREATE TABLE instances (
    dataset TEXT NOT NULL,
    instance_id TEXT NOT NULL,
    language TEXT NOT NULL,
    primary_category TEXT NOT NULL,
    categories TEXT NOT NULL,    -- JSON list
    h0 REAL NOT NULL,
    cluster TEXT NOT NULL,       -- company key
    question TEXT NOT NULL,
    record TEXT NOT NULL,        -- the whole instance, JSON
    PRIMARY KEY (dataset, instance_id)
);
CREATE TABLE episodes (
    episode INTEGER PRIMARY KEY,
    run TEXT NOT NULL REFERENCES runs(run),
    model TEXT NOT NULL,
    mode TEXT NOT NULL,
    instance_id TEXT NOT NULL,
    ending TEXT NOT NULL,
    answer TEXT,
    confidence REAL,
    n_turns INTEGER NOT NULL,
    n_asks INTEGER NOT NULL,
    n_searches INTEGER NOT NULL,
    n_refused INTEGER NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    seconds REAL NOT NULL,
    flags TEXT NOT NULL,         -- JSON list
    error TEXT,
    opening TEXT NOT NULL,       -- JSON list of the messages before the first turn
    extra TEXT NOT NULL,         -- JSON object
    UNIQUE (run, model, mode, instance_id)
);
CREATE TABLE turns (
    episode INTEGER NOT NULL REFERENCES episodes(episode),
    turn INTEGER NOT NULL,
    action TEXT NOT NULL,
    content TEXT NOT NULL,       -- JSON object
    text TEXT NOT NULL,
    reasoning TEXT NOT NULL,
    observation TEXT NOT NULL,
    refused TEXT,
    prompt_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    seconds REAL NOT NULL,
    PRIMARY KEY (episode, turn)
);
CREATE TABLE verdicts (
    episode INTEGER NOT NULL REFERENCES episodes(episode),
    kind TEXT NOT NULL,          -- answer (a grader's) or question (a judge's)
    turn INTEGER NOT NULL,       -- the question's turn; -1 for the final answer
    given_by TEXT NOT NULL,      -- name of the grader or judge
    outcome TEXT,                -- answer: one of Outcome; null where a recorded grader kept only booleans
    is_intended INTEGER,         -- answer: 0, 1 or null when unscored
    is_default INTEGER,
    value TEXT,
    also INTEGER,
    touched TEXT,                -- question: JSON list of categories
    central TEXT,                -- question: a category, generic, none or unscored
    flags TEXT NOT NULL,
    why TEXT NOT NULL,
    PRIMARY KEY (episode, kind, turn, given_by)
);
CREATE INDEX episodes_by_run ON episodes(run, model, mode);
CREATE INDEX verdicts_by_giver ON verdicts(given_by, kind);
"""

INSERT_EPISODE = "INSERT INTO episodes VALUES (" + ",".join("?" * 19) + ")"
INSERT_TURN = "INSERT INTO turns VALUES (" + ",".join("?" * 11) + ")"
INSERT_VERDICT = "INSERT OR REPLACE INTO verdicts VALUES (" + ",".join("?" * 13) + ")"


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()


def episode_values(number: int, run: str, e: Episode) -> tuple[Any, ...]:
    """Columns of `episodes`."""
    return (
        number,
        run,
        e.model,
        e.mode,
        e.instance_id,
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
    )


def verdict_values(number: int, verdict: Verdict) -> tuple[Any, ...]:
    """Columns of `verdicts`."""
    if isinstance(verdict, QuestionVerdict):
        j = verdict.judgement
        return (
            *(number, "question", verdict.turn, verdict.given_by),
            *(None, None, None, None, None),
            *(_json(j.touched), j.central, "[]", j.why),
        )
    return (
        *(number, "answer", -1, verdict.given_by),
        *(verdict.outcome, verdict.is_intended, verdict.is_default, verdict.value, verdict.also),
        *(None, None, _json(verdict.flags), verdict.why),
    )


def read_turn(values: Sequence[Any]) -> Turn:
    """The turn of a row."""
    action, content, *rest = values[2:]
    return Turn(action, json.loads(content), *rest)


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
        extra=json.loads(row["extra"]),
    )
