"""The tables of a run store, and how an older store becomes one of today.

Schema 1 knew an instance by its id within a data set. Since schema 2 an item is (instance_id, item), `item` being the
hash of the instance's record: the same in any data set, subset or shard that holds that record. Schema 3 says which
items the episodes are of (a foreign key), and has views and a search index for other tools (`store.views`). An older
schema is read in place, through temporary views that have today's names and columns.
"""

from __future__ import annotations

import json

from sqlite_utils import Database, Migrations

from fiqkit.datasets import parse_instance, record_hash
from fiqkit.sqlite_file import Kind, execute_all
from fiqkit.store.views import create_search, create_views, fill_search

migrations = Migrations("fiqkit runs")

_TABLES_1 = """
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

_TABLES_2 = """
CREATE TABLE instances (
    instance_id TEXT NOT NULL,
    item TEXT NOT NULL,          -- hash of the record; with instance_id it names the item
    language TEXT NOT NULL,
    primary_category TEXT NOT NULL,
    categories TEXT NOT NULL,    -- JSON list
    h0 REAL NOT NULL,
    cluster TEXT NOT NULL,       -- company key
    orbit TEXT,                  -- siblings that share question and passage
    headline_intended INTEGER NOT NULL,
    question TEXT NOT NULL,
    record TEXT NOT NULL,        -- the whole instance, JSON
    PRIMARY KEY (instance_id, item)
);
CREATE TABLE datasets (
    dataset TEXT NOT NULL,       -- hash of all its instances, in order
    place INTEGER NOT NULL,      -- of the instance in the set, from 0
    instance_id TEXT NOT NULL,
    item TEXT NOT NULL,
    PRIMARY KEY (dataset, instance_id)
);
CREATE TABLE episodes (
    episode INTEGER PRIMARY KEY,
    run TEXT NOT NULL REFERENCES runs(run),
    model TEXT NOT NULL,
    mode TEXT NOT NULL,
    instance_id TEXT NOT NULL,
    item TEXT NOT NULL,
    sample INTEGER NOT NULL,     -- which of the repeated draws, from 0
    retrieval TEXT NOT NULL,     -- index, own, own+spans or intended-span
    parent TEXT,                 -- a fork: the episode that it left,
    fork_turn INTEGER,           -- and the turn it left at
    started_at TEXT,             -- UTC, ISO
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
    error TEXT,                  -- the engine's fault, or the traceback of a bug
    opening TEXT NOT NULL,       -- JSON list of the messages before the first turn
    extra TEXT NOT NULL          -- JSON object
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
    prompt_ids TEXT,             -- JSON list of token ids; null where the engine has none
    output_ids TEXT,
    PRIMARY KEY (episode, turn)
);
CREATE TABLE verdicts (
    episode INTEGER NOT NULL REFERENCES episodes(episode),
    kind TEXT NOT NULL,          -- answer (a grader's) or question (a judge's)
    turn INTEGER NOT NULL,       -- the question's turn; -1 for the final answer
    given_by TEXT NOT NULL,      -- name of the grader or judge: rules, recorded, or kind model@hash
    outcome TEXT,                -- answer: one of Outcome; null where a recorded grader kept only booleans
    is_intended INTEGER,         -- answer: 0, 1 or null when unscored
    is_default INTEGER,
    value TEXT,
    also TEXT,                   -- answer: JSON list of the golds that it names; null when not known
    named TEXT,                  -- question: JSON list of the categories it names; null when not known
    touched TEXT,                -- question: JSON list of the categories it raises
    central TEXT,                -- question: a category, generic, none or unscored
    confidence REAL,             -- 0 to 1 where the giver states one
    flags TEXT NOT NULL,
    why TEXT NOT NULL,
    PRIMARY KEY (episode, kind, turn, given_by)
);
CREATE UNIQUE INDEX episodes_identity ON episodes(
    run, model, mode, retrieval, instance_id, item, sample, coalesce(parent, ''), coalesce(fork_turn, -1)
);
CREATE INDEX episodes_by_item ON episodes(run, instance_id);
CREATE INDEX verdicts_by_giver ON verdicts(given_by, kind);
"""

_OF_AN_ITEM = "FOREIGN KEY (instance_id, item) REFERENCES instances(instance_id, item)"

# Schema 2's columns out of the tables of schema 1; {0} stands before each table's name.
_SEEN_AS_2 = {
    "items": "SELECT dataset, instance_id, item_of(record) AS item, rowid AS place FROM {0}instances",
    "datasets": "SELECT dataset, place, instance_id, item FROM items",
    "instances": "SELECT instance_id, item, language, primary_category, categories, h0, cluster, NULL AS orbit, "
    "0 AS headline_intended, question, record FROM {0}instances JOIN items USING (dataset, instance_id) "
    "GROUP BY instance_id, item",
    "episodes": "SELECT episode, run, model, mode, instance_id, coalesce(item, '') AS item, 0 AS sample, "
    "'index' AS retrieval, NULL AS parent, NULL AS fork_turn, NULL AS started_at, ending, answer, confidence, n_turns, "
    "n_asks, n_searches, n_refused, prompt_tokens, output_tokens, seconds, flags, error, opening, extra "
    "FROM {0}episodes JOIN main.runs USING (run) LEFT JOIN items USING (dataset, instance_id)",
    "turns": "SELECT *, NULL AS prompt_ids, NULL AS output_ids FROM {0}turns",
    # `also` said that the other gold is in the answer beside the one it commits to.
    "verdicts": "SELECT episode, kind, turn, given_by, outcome, is_intended, is_default, value, "
    "CASE WHEN outcome NOT IN ('intended', 'default') THEN NULL WHEN also = 1 THEN '[\"intended\",\"default\"]' "
    "WHEN also = 0 THEN json_array(outcome) END AS also, NULL AS named, touched, central, NULL AS confidence, "
    "flags, why "
    "FROM {0}verdicts",
}


@migrations(name="1")
def _create(db: Database) -> None:
    if "runs" not in db.table_names():  # a store of schema 1 was made before migrations were written down
        execute_all(db, _TABLES_1)


@migrations(name="2")
def _items(db: Database) -> None:
    old = ("instances", "episodes", "turns", "verdicts")
    for name in old:
        db.conn.execute(f"ALTER TABLE {name} RENAME TO old_{name}")
    for index in ("episodes_by_run", "verdicts_by_giver"):
        db.conn.execute(f"DROP INDEX {index}")
    execute_all(db, _TABLES_2)
    _register(db)
    db.conn.execute("CREATE TEMP TABLE items AS " + _SEEN_AS_2["items"].format("main.old_"))
    for name in ("datasets", *old):
        db.conn.execute(f"INSERT INTO main.{name} " + _SEEN_AS_2[name].format("main.old_"))
    db.conn.execute("DROP TABLE temp.items")
    for name in reversed(old):
        db.conn.execute(f"DROP TABLE old_{name}")


@migrations(name="3")
def _shown(db: Database) -> None:
    for name in ("datasets", "episodes"):  # SQLite adds a key to a table by making the table anew
        found = db.conn.execute("SELECT sql FROM sqlite_master WHERE tbl_name = ? AND sql > '' ORDER BY rowid", (name,))
        table, *indexes = [sql for (sql,) in found]
        _, columns = table.rstrip().removesuffix(")").split("(", 1)
        db.conn.execute(f"CREATE TABLE new_{name} ({columns.rstrip()}\n    , {_OF_AN_ITEM}\n)")
        db.conn.execute(f"INSERT INTO new_{name} SELECT * FROM {name}")
        db.conn.execute(f"DROP TABLE {name}")
        db.conn.execute(f"ALTER TABLE new_{name} RENAME TO {name}")
        for index in indexes:
            db.conn.execute(index)
    create_views(db)
    create_search(db)
    while fill_search(db):
        pass


def see_as_today(db: Database, version: int) -> None:
    """Let an older store be read under today's names and columns, through views of this connection alone."""
    if version == 1:
        _register(db)
        for name, select in _SEEN_AS_2.items():
            what = "TABLE" if name == "items" else "VIEW"
            db.conn.execute(f"CREATE TEMP {what} {name} AS {select.format('main.')}")
        db.conn.execute("CREATE INDEX temp.items_by_id ON items(dataset, instance_id)")
    create_views(db, "TEMP ")


def _register(db: Database) -> None:
    db.conn.create_function("item_of", 1, lambda text: record_hash(parse_instance(json.loads(text), "the store")))


RUN_STORE = Kind(
    what="run store",
    table="episodes",
    version=3,
    migrations=migrations,
    missing="start a run first, or name the file with --store",
    mend="name another file with --store",
)
