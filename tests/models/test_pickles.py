"""No pickle is ever read: weights and adapters in one are refused by name, wherever the kit loads them."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tiny_models import make_checkpoint

import fiqkit
from fiqkit.errors import UserError
from fiqkit.index import embedders
from fiqkit.models import open_engine
from fiqkit.models.cards.cards import Card
from fiqkit.models.cards.weights import locate, to_transformers, weight_files
from fiqkit.models.checks.adapters import read_record
from fiqkit.models.vllm.arguments import check_arguments
from fiqkit.models.vllm.child import open_engine as open_child
from fiqkit.models.vllm.child import vllm_command
from fiqkit.models.vllm.in_process import open_engine as open_in_process
from fiqkit.probe.checkpoint import check_adapter, find_checkpoint

pytest.importorskip("torch")


class Trap:
    """An object whose unpickling leaves a file behind."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return Path.touch, (self.mark,)


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    return tmp_path / "code was run"


@pytest.fixture
def pickled(tmp_path: Path, mark: Path) -> Path:
    """A checkpoint whose weights are a pickle alone."""
    folder = make_checkpoint(tmp_path / "pickled", "llama")
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Trap(mark)))
    return folder


@pytest.fixture
def pickled_adapter(tmp_path: Path, mark: Path) -> Path:
    folder = tmp_path / "lora"
    folder.mkdir()
    (folder / "adapter_config.json").write_text('{"peft_type": "LORA"}')
    (folder / "adapter_model.bin").write_bytes(pickle.dumps(Trap(mark)))
    return folder


def test_the_trap_works(tmp_path: Path, mark: Path) -> None:
    pickle.loads(pickle.dumps(Trap(mark)))
    assert mark.exists()


def test_pickled_weights_are_refused_by_name(pickled: Path, mark: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def embed(_: object) -> object:
        model = embedders.MiniLM()
        monkeypatch.setitem(vars(model), "_folder", pickled)
        return model.encode(["text"])

    transformers, file = Card("own", "transformers", str(pickled)), Card("own", "llama_cpp", f"{pickled}/x.bin")
    (pickled / "x.bin").write_bytes((pickled / "pytorch_model.bin").read_bytes())
    for load in (
        lambda _: open_engine(transformers),
        lambda _: open_engine(file),
        lambda _: locate(transformers),
        lambda _: to_transformers(file),
        lambda _: find_checkpoint(str(pickled)),
        lambda _: open_child(transformers, program="python"),
        lambda _: open_in_process(transformers),
        embed,
    ):
        with pytest.raises(
            UserError, match=r"(pytorch_model|x)\.bin is a pickle, .*; convert it to safetensors"
        ) as error:
            load(None)
        assert "\n" not in str(error.value)
    assert weight_files(pickled) == []
    assert not mark.exists()


def test_pickled_adapters_are_refused_by_name(tmp_path: Path, pickled_adapter: Path, mark: Path) -> None:
    base = find_checkpoint(str(make_checkpoint(tmp_path / "base", "llama")))
    card = Card("own", "transformers", str(base.folder), context=512)
    engine = open_engine(card, threads=1)
    for load in (
        lambda: engine._template_with(str(pickled_adapter)),  # type: ignore[attr-defined]
        lambda: check_adapter(pickled_adapter, base),
        lambda: read_record(pickled_adapter),
        lambda: open_child(card, program="python", adapters=[str(pickled_adapter)]),
    ):
        with pytest.raises(UserError, match=r"adapter_model\.bin is a pickle"):
            load()
    assert not mark.exists()


def test_a_pickle_beside_safetensors_stays_closed(tmp_path: Path, mark: Path) -> None:
    folder = make_checkpoint(tmp_path / "both", "llama")
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Trap(mark)))
    open_engine(Card("own", "transformers", str(folder), context=512), threads=1)
    assert not mark.exists()


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"load_format": "pt"}, ["--load-format", "pt"]),
        ({"load_format": "npcache"}, ["--load_format=npcache"]),
        ({"load-format": "PT"}, ["--enforce-eager", "--load", "pt"]),
        ({"trust_remote_code": True}, ["--trust-remote-code"]),
        ({"trust_remote_code": "yes"}, ["--trust_remote", "--enforce-eager"]),
        ({"load_format": "pt", "enforce_eager": True}, ["--config", "more.yaml"]),
    ],
)
def test_no_argument_makes_vllm_read_a_pickle_or_run_foreign_code(
    tmp_path: Path, fields: dict[str, object], words: list[str]
) -> None:
    card = Card("own", "vllm", str(make_checkpoint(tmp_path / "sound", "llama")), context=512)
    for load in (
        lambda: open_in_process(card, arguments=fields),
        lambda: open_child(card, program="python", arguments=words),
    ):
        with pytest.raises(UserError, match=r"^own: .*(pickles|runs code that comes|not a file of them)") as error:
            load()
        assert "\n" not in str(error.value)


def test_vllm_is_told_to_read_safetensors_alone() -> None:
    command = vllm_command("python", Path("model"), "own", 1, context=8, adapters={}, arguments=["--enforce-eager"])
    assert command[command.index("--load-format") + 1] == "safetensors"
    check_arguments("own", ["--config-format", "hf", "--load-format", "dummy"])
    check_arguments("own", {"trust_remote_code": False, "load_format": "runai_streamer", "config_format": "hf"})


def test_nothing_in_the_package_unpickles() -> None:
    """Resuming a training reads what it has written itself, through torch's reader of plain tensors (weights_only)."""
    reads = re.compile(
        r"\btorch\.load\(|\bpickle\b.*\bloads?\(|\bjoblib\b|allow_pickle|read_pickle|\bdill\b|weights_only=False"
    )
    files = Path(fiqkit.__file__).parent.rglob("*.py")
    assert [str(file) for file in files if reads.search(file.read_text("utf-8"))] == []
