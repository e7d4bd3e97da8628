"""The stages as commands: each by itself, resumable, in JSON; what is wrong is one line, and nothing is lost."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from fiqkit import bench_data
from fiqkit.cli import fiqkit
from fiqkit.commands.train_stages import show_table
from fiqkit.datasets import instance_row, read_instances, write_jsonl
from fiqkit.errors import UserError
from fiqkit.models.checks.adapters import RECORD
from fiqkit.records import Instance
from fiqkit.taxonomy import CATEGORIES
from fiqkit.train.recipe import Recipe

Train = Callable[..., Any]


@pytest.fixture
def train(items: list[Instance], tiny_recipe: Callable[..., Recipe], tmp_path: Path) -> Train:
    """Runs a command of `fiqkit train` on a few items with the tiny recipe; its JSON."""
    write_jsonl(tmp_path / "items.jsonl", map(instance_row, items))
    ids = [item.instance_id for item in items]
    parts = {"train": ids[:2], "validation": ids[2:3], "test": ids[3:5]}
    (tmp_path / "splits.json").write_text(json.dumps(parts))
    made = tiny_recipe()
    changes = [f'model="{made.model}"', "max_length=12000", "sft.epochs=1", "sft.batch=2", "kto.batch=2"]
    changes += ["kto.accumulate=1", "grpo.steps=1", "grpo.batch=4", "grpo.group=2", "grpo.max_tokens=8"]
    changes += ["rollout.max_tokens=8", "rollout.turns=3", "rollout.result_tokens=100"]

    def run(command: str, *arguments: str, settings: tuple[str, ...] = ()) -> Any:
        given = [f"--instances={tmp_path / 'items.jsonl'}", f"--splits={tmp_path / 'splits.json'}", "--json"]
        given += [part for change in (*changes, *settings) for part in ("--set", change)]
        ran = CliRunner().invoke(
            fiqkit, ["train", command, *given, *arguments], standalone_mode=False, catch_exceptions=False
        )
        return json.loads(ran.stdout)

    return run


def test_sft_and_kto_one_by_one(train: Train, tmp_path: Path) -> None:
    at = {name: str(tmp_path / name) for name in ("sft", "kto")}
    made = train("sft", f"--out={at['sft']}")
    assert (made["stage"], made["data"]["rows"]) == ("sft", made["data"]["episodes"])
    written = (tmp_path / "sft" / RECORD).stat().st_mtime_ns
    assert train("sft", f"--out={at['sft']}") == made
    assert (tmp_path / "sft" / RECORD).stat().st_mtime_ns == written  # nothing is trained twice
    with pytest.raises(UserError, match=r"was begun with recipe\.sft\.learning_rate = [\d.e-]+, which is 0\.1 now"):
        train("sft", f"--out={at['sft']}", settings=("sft.learning_rate=0.1",))
    rows = [json.loads(line) for line in (tmp_path / "sft" / "demos-train.jsonl").read_text().splitlines()]
    write_jsonl(tmp_path / "mixed.jsonl", [{**row, "right": place > 0} for place, row in enumerate(rows)])
    made = train("kto", f"--adapter={at['sft']}", f"--episodes={tmp_path / 'mixed.jsonl'}", f"--out={at['kto']}")
    assert (made["data"]["good"], made["data"]["bad"]) == (len(rows) - 1, 1)


@pytest.mark.slow
def test_grpo_chooses_on_validation_and_the_test_split_is_read_once(train: Train, tmp_path: Path) -> None:
    at = {name: str(tmp_path / name) for name in ("grpo", "evaluation", "elsewhere")}
    # A rollout may grow to twice the length of a row, but not beyond the 40,960 positions of the tiny model.
    long = ("max_length=30000",)
    assert train("grpo", f"--out={at['grpo']}", settings=long)["data"]["instances"] == 2
    log = [json.loads(line) for line in (tmp_path / "grpo" / "log.jsonl").read_text().splitlines()]
    assert any("eval_reward" in entry for entry in log)
    table = train("evaluate", at["grpo"], "--without-base", f"--out={at['evaluation']}", settings=long)
    assert [(row["stage"], row["n"]) for row in table["stages"]] == [("grpo", 2)]
    assert {"constant", "compound", "ceiling"} <= set(table["baselines"])
    assert (
        train("evaluate", at["grpo"], "--without-base", f"--out={at['evaluation']}", settings=long) == table
    )  # nothing anew
    with pytest.raises(
        UserError, match=r"grpo: these 2 items were read for it on \d{4}-.* --again reads them once more"
    ):
        train("evaluate", at["grpo"], f"--out={at['elsewhere']}", settings=long)


@pytest.mark.slow
def test_what_learned_nothing_reads_and_forgets_nothing(
    train: Train, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A ladder of one category whose learning rate is 0: before is after, on that category and on the other."""
    orbits: dict[str, list[Instance]] = {}
    for i in read_instances(bench_data.INSTANCES):
        if i.language == "en" and i.orbit:
            orbits.setdefault(i.orbit, []).append(i)
    seen: set[str] = set()

    def orbit(category: str) -> list[Instance]:
        """Two siblings of a company that was not taken before."""
        found = next(o[:2] for o in orbits.values() if o[0].primary == category and o[0].cluster not in seen)
        seen.add(found[0].cluster)
        return found

    tested = [i for name in ("entity_scope", "temporal_scope") for _ in range(3) for i in orbit(name)]
    taught, left_out = orbit("entity_scope")[0], orbit("filing_vintage")[0]
    write_jsonl(tmp_path / "items.jsonl", map(instance_row, (*tested, taught, left_out)))
    parts = {"train": [taught, left_out], "validation": [], "test": tested}
    ids = {name: [i.instance_id for i in part] for name, part in parts.items()}
    (tmp_path / "splits.json").write_text(json.dumps(ids))

    def ladder(stages: str, *arguments: str) -> Any:
        out = f"--out={tmp_path / 'l'}"
        return train("ladder", f"--stages={stages}", out, *arguments, settings=("sft.learning_rate=0.0",))

    table = ladder("base,sft", "--category=entity_scope", "--before-after")
    assert json.loads((tmp_path / "l" / "ladder.json").read_text()) == table
    record = json.loads((tmp_path / "l" / "sft" / RECORD).read_text())
    assert (record["recipe"]["categories"], record["trained_on"]) == (["entity_scope"], ["entity_scope"])
    assert record["data"]["episodes"] == 1
    before, after = table["before_after"]["probe"]["stages"]
    unchanged = {"difference": 0.0, "p": 1.0}
    assert after == {**before, "stage": "sft", "change": dict.fromkeys(("separation", "accuracy", "auroc"), unchanged)}
    lost = table["before_after"]["forgetting"]
    assert (lost["trained"], lost["other"]) == (["entity_scope"], ["temporal_scope"])
    assert [(row["trained"]["n"], row["other"]["n"]) for row in lost["stages"]] == [(6, 6), (6, 6)]
    assert [(c["measure"], c["difference"], c["p"]) for c in lost["changes"]] == [
        (measure, 0.0, 1.0) for measure in ("asked", "primary", "accuracy", "intent")
    ]

    monkeypatch.setattr("fiqkit.probe.study.load_model", lambda *_: pytest.fail("the model was probed again"))
    again = ladder("base,sft", "--category=entity_scope", "--before-after")
    for row in (*table["stages"], *again["stages"]):
        del row["seconds"]
    assert again == table
    show_table(table)
    shown = capsys.readouterr().out
    assert "other, not trained on: temporal_scope; of these:\nasked, sft − base: +0.000 (p 1.0000, n 6" in shown
    assert "intent, sft − base: +0.000 (p 1.0000, n 3)" in shown
    with pytest.raises(click.UsageError, match="holds trained stages against the base"):
        ladder("sft", "--category=entity_scope", "--before-after")
    with pytest.raises(UserError, match=r"was begun with recipe\.categories = \('entity_scope',\), which is \(\) now"):
        ladder("base,sft")


def test_what_cannot_be_done_is_found_before_training(train: Train, items: list[Instance], tmp_path: Path) -> None:
    absent = next(name for name in CATEGORIES if name not in {i.primary for i in items[:2]})
    with pytest.raises(UserError, match="--before-after: 2 items cannot fill 5 folds"):
        train("ladder", "--stages=base,sft", "--before-after", f"--out={tmp_path / 'l'}")
    with pytest.raises(UserError, match=f"no item of the train split has the primary category {absent}"):
        train("sft", f"--category={absent}", f"--out={tmp_path / 'l'}")
    with pytest.raises(UserError, match="'scope' is none of the categories entity_scope, "):
        train("sft", f"--out={tmp_path / 'l'}", settings=('categories=["scope"]',))
    assert not (tmp_path / "l").exists()


def test_what_is_wrong_is_one_line(train: Train, items: list[Instance], tmp_path: Path) -> None:
    (tmp_path / "none.jsonl").write_text("")
    with pytest.raises(UserError, match="it holds no demonstration"):
        train("sft", f"--demos={tmp_path / 'none.jsonl'}", f"--out={tmp_path / 'a'}")
    with pytest.raises(UserError, match="no adapter at"):
        train("kto", f"--adapter={tmp_path / 'nosuch'}", f"--out={tmp_path / 'b'}")
    with pytest.raises(UserError, match="needs a GPU, and there is none here"):
        train("grpo", f"--out={tmp_path / 'c'}", settings=("gpu=true",))
    same = next(i for i in items[1:] if i.cluster != items[0].cluster)
    table = {"train": [items[0].instance_id], "validation": [], "test": [same.instance_id, items[0].instance_id]}
    (tmp_path / "splits.json").write_text(json.dumps(table))
    with pytest.raises(UserError, match="stands in train and in test; companies must stay whole"):
        train("sft", f"--out={tmp_path / 'd'}")
    assert not [path for name in "abcd" if (path := tmp_path / name).exists()]  # nothing is left behind
