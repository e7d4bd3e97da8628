"""The bundled model as GGUF and as its dequantisation is one model (pitfall: two formats, two sets of numbers)."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import pytest

from fiqkit.models.cards.cards import find_card
from fiqkit.models.cards.weights import to_transformers

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def parity(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The benchmark as a module."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("parity")


@pytest.mark.slow
def test_gguf_and_its_dequantisation_agree(parity: ModuleType) -> None:
    result = parity.compare("smollm2-135m", "smollm2-135m-hf")
    assert result.prompts == 50
    assert result.same_ids == 50
    assert result.same_first_token >= 45


@pytest.mark.slow
def test_conversion_happens_once_and_keeps_template_and_weights() -> None:
    from transformers import AutoConfig, AutoTokenizer

    card = find_card("smollm2-135m")
    folder = to_transformers(card)
    written = (folder / "model.safetensors").stat().st_mtime_ns
    assert to_transformers(card) == folder
    assert (folder / "model.safetensors").stat().st_mtime_ns == written
    assert "im_start" in AutoTokenizer.from_pretrained(folder).chat_template
    assert getattr(AutoConfig.from_pretrained(folder), "quantization_config", None) is None
    assert not [path for path in folder.parent.iterdir() if path.name.endswith(".part")]
