"""What models keep of a token, against arithmetic done by hand from their published configurations."""

from __future__ import annotations

import hashlib
import json
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fiqkit.errors import UserError
from fiqkit.models.cards.cards import Card, find_card
from fiqkit.models.cards.geometry import geometry_of_config, geometry_of_gguf, text_config
from fiqkit.models.cards.gguf_header import read_header
from fiqkit.models.cards.memory import GIB, Machine, plan
from fiqkit.models.cards.weights import fingerprint, locate, missing_files, stored_bytes, to_transformers, would_be
from fiqkit.models.checks.survey import survey

QWEN3_NEXT = {"hidden_size": 2048, "num_attention_heads": 16, "num_key_value_heads": 2, "head_dim": 256}
GEMMA3 = {
    "model_type": "gemma3",
    "text_config": {"hidden_size": 5376, "num_attention_heads": 32, "sliding_window": 1024},
}
GEMMA3["text_config"] |= {"num_key_value_heads": 16, "num_hidden_layers": 62}  # type: ignore[operator]


def dense(layers: int, heads: int, kv: int, width: int, **more: Any) -> dict[str, Any]:
    names = ("num_hidden_layers", "num_attention_heads", "num_key_value_heads", "hidden_size")
    return {**dict(zip(names, (layers, heads, kv, width), strict=True)), **more}


# model → configuration, values a token once every window is passed, values of the first token
CONFIGS: dict[str, tuple[dict[str, Any], int, int]] = {
    "Qwen2.5-32B": (dense(64, 40, 8, 5120, sliding_window=131072, use_sliding_window=False), 131072, 131072),
    "Qwen2.5-72B": (dense(80, 64, 8, 8192), 2 * 80 * 8 * 128, 2 * 80 * 8 * 128),
    "Qwen2.5-7B": (dense(28, 28, 4, 3584), 2 * 28 * 4 * 128, 2 * 28 * 4 * 128),
    "Qwen3-4B": (dense(36, 32, 8, 2560, head_dim=128), 2 * 36 * 8 * 128, 2 * 36 * 8 * 128),
    "Qwen3-30B-A3B": (dense(48, 32, 4, 2048, head_dim=128), 2 * 48 * 4 * 128, 2 * 48 * 4 * 128),
    "Llama-3.1-8B": (dense(32, 32, 8, 4096), 65536, 65536),
    "Mistral-Nemo": (dense(40, 32, 8, 5120, head_dim=128), 81920, 81920),
    "Phi-3-mini": (dense(32, 32, 32, 3072, sliding_window=2047), 2 * 32 * 32 * 96, 2 * 32 * 32 * 96),
    "Gemma-2-9B": (
        dense(42, 16, 8, 3584, head_dim=256, sliding_window=4096, model_type="gemma2"),
        2 * 21 * 8 * 256,
        2 * 42 * 8 * 256,
    ),
    "Gemma-3-27B": (GEMMA3, 2 * 10 * 16 * 128, 2 * 62 * 16 * 128),
    "Gemma-3-4B": (
        {"model_type": "gemma3", "text_config": {"hidden_size": 2560, "num_hidden_layers": 34, "sliding_window": 1024}},
        2 * 5 * 4 * 256,
        2 * 34 * 4 * 256,
    ),
    "DeepSeek-V3": (dense(61, 128, 128, 7168, kv_lora_rank=512, qk_rope_head_dim=64), 61 * 576, 61 * 576),
    "gpt-oss-20b": (
        dense(
            24, 64, 8, 2880, head_dim=64, sliding_window=128, layer_types=["sliding_attention", "full_attention"] * 12
        ),
        2 * 12 * 8 * 64,
        2 * 24 * 8 * 64,
    ),
    "Qwen3-Next": (QWEN3_NEXT | {"num_hidden_layers": 48, "full_attention_interval": 4}, 12288, 12288),
    "Qwen3.5": (
        {
            "text_config": dense(
                32, 16, 4, 2560, head_dim=256, layer_types=(["linear_attention"] * 3 + ["full_attention"]) * 8
            )
        },
        2 * 8 * 4 * 256,
        2 * 8 * 4 * 256,
    ),
    "GPT-2": ({"model_type": "gpt2", "n_embd": 768, "n_head": 12, "n_layer": 12}, 2 * 12 * 768, 2 * 12 * 768),
    "Falcon-7B": (
        {"model_type": "falcon", "hidden_size": 4544, "num_attention_heads": 71, "num_hidden_layers": 32}
        | {"multi_query": True, "num_kv_heads": 71},
        2 * 32 * 64,
        2 * 32 * 64,
    ),
    "Nemotron-H": (
        dense(56, 40, 8, 4480, head_dim=128)
        | {"hybrid_override_pattern": "M-M-M-MM-M-M-M*-M-M-M*-M-M-M-M*-M-M-M-M*-M-MM-M-M-M-M-M-"},
        2 * 4 * 8 * 128,
        2 * 4 * 8 * 128,
    ),
    "Jamba": (
        dense(32, 32, 8, 4096, attn_layer_period=8, attn_layer_offset=4, mamba_d_state=16),
        2 * 4 * 8 * 128,
        2 * 4 * 8 * 128,
    ),
    "Bamba": (
        dense(32, 32, 8, 4096, attn_layer_indices=[9, 18, 27], mamba_d_state=128),
        2 * 3 * 8 * 128,
        2 * 3 * 8 * 128,
    ),
}


@pytest.mark.parametrize(("config", "late", "first"), CONFIGS.values(), ids=CONFIGS)
def test_values_a_token(config: dict[str, Any], late: int, first: int) -> None:
    geometry = geometry_of_config(text_config(config))
    grown = geometry.values(300_001) - geometry.values(300_000)
    assert (grown, geometry.values(1) - geometry.state) == (late, first)


def test_a_window_is_kept_once_for_each_sequence() -> None:
    geometry = geometry_of_config(text_config(GEMMA3))
    full, sliding = 2 * 10 * 16 * 128, 2 * 52 * 16 * 128
    assert geometry.values(8192) == 8192 * full + 1024 * sliding
    assert geometry.values(4 * 8192, 4) == 4 * 8192 * full + 4 * 1024 * sliding
    assert geometry.values(8192, windows=False) == 8192 * (full + sliding)


def test_latent_attention_is_expanded_by_transformers() -> None:
    config = dense(61, 128, 128, 7168, kv_lora_rank=512, qk_rope_head_dim=64, qk_nope_head_dim=128, v_head_dim=128)
    assert geometry_of_config(config, expands_latent=True).values(1) == 61 * 128 * (128 + 64 + 128)


def test_recurrent_states_are_counted_once_a_sequence() -> None:
    heads = {"linear_num_value_heads": 32, "linear_key_head_dim": 128, "linear_value_head_dim": 128}
    config = QWEN3_NEXT | heads | {"num_hidden_layers": 48, "full_attention_interval": 4}
    assert geometry_of_config(config).state == 36 * 32 * 128 * 128 * 2  # four bytes, counted as two values of two


@pytest.mark.parametrize(
    "config",
    [
        {"model_type": "rwkv7", "hidden_size": 64},
        dense(4, 8, 8, 64, model_type="newfangled", ssm_state_size=16),
        dense(4, 8, 8, 64, model_type="newfangled", layer_types=["holographic"] * 4),
        {"model_type": "newfangled"},
    ],
)
def test_what_is_not_known_is_refused_by_name(config: dict[str, Any]) -> None:
    with pytest.raises(
        UserError, match=r"what a .*(rwkv7|newfangled|holographic).* keeps .*layers, kv_heads and head_dim"
    ):
        geometry_of_config(text_config(config))


KV = [0 if i % 5 in (1, 3) else 8 for i in range(80)]
GGUF: dict[str, tuple[dict[str, Any], int]] = {
    "deci": (
        {"block_count": 80, "embedding_length": 8192, "attention.head_count": [64 if k else 0 for k in KV]}
        | {"attention.head_count_kv": KV, "attention.key_length": 128},
        2 * sum(KV) * 128,
    ),
    "jamba": (
        {"block_count": 32, "embedding_length": 4096, "attention.head_count": 32}
        | {"attention.head_count_kv": [8 if i % 8 == 4 else 0 for i in range(32)]},
        2 * 4 * 8 * 128,
    ),
    "gemma4": (
        {"block_count": 30, "embedding_length": 2816, "attention.head_count": 16, "attention.sliding_window": 1024}
        | {"attention.head_count_kv": ([8] * 5 + [2]) * 5, "attention.key_length": 512, "attention.value_length": 512}
        | {"attention.key_length_swa": 256, "attention.value_length_swa": 256},
        2 * (25 * 8 * 256 + 5 * 2 * 512),
    ),
    "deepseek2": (
        {"block_count": 61, "embedding_length": 7168, "attention.head_count": 128, "attention.head_count_kv": 1}
        | {"attention.key_length": 576, "attention.value_length": 512, "attention.kv_lora_rank": 512},
        61 * 576,
    ),
    "qwen3next": (
        {"block_count": 48, "embedding_length": 2048, "attention.head_count": 16, "attention.head_count_kv": 2}
        | {"attention.key_length": 256, "full_attention_interval": 4},
        2 * 12 * 2 * 256,
    ),
    "mamba": ({"block_count": 64, "embedding_length": 2560, "ssm.state_size": 16}, 0),
}


def written(path: Path, kind: str, values: dict[str, Any]) -> Path:
    """A GGUF header as the format's description lays it out."""

    def text(word: str) -> bytes:
        return struct.pack("<Q", len(word)) + word.encode()

    def value(item: Any) -> bytes:
        if isinstance(item, list):
            return struct.pack(f"<IIQ{len(item)}I", 9, 4, len(item), *item)
        return struct.pack("<II", 4, item)

    pairs = [text("general.architecture") + struct.pack("<I", 8) + text(kind)]
    pairs += [text(f"{kind}.{key}") + value(item) for key, item in values.items()]
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, len(pairs)) + b"".join(pairs))
    return path


@pytest.mark.parametrize(("kind", "case"), GGUF.items(), ids=GGUF)
def test_values_a_token_of_a_gguf(tmp_path: Path, kind: str, case: tuple[dict[str, Any], int]) -> None:
    geometry = geometry_of_gguf(read_header(written(tmp_path / "m.gguf", kind, case[0])))
    assert geometry.values(1) == case[1]


def test_the_plan_of_a_folder_counts_what_the_cache_will_hold(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(GEMMA3))
    (tmp_path / "model.safetensors").write_bytes(bytes(1000))
    card = replace(find_card(str(tmp_path)), engine="transformers")
    (need,) = plan([card], {"context": 4096, "parallel": 2, "dtype": "bfloat16"}, machine=Machine(64 * GIB)).needs
    assert need.cache == 2 * (2 * 4096 * 2 * 10 * 16 * 128 + 2 * 1024 * 2 * 52 * 16 * 128)


# --- files ---


def test_an_array_without_end_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "long.gguf"
    path.write_bytes(
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 1) + b"k" + struct.pack("<IIQ", 9, 4, 1 << 63)
    )
    assert len(path.read_bytes()) < 60
    for read in (read_header, lambda file: to_transformers(Card("m", "transformers", str(file)))):
        with pytest.raises(UserError, match=r"long\.gguf.*cut or damaged"):
            read(path)
    path.write_bytes(path.read_bytes()[:-8] + struct.pack("<Q", 100_000))
    with pytest.raises(UserError, match="cut or damaged"):
        read_header(path)


def test_a_gguf_in_parts_is_all_of_them(tmp_path: Path) -> None:
    parts = [tmp_path / f"m-0000{n}-of-00002.gguf" for n in (1, 2)]
    for part in parts:
        part.write_bytes(b"GGUF" + part.name.encode())
    size = sum(part.stat().st_size for part in parts)
    digest = hashlib.sha256("".join(hashlib.sha256(p.read_bytes()).hexdigest() for p in parts).encode()).hexdigest()
    assert (stored_bytes(parts[0]), fingerprint(parts[0])) == (size, digest)
    parts[1].write_bytes(b"GGUF other")
    assert fingerprint(parts[0]) != digest
    parts[1].unlink()
    with pytest.raises(UserError, match=r"is not whole, m-00002-of-00002\.gguf is missing"):
        locate(Card("m", "llama_cpp", str(parts[0])))


def test_a_folder_with_its_weights_twice_counts_them_once(tmp_path: Path) -> None:
    for name in ("model-1.safetensors", "model-2.safetensors", "consolidated.safetensors"):
        (tmp_path / name).write_bytes(bytes(100))
    assert stored_bytes(tmp_path) == 200
    index = {"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors", "c": "model-3.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    assert missing_files(tmp_path) == ["model-3.safetensors"]
    cards = tmp_path / "cards.toml"
    cards.write_text('[half]\nengine = "transformers"\nweights = "."\n')
    row = next(row for row in survey(cards) if row["name"] == "half")
    assert not row["present"] and not row["runs"] and "model-3.safetensors is missing" in row["why_not"]


def test_the_hub_cache_is_where_the_hub_has_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    card = Card("m", "vllm", "hf:owner/model")

    def hub() -> Path:
        place = Path(would_be(card))
        return place.parents[2]

    assert hub() == tmp_path / ".cache" / "huggingface" / "hub"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "x"))
    assert hub() == tmp_path / "x" / "huggingface" / "hub"
    monkeypatch.setenv("HF_HOME", "~/h")
    assert hub() == tmp_path / "h" / "hub"
    monkeypatch.setenv("HF_HUB_CACHE", "~/c")
    assert hub() == tmp_path / "c"


def test_a_path_is_opened_with_what_its_model_was_trained_for(tmp_path: Path) -> None:
    values = {"block_count": 2, "embedding_length": 64, "attention.head_count": 4, "context_length": 2048}
    card = find_card(str(written(tmp_path / "short.gguf", "llama", values)))
    assert plan([card], {"parallel": 1}, machine=Machine(GIB)).needs[0].tokens == 2048
    values["context_length"] = 131072
    card = find_card(str(written(tmp_path / "long.gguf", "llama", values)))
    assert plan([card], {"parallel": 1}, machine=Machine(GIB)).needs[0].tokens == 8192
