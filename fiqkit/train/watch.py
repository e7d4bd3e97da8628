"""What a long training run tells whoever waits for it, and what it keeps: JSON lines, TensorBoard, checkpoints."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fiqkit.errors import UserError

LOG = "log.jsonl"
CHECKPOINTS = "checkpoints"

Say = Callable[[str], None]

# Trainer arguments by which the epoch that does best on the validation rows is the one that is kept.
BEST: dict[str, Any] = {"eval_strategy": "epoch", "load_best_model_at_end": True, "metric_for_best_model": "eval_loss"}


def callback(out: Path, say: Say) -> Any:
    """A trainer callback that appends each log entry to `out/log.jsonl`, and says loss, reward and time left."""
    from transformers import TrainerCallback

    class Watch(TrainerCallback):
        """Writes and says what is logged."""

        def __init__(self) -> None:
            self.started = time.monotonic()
            self.begun_at = 0

        def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            self.started, self.begun_at = time.monotonic(), state.global_step

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
            if not state.is_world_process_zero or not logs:
                return
            with (out / LOG).open("a", encoding="utf-8") as file:
                file.write(json.dumps({"step": state.global_step, **logs}) + "\n")
            made = state.global_step - self.begun_at
            if made and state.max_steps and ("loss" in logs or "reward" in logs):
                left = (time.monotonic() - self.started) / made * (state.max_steps - state.global_step)
                shown = ", ".join(f"{k} {float(logs[k]):.4g}" for k in ("loss", "reward") if k in logs)
                say(f"step {state.global_step} of {state.max_steps}: {shown}; {left / 60:.1f} min left")

    return Watch()


def arguments(out: Path, *, steps_per_save: int = 0) -> dict[str, Any]:
    """Trainer arguments that all stages share: where to write, how often, on what, without a hub."""
    import datasets
    import torch

    datasets.disable_progress_bars()  # what they say is said by `callback`
    on_gpu = torch.cuda.is_available()
    return {
        "output_dir": str(out / CHECKPOINTS),
        "use_cpu": not on_gpu,
        "bf16": on_gpu,
        "gradient_checkpointing": on_gpu,
        "logging_steps": 1,
        "logging_first_step": True,
        "save_strategy": "steps" if steps_per_save else "epoch",
        "save_steps": steps_per_save or 500,
        "save_total_limit": 2,
        "report_to": ["tensorboard"] if find_spec("tensorboard") else [],
        "push_to_hub": False,
        "disable_tqdm": True,
        "dataloader_num_workers": 0,
    }


def run(trainer: Any, out: Path) -> dict[str, float]:
    """Train to the end, from the last whole checkpoint where there is one, and save the adapter into `out`.

    Raises:
        UserError: the disk is full, or a loss that is no number.
    """
    from transformers import PrinterCallback
    from transformers.trainer_utils import get_last_checkpoint

    trainer.remove_callback(PrinterCallback)

    place = out / CHECKPOINTS
    last = get_last_checkpoint(str(place)) if place.is_dir() else None
    try:
        result = trainer.train(resume_from_checkpoint=last)
        trainer.model.save_pretrained(str(out))
        trainer.processing_class.save_pretrained(str(out))
    except OSError as error:
        raise UserError(f"{out}: training cannot be saved ({error}); the last checkpoint is whole") from error
    metrics = {name: float(value) for name, value in result.metrics.items() if isinstance(value, int | float)}
    if metrics.get("train_loss") != metrics.get("train_loss"):
        raise UserError(f"{out}: the loss is not a number; lower the learning rate")
    return metrics
