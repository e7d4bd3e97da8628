"""Multi-turn GRPO in the Environment on a tiny Qwen3, three seeds: does the mean reward of a step rise?

    python benchmarks/grpo.py [--steps 16] [--seeds 0 1 2] [--reward bits] [--out grpo]

The model is made here: some hundred thousand parameters and a tokenizer of 1,024 tokens, taught on the train split to
search, to ask one of the five fixed questions at random or none, and to answer. What is left to GRPO is to write
actions that can be read, to ask, and to ask about what is open. All of it takes a few minutes on two cores; what it
shows is that the loop optimises what it is paid for, not how well a model can clarify. The last line is JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any

from fiqkit import bench_data
from fiqkit.datasets import read_instances, read_passages
from fiqkit.figures.style import svg
from fiqkit.figures.training import rewards_by_seed
from fiqkit.models.engine import Completion
from fiqkit.records import Instance, Passage
from fiqkit.roles.assess import Assessor
from fiqkit.roles.grader.rules import RulesGrader
from fiqkit.roles.judge.rules import RulesJudge
from fiqkit.taxonomy import CATEGORIES
from fiqkit.train import grpo, splits, watch
from fiqkit.train.demos import Demo, demonstrate, world_for
from fiqkit.train.logs import read_log
from fiqkit.train.model import load
from fiqkit.train.recipe import Recipe, recipe
from fiqkit.train.rows import Row, of_chat

SILENT = 0.4  # of the demonstrations ask nothing


class Careless:
    """A teacher that asks one of the fixed questions whatever is open, or none, and answers with what it was shown."""

    name = "careless"

    def __init__(self, instances: Sequence[Instance]) -> None:
        self._key = {instance.instance_id: instance for instance in instances}

    def begin(self, instance_id: str, mode: str, sample: int = 0) -> Careless._Policy:
        """A policy whose draws depend on the instance and the sample."""
        return self._Policy(self._key[instance_id], Random(f"{instance_id}:{sample}"))

    def describe(self) -> dict[str, Any]:
        """Its name."""
        return {"name": self.name}

    class _Policy:
        def __init__(self, key: Instance, draw: Random) -> None:
            said: list[dict[str, Any]] = [{"action": "search", "query": key.company}]
            if draw.random() > SILENT:
                said.append({"action": "interact", "question": draw.choice(list(CATEGORIES.values())).template["en"]})
            self._said = iter([*said, {"action": "answer", "response": key.answer, "confidence": 50}])

        async def act(self, dialogue: Any) -> Completion:
            """The next of its actions."""
            return Completion(json.dumps(next(self._said)))


def tokenizer_of(demos: Sequence[Demo]) -> Any:
    """A byte-level BPE of 1,024 tokens learned from the demonstrations."""
    import tokenizers
    import transformers

    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=1024,
        special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator((m["content"] for demo in demos for m in demo.messages), trainer)
    wrapped = transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, eos_token="<|im_end|>", pad_token="<|endoftext|>", bos_token="<|im_start|>"
    )
    template = Path(watch.__file__).parent / "templates" / "chatml.jinja"
    wrapped.chat_template = template.read_text("utf-8")
    return wrapped


def make_model(demos: Sequence[Demo], folder: Path, epochs: int) -> Path:
    """A tiny Qwen3 taught on the demonstrations, all its weights, in float32."""
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    from fiqkit.models.template import ChatTemplate

    torch.manual_seed(0)
    tokenizer = tokenizer_of(demos)
    template = ChatTemplate.of_tokenizer("tiny", tokenizer)
    encode = lambda text: tokenizer(text, add_special_tokens=False)["input_ids"]  # noqa: E731
    rows = [row for demo in demos for row in of_chat(demo.messages, template, encode, tokenizer.eos_token_id)]
    model = Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=len(tokenizer),
            hidden_size=128,
            intermediate_size=256,
            num_hidden_layers=3,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=32,
            max_position_embeddings=4096,
            tie_word_embeddings=True,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    steps = epochs * len(rows) // 8
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=steps + 1, pct_start=0.1)
    draw = Random(0)
    for step in range(steps):
        loss = _loss(model, draw.sample(rows, 8), tokenizer.pad_token_id)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        if step % 50 == 0 or step == steps - 1:
            print(f"taught {step + 1} of {steps} steps: loss {loss.item():.3f}", flush=True)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _loss(model: Any, rows: Sequence[Row], pad: int) -> Any:
    import torch

    longest = max(len(row.ids) for row in rows)
    ids = torch.tensor([[*row.ids, *[pad] * (longest - len(row.ids))] for row in rows])
    labels = torch.tensor([[*row.labels, *[-100] * (longest - len(row.ids))] for row in rows])
    return model(input_ids=ids, labels=labels).loss


def climb(made: Recipe, instances: Sequence[Instance], passages: Sequence[Passage], out: Path) -> list[dict[str, Any]]:
    """GRPO with one seed; the lines of its log."""
    world = world_for(instances, passages, made.rollout, seed=made.seed)
    assessor = Assessor(RulesGrader(), RulesJudge())
    shutil.rmtree(out, ignore_errors=True)  # checkpoints of an earlier call would be gone on with
    grpo.train(load(made), made, instances, world, assessor, out, lambda line: print(line, flush=True))
    return [line for line in read_log(out / watch.LOG) if "reward" in line]


def main() -> None:
    """Teach the tiny model once, climb with each seed, print the table and one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=16)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--rate", type=float, default=3e-3, help="learning rate of GRPO")
    parser.add_argument("--epochs", type=int, default=12, help="of teaching")
    parser.add_argument("--reward", choices=("episode", "bits"), default="episode")
    parser.add_argument("--out", type=Path, default=Path("grpo"))
    given = parser.parse_args()
    started = time.perf_counter()
    found = splits.read(bench_data.SPLITS, read_instances(bench_data.INSTANCES))
    instances = [i for i in found["train"] if i.language == "en"]
    passages = read_passages(bench_data.PASSAGES)

    def changed(seed: int, model: Path) -> Recipe:
        small = ("rollout.passage_lines=4", "grpo.max_tokens=48", 'lora.targets=["all-linear"]', "lora.r=32")
        steps = (f"grpo.steps={given.steps}", f"grpo.batch={given.batch}", "grpo.group=8", "grpo.turns=3")
        where = (f'model="{model}"', f"seed={seed}", f"grpo.learning_rate={given.rate}", "max_length=1400")
        return recipe("smollm2-cpu", (*where, *steps, *small, f"grpo.reward={given.reward}"))

    model = given.out / "model"
    rollout = changed(0, model).rollout
    if not (model / "config.json").is_file():
        world = world_for(instances, passages, rollout)
        demos = asyncio.run(demonstrate(Careless(instances), instances, world, rollout))
        make_model(demos, model, given.epochs)
    logs = {}
    for seed in given.seeds:
        print(f"seed {seed}", flush=True)
        logs[f"seed {seed}"] = climb(changed(seed, model), instances, passages, given.out / f"seed-{seed}")
    (given.out / "rewards.svg").write_text(svg(rewards_by_seed(logs)), "utf-8")
    rewards = {seed: [line["reward"] for line in log] for seed, log in logs.items()}
    print("\n| step | " + " | ".join(rewards) + " |\n|" + " --- |" * (len(rewards) + 1))
    for step, means in enumerate(zip(*rewards.values(), strict=True), 1):
        print(f"| {step} | " + " | ".join(f"{mean:.2f}" for mean in means) + " |")
    rise = {seed: _rise(r) for seed, r in rewards.items()}
    paid = {seed: _rise([line["rewards/on_category/mean"] for line in log]) for seed, log in logs.items()}
    gap = max(line["sampling/logprob_gap"] for log in logs.values() for line in log)
    seconds = round(time.perf_counter() - started)
    told = {"reward": given.reward, "rise": rise, "rise_of_question": paid, "steps": given.steps}
    print(json.dumps({**told, "largest_logprob_gap": gap, "seconds": seconds}))


def _rise(means: Sequence[float]) -> float:
    """The mean of the last five steps less that of the first five."""
    return round(fmean(means[-5:]) - fmean(means[:5]), 3)


if __name__ == "__main__":
    main()
