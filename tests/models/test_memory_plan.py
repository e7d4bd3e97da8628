"""The memory plan against sums done by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fiqkit.errors import UserError
from fiqkit.models.cards.cards import Card, find_card
from fiqkit.models.cards.memory import GIB, Machine, plan

GPU80 = Machine(ram=200 * GIB, gpu=79 * GIB, gpu_total=80 * GIB, gpus=1)
CPU = Machine(ram=16 * GIB)


def test_smollm_by_hand() -> None:
    card = find_card("smollm2-135m")
    (need,) = plan([card], {"context": 2048, "parallel": 4}, machine=CPU).needs
    # 30 layers × keys and values × 3 heads × 64 × 2 bytes = 23,040 bytes a token; 4 × 2,048 tokens.
    assert need.cache == 23_040 * 8192
    assert need.weights == 98_362_432
    assert need.place == "ram"
    assert need.total == need.weights + need.cache + need.working


def test_a_gguf_file_is_larger_where_it_is_dequantised() -> None:
    card = replace(find_card("smollm2-135m"), engine="vllm-server")
    (dequantised,) = plan([card], machine=CPU).needs
    (native,) = plan([card], {"kind": "llama.cpp"}, machine=CPU).needs
    assert (dequantised.weights, native.weights) == (2 * 135_000_000, 98_362_432)


def test_llama_pool_is_capped_but_never_below_one_context() -> None:
    card = find_card("smollm2-135m")
    assert plan([card], {"context": 8192, "parallel": 8}, machine=CPU).needs[0].tokens == 32768
    assert plan([card], {"context": 8192, "parallel": 1}, machine=CPU).needs[0].tokens == 8192
    assert plan([card], {"context": 8192, "parallel": 8, "pool": 100}, machine=CPU).needs[0].tokens == 8192


def test_equal_weights_are_counted_once() -> None:
    card = find_card("qwen2.5-32b-gguf")
    settings = {"context": 4096, "parallel": 2}
    together = plan({"simulator": card, "grader": card, "judge": card}, settings, machine=GPU80)
    assert together.required("ram") + together.required("gpu") == plan([card], settings, machine=GPU80).needs[0].total
    assert together.needs[0].roles == ("simulator", "grader", "judge")
    assert "simulator, grader, judge" in together.lines()[0]


def test_two_vllm_engines_cannot_both_take_nine_tenths() -> None:
    small, large = find_card("qwen3-4b"), find_card("qwen2.5-32b-awq")
    refused = plan({"agent": small, "grader": large}, machine=GPU80)
    with pytest.raises(UserError, match=r"needed, 79\.00 GiB free; would fit: gpu_memory of at least qwen3-4b 0\.\d\d"):
        refused.check()
    plan([small], machine=GPU80).check()


def test_shares_that_are_advised_do_fit() -> None:
    import dataclasses

    cards = {"agent": find_card("qwen3-4b"), "grader": find_card("qwen2.5-32b-awq")}
    advice = plan(cards, machine=GPU80).advice
    shares = dict(
        part.rsplit(" ", 1) for part in advice.split("at least ")[1].removesuffix(" in their cards").split(", ")
    )
    shared = {
        role: dataclasses.replace(card, settings={"gpu_memory": float(shares[card.name])})
        for role, card in cards.items()
    }
    plan(shared, machine=GPU80).check()


def test_refusal_names_both_numbers_and_a_smaller_setting_that_fits() -> None:
    card = Card(
        name="mid",
        engine="llama_cpp",
        weights="/none.gguf",
        size=8 * GIB,
        context=32768,
        layers=64,
        kv_heads=8,
        head_dim=128,
    )
    refused = plan([card], {"parallel": 8}, machine=CPU)
    with pytest.raises(
        UserError, match=r"mid: 16\.65 GiB of memory needed, 16\.00 GiB free; would fit: context 16384, parallel 1"
    ):
        refused.check()
    plan([card], {"context": 16384, "parallel": 1}, machine=CPU).check()


def test_refusal_of_a_model_that_never_fits_names_cards_that_do() -> None:
    refused = plan({"agent": find_card("qwen2.5-72b-gguf")}, machine=CPU)
    with pytest.raises(UserError, match=r"would fit one at a time: smollm2-135m"):
        refused.check()


def test_servers_need_nothing_here() -> None:
    made = plan({"agent": find_card("http://127.0.0.1:1/v1#big")}, machine=Machine(ram=0))
    assert made.fits
    assert made.lines() == ["big: on a server (agent)"]


def test_folder_of_bf16_doubles_in_float32_on_a_cpu(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(bytes(1000))
    (tmp_path / "config.json").write_text(
        '{"dtype": "bfloat16", "num_hidden_layers": 4, "num_attention_heads": 8, "num_key_value_heads": 2,'
        ' "hidden_size": 64, "max_position_embeddings": 100, "layer_types": ["linear_attention", "full_attention",'
        ' "linear_attention", "full_attention"]}'
    )
    card = find_card(str(tmp_path))
    (need,) = plan([card], {"context": 100, "parallel": 3}, machine=CPU).needs
    assert need.weights == 2000
    assert need.cache == 2 * 2 * 2 * 8 * 4 * 300  # two layers keep a cache, two heads of eight, four bytes, 300 tokens
    (quarter,) = plan([card], {"context": 100, "parallel": 3, "dtype": "bfloat16"}, machine=CPU).needs
    assert quarter.weights == 1000


def test_adapters_are_added(tmp_path: Path) -> None:
    (tmp_path / "adapter_model.safetensors").write_bytes(bytes(12345))
    base = find_card("qwen3-4b")
    taught = replace(base, name="taught", adapter=str(tmp_path))
    assert [need.adapters for need in plan([base, taught, taught], machine=CPU).needs] == [12345]
