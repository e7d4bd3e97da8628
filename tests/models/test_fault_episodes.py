"""A thousand episodes against a server that fails on purpose: no episode and no verdict differs from the clean run."""

import asyncio
import hashlib
import json
import sqlite3
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from faulty_server import FAULTS, FaultyServer, echo

from fiqkit.bench_data import INSTANCES
from fiqkit.datasets import read_instances
from fiqkit.models.served.openai import OpenAIEngine
from fiqkit.run.evaluation import Settings, evaluate
from fiqkit.run.lineup import Lineup

MODES = (
    "answer",
    "search",
    "interact",
    "always-ask",
    "category-oracle",
    "context-oracle",
    "interpretation-oracle",
    "enumerate",
    "oracle-retrieval",
)
ANSWERS = {instance.question: (instance.answer, instance.default_answer) for instance in read_instances(INSTANCES)}


def agent(body: Mapping[str, Any]) -> str:
    """An agent whose every action is a function of the dialogue: it searches, asks, and answers with either gold."""
    asked = any(question in message["content"] for message in body["messages"] for question in ANSWERS)
    if not asked or "response_format" not in body:
        return echo(body)  # the start-up probe
    dialogue = json.dumps([body["model"], body["messages"]], ensure_ascii=False)
    draw = int(hashlib.sha256(dialogue.encode()).hexdigest(), 16)
    schema = body["response_format"]["json_schema"]["schema"]
    allowed = [shape["properties"]["action"]["const"] for shape in schema.get("anyOf", [schema])]
    action = allowed[draw % len(allowed)]
    golds = next(golds for question, golds in ANSWERS.items() if question in dialogue)
    contents: dict[str, dict[str, Any]] = {
        "search": {"query": f"revenue {draw % 7}"},
        "interact": {"question": "Do you mean the consolidated company-wide figure, not that of a segment?"},
        "answer": {"response": golds[draw % 2], "confidence": draw % 101},
    }
    return json.dumps({"action": action, **contents[action]})


async def evaluated(
    store: Path, server: FaultyServer, monkeypatch: pytest.MonkeyPatch
) -> tuple[int, Counter[str], list[tuple[str, ...]]]:
    """Episodes, the faults that the engine counted, and every row of the store that must not change."""
    engines: list[OpenAIEngine] = []
    begin = OpenAIEngine.__init__

    def noted(engine: OpenAIEngine, *args: Any, **settings: Any) -> None:
        begin(engine, *args, **settings)
        engines.append(engine)

    monkeypatch.setattr(OpenAIEngine, "__init__", noted)
    async with server:
        lineup = Lineup(agent=tuple(f"{server.url}#{model}" for model in ("a", "b")), modes=MODES)
        result = await evaluate(Settings(lineup=lineup, store=store, limit=62, engine={"timeout": 10.0}))
    assert result.complete
    faults: Counter[str] = Counter()
    for engine in engines:
        faults += engine.faults
    return result.episodes, faults, stored(store)


TIMES = {"run", "episode", "seconds", "created", "started_at"}


def stored(store: Path) -> list[tuple[str, ...]]:
    """Each episode, turn and verdict under its episode's key, without what measures time."""
    with sqlite3.connect(store) as database:
        database.row_factory = sqlite3.Row
        episodes = {
            row["episode"]: f"{row['model']} {row['mode']} {row['instance_id']}"
            for row in database.execute("SELECT * FROM episodes")
        }
        return sorted(
            (table, episodes[row["episode"]], str([row[key] for key in row.keys() if key not in TIMES]))  # noqa: SIM118
            for table in ("episodes", "turns", "verdicts")
            for row in database.execute(f"SELECT * FROM {table}")
        )


@pytest.mark.slow
def test_a_thousand_episodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clean = FaultyServer(reply=agent, model=("a", "b"))
    rarely_silent = (*FAULTS, *(kind for kind in FAULTS if kind != "hang")) * 2  # a hang costs its whole timeout
    faulty = FaultyServer(reply=agent, model=("a", "b"), rate=0.05, kinds=rarely_silent)
    count, no_faults, expected = asyncio.run(evaluated(tmp_path / "clean.db", clean, monkeypatch))
    again, faults, found = asyncio.run(evaluated(tmp_path / "faulty.db", faulty, monkeypatch))
    print(f"{count} episodes, faults {dict(faults)}")
    assert count == again >= 1000
    assert no_faults == {}
    assert found == expected
    assert faults == {FAULTS[kind]: number for kind, number in faulty.injected.items()}
    assert set(faulty.injected) == set(FAULTS)
