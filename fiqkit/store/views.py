"""What a store shows to whoever opens it with other tools: short views, and full-text search over its episodes.

    SELECT model, mode, avg(is_right) FROM results WHERE grader = 'rules' GROUP BY model, mode;
    SELECT judge, avg(touch) FROM questions WHERE is_first GROUP BY judge;
    SELECT said, heard FROM transcripts WHERE episode = 7 ORDER BY turn;
    SELECT model, mode, answer FROM results WHERE episode IN (SELECT rowid FROM episodes_fts('restated'));

The index `episodes_fts` keeps no text of its own: it reads the view `episode_texts`. It is filled when a run ends, an
import or a merge is done (`fill_search`), never while episodes are written, so that it slows no run. Its tokens are
trigrams, since Chinese has no spaces: it finds any text of three characters or more, capital or small.
"""

from __future__ import annotations

from sqlite_utils import Database

from fiqkit.records import Ending

_FAILED = f"'{Ending.ENGINE_ERROR}', '{Ending.BUG}'"  # may be played again, under another number


def _on(column: str) -> str:
    """1 or 0: whether a judged question is on a true category in one form; null where the judge did not say."""
    return (
        f"CASE WHEN v.central = 'unscored' OR v.{column} IS NULL OR json_type(v.{column}) = 'null' THEN NULL ELSE "
        f"EXISTS (SELECT 1 FROM json_each(v.{column}) a JOIN json_each(i.categories) b ON a.value = b.value) END"
    )


VIEWS = {
    # An episode and a grader of its run; forks left out. is_right and is_default as the report counts them: 0 for an
    # episode that gave no answer, null where nothing is known (an engine error, a bug, an unscored answer), is_default
    # also where the headline itself is intended.
    "results": f"""
        SELECT e.episode, e.run, e.model, e.mode, e.retrieval, e.instance_id, e.sample, i.language,
            i.primary_category AS category, e.ending, g.grader, v.outcome,
            CASE WHEN e.ending IN ({_FAILED}) THEN NULL WHEN e.ending <> '{Ending.ANSWERED}' THEN 0
                WHEN e.mode = 'enumerate' AND v.outcome <> 'unscored'
                THEN v.flags LIKE '%"covers_intended"%' OR v.flags LIKE '%"covers_both"%'
                ELSE v.is_intended END AS is_right,
            CASE WHEN e.ending IN ({_FAILED}) OR i.headline_intended THEN NULL
                WHEN e.ending <> '{Ending.ANSWERED}' THEN 0
                WHEN e.mode = 'enumerate' AND v.outcome <> 'unscored' THEN v.flags LIKE '%"covers_both"%'
                ELSE v.is_default END AS is_default,
            e.n_asks AS asks, e.n_searches AS searches, e.n_turns AS turns, e.confidence,
            round(e.seconds, 2) AS seconds, e.answer, i.question
        FROM episodes e
        LEFT JOIN instances i ON i.instance_id = e.instance_id AND i.item = e.item
        LEFT JOIN (SELECT DISTINCT e.run, v.given_by AS grader FROM verdicts v JOIN episodes e ON e.episode = v.episode
            WHERE v.kind = 'answer') g ON g.run = e.run
        LEFT JOIN verdicts v ON v.episode = e.episode AND v.kind = 'answer' AND v.turn = -1 AND v.given_by = g.grader
        WHERE e.parent IS NULL""",
    # A clarifying question that reached the user, and a judge of it; named, touch and central: on a true category?
    "questions": f"""
        SELECT t.episode, t.turn, e.run, e.model, e.mode, e.instance_id, e.sample, i.primary_category AS category,
            NOT EXISTS (SELECT 1 FROM turns b WHERE b.episode = t.episode AND b.turn < t.turn
                AND b.action = 'interact' AND b.refused IS NULL) AS is_first,
            json_extract(t.content, '$.question') AS question,
            coalesce(nullif(t.observation, ''), json_extract(t.content, '$.reply')) AS reply,
            v.given_by AS judge, v.central AS judged, {_on("named")} AS named, {_on("touched")} AS touch,
            CASE WHEN v.central <> 'unscored'
                THEN EXISTS (SELECT 1 FROM json_each(i.categories) b WHERE b.value = v.central) END AS central
        FROM turns t JOIN episodes e ON e.episode = t.episode
        LEFT JOIN instances i ON i.instance_id = e.instance_id AND i.item = e.item
        LEFT JOIN verdicts v ON v.episode = t.episode AND v.kind = 'question' AND v.turn = t.turn
        WHERE t.action = 'interact' AND t.refused IS NULL AND e.parent IS NULL""",
    # A turn: what the agent did and said, and what came back.
    "transcripts": """
        SELECT t.episode, t.turn, e.run, e.model, e.mode, e.instance_id, t.action,
            coalesce(json_extract(t.content, '$.question'), json_extract(t.content, '$.query'),
                json_extract(t.content, '$.response'), json_extract(t.content, '$.state'), t.text) AS said,
            t.observation AS heard, t.refused, t.reasoning AS thought
        FROM turns t JOIN episodes e ON e.episode = t.episode""",
}

_TEXTS = f"""
    CREATE VIEW episode_texts AS
    SELECT e.episode, i.question, e.answer,
        (SELECT group_concat(json_extract(t.content, '$.question') || ' ' || t.observation, char(10)) FROM turns t
            WHERE t.episode = e.episode AND t.action = 'interact') AS asked,
        (SELECT group_concat(t.observation, char(10)) FROM turns t
            WHERE t.episode = e.episode AND t.action = 'search') AS passages
    FROM episodes e LEFT JOIN instances i ON i.instance_id = e.instance_id AND i.item = e.item
    WHERE e.ending NOT IN ({_FAILED})"""
_COLUMNS = "question, answer, asked, passages"
_SEARCH = (
    f"CREATE VIRTUAL TABLE episodes_fts USING fts5({_COLUMNS}, content='episode_texts', content_rowid='episode', "
    "tokenize='trigram')"
)
# What was deleted cannot be taken out of an index that holds no text: it is emptied, and filled again by the next run.
_FORGET = f"""
    CREATE TRIGGER episodes_forgotten AFTER DELETE ON episodes WHEN old.ending NOT IN ({_FAILED}) BEGIN
        INSERT INTO episodes_fts(episodes_fts) VALUES ('delete-all');
    END"""


def create_views(db: Database, where: str = "") -> None:
    """Make the views; `where` is "TEMP " on a connection that only reads."""
    for name, select in VIEWS.items():
        db.conn.execute(f"CREATE {where}VIEW {name} AS {select}")


def create_search(db: Database) -> None:
    """Make the empty search index and what keeps it true."""
    for statement in (_TEXTS, _SEARCH, _FORGET):
        db.conn.execute(statement)


def fill_search(db: Database, most: int = 2000) -> bool:
    """Put episodes into the search index that are not in it yet, so many at most; returns whether there were any."""
    last = "SELECT coalesce(max(id), 0) FROM episodes_fts_docsize"
    (before,) = db.conn.execute(last).fetchone()
    db.conn.execute(
        f"INSERT INTO episodes_fts(rowid, {_COLUMNS}) SELECT episode, {_COLUMNS} FROM episode_texts "
        "WHERE episode > ? ORDER BY episode LIMIT ?",
        (before, most),
    )
    return bool(db.conn.execute(last).fetchone()[0] > before)
