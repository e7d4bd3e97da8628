"""A LoRA adapter as PEFT writes it, turned into the GGUF file that llama.cpp serves.

    model.layers.0.self_attn.q_proj.lora_A.weight (r, inputs)    →   blk.0.attn_q.weight.lora_a
    model.layers.0.self_attn.q_proj.lora_B.weight (outputs, r)   →   blk.0.attn_q.weight.lora_b

llama.cpp rotates neighbouring dimensions where transformers rotates halves, so in files of the llama architecture the
rows of q and k stand in another order, and those of B with them. Qwen's do not.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fiqkit.errors import UserError, need
from fiqkit.models.cards.formats import read_safetensors
from fiqkit.models.cards.gguf_header import read_header
from fiqkit.models.cards.weights import cache_folder, fingerprint
from fiqkit.models.checks.adapters import BASE_KEY, RECORD_KEY, check_base, read_record

# transformers' model_type → GGUF architecture
_ARCHITECTURES = {
    "llama": "llama",
    "mistral": "llama",
    "qwen2": "qwen2",
    "qwen3": "qwen3",
    "qwen3_moe": "qwen3moe",
}
_REORDERED = {"llama"}  # architectures whose q and k rows llama.cpp stores in its own order
_MODULES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
_NAME = re.compile(r"base_model\.model\.(?:.+\.)?layers\.(\d+)\.(.+)\.lora_([AB])\.weight")
_KINDS: Mapping[str, Any] = {"F32": np.float32, "F16": np.float16, "BF16": np.uint16}
DTYPES = ("f16", "f32")


@dataclass(frozen=True, slots=True)
class Base:
    """What of a base decides how its adapters are written: GGUF architecture, and heads of queries and of keys."""

    architecture: str
    heads: int
    kv_heads: int


def read_base(weights: Path) -> Base:
    """The base of a GGUF file, or of a folder with config.json.

    Raises:
        UserError: no configuration, or an architecture whose adapters are not written here.
    """
    if weights.is_file():
        header = read_header(weights)
        kind = str(header.get("general.architecture"))
        found = kind, header.get(f"{kind}.attention.head_count"), header.get(f"{kind}.attention.head_count_kv")
    else:
        try:
            config = json.loads((weights / "config.json").read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise UserError(f"{weights}: no base model there ({error}); give a folder with config.json") from None
        kind = str(config.get("model_type"))
        found = (
            _ARCHITECTURES.get(kind, kind),
            config.get("num_attention_heads"),
            config.get("num_key_value_heads", config.get("num_attention_heads")),
        )
    architecture, heads, kv_heads = found
    if architecture not in _ARCHITECTURES.values() or not isinstance(heads, int) or not isinstance(kv_heads, int):
        raise UserError(
            f"{weights}: adapters of {kind} models are not written as GGUF, those of "
            f"{', '.join(sorted(set(_ARCHITECTURES.values())))} are; merge it instead: fiqkit train merge"
        )
    return Base(architecture, heads, kv_heads)


def to_gguf(adapter: Path, weights: Path, out: Path, *, name: str = "", dtype: str = "f16") -> Path:
    """Write a PEFT adapter as GGUF.

    Args:
        adapter: folder with adapter_config.json and adapter_model.safetensors.
        weights: its base, a folder or a GGUF file; the latter is the one file on which it may act then.
        name: what it is called inside.

    Raises:
        UserError: an adapter that is damaged, trained on another base, or more than LoRA matrices.
        MissingExtra: gguf is not installed.
    """
    need("a GGUF adapter", "local", "gguf")
    import gguf

    if dtype not in DTYPES:
        raise UserError(f"an adapter is written as {' or '.join(DTYPES)}, not {dtype!r}")
    record = read_record(adapter)
    check_base(adapter, weights.name, weights)
    base = read_base(weights)
    config = _config(adapter)
    alpha = float(config["lora_alpha"])
    out.parent.mkdir(parents=True, exist_ok=True)
    part = out.with_name(f"{out.name}.{os.getpid()}.part")
    writer = gguf.GGUFWriter(part, base.architecture)
    writer.add_type("adapter")
    writer.add_name(name or adapter.name)
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", alpha)
    if record:
        writer.add_string(RECORD_KEY, json.dumps(record, ensure_ascii=False))
    if weights.is_file():
        writer.add_string(BASE_KEY, fingerprint(weights))
    stored: Any = np.float16 if dtype == "f16" else np.float32
    for target, part_of, matrix in _matrices(adapter, base):
        if part_of == "b" and config.get("use_rslora"):  # llama.cpp scales by α / r, rank-stabilised LoRA by α / √r
            matrix = matrix * np.float32(np.sqrt(matrix.shape[1]))
        writer.add_tensor(f"{target}.lora_{part_of}", np.ascontiguousarray(matrix, stored))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    part.replace(out)
    return out


def cached_gguf(adapter: Path, weights: Path) -> Path:
    """The GGUF form of a PEFT adapter for the GGUF file `weights`, made once and kept among what can be made again.

    Raises:
        UserError: as `to_gguf`.
    """
    check_base(adapter, weights.name, weights)
    target = cache_folder() / "adapters" / f"{fingerprint(adapter)[:16]}-{fingerprint(weights)[:16]}.gguf"
    return target if target.is_file() else to_gguf(adapter, weights, target, dtype="f32")


def _config(adapter: Path) -> Mapping[str, Any]:
    """The adapter's configuration, if it is one of LoRA matrices alone.

    Raises:
        UserError: names what else it changes.
    """
    try:
        config: Mapping[str, Any] = json.loads((adapter / "adapter_config.json").read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{adapter}: no adapter there ({error})") from None
    if config.get("peft_type") != "LORA" or not config.get("lora_alpha"):
        raise UserError(f"{adapter}: an adapter of kind {config.get('peft_type')}; only LoRA is written as GGUF")
    more = ("use_dora", "modules_to_save", "alpha_pattern", "trainable_token_indices", "lora_bias")
    used = [field for field in more if config.get(field)]
    if config.get("bias", "none") != "none":
        used.append("bias")
    if used:
        raise UserError(f"{adapter}: uses {', '.join(used)}, which GGUF cannot hold; merge it: fiqkit train merge")
    return config


def _matrices(adapter: Path, base: Base) -> Iterator[tuple[str, str, np.ndarray]]:
    """(tensor of the base, "a" or "b", matrix), in order of name."""
    for name, matrix in sorted(_tensors(adapter / "adapter_model.safetensors").items()):
        found = _NAME.fullmatch(name)
        target = found and _MODULES.get(found[2])
        if found is None or target is None:
            raise UserError(
                f"{adapter}: adapts {name.removeprefix('base_model.model.')}, which is not written as GGUF; merge it "
                "instead: fiqkit train merge"
            )
        if found[3] == "B" and base.architecture in _REORDERED and target in ("attn_q", "attn_k"):
            matrix = _reordered(matrix, base.heads if target == "attn_q" else base.kv_heads, name)
        yield f"blk.{found[1]}.{target}.weight", found[3].lower(), matrix


def _reordered(rows: np.ndarray, heads: int, name: str) -> np.ndarray:
    """Rows of each head from halves (all first parts, all second parts) to pairs."""
    if len(rows) % (2 * heads):
        raise UserError(f"{name}: {len(rows)} rows cannot be shared among {heads} heads; it is for another base")
    return rows.reshape(heads, 2, -1, rows.shape[1]).swapaxes(1, 2).reshape(rows.shape)


def _tensors(path: Path) -> dict[str, np.ndarray]:
    """The tensors of a safetensors file in float32.

    Raises:
        UserError: no file there, or a damaged one, or numbers of another kind than F32, F16 and BF16.
    """
    if not path.is_file():
        raise UserError(f"{path}: no adapter's weights there")
    header, raw = read_safetensors(path), path.read_bytes()
    start = 8 + int.from_bytes(raw[:8], "little")
    found = {}
    for name, tensor in header.items():
        begin, end = tensor["data_offsets"]
        try:
            values = np.frombuffer(raw[start + begin : start + end], _KINDS[tensor["dtype"]]).reshape(tensor["shape"])
        except (KeyError, ValueError) as error:
            raise UserError(f"{path}: {name} cannot be read as {tensor['dtype']} ({error})") from None
        wide = (values.astype(np.uint32) << 16).view(np.float32) if tensor["dtype"] == "BF16" else values
        found[name] = wide.astype(np.float32)
    return found
