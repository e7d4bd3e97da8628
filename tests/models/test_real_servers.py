"""The same work through the servers that people really run, on the embedded weights (`make test-servers`).

Of each: whole episodes, a schema, the thinking switch, a prompt that is too long. What was seen is printed, and stands
as a table in docs/servers.md. The servers live in environments of their own, since their pins are not the kit's:
FIQKIT_SERVERS names the Python of one, FIQKIT_VLLM that of the other.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from real_servers import CONTEXT, litellm, llama_cpp_native, llama_cpp_python, vllm

from fiqkit.errors import UserError
from fiqkit.models import open_engine
from fiqkit.models.cards.cards import Card
from fiqkit.models.checks.startup import startup_probe
from fiqkit.models.engine import ContextOverflow, Request, Sampling
from fiqkit.models.served.openai import OpenAIEngine
from fiqkit.run.evaluation import Settings, Watch, evaluate
from fiqkit.run.lineup import Lineup

pytestmark = [pytest.mark.servers, pytest.mark.timeout(3600)]
ONE = "thinking on and off are one"  # what the start says of a switch that the server does not know
TEMPLATE = {"on": {"chat_template_kwargs": {"thinking": True}}, "off": {"chat_template_kwargs": {"thinking": False}}}


@dataclass(frozen=True)
class Case:
    """A server, or a gateway before one, and what it is found to be.

    Attributes:
        chain: who is started, each before the next.
        structured: it holds a reply to a schema.
        thinks: its template has a thinking mode which the dialect's own switch turns on and off.
        settings: of the engine.
        switch: fields that reach the template where the dialect's own do not.
    """

    chain: tuple[Any, ...]
    dialect: str
    structured: bool = True
    thinks: bool = False
    settings: dict[str, Any] = field(default_factory=dict)
    switch: dict[str, Any] | None = None


CASES = {
    "llama-cpp-python": Case((llama_cpp_python,), "llama-cpp-python"),
    "llama.cpp (xllamacpp)": Case((llama_cpp_native,), "llama.cpp", thinks=True),
    "vLLM": Case((vllm,), "vllm", thinks=True),
    "LiteLLM before llama.cpp": Case((llama_cpp_native, litellm), "litellm", switch=TEMPLATE),
    "LiteLLM before llama-cpp-python": Case((llama_cpp_python, litellm), "litellm", structured=False),
    "LiteLLM before llama-cpp-python, in the dialect of that": Case(
        (llama_cpp_python, litellm), "llama-cpp-python", settings={"dialect": "llama-cpp-python"}
    ),
}


@dataclass(frozen=True)
class Running:
    name: str
    case: Case
    url: str

    def engine(self, **settings: Any) -> OpenAIEngine:
        card = Card("smol", "openai", self.url, context=CONTEXT)
        opened = open_engine(card, parallel=2, **{**self.case.settings, **settings})
        assert isinstance(opened, OpenAIEngine)
        return opened


@pytest.fixture(scope="module", params=CASES)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    case = CASES[request.param]
    with ExitStack() as stack:
        url = ""
        for start in case.chain:
            folder = tmp_path_factory.mktemp("server")
            url = stack.enter_context(start(folder, url) if url else start(folder))
        yield Running(request.param, case, url)


def test_the_same_episodes_through_each(tmp_path: Path, server: Running) -> None:
    said: list[str] = []
    lineup = Lineup(agent=(f"smol={server.url}",), modes=("answer", "interact"), turns=3, max_tokens=96)
    engine = {"parallel": 2, **server.case.settings}
    settings = Settings(lineup=lineup, store=tmp_path / "r.db", limit=2, engine=engine)
    result = asyncio.run(evaluate(settings, Watch(said=said.append)))
    with sqlite3.connect(tmp_path / "r.db") as file:
        rows = file.execute("SELECT mode, ending, error, flags, prompt_tokens FROM episodes ORDER BY 1, 2").fetchall()
        most = file.execute("SELECT max(output_tokens) FROM turns").fetchone()[0]
        manifest = json.loads(file.execute("SELECT manifest FROM runs").fetchone()[0])
    found = manifest["agents"][0]["engine"]
    shown = {key: found[key] for key in ("dialect", "server", "context", "structured", "system_role")}
    print(f"\n{server.name}: {shown}; opening {manifest['probe']['smol']['opening']}; said {said}")
    print("\n".join(map(str, rows)), f"longest reply {most} tokens", sep="\n")
    assert result.complete and len(rows) == 4
    assert (found["dialect"], found["structured"]) == (server.case.dialect, server.case.structured)
    assert {ending for _, ending, *_ in rows} <= {"answered", "budget", "truncated", "parse_failure"}
    assert all(("unconstrained" in flags) is not server.case.structured for _, _, _, flags, _ in rows)
    assert all(tokens > 100 for *_, tokens in rows)
    assert most <= 96 + 8, "a bound that is not kept; llama-cpp-python counts a cut reply's last characters anew"


def test_a_schema(server: Running) -> None:
    async def probe() -> dict[str, Any]:
        engine = server.engine()
        try:
            return await startup_probe(engine)
        finally:
            await engine.close()

    found = asyncio.run(probe())["thinking=default"]
    print(f"\n{server.name}: schema {found['schema']}; choices {found['choices']}")
    assert (found["schema"] == "ok") is server.case.structured
    assert (found["choices"] == "ok") is server.case.structured


def test_the_thinking_switch(server: Running) -> None:
    """Whether both modes differ, asked as the dialect asks; where that reaches no template, with own fields."""

    async def modes(**settings: Any) -> str:
        engine = server.engine(context=512, **settings)  # a small model thinks until its room is full
        try:
            found = await startup_probe(engine, (True, False), hybrid=True)
        except UserError as error:
            return str(error)
        finally:
            await engine.close()
        shown = {mode: found[f"thinking={mode}"] for mode in ("on", "off")}
        return "; ".join(f"{mode}: {f['prompt_tokens']} tokens, reasoned: {f['reasoned']}" for mode, f in shown.items())

    said = asyncio.run(modes())
    print(f"\n{server.name}: thinking {said}")
    assert (ONE in said) is not server.case.thinks
    if server.case.switch:
        said = asyncio.run(modes(switch=server.case.switch))
        print(f"with switch = {server.case.switch}: {said}")
        assert ONE not in said


def test_a_prompt_that_is_too_long(server: Running) -> None:
    """One long word: no lower bound of its tokens passes the context, so that the server itself must say it."""

    async def ask() -> str:
        engine = server.engine()
        request = Request(messages=[{"role": "user", "content": "1234567890" * 600}], sampling=Sampling(max_tokens=8))
        try:
            with pytest.raises(ContextOverflow) as caught:
                await engine.complete(request)
            assert dict(engine.faults) == {"overflow": 1}
            return str(caught.value)
        finally:
            await engine.close()

    print(f"\n{server.name}: {asyncio.run(ask())}")
