"""Supervised fine-tuning: the loss is taken on what the model is to say, never on what the environment said."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fiqkit.errors import UserError
from fiqkit.train import watch
from fiqkit.train.demos import Demo
from fiqkit.train.model import Trainee
from fiqkit.train.recipe import Recipe
from fiqkit.train.rows import Row, check_lengths, of_chat


def rows_of(demos: Sequence[Demo], trainee: Trainee, longest: int) -> list[Row]:
    """The training rows of demonstrations.

    Raises:
        UserError: there are none, or one is longer than the recipe allows.
    """
    end = trainee.tokenizer.eos_token_id
    rows = [row for demo in demos for row in of_chat(demo.messages, trainee.template, trainee.encode, end)]
    if not rows:
        raise UserError("there is no demonstration to learn from; see the yields of `fiqkit train demos`")
    check_lengths(rows, longest)
    return rows


def train(
    trainee: Trainee, recipe: Recipe, rows: Sequence[Row], validation: Sequence[Row], out: Path, say: watch.Say
) -> dict[str, float]:
    """Fine-tune on rows; with validation rows the epoch that does best on them is kept."""
    from datasets import Dataset
    from trl import SFTConfig, SFTTrainer

    settings = recipe.sft
    config = SFTConfig(
        **watch.arguments(out),
        **(watch.BEST if validation else {}),
        num_train_epochs=settings.epochs,
        per_device_train_batch_size=settings.batch,
        per_device_eval_batch_size=settings.batch,
        gradient_accumulation_steps=settings.accumulate,
        learning_rate=settings.learning_rate,
        lr_scheduler_type="cosine",
        warmup_steps=0.05,
        max_length=recipe.max_length,
        packing=settings.packing,
        seed=recipe.seed,
        data_seed=recipe.seed,
    )
    trainer = SFTTrainer(
        model=trainee.model,
        args=config,
        train_dataset=_dataset(Dataset, rows),
        eval_dataset=_dataset(Dataset, validation) if validation else None,
        processing_class=trainee.tokenizer,
        callbacks=[watch.callback(out, say)],
    )
    return watch.run(trainer, out)


def _dataset(dataset: type, rows: Sequence[Row]) -> object:
    columns = {"input_ids": [list(row.ids) for row in rows], "labels": [row.labels for row in rows]}
    return dataset.from_dict(columns)  # type: ignore[attr-defined]
