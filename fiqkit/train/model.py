"""The model that is trained: loaded as its recipe says, with an adapter new or taken up again, and described."""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fiqkit import __version__
from fiqkit.errors import UserError, need
from fiqkit.models.cards.cards import find_card
from fiqkit.models.cards.geometry import stated, text_config
from fiqkit.models.cards.weights import fingerprint, locate, to_transformers
from fiqkit.models.checkpoint import load_model, load_tokenizer
from fiqkit.models.checks.adapters import RECORD, check_base
from fiqkit.models.quantised import quantised_share
from fiqkit.models.template import ChatTemplate
from fiqkit.train.recipe import Recipe
from fiqkit.whole_file import write_text

ACCELERATE = Path(__file__).parent / "accelerate"  # configurations for several GPUs
_TEMPLATES = Path(__file__).parent / "templates"
_PACKAGES = ("torch", "transformers", "trl", "peft", "accelerate", "bitsandbytes", "datasets")


@dataclass(frozen=True, slots=True)
class Trainee:
    """A model ready to be trained or to act.

    Attributes:
        model: a `PeftModel` whose adapter is trainable.
        template: the chat template that it is trained with and will be served with.
        sha256: of the base's weights.
        gguf: sha256 of the GGUF file that they were made of, if any.
        share_4bit: share of its parameters that are held in 4 bits.
    """

    model: Any
    tokenizer: Any
    template: ChatTemplate
    sha256: str
    gguf: str | None
    share_4bit: float

    def encode(self, text: str) -> list[int]:
        """Token ids of a text in which the template has written the special tokens."""
        ids: list[int] = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids


def need_training() -> None:
    """Say in one line which extra is missing.

    Raises:
        MissingExtra: a package of the extra `train` is not installed.
    """
    need("fiqkit train", "train", "torch", "transformers", "trl", "peft", "accelerate", "datasets")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a kernel that bitsandbytes would fetch, and a flag that peft still reads
        import_module("peft")


def check_machine(recipe: Recipe) -> None:
    """Refuse a recipe that cannot run here, before anything is loaded.

    Raises:
        MissingExtra: a package of the extra `train` is not installed.
        UserError: no GPU where the recipe needs one.
    """
    need_training()
    import torch

    if recipe.gpu and not torch.cuda.is_available():
        raise UserError(f"recipe {recipe.name} needs a GPU, and there is none here; smollm2-cpu trains without")


def context_of(recipe: Recipe) -> int:
    """Tokens of context to play an episode in: the recipe's, but no more than its base was made for."""
    config = json.loads((to_transformers(find_card(recipe.model)) / "config.json").read_text("utf-8"))
    return min(recipe.context, stated(text_config(config), "context") or recipe.context)


def is_sharded() -> bool:
    """Whether `accelerate launch` started this process to hold a part of the model."""
    return any(os.environ.get(name) == "true" for name in ("ACCELERATE_USE_FSDP", "ACCELERATE_USE_DEEPSPEED"))


def main_first() -> AbstractContextManager[None]:
    """Where several processes train together, the first one writes what the others then read."""
    if int(os.environ.get("WORLD_SIZE", "1")) < 2:
        return nullcontext()
    from accelerate import PartialState

    first: AbstractContextManager[None] = PartialState().main_process_first()
    return first


def load(recipe: Recipe, adapter: Path | None = None) -> Trainee:
    """Load the base of a recipe, with a new adapter or with `adapter` to train on.

    Raises:
        MissingExtra: a package of the extra `train` is not installed.
        UserError: no weights, no GPU where the recipe needs one, too little of the model in 4 bits, or an adapter that
            was made for another base.
    """
    check_machine(recipe)
    import torch
    from transformers import BitsAndBytesConfig

    card = find_card(recipe.model)
    folder, source = to_transformers(card), locate(card)
    if adapter is not None:
        check_base(adapter, recipe.model, folder)
    on_gpu = torch.cuda.is_available()
    dtype = torch.bfloat16 if on_gpu else torch.float32
    quantised = BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=dtype,
        # Sharded weights must be stored in one dtype with what is trained beside them.
        **({"bnb_4bit_quant_storage": dtype} if is_sharded() else {}),
    )
    tokenizer = load_tokenizer(recipe.model, folder)
    base = load_model(
        recipe.model,
        folder,
        dtype=dtype,
        quantization_config=quantised if recipe.quantisation == "nf4" else None,
        # One process, one GPU; what is sharded is placed by accelerate.
        device_map={"": int(os.environ.get("LOCAL_RANK", 0))} if on_gpu and not is_sharded() else None,
    )
    share = quantised_share(base)
    if recipe.quantisation == "nf4" and share < recipe.least_4bit:
        raise UserError(
            f"{recipe.model}: only {share:.0%} of its parameters are 4-bit, the recipe wants {recipe.least_4bit:.0%}; "
            "fused experts stay in bf16: set quantisation=none, or lower least_4bit knowingly"
        )
    if recipe.template:
        tokenizer.chat_template = (_TEMPLATES / f"{recipe.template}.jinja").read_text("utf-8")
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    template = ChatTemplate.of_tokenizer(recipe.model, tokenizer)
    gguf = fingerprint(source) if source.is_file() else None
    return Trainee(_adapted(base, recipe, adapter), tokenizer, template, fingerprint(folder), gguf, share)


def _adapted(base: Any, recipe: Recipe, adapter: Path | None) -> Any:
    import torch
    from peft import LoraConfig, PeftModel, get_peft_model, prepare_model_for_kbit_training

    if recipe.quantisation == "nf4" and not is_sharded():
        base = prepare_model_for_kbit_training(base)
    if adapter is not None:
        return PeftModel.from_pretrained(base, str(adapter), is_trainable=True)
    torch.manual_seed(recipe.seed)  # of A's first values: a recipe gives the same adapter again
    lora = recipe.lora
    targets: Any = "all-linear" if lora.targets == ("all-linear",) else list(lora.targets)
    return get_peft_model(
        base,
        LoraConfig(
            r=lora.r,
            lora_alpha=lora.alpha,
            lora_dropout=lora.dropout,
            target_modules=targets,
            target_parameters=list(lora.parameters) or None,
            task_type="CAUSAL_LM",
        ),
    )


# --- the record beside an adapter -----------------------------------------------------------------------------------


def write_record(out: Path, recipe: Recipe, stage: str, trainee: Trainee, **more: Any) -> None:
    """Write how an adapter was made: the recipe, the base's hash, versions, and hashes of what it learned from.

    Of several processes the first one writes.
    """
    if int(os.environ.get("RANK", "0")):
        return
    record = {
        "stage": stage,
        "recipe": recipe.describe(),
        "base": {
            "model": recipe.model,
            "sha256": trainee.sha256,
            "gguf": trainee.gguf,
            "share_4bit": round(trainee.share_4bit, 4),
        },
        "template": {"source": trainee.template.source, "sha256": trainee.template.sha256},
        "versions": {"fiqkit": __version__} | {name: version(name) for name in _PACKAGES},
        **more,
    }
    write_text(out / RECORD, json.dumps(record, ensure_ascii=False, indent=1))


def file_sha256(path: Path) -> str:
    """sha256 of a file of training data, for the record."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
