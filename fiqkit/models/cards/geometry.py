"""What a model keeps of each token while it generates: the size of its key-value cache, layer by layer.

    geometry_of_config({"num_hidden_layers": 48, "num_attention_heads": 16, "num_key_value_heads": 2, "head_dim": 256,
                        "full_attention_interval": 4, …}).values(1)   # 12 layers × 2 × 2 heads × 256 = 12,288

Attention keeps keys and values of every token, or of a window; multi-head latent attention one latent vector; layers
with a recurrent state keep a state of fixed size and nothing a token. What is none of these is refused by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fiqkit.errors import UserError


@dataclass(frozen=True, slots=True)
class Geometry:
    """Cache of one sequence.

    Attributes:
        kept: window in tokens → values (keys and values together, as numbers) that a token in it takes; 0 is no window.
        state: values of a state of fixed size.
    """

    kept: Mapping[int, int]
    state: int = 0

    @classmethod
    def plain(cls, layers: int, kv_heads: int, head_dim: int) -> Geometry:
        """Equal layers that attend to everything."""
        return cls({0: 2 * layers * kv_heads * head_dim})

    def values(self, tokens: int, sequences: int = 1, *, windows: bool = True) -> int:
        """Values of so many tokens, spread over so many sequences.

        Args:
            windows: the engine drops what has left a layer's window; llama.cpp, as this kit opens it, keeps it.
        """
        total = sequences * self.state
        for window, width in self.kept.items():
            total += width * (min(tokens, sequences * window) if window and windows else tokens)
        return total


# What published files leave out because it is the class's default, by number of layers (0: any).
_GEMMA3: Mapping[int, Mapping[str, int]] = {
    62: {"head_dim": 128},  # the 27B
    0: {"num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256, "sliding_window": 4096},
}
_DEFAULTS = {"gemma3": _GEMMA3, "gemma3_text": _GEMMA3}
# Every how many layers one attends to everything, where no list of layers says so; the others have a window.
_FULL_EVERY = {"gemma2": 2, "gemma3": 6, "gemma3_text": 6, "gemma3n": 5, "gemma4": 6, "cohere2": 4, "gpt-oss": 2}
_NAMES: Mapping[str, tuple[str, ...]] = {
    "layers": ("num_hidden_layers", "n_layer", "n_layers", "num_layers"),
    "heads": ("num_attention_heads", "n_head", "n_heads", "num_heads"),
    "kv_heads": ("num_key_value_heads", "n_head_kv", "multi_query_group_num", "num_kv_heads"),
    "width": ("hidden_size", "n_embd", "d_model", "n_embed"),
    "head_dim": ("head_dim", "attention_head_dim", "kv_channels"),
    "context": ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "n_ctx", "max_sequence_length"),
}
_FULL, _NONE = ("full_attention", "attention", "hybrid", "*", "full"), ("linear", "mamba", "conv", "recurrent", "ssm")
# Fields of layers that keep something else: where such a field is there and no list of layers, nothing is guessed.
_EXOTIC = ("ssm_", "mamba", "rwkv", "linear_num", "conv_L", "lru_", "block_types", "time_mix", "retention", "recurrent")


def stated(config: Mapping[str, Any], what: str) -> int:
    """A size under whichever name a configuration has it; 0 where it does not."""
    for name in _NAMES[what]:
        if isinstance(value := config.get(name), int) and not isinstance(value, bool):
            return value
    return 0


def text_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """The language model's part of a configuration, with the defaults of its class."""
    for name in ("text_config", "llm_config", "language_config"):
        if isinstance(inner := config.get(name), dict):
            config = {"model_type": config.get("model_type"), **inner}
            break
    by_layers = _DEFAULTS.get(str(config.get("model_type")), {})
    layers = stated(config, "layers")
    return {**by_layers.get(0, {}), **by_layers.get(layers, {}), **config}


def geometry_of_config(config: Mapping[str, Any], *, expands_latent: bool = False) -> Geometry:
    """From a transformers configuration; see `text_config`.

    Args:
        expands_latent: the engine caches what multi-head latent attention expands to (transformers does).

    Raises:
        UserError: a kind of model whose cache is not known.
    """
    kind = str(config.get("model_type") or "this model")
    layers, heads = stated(config, "layers"), stated(config, "heads")
    if not layers or (not heads and not _kinds(config, layers)):
        raise UserError(_unknown(kind))
    if latent := config.get("kv_lora_rank"):
        rope, nope = config.get("qk_rope_head_dim", 0), config.get("qk_nope_head_dim", 0)
        whole = heads * (rope + nope + config.get("v_head_dim", 0))
        return Geometry({0: layers * (whole if expands_latent else latent + rope)})
    kv_heads = 1 if _is_multi_query(config) else stated(config, "kv_heads") or heads
    width = 2 * kv_heads * (stated(config, "head_dim") or stated(config, "width") // max(1, heads))
    kinds = _kinds(config, layers)
    if kinds is None:
        if any(str(key).startswith(_EXOTIC) for key in config):
            raise UserError(_unknown(kind))
        kinds = [0] * layers
    return Geometry(_kept((window, width) for window in kinds if window is not None), _state(config, kinds.count(None)))


def _unknown(kind: str) -> str:
    return (
        f"the memory plan does not know what a {kind} keeps of a token; give layers, kv_heads and head_dim in its card"
    )


def _is_multi_query(config: Mapping[str, Any]) -> bool:
    return bool(config.get("multi_query")) and not config.get("new_decoder_architecture")


def _kinds(config: Mapping[str, Any], layers: int) -> list[int | None] | None:
    """Each layer's window, 0 for none and None for a layer without attention; None where all layers are alike."""
    window = config.get("sliding_window") or config.get("attention_chunk_size") or 0
    named = config.get("layer_types") or config.get("layers_block_type") or config.get("hybrid_override_pattern")
    if named:
        return [_window_of(name, window) for name in named]
    if flags := config.get("attn_type_list"):
        return [0 if flag else None for flag in flags]
    if indices := config.get("attn_layer_indices"):
        return [0 if layer in indices else None for layer in range(layers)]
    if every := config.get("full_attention_interval"):
        return [0 if (layer + 1) % every == 0 else None for layer in range(layers)]
    if every := config.get("attn_layer_period"):
        offset = config.get("attn_layer_offset", 0)
        return [0 if layer % every == offset else None for layer in range(layers)]
    every = config.get("sliding_window_pattern") or _FULL_EVERY.get(str(config.get("model_type")))
    if every and window and config.get("use_sliding_window") is not False:
        return [0 if (layer + 1) % every == 0 else window for layer in range(layers)]
    return None


def _window_of(name: str, window: int) -> int | None:
    if name in _FULL:
        return 0
    if "sliding" in name or "chunked" in name:
        return window
    if len(name) == 1 or any(part in name for part in _NONE):
        return None
    raise UserError(_unknown(f"layer of type {name!r}"))


def _state(config: Mapping[str, Any], recurrent: int) -> int:
    """Values of the states of so many layers, at four bytes each where the cache has two."""
    heads, keys = config.get("linear_num_value_heads", 0), config.get("linear_key_head_dim", 0)
    gated = heads * keys * config.get("linear_value_head_dim", 0)
    heads, size = config.get("mamba_num_heads", 0), config.get("ssm_state_size") or config.get("mamba_d_state") or 0
    return 2 * recurrent * (gated or heads * config.get("mamba_head_dim", 0) * size)


def _kept(layers: Any) -> dict[int, int]:
    kept: dict[int, int] = {}
    for window, width in layers:
        kept[window] = kept.get(window, 0) + width
    return kept


def geometry_of_gguf(header: Mapping[str, Any]) -> Geometry:
    """From a GGUF header (`read_header`).

    Raises:
        UserError: a header without layers.
    """
    kind = str(header.get("general.architecture", ""))

    def value(key: str, default: Any = 0) -> Any:
        return header.get(f"{kind}.{key}", default)

    layers = value("block_count")
    if not isinstance(layers, int) or not layers:
        raise UserError(_unknown(kind or "GGUF file without an architecture"))
    heads = _by_layer(value("attention.head_count"), layers)
    kv_heads = _by_layer(value("attention.head_count_kv", heads), layers)
    head_dim = value("attention.key_length", value("embedding_length") // max(1, *heads))
    if value("attention.kv_lora_rank") and max(kv_heads) == 1:
        return Geometry({0: layers * head_dim})  # the latent, stored once for keys and values
    width = head_dim + value("attention.value_length", head_dim)
    swa_dim = value("attention.key_length_swa", head_dim)
    swa_width = swa_dim + value("attention.value_length_swa", swa_dim if swa_dim != head_dim else width - head_dim)
    windows = _gguf_windows(kind, layers, value)
    rows = zip(windows, kv_heads, strict=True)
    return Geometry(_kept((w, n * (swa_width if w else width)) for w, n in rows if w is not None))


def _gguf_windows(kind: str, layers: int, value: Any) -> list[int | None]:
    if every := value("full_attention_interval"):
        return [0 if (layer + 1) % every == 0 else None for layer in range(layers)]
    window, pattern = value("attention.sliding_window"), value("attention.sliding_window_pattern")
    if window and isinstance(pattern, Sequence):
        return [window if slides else 0 for slides in _by_layer(pattern, layers)]
    every = pattern if isinstance(pattern, int) and pattern else _FULL_EVERY.get(kind, 0)
    if window and every:
        return [0 if (layer + 1) % every == 0 else window for layer in range(layers)]
    return [0] * layers


def _by_layer(value: Any, layers: int) -> list[int]:
    """A number for all layers, or an array with one for each."""
    if isinstance(value, Sequence):
        return ([int(number) for number in value] + [0] * layers)[:layers]
    return [int(value)] * layers
