"""Every stage trains a tiny Qwen3: what the environment wrote is never learned, and an adapter knows its base."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny_models import make_checkpoint

from fiqkit.agent.policy import EngineAgent
from fiqkit.agent.reference import ReferenceAgent
from fiqkit.errors import UserError
from fiqkit.metrics.reward import Terms
from fiqkit.models.checks.adapters import RECORD, read_record
from fiqkit.models.engine import Completion, Sampling
from fiqkit.models.local.transformers import TransformersEngine
from fiqkit.models.quantised import quantised_share
from fiqkit.models.scripted import ScriptedEngine
from fiqkit.records import Instance, Passage
from fiqkit.roles.assess import Assessor
from fiqkit.roles.grader.rules import RulesGrader
from fiqkit.roles.judge.rules import RulesJudge
from fiqkit.train import grpo, kto, sft
from fiqkit.train.demos import Demo, demonstrate, read_demos, world_for, yields
from fiqkit.train.model import Trainee, load, write_record
from fiqkit.train.recipe import Recipe
from fiqkit.train.rollouts import Roller
from fiqkit.train.rows import Row
from fiqkit.train.teachers import HintedAgent, TemplateTeacher, hint_text

Make = Callable[..., Recipe]


def silent(line: str) -> None:
    """Say nothing."""


@pytest.fixture
def demos(items: list[Instance], passages: list[Passage], tiny_recipe: Make) -> list[Demo]:
    rollout = tiny_recipe().rollout
    return asyncio.run(demonstrate(TemplateTeacher(items), items, world_for(items, passages, rollout), rollout))


# --- demonstrations -------------------------------------------------------------------------------------------------


def test_the_template_teacher_searches_asks_and_is_right(demos: list[Demo]) -> None:
    found = yields(demos)
    assert found["right"] == found["asked"] == 1.0
    assert found["filter_asked"] == found["on_category"] == 1.0
    said = [json.loads(m["content"])["action"] for m in demos[0].messages if m["role"] == "assistant"]
    assert said == ["search", "interact", "answer"]


def test_filters_differ_in_right_answers_without_a_question(
    items: list[Instance], passages: list[Passage], tiny_recipe: Make
) -> None:
    rollout = tiny_recipe("rollout.mode=search").rollout  # where nobody can ask
    world = world_for(items, passages, rollout)
    lucky = asyncio.run(demonstrate(ReferenceAgent("intended-oracle", items), items, world, rollout))
    n = len(items)
    assert yields(lucky) == {"n": n, "right": 1, "asked": 0, "on_category": 0, "filter_strict": 1, "filter_asked": 0}


def test_a_demonstration_comes_back_from_its_file(demos: list[Demo], tmp_path: Path) -> None:
    from fiqkit.datasets import write_jsonl

    write_jsonl(tmp_path / "d.jsonl", (demo.row("asked") for demo in demos))
    assert list(read_demos(tmp_path / "d.jsonl")) == demos
    (tmp_path / "d.jsonl").write_text('{"messages": [{"role": "user"}]}')
    with pytest.raises(UserError, match=r"d\.jsonl:1: not a demonstration"):
        list(read_demos(tmp_path / "d.jsonl"))


@pytest.mark.parametrize("hint", ["category", "full"])
def test_a_hint_is_in_the_teachers_prompt_and_nowhere_else(
    hint: str, items: list[Instance], passages: list[Passage], tiny_recipe: Make
) -> None:
    prompts: list[str] = []

    def reply(request: Any) -> str:
        prompts.append(request.messages[0]["content"])
        return '{"action": "interact", "question": "The consolidated total?"}' if len(prompts) % 2 else (
            '{"action": "answer", "response": "$5", "confidence": 1}'
        )  # fmt: skip

    rollout = tiny_recipe().rollout
    key = {instance.instance_id: instance for instance in items}
    teacher = HintedAgent(EngineAgent("teacher", ScriptedEngine(reply)), hint, key)
    made = asyncio.run(demonstrate(teacher, items[:2], world_for(items, passages, rollout), rollout))
    hints = [hint_text(hint, instance) for instance in items[:2]]
    assert all(any(text in prompt for prompt in prompts) for text in hints)
    stored = json.dumps([demo.row("asked") for demo in made], ensure_ascii=False)
    assert "Hint:" not in stored


def test_an_unknown_hint_is_one_line(items: list[Instance]) -> None:
    with pytest.raises(UserError, match="--hint 'all' is none of none, category, full"):
        HintedAgent(TemplateTeacher(items), "all", {})


# --- loading --------------------------------------------------------------------------------------------------------


def test_an_adapter_for_another_base_is_refused(tiny_recipe: Make, tmp_path: Path) -> None:
    made = load(tiny_recipe())
    made.model.save_pretrained(str(tmp_path / "adapter"))
    write_record(tmp_path / "adapter", tiny_recipe(), "sft", made)
    assert read_record(tmp_path / "adapter")["base"]["share_4bit"] == 0.0
    other = make_checkpoint(tmp_path / "other", "qwen3", intermediate_size=64)
    with pytest.raises(UserError, match="was trained on"):
        load(tiny_recipe(f'model="{other}"'), tmp_path / "adapter")
    with pytest.raises(UserError, match=r"no adapter at .*nosuch"):
        load(tiny_recipe(), tmp_path / "nosuch")


def test_a_gpu_recipe_without_a_gpu_is_one_line(tiny_recipe: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(UserError, match="needs a GPU, and there is none here"):
        load(tiny_recipe("gpu=true"))


def test_fused_experts_that_stay_wide_are_counted(tmp_path: Path, tiny_recipe: Make) -> None:
    experts = make_checkpoint(tmp_path / "moe", "qwen3_moe", hidden_size=64, moe_intermediate_size=64)
    with pytest.raises(UserError, match=r"only \d+% of its parameters are 4-bit, the recipe wants 80%"):
        load(tiny_recipe(f'model="{experts}"', "quantisation=nf4"))
    made = load(tiny_recipe(f'model="{experts}"', "quantisation=nf4", "least_4bit=0.0"))
    assert 0 < quantised_share(made.model) < 0.8


# --- stages ---------------------------------------------------------------------------------------------------------


def test_sft_learns_and_resumes_to_the_same_loss(demos: list[Demo], tiny_recipe: Make, tmp_path: Path) -> None:
    made = tiny_recipe("sft.epochs=2", "sft.learning_rate=1e-2", 'lora.targets=["all-linear"]')
    rows = sft.rows_of(demos[:4], load(made), made.max_length)
    sft.train(load(made), made, rows, rows[:2], tmp_path / "whole", silent)
    log = [json.loads(line) for line in (tmp_path / "whole" / "log.jsonl").read_text().splitlines()]
    losses = [entry["loss"] for entry in log if "loss" in entry]
    assert losses[-1] < losses[0]
    assert (tmp_path / "whole" / "adapter_model.safetensors").is_file()
    assert len([entry for entry in log if "eval_loss" in entry]) == 2


def test_a_shared_prefix_changes_no_loss_and_no_gradient(demos: list[Demo], tiny_recipe: Make) -> None:
    """What all rows of a batch begin with is computed once; each row by itself gives the same sums."""
    made = load(tiny_recipe())
    rows = sft.rows_of(demos[:3], made, 12000)
    longest = max(len(row.ids) for row in rows)
    padded = {
        "input_ids": [[*row.ids, *[0] * (longest - len(row.ids))] for row in rows],
        "labels": [[*row.labels, *[-100] * (longest - len(row.ids))] for row in rows],
        "attention_mask": [[1] * len(row.ids) + [0] * (longest - len(row.ids)) for row in rows],
    }
    batch = {name: torch.tensor(values) for name, values in padded.items()}
    shared = sft.shared_prefix(batch["input_ids"], batch["labels"])
    assert 100 < shared < min(row.prompt_length for row in rows)
    assert all(row.ids[:shared] == rows[0].ids[:shared] for row in rows)
    assert sft.shared_prefix(batch["input_ids"][:1], batch["labels"][:1]) == 0

    def gradient(loss: Any) -> Any:
        made.model.zero_grad()
        loss.backward()
        return torch.cat([p.grad.flatten() for p in made.model.parameters() if p.grad is not None])

    summed, counted = sft._sum_of_losses(made.model.get_base_model(), batch, shared)
    alone = made.model(**batch, use_cache=False)
    assert counted == sum(sum(row.mask) for row in rows)
    assert summed.item() / counted == pytest.approx(alone.loss.item(), rel=1e-5)
    assert torch.allclose(gradient(summed / counted), gradient(alone.loss), atol=1e-6)


def test_kto_takes_the_loss_on_what_the_model_wrote_alone() -> None:
    good = kto._example(Row((1, 2, 3, 4, 5), (0, 1, 0, 0, 1)), True)
    bad = kto._example(Row((6, 7), (0, 1)), False)
    batch = kto.Collator(pad=0)([good | {"KL_completion_ids": [7], "KL_completion_mask": [1]}, bad | {
        "KL_completion_ids": [2, 3, 4, 5], "KL_completion_mask": [1, 0, 0, 1]}])  # fmt: skip
    assert batch["input_ids"].tolist() == [[1, 2, 3, 4, 5], [6, 7, 0, 0, 0]]
    assert batch["completion_mask"].tolist() == [[0, 1, 0, 0, 1], [0, 1, 0, 0, 0]]
    assert batch["KL_input_ids"].tolist() == [[1, 7, 0, 0, 0], [6, 2, 3, 4, 5]]
    assert batch["KL_completion_mask"].tolist() == [[0, 1, 0, 0, 0], [0, 1, 0, 0, 1]]
    assert batch["label"].tolist() == [True, False]


@pytest.mark.slow
def test_kto_trains_on_good_and_bad_episodes(demos: list[Demo], tiny_recipe: Make, tmp_path: Path) -> None:
    made = tiny_recipe()
    trainee = load(made)
    rows = sft.rows_of(demos[:5], trainee, made.max_length)
    metrics = kto.train(trainee, made, rows[:3], rows[3:], tmp_path / "kto", silent)
    assert metrics["train_loss"] == metrics["train_loss"]
    assert (tmp_path / "kto" / "adapter_config.json").is_file()
    with pytest.raises(UserError, match="there are 0 and 1"):
        kto.train(trainee, made, [], rows[:1], tmp_path / "kto", silent)


def test_sft_without_a_demonstration_is_one_line(tiny_recipe: Make) -> None:
    with pytest.raises(UserError, match="no demonstration to learn from"):
        sft.rows_of([], load(tiny_recipe()), 100)


# --- GRPO -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def trainee(tiny_recipe: Make) -> Trainee:
    return load(tiny_recipe())


@pytest.fixture
def roller(items: list[Instance], passages: list[Passage], tiny_recipe: Make, trainee: Trainee) -> Roller:
    made = tiny_recipe()
    engine = TransformersEngine.wrap(trainee.model, trainee.tokenizer, context=12000, parallel=4)
    return Roller(
        engine=engine,
        template=trainee.template,
        encode=trainee.encode,
        end=trainee.tokenizer.eos_token,
        world=world_for(items, passages, made.rollout),
        assessor=Assessor(RulesGrader(), RulesJudge()),
        mode="interact",
        sampling=Sampling(max_tokens=8, temperature=1.0),
        turns=3,
    )


def test_a_rollout_is_token_in_token_out(roller: Roller, items: list[Instance], trainee: Trainee) -> None:
    rolled = roller.roll(items[:3], range(3))
    for one in rolled:
        written = [token for token, own in zip(one.row.ids, one.row.mask, strict=True) if own]
        assert written == [token for turn in one.episode.turns for token in turn.output_ids]
        assert len(one.row.ids) == len(one.row.mask) == len(one.logprobs)
        assert all((chance == 0.0) != bool(own) for chance, own in zip(one.logprobs, one.row.mask, strict=True))
    assert grpo.mean_gap(trainee.model, rolled) < 1e-4  # drawn with the probabilities that the trainer sees
    assert roller.roll(items[:3], range(3))[0].row == rolled[0].row  # the seed decides


def test_lengths_that_differ_are_raised_and_not_padded(roller: Roller, items: list[Instance]) -> None:
    one = roller.roll(items[:1], [0])[0]
    with pytest.raises(ValueError, match="tokens, a mask of"):
        grpo.fields_of([replace(one, logprobs=one.logprobs[:-1])], [Terms(0, 0, 0, 0)])
    with pytest.raises(ValueError, match="wrote nothing"):
        grpo.fields_of([replace(one, prompt_length=len(one.row.ids))], [Terms(0, 0, 0, 0)])


def test_grpo_moves_the_models_tokens_and_not_one_of_the_environments(
    items: list[Instance], passages: list[Passage], tiny_recipe: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The gradient that reaches each logit is exactly 0 where, and only where, the next token is the environment's."""
    made = tiny_recipe("grpo.learning_rate=1e-3", "grpo.turns=3")
    trainee = load(made)
    rolled: list[Any] = []
    rewarded = iter(range(100))
    answer = '{"action": "answer", "response": "$5", "confidence": 1}'

    async def complete(engine: Any, request: Any) -> Completion:
        """A random model says nothing sensible: first a reply that the environment sends back, then an answer."""
        text = answer if trainee.tokenizer.decode(request.prompt_ids).count("<|im_start|>assistant") > 1 else "?"
        ids = (*trainee.encode(text), trainee.tokenizer.eos_token_id)
        return Completion(text, output_ids=ids, logprobs=(-1.0,) * len(ids), output_tokens=len(ids))

    monkeypatch.setattr(TransformersEngine, "complete", complete)
    monkeypatch.setattr(grpo, "reward_of", lambda one, *_: rolled.append(one) or Terms(next(rewarded), 0, 0, 0))
    gradients: list[Any] = []
    # What leaves the final norm at position i is used for token i + 1 alone.
    norm = trainee.model.get_base_model().model.norm

    def keep(module: Any, inputs: Any, output: Any) -> None:
        if output.requires_grad:
            output.register_hook(lambda grad: gradients.append(grad.abs().sum(-1)))

    norm.register_forward_hook(keep)
    world = world_for(items, passages, made.rollout)
    assessor = Assessor(RulesGrader(), RulesJudge())
    metrics = grpo.train(trainee, made, items[:2], world, assessor, tmp_path / "grpo", silent)
    assert metrics["train_loss"] == metrics["train_loss"]
    log = [json.loads(line) for line in (tmp_path / "grpo" / "log.jsonl").read_text().splitlines()]
    assert {f"rewards/{name}/mean" for name in grpo.TERMS} <= set(log[0])
    assert log[0]["sampling/logprob_gap"] > 0.1  # the log probabilities above are made up, and that is seen
    assert len(rolled) == 4
    before = max(one.prompt_length for one in rolled) - 1  # prompts are padded on the left, completions on the right
    moved = [line[before:].tolist() for grad in gradients for line in (grad != 0)]
    assert not any(line[:before].any() for grad in gradients for line in grad)
    assert len(moved) == len(rolled)
    masks = [[bool(own) for own in one.row.mask[one.prompt_length :]] for one in rolled]
    assert any(False in mask for mask in masks)  # the environment did speak
    assert sorted(line[: len(mask)] for line, mask in zip(moved, masks, strict=True)) == sorted(masks)
    assert not any(any(line[len(mask) :]) for line, mask in zip(moved, masks, strict=True))


@pytest.mark.slow
def test_the_whole_ladder_on_a_tiny_model(
    items: list[Instance], passages: list[Passage], tiny_recipe: Make, tmp_path: Path
) -> None:
    from fiqkit.train.ladder import climb

    parts = {"train": items[:4], "validation": items[4:5], "test": items[5:]}
    table = climb(tiny_recipe(), parts, passages, tmp_path, silent, ("base", "sft"))
    assert [row["stage"] for row in table["stages"]] == ["base", "sft"]
    assert {"constant", "compound", "ceiling"} <= set(table["baselines"])
    assert all(row["n"] == 3 for row in table["stages"])
    made = (tmp_path / "sft" / RECORD).stat().st_mtime_ns
    again = climb(tiny_recipe(), parts, passages, tmp_path, silent, ("base", "sft"))
    for row in (*table["stages"], *again["stages"]):
        del row["seconds"]
    assert again == table
    assert (tmp_path / "sft" / RECORD).stat().st_mtime_ns == made  # nothing was trained twice
