"""What training will need of memory, from the recipe and the headers of the weights, before anything is loaded."""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import prod
from pathlib import Path

from fiqkit.errors import UserError
from fiqkit.models.cards.formats import read_safetensors
from fiqkit.models.cards.memory import this_machine
from fiqkit.models.cards.weights import weight_files
from fiqkit.train.recipe import ALL_LINEAR, Recipe

_GIB = 2**30
_NF4 = 0.516  # bytes a parameter: 4 bits, a scale of 8 bits for 64 of them, and one of 32 for 256 scales
_ADAM = 16  # bytes a trained parameter: itself, its gradient and two moments, in float32
_AROUND_A_LAYER = 20  # values of the hidden size that one layer keeps for its backward pass, beside its own products


@dataclass(frozen=True, slots=True)
class Estimate:
    """Bytes, and the parameters behind them; an estimate, good to about a third."""

    base: int
    adapter: int
    activations: int
    parameters: int
    trained: int

    @property
    def total(self) -> int:
        """All of it."""
        return self.base + self.adapter + self.activations

    def line(self, free: int) -> str:
        """For whoever waits."""
        return (
            f"memory: base {self.base / _GIB:.2f} GiB of {self.parameters / 1e9:.3g} B parameters + adapter "
            f"{self.adapter / _GIB:.2f} of {self.trained / 1e6:.3g} M + activations {self.activations / _GIB:.2f} = "
            f"about {self.total / _GIB:.1f} GiB of {free / _GIB:.1f} free"
        )


def estimate(recipe: Recipe, folder: Path, batch: int, *, on_gpu: bool) -> Estimate:
    """The need of a step of `batch` rows of `recipe.max_length` tokens.

    Args:
        folder: the base's config.json and safetensors.
        on_gpu: bf16 weights and recomputed activations; float32 and kept ones without.

    Raises:
        UserError: no configuration there.
    """
    try:
        config = json.loads((folder / "config.json").read_text("utf-8"))
        config = config.get("text_config", config)
        sizes = {name: int(config[name]) for name in ("hidden_size", "num_hidden_layers", "vocab_size")}
        inner = int(config.get("intermediate_size") or 4 * sizes["hidden_size"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{folder}: no configuration of a language model ({error})") from None
    shapes = {
        name: tuple(tensor["shape"])
        for file in weight_files(folder)
        if file.suffix == ".safetensors"
        for name, tensor in read_safetensors(file).items()
    }
    width = 2 if on_gpu else 4
    linear = {name: shape for name, shape in shapes.items() if len(shape) == 2 and ".layers." in name}
    parameters, in_linear = sum(map(prod, shapes.values())), sum(map(prod, linear.values()))
    quantised = recipe.quantisation == "nf4"
    # What is not quantised is kept in float32 while a quantised model is trained.
    base = in_linear * _NF4 + (parameters - in_linear) * 4 if quantised else parameters * width
    trained = sum(recipe.lora.r * sum(shape) for name, shape in linear.items() if _adapts(recipe, name))
    return Estimate(
        base=int(base),
        adapter=trained * _ADAM,
        activations=_activations(sizes, inner, batch * recipe.max_length, width, recomputed=on_gpu),
        parameters=parameters,
        trained=trained,
    )


def _adapts(recipe: Recipe, name: str) -> bool:
    return recipe.lora.targets == ALL_LINEAR or name.removesuffix(".weight").endswith(recipe.lora.targets)


def _activations(sizes: dict[str, int], inner: int, tokens: int, width: int, *, recomputed: bool) -> int:
    """What a backward pass needs: of every layer all, or one layer's and the others' inputs; and the logits, thrice."""
    layer = (_AROUND_A_LAYER * sizes["hidden_size"] + 4 * inner) * width
    layers = sizes["num_hidden_layers"]
    kept = layer + layers * sizes["hidden_size"] * width if recomputed else layers * layer
    return tokens * (kept + 3 * 4 * sizes["vocab_size"])


def check(recipe: Recipe, folder: Path, batch: int) -> str:
    """The line to show before loading.

    Raises:
        UserError: the base and its adapter alone are more than what is free.
    """
    import torch

    on_gpu = torch.cuda.is_available()
    here = this_machine()
    free = here.gpu if on_gpu else here.ram
    need = estimate(recipe, folder, batch, on_gpu=on_gpu)
    if need.base + need.adapter > free:
        raise UserError(
            f"recipe {recipe.name}: the base and its adapter need {(need.base + need.adapter) / _GIB:.1f} GiB, and "
            f"{free / _GIB:.1f} GiB are free; set quantisation=nf4, take a smaller model, or shard it, see "
            "docs/training.md"
        )
    return need.line(free) + (
        "; if it does not fit, lower max_length or the stage's batch" if need.total > free else ""
    )
