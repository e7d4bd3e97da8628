"""What an engine is gets known by asking it: no description, cache key or measurement is older than the answer."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from faulty_server import FaultyServer

from fiqkit.errors import UserError
from fiqkit.models.template import RUN_DATE, ChatTemplate
from fiqkit.run.evaluation import Settings, evaluate
from fiqkit.run.lineup import Lineup
from fiqkit.run.players import Cast

DATED = "{{ strftime_now('%d %B %Y') }}: {{ messages[-1].content }}"


def answers(text: str) -> Any:
    """An agent that gives one answer, in whatever form it is asked for."""

    def reply(body: Mapping[str, Any]) -> str:
        schema = body.get("response_format", {}).get("json_schema", {}).get("schema")
        if schema is None:
            return "Hello there."
        if "word" in schema.get("properties", {}):
            return json.dumps({"word": schema["properties"]["word"]["enum"][0]})
        if "reply" in schema.get("properties", {}):
            return json.dumps({"reply": schema["properties"]["reply"]["enum"][0]})
        return json.dumps({"action": "answer", "response": text, "confidence": 50})

    return reply


class Swapped:
    """One URL behind which one model follows another."""

    def __init__(self, port: int) -> None:
        self.port = port

    def server(self, name: str, answer: str) -> FaultyServer:
        return FaultyServer(model=name, reply=answers(answer), port=self.port)


def played(store: Path) -> list[tuple[str, str]]:
    with sqlite3.connect(store) as file:
        return file.execute("SELECT instance_id, answer FROM episodes ORDER BY 1").fetchall()


async def run(url: str, store: Path, **settings: Any) -> Any:
    lineup = Lineup(agent=(url,), modes=("answer",))
    return await evaluate(Settings(lineup=lineup, store=store, limit=2, **settings))


def test_a_cache_knows_when_the_model_behind_a_url_has_changed(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with FaultyServer(model="a", reply=answers("$1 billion")) as first:
            await run(first.url, tmp_path / "1.db", cache=tmp_path / "cache.db")
            port = int(first.url.rsplit(":", 1)[1].removesuffix("/v1"))
        async with Swapped(port).server("b", "$2 billion") as second:
            await run(second.url, tmp_path / "2.db", cache=tmp_path / "cache.db")
        assert {answer for _, answer in played(tmp_path / "2.db")} == {"$2 billion"}
        async with Swapped(port).server("b", "$3 billion") as third:
            await run(third.url, tmp_path / "3.db", cache=tmp_path / "cache.db")
            asked = len(third.bodies)
        assert {answer for _, answer in played(tmp_path / "3.db")} == {"$2 billion"}, "the same model: remembered"
        assert asked > 0, "the start-up probe is a measurement: never from the cache"

    asyncio.run(scenario())


def test_a_run_is_not_resumed_over_another_model(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with FaultyServer(model="a", reply=answers("$1 billion")) as first:
            await run(first.url, tmp_path / "r.db")
            port = int(first.url.rsplit(":", 1)[1].removesuffix("/v1"))
        async with Swapped(port).server("b", "$2 billion") as second:
            with pytest.raises(UserError, match="cannot be resumed"):
                await run(second.url, tmp_path / "r.db", resume="last")

    asyncio.run(scenario())


def test_a_manifest_describes_the_server_after_it_was_asked(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with FaultyServer(model="a", owned_by="vllm", reply=answers("$1 billion")) as server:
            await run(server.url, tmp_path / "r.db")

    asyncio.run(scenario())
    with sqlite3.connect(tmp_path / "r.db") as file:
        manifest = json.loads(file.execute("SELECT manifest FROM runs").fetchone()[0])
    engine = manifest["agents"][0]["engine"]
    assert (engine["model"], engine["dialect"]) == ("a", "vllm")
    assert date.fromisoformat(manifest["date"])


def test_the_flip_rate_is_measured_at_the_engine(tmp_path: Path, make_instance: Any) -> None:
    async def scenario() -> tuple[int, int]:
        async with FaultyServer(model="a", reply=answers("$1 billion")) as server:
            cast = Cast(Lineup(agent=(server.url,)), cache=tmp_path / "cache.db")
            await cast.open()
            agents = cast.agents([])
            counts = []
            for _ in range(2):
                before = len(server.bodies)
                await cast.flip_rates(agents, [make_instance()])
                counts.append(len(server.bodies) - before)
            await cast.close()
        return counts[0], counts[1]

    assert asyncio.run(scenario()) == (4, 4)


def test_dates_of_a_template_are_those_of_the_run() -> None:
    template = ChatTemplate("m", DATED, {})
    chat = [{"role": "user", "content": "Hi"}]

    async def dated() -> tuple[str, str | None]:
        RUN_DATE.set(date(2026, 3, 9))
        return template.render(chat), template.date

    assert asyncio.run(dated()) == ("09 March 2026: Hi", "2026-03-09")
    assert RUN_DATE.get() is None, "it holds inside the run alone"
    assert ChatTemplate("m", "{{ messages }}", {}).date is None


def test_a_resumed_run_keeps_its_date(tmp_path: Path) -> None:

    async def scenario() -> None:
        async with FaultyServer(model="a", reply=answers("$1 billion")) as server:
            await run(server.url, tmp_path / "r.db")
            with sqlite3.connect(tmp_path / "r.db") as file:
                manifest = json.loads(file.execute("SELECT manifest FROM runs").fetchone()[0])
                manifest["date"] = "2025-02-03"
                file.execute("UPDATE runs SET manifest = ?", [json.dumps(manifest)])
                file.execute("DELETE FROM turns")
                file.execute("DELETE FROM verdicts")
                file.execute("DELETE FROM episodes")
            await run(server.url, tmp_path / "r.db", resume="last")
        assert RUN_DATE.get() == date(2025, 2, 3)

    asyncio.run(scenario())
    with sqlite3.connect(tmp_path / "r.db") as file:
        assert json.loads(file.execute("SELECT manifest FROM runs").fetchone()[0])["date"] == "2025-02-03"


def test_a_card_of_two_names_for_one_model_is_opened_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with FaultyServer(model="a", reply=answers("$1 billion")) as server:
            cards = tmp_path / "cards.toml"
            cards.write_text(
                "".join(f'[{n}]\nengine = "openai"\nweights = "{server.url}"\nmodel = "a"\n' for n in ("x", "y"))
            )
            cast = Cast(Lineup(agent=("x", "y")), cards=cards)
            await cast.open()
            assert len(cast._engines) == 1
            await cast.close()

    asyncio.run(scenario())
