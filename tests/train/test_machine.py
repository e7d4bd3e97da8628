"""What a training run will need, how it is spread over several GPUs, and where its curves go."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from fiqkit.cli import fiqkit
from fiqkit.errors import UserError
from fiqkit.models.cards.memory import Machine
from fiqkit.train import memory, watch
from fiqkit.train.model import is_sharded, load
from fiqkit.train.recipe import Recipe

Make = Callable[..., Recipe]


@pytest.mark.parametrize("targets", ['["all-linear"]', '["q_proj", "v_proj"]'])
def test_parameters_are_counted_before_anything_is_loaded(targets: str, tiny: Path, tiny_recipe: Make) -> None:
    made = tiny_recipe(f"lora.targets={targets}", "max_length=100")
    need = memory.estimate(made, tiny, 2, on_gpu=False)
    loaded = load(made).model
    trained = sum(p.numel() for p in loaded.parameters() if p.requires_grad)
    assert need.trained == trained
    assert need.parameters == sum(p.numel() for p in loaded.parameters()) - trained
    assert (need.base, need.adapter) == (4 * need.parameters, 16 * trained)


def test_four_bits_recomputing_and_rows_change_the_estimate(tiny: Path, tiny_recipe: Make) -> None:
    plain = memory.estimate(tiny_recipe("max_length=100"), tiny, 2, on_gpu=False)
    longer = memory.estimate(tiny_recipe("max_length=300"), tiny, 2, on_gpu=False)
    assert longer.activations == 3 * plain.activations
    assert memory.estimate(tiny_recipe("max_length=100"), tiny, 2, on_gpu=True).activations < plain.activations / 2
    assert memory.estimate(tiny_recipe("quantisation=nf4"), tiny, 2, on_gpu=False).base < plain.base


def test_what_cannot_fit_is_one_line(tiny: Path, tiny_recipe: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "this_machine", lambda: Machine(ram=1000))
    with pytest.raises(UserError, match=r"the base and its adapter need .* are free; set quantisation=nf4") as caught:
        memory.check(tiny_recipe(), tiny, 1)
    assert "\n" not in str(caught.value)
    monkeypatch.setattr(memory, "this_machine", lambda: Machine(ram=2**40))
    assert "memory: base" in memory.check(tiny_recipe(), tiny, 1)
    with pytest.raises(UserError, match="no configuration of a language model"):
        memory.estimate(tiny_recipe(), tiny / "nosuch", 1, on_gpu=False)


def launched(name: str) -> Namespace:
    """What `accelerate launch` makes of a shipped configuration."""
    from accelerate.commands.launch import _validate_launch_command, launch_command_parser

    path = CliRunner().invoke(fiqkit, ["train", "config", name]).stdout.strip()
    given = ["--config_file", path, "-m", "fiqkit", "train", "sft"]
    args, _, _ = _validate_launch_command(launch_command_parser().parse_args(given))
    assert isinstance(args, Namespace)
    return args


def test_fsdp_is_launched_as_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    from accelerate.utils import FullyShardedDataParallelPlugin
    from accelerate.utils.launch import prepare_multi_gpu_env

    args = launched("fsdp")
    assert (args.use_fsdp, args.num_processes, args.training_script_args) == (True, 4, ["train", "sft"])
    for name, value in prepare_multi_gpu_env(args).items():
        if os.environ.get(name) != value:
            monkeypatch.setenv(name, value)
    plugin = FullyShardedDataParallelPlugin()
    assert (plugin.fsdp_version, plugin.reshard_after_forward) == (2, True)
    assert "FULL" in str(plugin.state_dict_type)
    assert is_sharded()


def test_deepspeed_is_launched_as_configured() -> None:
    from accelerate.utils import DeepSpeedPlugin

    args = launched("deepspeed")
    assert (args.use_deepspeed, args.zero_stage, args.zero3_init_flag) == (True, 3, True)
    plugin = DeepSpeedPlugin(zero_stage=args.zero_stage, gradient_clipping=args.gradient_clipping)
    assert plugin.hf_ds_config.config["zero_optimization"]["stage"] == 3
    assert not is_sharded()


@pytest.mark.parametrize("installed", [True, False])
def test_curves_go_to_tensorboard_where_it_is_installed(
    installed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: Any = object() if installed else None
    monkeypatch.setattr(watch, "find_spec", lambda name: found if name == "tensorboard" else None)
    assert watch.arguments(tmp_path)["report_to"] == (["tensorboard"] if installed else [])
