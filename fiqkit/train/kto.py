"""KTO on whole episodes marked good or bad (Ethayarajh et al. 2024); what user and tools said is left out of the loss.

TRL takes a completion to be the model's throughout. An episode's is not: here each row carries the mask of what the
model wrote, and the KL term's mismatched completion carries its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fiqkit.errors import UserError
from fiqkit.train import watch
from fiqkit.train.model import Trainee
from fiqkit.train.recipe import Recipe
from fiqkit.train.rows import Row


def train(
    trainee: Trainee,
    recipe: Recipe,
    good: Sequence[Row],
    bad: Sequence[Row],
    out: Path,
    say: watch.Say,
    validation: tuple[Sequence[Row], Sequence[Row]] = ((), ()),
) -> dict[str, float]:
    """Train on rows of good and of bad episodes; with validation rows (good, bad) the epoch that does best is kept.

    Raises:
        UserError: one of the two is empty: there is nothing to tell apart.
    """
    if not good or not bad:
        raise UserError(
            f"KTO needs good and bad episodes, and there are {len(good)} and {len(bad)}; make demonstrations that keep "
            "both, with a weaker teacher or more samples"
        )
    from datasets import Dataset
    from trl import KTOConfig

    settings = recipe.kto
    held_out = _table(Dataset, *validation, recipe.seed) if sum(map(len, validation)) > 1 else None
    config = KTOConfig(
        **watch.arguments(out),
        **(watch.BEST if held_out is not None else {}),
        per_device_eval_batch_size=settings.batch,
        num_train_epochs=settings.epochs,
        per_device_train_batch_size=settings.batch,
        gradient_accumulation_steps=settings.accumulate,
        learning_rate=settings.learning_rate,
        beta=settings.beta,
        max_length=recipe.max_length,
        # The weights that make good and bad count alike, whatever their numbers.
        desirable_weight=max(1.0, len(bad) / len(good)),
        undesirable_weight=max(1.0, len(good) / len(bad)),
        remove_unused_columns=False,
        seed=recipe.seed,
        data_seed=recipe.seed,
    )
    trainer = _trainer_class()(
        model=trainee.model,
        args=config,
        train_dataset=_table(Dataset, good, bad, recipe.seed),
        eval_dataset=held_out,
        processing_class=trainee.tokenizer,
        data_collator=Collator(trainee.tokenizer.pad_token_id),
        callbacks=[watch.callback(out, say)],
    )
    return watch.run(trainer, out)


def _table(dataset: Any, good: Sequence[Row], bad: Sequence[Row], seed: int) -> Any:
    examples = [_example(row, label) for rows, label in ((good, True), (bad, False)) for row in rows]
    return dataset.from_list(examples).shuffle(seed=seed)


def _example(row: Row, label: bool) -> dict[str, Any]:
    at = row.prompt_length
    return {
        "prompt_ids": list(row.ids[:at]),
        "completion_ids": list(row.ids[at:]),
        "completion_mask": list(row.mask[at:]),
        "label": label,
    }


class Collator:
    """Pads rows to one length, with the mask of what the model wrote."""

    def __init__(self, pad: int) -> None:
        self._pad = pad

    def __call__(self, examples: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """Tensors of shape (rows, longest row) for the rows and, where there are any, their mismatched partners."""
        import torch

        batch: dict[str, Any] = {"label": torch.tensor([example["label"] for example in examples])}
        for prefix in ("", "KL_"):
            if f"{prefix}completion_ids" not in examples[0]:
                continue
            ids = [e["prompt_ids"] + e[f"{prefix}completion_ids"] for e in examples]
            masks = [[0] * len(e["prompt_ids"]) + e[f"{prefix}completion_mask"] for e in examples]
            batch[f"{prefix}input_ids"] = _padded(ids, self._pad)
            batch[f"{prefix}attention_mask"] = _padded([[1] * len(row) for row in ids], 0)
            batch[f"{prefix}completion_mask"] = _padded(masks, 0)
        return batch


def _padded(rows: Sequence[Sequence[int]], pad: int) -> Any:
    import torch

    longest = max(map(len, rows))
    return torch.tensor([[*row, *[pad] * (longest - len(row))] for row in rows])


def _trainer_class() -> type:
    from trl import KTOTrainer

    class EpisodeKto(KTOTrainer):
        """Takes rows that are token ids already; for the KL term a prompt is paired with its neighbour's completion."""

        def _prepare_dataset(self, dataset: Any, processing_class: Any, args: Any, *_: Any) -> Any:
            def neighbour(batch: dict[str, list[Any]]) -> dict[str, list[Any]]:
                turned = {name: [batch[name][-1], *batch[name][:-1]] for name in ("completion_ids", "completion_mask")}
                return {f"KL_{name}": values for name, values in turned.items()}

            size = args.per_device_train_batch_size
            # A last batch of one would pair an episode with itself.
            whole = len(dataset) - (len(dataset) % size == 1)
            return dataset.select(range(whole)).map(neighbour, batched=True, batch_size=size)

    return EpisodeKto
