"""What Datasette is told of a store, so that `datasette fiqkit.db -m metadata.json` explains itself.

Datasette's metadata is JSON: `{"databases": {"fiqkit": {"tables": {"results": {"description": …, "columns": {…}}}}}}`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fiqkit.store.store import Store
from fiqkit.whole_file import written_whole

_HOW = {
    "run": "id of the run; its manifest is in the table runs",
    "model": "the agent: a model, or a reference policy",
    "mode": "what the agent was allowed to do: answer, search, interact, …",
    "retrieval": "what a search returned: index, own, own+spans or intended-span",
    "instance_id": "the question's instance",
    "sample": "which of the repeated draws, from 0",
    "category": "the instance's primary category of ambiguity",
    "ending": "how the episode ended; only answered has a graded answer",
    "turn": "from 0",
}
_TABLES: dict[str, tuple[str, dict[str, str]]] = {
    "results": (
        "One row an episode and a grader of its run. Accuracy is avg(is_right), grouped by model, mode and grader.",
        {
            "grader": "who graded: rules, recorded, or kind model@hash",
            "outcome": "the grade: intended, default, other, hedge, refusal, question, empty or unscored",
            "is_right": "1: the intended answer; 0 also for an episode without an answer; null: not known",
            "is_default": "1: the default answer instead",
            "asks": "questions that reached the user",
            "confidence": "0 to 100, as stated with the answer",
        },
    ),
    "questions": (
        "One row a clarifying question that reached the user and a judge of it. AC@1 is the average over is_first.",
        {
            "judged": "the question's most central category, generic, none or unscored",
            "named": "1: it names a true category's matter",
            "touch": "1: it raises a true category for a choice or a confirmation",
            "central": "1: its most central category is a true one",
        },
    ),
    "transcripts": (
        "One row a turn: what the agent did and said, and what came back.",
        {
            "said": "the question, query, response or state of the action",
            "heard": "the reply, the passages found, or why it was refused",
            "thought": "the reasoning before it",
        },
    ),
    "episodes": (
        "One row an episode, as it was recorded. The search box finds questions, answers, replies, passages.",
        {},
    ),
    "turns": ("One row a completion of the agent, in full.", {"turn": "from 0"}),
    "verdicts": ("What graders and judges said of an episode; turn is -1 for the final answer.", {}),
    "instances": ("The ambiguous questions with both readings; (instance_id, item) names one.", {}),
    "runs": ("The runs, each with a manifest that holds all that is needed to repeat it.", {}),
    "datasets": ("Which instances a data set holds, in order.", {}),
}
_QUERIES = {
    "accuracy": (
        "Accuracy",
        "SELECT run, model, mode, grader, count(is_right) AS n, round(100 * avg(is_right), 1) AS accuracy, "
        "round(100 * avg(is_default), 1) AS default_capture, round(avg(asks), 2) AS asks FROM results "
        "GROUP BY run, model, mode, grader ORDER BY run, accuracy DESC",
    ),
    "first_questions": (
        "AC@1, in its three forms",
        "SELECT run, model, mode, judge, count(central) AS n, round(100 * avg(named), 1) AS named, "
        "round(100 * avg(touch), 1) AS touch, round(100 * avg(central), 1) AS central FROM questions WHERE is_first "
        "GROUP BY run, model, mode, judge ORDER BY run, named DESC",
    ),
    "search": (
        "Episodes that hold a text (three characters or more)",
        "SELECT r.episode, r.model, r.mode, r.outcome, r.question, r.answer, "
        "snippet(episodes_fts, -1, '«', '»', ' … ', 60) AS found FROM episodes_fts JOIN results r "
        "ON r.episode = episodes_fts.rowid WHERE episodes_fts MATCH '\"' || replace(:text, '\"', '\"\"') || '\"' "
        "ORDER BY rank LIMIT 100",
    ),
    "episode": (
        "One episode, turn by turn",
        "SELECT turn, action, said, heard FROM transcripts WHERE episode = :episode",
    ),
}
_SEARCHED = ("results", "episodes")
_HIDDEN = ("episode_texts", "_sqlite_migrations")


def metadata(store: Store) -> dict[str, Any]:
    """Datasette's metadata for a run store; the file's name without its ending is what Datasette calls it."""
    tables: dict[str, Any] = {}
    for name, (description, columns) in _TABLES.items():
        there = [row[0] for row in store.conn.execute(f"SELECT * FROM {name} LIMIT 0").description]
        told = {**_HOW, **columns}
        tables[name] = {"description": description, "columns": {key: told[key] for key in there if key in told}}
        if name in _SEARCHED:
            tables[name] |= {"fts_table": "episodes_fts", "fts_pk": "episode"}
    tables |= {name: {"hidden": True} for name in _HIDDEN}
    queries = {name: {"title": title, "sql": sql} for name, (title, sql) in _QUERIES.items()}
    return {
        "title": "fiqkit runs",
        "description": "Does a model notice that a financial question is ambiguous, ask, and get the number right?",
        "databases": {
            store.path.stem: {
                "description": "Start with the views results, questions and transcripts, or with a query below.",
                "tables": tables,
                "queries": queries,
            }
        },
    }


def write_metadata(store: Path, out: Path) -> None:
    """Write the metadata of a store, and make the store ready for it: migrated, every episode in the search index.

    Raises:
        UserError: no store there, or one of the two cannot be written.
    """
    opened = Store(store, write=True)
    try:
        with written_whole(out, [store]) as scratch:
            scratch.write_text(json.dumps(metadata(opened), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        opened.fill_search()
    finally:
        opened.close()
