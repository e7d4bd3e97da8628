from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tiny_models import make_checkpoint

from fiqkit.datasets import read_instances, read_passages
from fiqkit.records import Instance, Passage
from fiqkit.train.recipe import Recipe, recipe

BUNDLED = Path(__file__).parents[2] / "fiqkit" / "bench_data"


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Qwen3 of 4 layers with random weights and a byte-level tokenizer."""
    return make_checkpoint(tmp_path_factory.mktemp("tiny"), "qwen3", max_position_embeddings=40960)


@pytest.fixture
def tiny_recipe(tiny: Path) -> Callable[..., Recipe]:
    """The CPU recipe on the tiny model, one step long; fields can be changed."""

    def make(*changes: str) -> Recipe:
        usual = ("max_length=12000", "sft.epochs=1", "sft.batch=2", "kto.batch=2", "kto.accumulate=1", "grpo.steps=1")
        small = ("grpo.batch=4", "grpo.group=2", "grpo.max_tokens=8", "rollout.max_tokens=8", "lora.dropout=0.0")
        return recipe("smollm2-cpu", (f'model="{tiny}"', *usual, *small, *changes))

    return make


@pytest.fixture(scope="session")
def items() -> list[Instance]:
    """A few bundled instances, each of its own company, of several categories."""
    english = [i for i in read_instances(BUNDLED / "instances.jsonl") if i.language == "en"][::7]
    return list({i.cluster: i for i in english}.values())[:8]


@pytest.fixture(scope="session")
def passages() -> list[Passage]:
    return read_passages(BUNDLED / "passages.jsonl")
