"""The whole chain, from instances to the table: reference policies must give exactly the numbers that define them."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fiqkit.agent.modes import PRIMARY
from fiqkit.errors import UserError
from fiqkit.run.evaluation import Result, Settings, evaluate
from fiqkit.run.lineup import Lineup, load
from fiqkit.store.store import Store

#           policy           accuracy  default  interaction (in mode interact)  commitment
KNOWN = {
    "intended-oracle": (1.0, 0.0, 1.0, 1.0),
    "default-reader": (None, 1.0, 0.0, 1.0),
    "contrarian": (None, 0.0, 0.0, 1.0),
    "always-asks": (None, 1.0, 1.0, 1.0),
    "never-commits": (0.0, 0.0, 0.0, 0.0),
}


def evaluated(tmp_path: Path, *agents: str, **settings: Any) -> Result:
    modes = settings.pop("modes", PRIMARY)
    lineup = Lineup(agent=agents, modes=modes)
    return asyncio.run(evaluate(Settings(lineup=lineup, store=tmp_path / "runs.db", **settings)))


def test_reference_policies_give_the_numbers_that_define_them(tmp_path: Path) -> None:
    result = evaluated(tmp_path, *KNOWN, limit=62)
    assert result.complete
    assert result.episodes == len(KNOWN) * len(PRIMARY) * 62
    for row in result.rows:
        accuracy, default, asks, commitment = KNOWN[row["model"]]
        assert (row["default_capture"], row["commitment"]) == (default, commitment), row
        if accuracy is None:  # right on one sibling of each orbit, so that it resolves no intent
            assert 0.4 < row["accuracy"] <= 0.5
            assert row["intent_resolved"] == 0.0
        else:
            assert row["accuracy"] == accuracy
        assert row["interaction_rate"] == (asks if row["mode"] == "interact" else 0.0)
        assert (row["unscored"], row["engine_error"]) == (0, 0)
    asking = {row["model"]: row for row in result.rows if row["mode"] == "interact"}
    assert asking["intended-oracle"]["ac1_touch"] == asking["intended-oracle"]["ac1_central"] == 1.0
    assert asking["always-asks"]["ac1_touch"] == 0.0
    assert asking["default-reader"]["ac1_touch"] is None
    assert asking["always-asks"]["mean_asks"] == 6.0


def test_random_readings_are_right_about_half_of_the_time(tmp_path: Path) -> None:
    rows = evaluated(tmp_path, "random-reading", modes=("answer",), limit=200).rows
    assert 0.3 < rows[0]["accuracy"] < 0.7
    assert 0.3 < rows[0]["default_capture"] < 0.7
    assert rows[0]["intent_resolved_ci"][0] < 0 < rows[0]["intent_resolved_ci"][1]


def test_the_simulator_settles_the_template_question_on_the_bundled_set(tmp_path: Path) -> None:
    """A template question of the primary category gets yes or no, so that asking it is worth something."""
    rows = evaluated(tmp_path, "template-asker", modes=("interact",), limit=200).rows
    assert rows[0]["accuracy"] == 1.0
    assert rows[0]["intent_resolved"] == 1.0


def test_every_mode_runs_and_the_store_holds_the_whole_episode(tmp_path: Path) -> None:
    modes = ("always-ask", "category-oracle", "template-oracle", "context-oracle", "interpretation-oracle")
    modes += ("oracle-retrieval", "enumerate", "forced-interact-2")
    result = evaluated(tmp_path, "intended-oracle", modes=modes, limit=4)
    found = {row["mode"]: row["accuracy"] for row in result.rows}
    assert found == dict.fromkeys(modes, 1.0)
    store = Store(tmp_path / "runs.db")
    for _, episode in store.episodes(result.run):
        assert episode.ending == "answered"
        assert len(episode.asks) == {"forced-interact-2": 2, "always-ask": 1}.get(episode.mode, len(episode.asks))


def test_two_runs_with_one_seed_are_equal(tmp_path: Path) -> None:
    stores = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        result = evaluated(tmp_path / name, "random-reading", "template-asker", limit=10, seed=3)
        episodes = Store(tmp_path / name / "runs.db").episodes(result.run)
        stores.append(sorted((e.model, e.mode, e.instance_id, e.answer, e.asks) for _, e in episodes))
    assert stores[0] == stores[1]


@pytest.mark.slow
def test_a_model_on_one_thread_repeats_itself(tmp_path: Path) -> None:
    """The embedded model, one request at a time: the same seed gives identical episodes but for timings."""
    lineup = replace(
        load("demo"), agent=("smollm2-135m",), modes=("answer", "interact"), turns=3, max_tokens=60, temperature=0.7
    )
    engine = {"parallel": 1, "threads": 1}
    played = []
    for name in ("a.db", "b.db"):
        settings = Settings(lineup=lineup, store=tmp_path / name, limit=2, seed=4, engine=engine)
        result = asyncio.run(evaluate(settings))
        episodes = [episode for _, episode in Store(tmp_path / name).episodes(result.run)]
        timeless = [
            replace(e, seconds=0, started_at=None, turns=tuple(replace(t, seconds=0) for t in e.turns))
            for e in episodes
        ]
        played.append(timeless)
    assert len(played[0]) == 4
    assert played[0] == played[1]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"modes": ("serach",)}, "unknown mode 'serach'"),
        ({"limit": 0}, "--limit is 0"),
        ({"instances": Path("none.jsonl"), "modes": ("answer",)}, "none.jsonl"),
        ({"index": Path("none")}, "none"),
        ({"agents": ("smolm2",)}, "unknown model card 'smolm2'"),
    ],
)
def test_bad_input_is_one_line_and_leaves_no_run_behind(tmp_path: Path, settings: dict[str, Any], message: str) -> None:
    agents = settings.pop("agents", ("default-reader",))
    with pytest.raises(UserError, match=message) as raised:
        evaluated(tmp_path, *agents, **settings)
    assert "\n" not in str(raised.value)
    assert not (tmp_path / "runs.db").exists() or Store(tmp_path / "runs.db").runs() == []


def test_own_instances_without_an_index_are_refused_in_a_searching_mode(tmp_path: Path) -> None:
    from fiqkit.bench_data import INSTANCES

    with pytest.raises(UserError, match="no index"):
        evaluated(tmp_path, "default-reader", instances=INSTANCES)
