"""Inspect's own runner plays the same episodes to the same scores, and reads the logs that this kit writes.

Needs inspect_ai: `make test-inspect` has it in an environment of its own.
"""

from __future__ import annotations

import asyncio
import json
from functools import partial
from math import isnan
from pathlib import Path
from random import Random
from typing import Any

import pytest
from click.testing import CliRunner

inspect_ai = pytest.importorskip("inspect_ai", reason="inspect_ai is not installed; make test-inspect")

from inspect_ai.log import read_eval_log  # noqa: E402
from inspect_ai.model import GenerateConfig, ModelOutput, ModelUsage, get_model  # noqa: E402

from fiqkit.adapters.inspect import EPISODE, clarify  # noqa: E402
from fiqkit.adapters.scores import MEASURED  # noqa: E402
from fiqkit.agent.modes import mode  # noqa: E402
from fiqkit.agent.policy import EngineAgent  # noqa: E402
from fiqkit.bench_data import INSTANCES, PASSAGES  # noqa: E402
from fiqkit.cli import fiqkit  # noqa: E402
from fiqkit.datasets import dataset_hash, instance_row, read_instances, write_jsonl  # noqa: E402
from fiqkit.models.engine import EngineError  # noqa: E402
from fiqkit.models.scripted import ScriptedEngine  # noqa: E402
from fiqkit.report.document import make_report  # noqa: E402
from fiqkit.roles import open_grader, open_judge, open_simulator  # noqa: E402
from fiqkit.roles.assess import Assessor  # noqa: E402
from fiqkit.run.jobs import jobs_left  # noqa: E402
from fiqkit.run.lineup import Lineup  # noqa: E402
from fiqkit.run.scheduler import play_all  # noqa: E402
from fiqkit.run.stage import Sources, Stage  # noqa: E402
from fiqkit.run.work import Lane, Recorder  # noqa: E402
from fiqkit.store.store import Store  # noqa: E402

ASKS = ("Do you mean the consolidated company-wide figure?", "Is it the GAAP figure as reported?", "是合并口径吗？")
BROKEN = "engine gone"


@pytest.fixture(scope="module")
def instances_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("set") / "instances.jsonl"
    write_jsonl(path, [instance_row(i) for i in read_instances(INSTANCES)[:12]])
    return path


def replied(messages: list[Any], answers: list[str]) -> str:
    """Searches, asks once or not at all, answers a gold or nonsense, drawn by the question; one question breaks it."""
    said = [message["content"] if isinstance(message, dict) else message.text for message in messages]
    turn = sum(map(_own, messages))
    draw = Random(said[1])
    if read_instances(INSTANCES)[11].question in said[1]:
        return BROKEN
    plan = ["search", *(["interact"] if draw.random() < 0.7 else []), "answer"]
    action = plan[min(turn, len(plan) - 1)]
    if action == "search":
        return json.dumps({"action": action, "query": "net income"})
    if action == "interact":
        return json.dumps({"action": action, "question": draw.choice(ASKS)})
    return json.dumps({"action": action, "response": draw.choice(answers), "confidence": draw.randrange(101)})


def _own(message: Any) -> bool:
    return (message["role"] if isinstance(message, dict) else message.role) == "assistant"


@pytest.fixture(scope="module")
def recorded(instances_file: Path) -> Store:
    """The run by this kit."""
    instances = read_instances(instances_file)
    golds = answers(instances_file)
    stage = Stage(
        Lineup(retrieval="own"),
        [mode("interact")],
        instances,
        instances,
        Sources(instances_file, PASSAGES),
        0,
    )

    def reply(request: Any) -> str:
        text = replied(list(request.messages), golds)
        if text == BROKEN:
            raise EngineError(BROKEN)
        return text

    store = Store(instances_file.parent / "runs.db", create=True)
    store.begin_run("r1", "run", dataset_hash(instances), instances, {"settings": {"seed": 0}})
    lanes = [
        Lane(jobs, 4)
        for jobs in jobs_left([EngineAgent("mock", ScriptedEngine(reply))], [mode("interact")], instances, set())
    ]
    assessor = Assessor(open_grader("rules"), open_judge("rules"))
    world = stage.world(open_simulator("rules"))
    asyncio.run(play_all(lanes, world, assessor, Recorder(partial(store.write, "r1"))))
    store.set_status("r1", "done")
    return store


def answers(path: Path) -> list[str]:
    return [text for i in read_instances(path) for text in (i.answer, i.default_answer)] + ["no idea", "$1 or $2"]


@pytest.fixture(scope="module")
def log(instances_file: Path) -> Any:
    """The log of Inspect's own runner on its mock model."""
    golds = answers(instances_file)

    def output(messages: Any, tools: Any, tool_choice: Any, config: GenerateConfig) -> ModelOutput:
        text = replied(list(messages), golds)
        if text == BROKEN:
            raise RuntimeError(BROKEN)
        made = ModelOutput.from_content("mockllm/model", text)
        made.usage = ModelUsage(input_tokens=700, output_tokens=30, total_tokens=730)
        return made

    task = clarify("interact", "own", str(instances_file), str(PASSAGES))
    [log] = inspect_ai.eval(
        task,
        model=get_model("mockllm/model", custom_outputs=output),
        display="none",
        log_dir=str(instances_file.parent / "logs"),
    )
    return read_eval_log(log.location)


def test_every_episode_and_every_score_is_the_same(recorded: Store, log: Any) -> None:
    assert log.status == "success"
    ours = {e.instance_id: e for _, e in recorded.episodes("r1")}
    theirs = {sample.id: sample for sample in log.samples}
    assert ours.keys() == theirs.keys()
    assert {e.count("interact") for e in ours.values()} >= {0, 1}
    scored = {e.instance_id: e for e in make_report(recorded).scored}
    for key, sample in theirs.items():
        if ours[key].ending == "engine_error":
            assert sample.error is not None
            assert not sample.scores
            continue
        kept = sample.store[EPISODE]
        assert [(t["action"], t["content"], t["observation"]) for t in kept["turns"]] == [
            (t.action, t.content, t.observation) for t in ours[key].turns
        ]
        value = sample.scores["assessed"].value
        assert bool(value["accuracy"]) == scored[key].is_intended
        assert sample.scores["assessed"].metadata["ending"] == ours[key].ending
        assert [m.role for m in sample.messages][:3] == ["system", "user", "assistant"]


def test_the_means_of_its_log_are_the_report_s_numbers(recorded: Store, log: Any) -> None:
    [row] = make_report(recorded).rows
    assert 0 < row["accuracy"] < 1
    means = {score.name: score.metrics["mean"].value for score in log.results.scores}
    for name in MEASURED:
        assert row[name] is None or means[name] == pytest.approx(row[name]), name
    assert sum(sample.error is not None for sample in log.samples) == row["engine_error"] > 0


def test_a_log_written_by_this_kit_opens_there(recorded: Store, log: Any, tmp_path: Path) -> None:
    args = ["export", "r1", "--to", "inspect", "--out", str(tmp_path / "logs"), "--store", str(recorded.path)]
    done = CliRunner().invoke(fiqkit, args)
    assert done.exit_code == 0, done.output
    assert [path.name for path in (tmp_path / "logs").iterdir()] == ["r1_mock_interact_own.eval"]
    written = read_eval_log(str(tmp_path / "logs" / "r1_mock_interact_own.eval"))
    assert (written.status, written.eval.model, written.eval.task) == ("success", "mock", "fiqkit/clarify")
    theirs = {sample.id: sample for sample in log.samples}
    assert len(written.samples) == len(theirs)
    for sample in written.samples:
        there = theirs[sample.id]
        assert (sample.error is None) == (there.error is None)
        if sample.error is None:
            ours, value = sample.scores["fiqkit"].value, there.scores["assessed"].value
            assert {k: None if isnan(v) else v for k, v in ours.items()} == {
                k: None if isnan(v) else v for k, v in value.items()
            }
            assert [(m.role, m.text) for m in sample.messages] == [(m.role, m.text) for m in there.messages]
    means = {score.name: score.metrics["mean"].value for score in written.results.scores}
    assert means == {
        score.name: pytest.approx(score.metrics["mean"].value) for score in log.results.scores if score.name in means
    }


def test_the_task_refuses_what_a_run_refuses(instances_file: Path) -> None:
    from fiqkit.errors import UserError

    for given, said in (({"mode": "chat"}, "chat"), ({"mode": "search", "instances": str(instances_file)}, "index")):
        with pytest.raises(UserError, match=said):
            clarify(**given)
