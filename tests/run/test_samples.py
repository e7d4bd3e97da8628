"""Repeated draws: samples of one episode differ, and sample 0 is what a run without samples plays."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fiqkit.errors import UserError
from fiqkit.records import Episode
from fiqkit.run.evaluation import Settings, evaluate
from fiqkit.run.lineup import Lineup
from fiqkit.store.store import Store


def played(store: Path, **settings: Any) -> list[Episode]:
    lineup = Lineup(agent=("random-reading", "template-asker"), modes=("answer", "interact"), simulator="noisy")
    result = asyncio.run(evaluate(Settings(lineup=lineup, store=store, limit=20, seed=3, **settings)))
    episodes = [episode for _, episode in Store(store).episodes(result.run)]
    return [
        replace(e, seconds=0, started_at=None, turns=tuple(replace(t, seconds=0) for t in e.turns)) for e in episodes
    ]


def test_samples_differ_and_the_first_is_the_run_without_samples(tmp_path: Path) -> None:
    once, thrice = played(tmp_path / "once.db"), played(tmp_path / "thrice.db", samples=3)
    assert len(thrice) == 3 * len(once) == 240

    def named(episodes: list[Episode]) -> dict[tuple[str, str, str], Episode]:
        return {(e.model, e.mode, e.instance_id): e for e in episodes}

    assert named([e for e in thrice if e.sample == 0]) == named(once)
    answers, replies = defaultdict(set), defaultdict(set)
    for e in thrice:
        answers[e.model, e.mode, e.instance_id].add(e.answer)
        if e.asks:
            replies[e.instance_id].add(e.turns[0].content["reply"])
    # 20 instances, each drawn three times between two readings: all three are alike for one in four.
    tossed = [
        len(found) for (model, mode, _), found in answers.items() if (model, mode) == ("random-reading", "answer")
    ]
    assert 8 <= sum(n == 2 for n in tossed) <= 20
    assert any(len(found) > 1 for found in replies.values())  # the noise of the user's replies is drawn anew too


def test_another_number_of_samples_is_another_run(tmp_path: Path) -> None:
    played(tmp_path / "s.db", samples=2)
    with pytest.raises(UserError, match=r"its setting samples was 2 and is now 1"):
        played(tmp_path / "s.db", resume="last")
    with pytest.raises(UserError, match="--samples is 0"):
        played(tmp_path / "s.db", samples=0)
