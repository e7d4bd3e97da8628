"""How large is the page of many episodes, how soon does it open, and what does the store's search index cost?

    python benchmarks/page.py                 # 10,000 episodes; opens the page where a Chromium is at hand

Five agents that reply at once play four modes on 500 instances (the bundled ones under new ids, searched in the bundled
index, asked, answered, graded and judged by rules), everything in full. Opening is from the address to a list that can
be used; the search reads every word of every episode, first from cold and then again.

The last line is JSON: `page_mb`, `open_s`, `search_first_s`, `search_again_s`, `write_page_s`, `store_mb`, `index_mb`,
`fill_search_s`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import tempfile
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from fiqkit.agent.modes import mode
from fiqkit.agent.policy import EngineAgent
from fiqkit.agent.world import World
from fiqkit.bench_data import INDEX, INSTANCES
from fiqkit.datasets import dataset_hash, read_instances
from fiqkit.index import Index
from fiqkit.index.service import Searcher
from fiqkit.models.scripted import ScriptedEngine
from fiqkit.report.document import make_report
from fiqkit.report.html import write_page
from fiqkit.roles import open_grader, open_judge, open_simulator
from fiqkit.roles.assess import Assessor
from fiqkit.run.jobs import jobs_left
from fiqkit.run.scheduler import play_all
from fiqkit.run.work import Lane, Recorder
from fiqkit.store.store import Store

MODES = ("search", "interact", "always-ask", "forced-interact-2")
QUESTIONS = ("Do you mean the consolidated figure?", "Is it the GAAP figure as reported?", "The full fiscal year?")
ANSWERS = ("$46.75 billion", "9.34 亿元", "I think it is $1.2 million, but I am not sure of the unit.", "12.5%")


def replied(request: Any) -> str:
    """A search for the question, then a question, then an answer, drawn by the text before them."""
    messages = request.messages or ()
    turn = sum(message["role"] == "assistant" for message in messages)
    draw = random.Random(f"{messages[-1]['content'][-200:]}{turn}")
    if turn == 0:
        return json.dumps({"action": "search", "query": messages[-1]["content"][-160:]})
    if turn == 1:
        return json.dumps({"action": "interact", "question": draw.choice(QUESTIONS)})
    return json.dumps({"action": "answer", "response": draw.choice(ANSWERS), "confidence": draw.randrange(100)})


async def play(store: Store, models: int, count: int) -> None:
    """One run of all of them into the store."""
    bundled = read_instances(INSTANCES)
    instances = [replace(bundled[i % len(bundled)], instance_id=f"b{i}") for i in range(count)]
    searcher = Searcher(Index.open(INDEX))
    store.begin_run("bench", "run", dataset_hash(instances), instances, {})
    agents = [EngineAgent(f"model-{n}b", ScriptedEngine(replied)) for n in range(models)]
    lanes = [Lane(jobs, 64) for a in agents for jobs in jobs_left([a], list(map(mode, MODES)), instances, set())]
    assessor = Assessor(open_grader("rules"), open_judge("rules"))
    await play_all(lanes, World(open_simulator("rules"), searcher), assessor, Recorder(partial(store.write, "bench")))
    store.set_status("bench", "done")
    searcher.close()


def opened(page: Path, folder: Path) -> dict[str, float]:
    """Seconds to open the page and to search it, in a Chromium; nothing where there is none."""
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
    from chromium import Browser, chromium

    if chromium() is None:
        return {}
    browser = Browser(folder)
    try:
        found = {}
        steps = {"open_s": None, "search_first_s": "search('consolidated')", "search_again_s": "search('gaap')"}
        for name, expression in steps.items():
            start = time.perf_counter()
            if expression:
                browser.run(expression)
            else:
                browser.open(page.as_uri())
                browser.wait("document.documentElement.dataset.ready")
            found[name] = time.perf_counter() - start
        return found
    finally:
        browser.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=5)
    parser.add_argument("--instances", type=int, default=500)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store = Store(folder / "runs.db", create=True)
        asyncio.run(play(store, args.models, args.instances))
        figures: dict[str, float] = {"episodes": store.count("bench"), "store_mb": store.path.stat().st_size / 1e6}
        start = time.perf_counter()
        store.fill_search()
        figures["fill_search_s"] = time.perf_counter() - start
        store.close()
        figures["index_mb"] = store.path.stat().st_size / 1e6 - figures["store_mb"]
        store = Store(store.path)
        report = make_report(store)
        start = time.perf_counter()
        write_page(report, store, folder / "page.html")
        figures["write_page_s"] = time.perf_counter() - start
        figures["page_mb"] = (folder / "page.html").stat().st_size / 1e6
        store.close()
        figures |= opened(folder / "page.html", folder / "profile")
    print(json.dumps({name: round(value, 2) for name, value in figures.items()}))


if __name__ == "__main__":
    main()
