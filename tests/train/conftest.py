from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tiny_models import make_checkpoint

from fiqkit.datasets import read_instances, read_passages
from fiqkit.metrics.scored import Scored
from fiqkit.records import Ending, Instance, Judgement, Passage
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


@pytest.fixture
def played() -> Callable[[list[Instance], Callable[[Instance], bool]], list[Scored]]:
    """Episodes: a good item is asked about on category and answered rightly, another in silence and wrongly."""

    def episode(of: Instance, good: bool) -> Scored:
        return Scored(
            run="r",
            model="m",
            mode="interact",
            grader="rules",
            judge="rules",
            instance_id=of.instance_id,
            item=of.instance_id,
            language="en",
            h0=1.0,
            outcome=None,
            is_default=False,
            cluster=of.cluster,
            categories=of.categories,
            questions=(Judgement((of.primary,), of.primary, named=(of.primary,)),) if good else (),
            n_asks=int(good),
            is_intended=good,
            ending=Ending.ANSWERED,
            orbit=of.orbit,
            siblings=2,
        )

    return lambda items, good: [episode(item, good(item)) for item in items]
