"""Supervised fine-tuning: the loss is taken on what the model is to say, never on what the environment said."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

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
    from trl import SFTConfig

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
    trainer = _trainer_class()(
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


def _trainer_class() -> type:
    from trl import SFTTrainer

    class SharedPrefixSft(SFTTrainer):
        """On a CPU, computes what all rows of a batch begin with (the system prompt: half a short row) once for all.

        The loss and its gradient are the same; the states of the shared tokens are simply not computed again.
        """

        def compute_loss(
            self, model: Any, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None
        ) -> Any:
            shared = shared_prefix(inputs["input_ids"], inputs["labels"])
            kinds = set(getattr(model.config, "layer_types", None) or ["full_attention"])
            alike = self.args.use_cpu and kinds == {"full_attention"} and "attention_mask" in inputs
            if not alike or shared < 2 or return_outputs:
                return super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
            loss, counted = _sum_of_losses(model.get_base_model(), inputs, shared)
            return loss / (counted if num_items_in_batch is None else num_items_in_batch)

    return SharedPrefixSft


def shared_prefix(ids: Any, labels: Any) -> int:
    """How many tokens all rows of a batch begin with, of those that no loss is taken on; 0 for a single row."""
    if len(ids) < 2:
        return 0
    same = ((ids == ids[:1]) & (labels == -100)).all(dim=0)
    return int(same.long().cumprod(dim=0).sum()) - 1  # the last of them predicts a token that differs


def _sum_of_losses(model: Any, inputs: Any, shared: int) -> tuple[Any, int]:
    """The summed cross-entropy of a batch and the number of tokens that it is taken on."""
    from torch.nn.functional import cross_entropy
    from transformers import DynamicCache

    ids, mask = inputs["input_ids"], inputs["attention_mask"]
    begun: Any = DynamicCache()
    cache: Any = DynamicCache()
    model.model(ids[:1, :shared], cache=begun, use_cache=True)
    for number, layer in enumerate(begun.layers):
        keys, values = (states.expand(len(ids), -1, -1, -1) for states in (layer.keys, layer.values))
        cache.update(keys, values, number)
    hidden = model.model(ids[:, shared:], attention_mask=mask, cache=cache, use_cache=True)[0]
    following = inputs["labels"][:, shared + 1 :]
    own = following != -100
    logits = model.lm_head(hidden[:, :-1][own]).float()
    return cross_entropy(logits, following[own], reduction="sum"), int(own.sum())
