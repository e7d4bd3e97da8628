"""Cards, where their weights are, the registry, and `fiqkit models`."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

import fiqkit.models
from fiqkit.cli import fiqkit as cli
from fiqkit.errors import UserError
from fiqkit.models import ENGINES, EngineEntry, open_engine
from fiqkit.models.cards.cards import all_cards, find_card, read_cards
from fiqkit.models.cards.weights import fingerprint, locate, would_be


def test_bundled_cards_name_known_engines_and_keep_a_cache() -> None:
    for card in all_cards().values():
        assert card.engine in ENGINES
        assert card.engine == "openai" or (card.size and card.layers and card.kv_heads and card.head_dim), card.name


def test_the_demo_model_says_that_it_measures_nothing() -> None:
    assert not find_card("smollm2-135m").measures
    assert find_card("qwen3-4b").measures


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[a]\nengine = 'llama_cpp'\n", "card [a]: the field 'weights' is missing"),
        ("[a]\nengine = 'x'\nweights = 'y'\ncontxt = 3\n", "unknown field 'contxt', did you mean 'context'?"),
        ("[a]\nengine = 'x'\nweights = 'y'\ncontext = '3'\n", "context must be int, found '3'"),
        ("[a]\nengine = 'x'\nweights = 'y'\ncontext = true\n", "context must be int, found True"),
        ("[a]\nengine = 'x'\nweights = 'y'\ncontext = 0\n", "context must be at least 1"),
        ("[a]\nengine = 'x'\nweights = 'y'\nroles = ['clerk']\n", "unknown role 'clerk'"),
        ("[a]\nengine = 'x'\nweights = 'y'\nthinking = ['maybe']\n", "thinking holds 'on' and 'off'"),
        ("a = 3\n", "card [a]: expected a table"),
        ("[a\n", "not a TOML file of model cards"),
    ],
)
def test_bad_cards_name_file_card_and_field(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(UserError) as caught:
        read_cards(path)
    assert complaint in str(caught.value) and str(path) in str(caught.value)
    assert "\n" not in str(caught.value).partition("model cards:")[0]


def test_own_cards_add_and_replace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('[qwen3-4b]\nengine = "openai"\nweights = "http://box:1/v1"\nprice_in = 2\n')
    monkeypatch.setenv("FIQKIT_CARDS", str(path))
    assert find_card("qwen3-4b").weights == "http://box:1/v1"
    assert find_card("qwen3-4b").price_in == 2
    assert find_card("smollm2-135m").engine == "llama_cpp"
    with pytest.raises(UserError, match="cannot read the model cards"):
        find_card("qwen3-4b", tmp_path / "none.toml")


def test_a_path_is_relative_to_the_file_of_cards(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        "".join(f"[{n}]\nengine = 'llama_cpp'\nweights = '{w}'\n" for n, w in (("a", "m/x.gguf"), ("b", "/y.gguf")))
    )
    assert would_be(find_card("a", path)) == tmp_path / "m" / "x.gguf"
    assert would_be(find_card("b", path)) == Path("/y.gguf")


def test_names_that_are_no_cards(tmp_path: Path) -> None:
    assert find_card("/models/big.gguf").engine == "llama_cpp"
    assert find_card(str(tmp_path)).engine == "transformers"
    served = find_card("https://box:8000/v1#qwen")
    assert (served.engine, served.weights, served.model, served.name) == (
        "openai",
        "https://box:8000/v1",
        "qwen",
        "qwen",
    )
    with pytest.raises(UserError, match="unknown model card 'smolm2-135m'; did you mean 'smollm2-135m'"):
        find_card("smolm2-135m")


def test_missing_weights_say_where_and_how(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    with pytest.raises(UserError, match=r"qwen3-4b: no weights at .*models--Qwen--Qwen3-4B.*hf download Qwen/Qwen3-4B"):
        locate(find_card("qwen3-4b"))
    with pytest.raises(UserError, match=r"gone: no weights at /nowhere/gone\.gguf; check the path"):
        locate(find_card("/nowhere/gone.gguf"))


def test_hub_cache_takes_the_snapshot_that_main_names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    repo = tmp_path / "models--Qwen--Qwen3-4B"
    for name in ("old", "new"):
        (repo / "snapshots" / name).mkdir(parents=True)
    os.utime(repo / "snapshots" / "old", (1, 1))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    assert would_be(find_card("qwen3-4b")) == repo / "snapshots" / "new"
    (repo / "refs").mkdir()
    (repo / "refs" / "main").write_text("old\n")
    assert would_be(find_card("qwen3-4b")) == repo / "snapshots" / "old"


def test_fingerprint_is_of_the_content(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FIQKIT_CACHE", str(tmp_path / "cache"))
    first, second = tmp_path / "a.gguf", tmp_path / "b.gguf"
    first.write_bytes(b"same")
    second.write_bytes(b"same")
    assert fingerprint(first) == fingerprint(second)
    before = fingerprint(second)
    second.write_bytes(b"otherwise")
    assert fingerprint(second) != before
    # A file of the hub's cache is a link to a blob named by its digest, which is believed.
    blob = tmp_path / ("ab" * 32)
    blob.write_bytes(b"large")
    (tmp_path / "model.safetensors").symlink_to(blob)
    assert fingerprint(tmp_path / "model.safetensors") == "ab" * 32


def test_missing_package_prints_the_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = EngineEntry("nowhere:open_engine", "no_such_package_xyz", 'pip install "fiqkit[vllm]"')
    monkeypatch.setitem(fiqkit.models.ENGINES, "vllm", entry)
    with pytest.raises(UserError, match=r'qwen3-4b: engine vllm needs .*: pip install "fiqkit\[vllm\]"'):
        open_engine("qwen3-4b")


@pytest.mark.parametrize(("value", "kind"), [("abc", "int"), (True, "int"), (1.5, "int")])
def test_a_setting_of_the_wrong_kind_is_one_line(value: object, kind: str) -> None:
    with pytest.raises(UserError, match=f"the setting threads of engine llama_cpp is .*; give it as {kind}"):
        open_engine("smollm2-135m", threads=value)


def test_unknown_engine_and_setting() -> None:
    card = find_card("smollm2-135m")
    with pytest.raises(UserError, match="unknown engine 'magic'; the engines are llama_cpp"):
        open_engine(dataclasses.replace(card, engine="magic"))
    with pytest.raises(
        UserError, match="engine llama_cpp has no setting 'paralel'; its settings are context, parallel"
    ):
        open_engine(card, paralel=3)


def test_command_lists_every_card_as_json(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    result = CliRunner().invoke(cli, ["models", "--json"])
    assert result.exit_code == 0
    rows = {row["name"]: row for row in json.loads(result.stdout)}
    assert rows["smollm2-135m"]["runs"] and rows["smollm2-135m"]["present"]
    assert not rows["qwen2.5-72b-gguf"]["runs"]
    assert "hf download" in rows["qwen2.5-72b-gguf"]["why_not"]
    assert set(rows) == set(all_cards())


def test_command_prints_paths_whole(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "80")
    text = CliRunner().invoke(cli, ["models"]).stdout
    assert str(would_be(find_card("qwen2.5-72b-gguf"))) in text
    assert "measure nothing" in text
