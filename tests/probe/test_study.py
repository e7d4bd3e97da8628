"""The whole probe on tiny checkpoints: every analysis runs, the model is run once, bad input is one line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from tiny_models import ARCHITECTURES, edit_json, make_adapter, make_checkpoint, make_instances

from fiqkit.commands.probe import command, layer_list
from fiqkit.commands.probe_compare import command as compare_command
from fiqkit.datasets import instance_row, write_jsonl
from fiqkit.errors import UserError
from fiqkit.models.cards.memory import Machine
from fiqkit.models.quantised import quantised_share
from fiqkit.probe import study as room
from fiqkit.probe.checkpoint import find_checkpoint, load_model, memory_need
from fiqkit.probe.flow import read_flow
from fiqkit.records import Instance


def run(model: Path | str, instances: list[Instance], out: Path, **options: object) -> room.Study:
    settings = room.Settings(**{"model": str(model), "out": out, "folds": 3, "permutations": 19, **options})
    said: list[str] = []
    try:
        return room.probe(instances, settings, said.append, lambda *_: None)
    finally:
        (out / "said.txt").parent.mkdir(parents=True, exist_ok=True)
        (out / "said.txt").write_text("\n".join(said))


@pytest.mark.parametrize(
    "architecture",
    [a if a in ("qwen3_moe", "qwen3_next") else pytest.param(a, marks=pytest.mark.slow) for a in ARCHITECTURES],
)
def test_every_analysis_runs_on_every_architecture(
    architecture: str, checkpoint: Callable[[str], Path], instances: list[Instance], tmp_path: Path
) -> None:
    result = run(checkpoint(architecture), instances, tmp_path).result
    assert result["layers"] == 4 and result["items"] == len(instances)
    assert [row["layer"] for row in result["direction"]["profile"]] == [0, 1, 2, 3, 4]
    assert result["direction"]["peak_depth"] == result["direction"]["peak_layer"] / 4
    assert set(result["controls"]) == {
        *("neutral", "mismatched", "paraphrase", "bag_of_words", "length"),
        *("cross_company", "cross_language", "size_matched"),
    }
    assert set(result["controls"]["cross_language"]) == {"en", "zh"}
    assert {row["verdict"] for row in result["claims"]} <= {"survives", "weakened", "does not survive", "not tested"}
    json.dumps(result, allow_nan=False)


def test_the_states_of_one_chat_template_token_still_differ_by_prompt(
    checkpoint: Callable[[str], Path], instances: list[Instance], tmp_path: Path
) -> None:
    study = run(checkpoint("qwen3"), instances, tmp_path)
    embedding, top = study.states.layer(0), study.states.layer(4)
    assert (embedding["plain"] == embedding["plain"][0]).all()  # the last token is the template's own
    assert len({row.tobytes() for row in top["plain"]}) == len({i.question for i in instances})


def test_a_second_analysis_does_not_run_the_model(
    checkpoint: Callable[[str], Path], instances: list[Instance], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run(checkpoint("qwen3"), instances, tmp_path).result
    monkeypatch.setattr(room, "load_model", lambda *_: pytest.fail("the model was loaded again"))
    assert run(checkpoint("qwen3"), instances, tmp_path).result == first
    assert "read back" in (tmp_path / "said.txt").read_text()


def test_what_it_needs_is_said_before_loading_and_too_much_is_refused(
    checkpoint: Callable[[str], Path], instances: list[Instance], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "load_model", lambda *_: pytest.fail("loaded"))
    monkeypatch.setattr("fiqkit.probe.checkpoint.this_machine", lambda: Machine(ram=1000))
    with pytest.raises(UserError, match=r"needs about .* GiB in f32 and 0.0 GiB are free; use --dtype"):
        run(checkpoint("qwen3"), instances, tmp_path)
    assert "million parameters in f32: about" in (tmp_path / "said.txt").read_text()


def test_the_need_is_the_parameters_of_the_model(checkpoint: Callable[[str], Path]) -> None:
    for architecture in ("qwen3", "qwen3_moe"):
        found = find_checkpoint(str(checkpoint(architecture)))
        need = memory_need(found, "f32", prompts=10)
        assert need.parameters == sum(p.numel() for p in load_model(found, "f32").parameters())
        assert need.weights == 4 * need.parameters and need.states == 5 * 10 * 32 * 4


@pytest.mark.slow
def test_four_bit_leaves_fused_experts_whole_and_says_so(instances: list[Instance], tmp_path: Path) -> None:
    # bitsandbytes packs weights for a processor with AVX-512 in blocks of 64: every width is a multiple of that.
    wide = {"hidden_size": 64, "intermediate_size": 64, "num_key_value_heads": 4, "head_dim": 16}
    made = {
        "qwen3": make_checkpoint(tmp_path / "dense", "qwen3", **wide),
        "qwen3_moe": make_checkpoint(tmp_path / "experts", "qwen3_moe", **wide, moe_intermediate_size=64),
    }
    shares = {a: quantised_share(load_model(find_checkpoint(str(path)), "4bit")) for a, path in made.items()}
    assert shares["qwen3_moe"] < shares["qwen3"] < 1
    assert run(made["qwen3_moe"], instances, tmp_path, dtype="4bit").result["layers"] == 4
    assert "of the parameters are in 4 bits" in (tmp_path / "said.txt").read_text()


def test_only_the_layers_asked_for_are_looked_at(
    checkpoint: Callable[[str], Path], instances: list[Instance], tmp_path: Path
) -> None:
    result = run(checkpoint("qwen3"), instances, tmp_path, layers=[3, 1]).result
    assert [row["layer"] for row in result["direction"]["profile"]] == [1, 3]
    assert result["direction"]["peak_layer"] in (1, 3) and set(result["category"]["layers_by_fold"]) <= {1, 3}


# --- adapters -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_before_and_after_an_adapter(
    checkpoint: Callable[[str], Path], instances: list[Instance], tmp_path: Path
) -> None:
    base = checkpoint("qwen3")
    plain = run(base, instances, tmp_path / "a").result
    result = run(base, instances, tmp_path / "a", adapter=make_adapter(base, tmp_path / "lora")).result
    assert result["direction"] == plain["direction"]
    change = result["adapter"]
    assert change["direction"]["profile"][0] == plain["direction"]["profile"][0]  # nothing changes the embedding
    assert change["direction"]["profile"][4] != plain["direction"]["profile"][4]
    assert all(-1.0001 <= row["cosine"] <= 1.0001 for row in change["cosine"]) and change["cosine"][4]["cosine"] < 0.999


def test_an_adapter_for_another_base_is_refused(
    checkpoint: Callable[[str], Path], instances: list[Instance], tmp_path: Path
) -> None:
    other = make_checkpoint(tmp_path / "other", "qwen3", hidden_size=16)
    adapter = make_adapter(other, tmp_path / "lora")
    with pytest.raises(UserError, match=r"adapter_config.json: trained on '.*other', not on"):
        run(checkpoint("qwen3"), instances, tmp_path / "a", adapter=adapter)
    edit_json(adapter / "adapter_config.json", base_model_name_or_path=str(checkpoint("qwen3")))
    with pytest.raises(UserError, match="does not fit this model, it is for another base"):
        run(checkpoint("qwen3"), instances, tmp_path / "a", adapter=adapter)
    with pytest.raises(UserError, match=r"no adapter at .*; expected a folder"):
        run(checkpoint("qwen3"), instances, tmp_path / "a", adapter=tmp_path)


# --- the command ----------------------------------------------------------------------------------------------------


def invoke(*arguments: object) -> dict:
    return json.loads(CliRunner().invoke(command, [str(a) for a in arguments], catch_exceptions=False).stdout)


def test_the_command_prints_the_contract_and_writes_figures_and_tables(
    checkpoint: Callable[[str], Path], instances_file: Path, tmp_path: Path
) -> None:
    arguments = ["--instances", instances_file, "--folds", 3, "--permutations", 19, "--json"]
    printed = {}
    for name in ("qwen3", "qwen3_moe"):
        printed[name] = invoke("--model", checkpoint(name), "--out", tmp_path / name, *arguments)
        assert {"layers", "direction", "category", "controls"} <= printed[name].keys()
        assert {"peak_layer", "peak_depth"} <= printed[name]["direction"].keys()
        assert {"accuracy", "baseline", "p", "layer"} <= printed[name]["category"].keys()
    files = {path.name for path in (tmp_path / "qwen3").iterdir()}
    assert files >= {f"{n}.{e}" for n in ("depth", "categories", "controls") for e in ("svg", "png")}
    assert files >= {"probe.json", "probe.html", "direction.csv", "categories.csv", "controls.csv", "claims.csv"}
    page = (tmp_path / "qwen3" / "probe.html").read_text()
    assert page.count("<svg") == 3 and not re.search(r"(src|href)=.http|url.http|@import|<script", page)
    compared = CliRunner().invoke(
        compare_command,
        [str(tmp_path / "qwen3"), str(tmp_path / "qwen3_moe"), "--out", str(tmp_path / "both"), "--json"],
    )
    rows = {row["measure"]: row for row in json.loads(compared.stdout)["rows"]}
    two, one = (printed[name]["direction"]["separation"] for name in ("qwen3_moe", "qwen3"))
    assert rows["separation"]["difference"] == pytest.approx(two - one)
    assert {"compare.csv", "compare.svg", "compare.png"} == {path.name for path in (tmp_path / "both").iterdir()}
    flow = tmp_path / "theirs-4b.json"
    flow.write_text('{"depth_flow": {"ambiguous_vs_disambiguated_separation_by_layer": [0.0, 1.5, 1.0]}}')
    assert read_flow(flow) == ("theirs-4b", [0.0, 1.5, 1.0])
    given = [str(tmp_path / "qwen3"), "--flow", str(flow), "--out", str(tmp_path / "over")]
    assert CliRunner().invoke(compare_command, given, catch_exceptions=False).exit_code == 0
    drawn = (tmp_path / "over" / "published.svg").read_text()
    assert "theirs-4b (published)" in drawn and "raw ÷ norm" in drawn
    assert "name a second one" in CliRunner().invoke(compare_command, given[:1]).output
    assert "name it with --out" in CliRunner().invoke(compare_command, given[:3]).output
    flow.write_text('{"depth_flow": {"ambiguous_vs_disambiguated_separation_by_layer": [NaN, 1]}}')
    with pytest.raises(UserError, match=r"theirs-4b.json: no published profile can be read \(a finite number"):
        CliRunner().invoke(compare_command, given, catch_exceptions=False)


def test_results_on_different_items_do_not_compare(
    checkpoint: Callable[[str], Path], instances: list[Instance], tmp_path: Path
) -> None:
    result = run(checkpoint("qwen3"), instances, tmp_path).result
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "probe.json").write_text(json.dumps(result))
    edit_json(tmp_path / "two" / "probe.json", manifest={**result["manifest"], "instances": "others"})
    with pytest.raises(UserError, match="different instances; probe both with the same"):
        CliRunner().invoke(compare_command, [str(tmp_path / "one"), str(tmp_path / "two")], catch_exceptions=False)
    with pytest.raises(UserError, match="no probe result can be read"):
        CliRunner().invoke(compare_command, [str(tmp_path), str(tmp_path / "two")], catch_exceptions=False)


# --- bad input ------------------------------------------------------------------------------------------------------


def test_too_few_categories_items_or_companies(checkpoint: Callable[[str], Path], tmp_path: Path) -> None:
    base, some = checkpoint("qwen3"), make_instances()
    one_kind = [i for i in some if i.primary == "entity_scope"]
    with pytest.raises(UserError, match=r"all 12 items have the primary category entity_scope; .* at least two"):
        run(base, one_kind, tmp_path)
    with pytest.raises(UserError, match="4 items cannot fill 5 folds"):
        run(base, some[:4], tmp_path, folds=5)
    with pytest.raises(UserError, match="3 companies cannot fill 5 folds"):
        run(base, some[:7], tmp_path, folds=5)
    with pytest.raises(UserError, match="--folds 1: at least 2"):
        run(base, some, tmp_path, folds=1)


def test_what_would_fail_after_the_capture_is_found_before_it(
    checkpoint: Callable[[str], Path], instances: list[Instance], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    settings = room.Settings(str(checkpoint("qwen3")), tmp_path / "file" / "out")
    with pytest.raises(UserError, match=r"file/out: cannot be made a folder .* --out"):
        room.probe(instances, settings, print, lambda *_: None)
    monkeypatch.setattr("fiqkit.errors.find_spec", lambda name: None if name == "sklearn" else name)
    with pytest.raises(UserError, match=r'pip install "fiqkit\[probe\]"'):
        run(checkpoint("qwen3"), instances, tmp_path)


def test_layers_out_of_range(checkpoint: Callable[[str], Path], instances: list[Instance], tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"--layers 5 is out of range; .* 0 \(the embedding\) to 4"):
        run(checkpoint("qwen3"), instances, tmp_path, layers=[2, 5])
    assert layer_list("0,2-4", "--layers") == [0, 2, 3, 4]
    for wrong in ("two", "4-2", "-1", "1,,2"):
        with pytest.raises(UserError, match="--layers"):
            layer_list(wrong, "--layers")


def test_no_weights_says_where_they_are_looked_for_and_how_to_bring_them(
    instances: list[Instance], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    for name in ("qwen3-30b-a3b", "Qwen3-30B-A3B", "Qwen/Qwen3-30B-A3B"):
        with pytest.raises(UserError) as caught:
            run(name, instances, tmp_path)
        line = str(caught.value)
        assert "\n" not in line and str(tmp_path / "hub" / "models--Qwen--Qwen3-30B-A3B") in line
        assert "hf download Qwen/Qwen3-30B-A3B" in line and "--model DIR" in line
    with pytest.raises(UserError, match=r"no weights at .*nowhere; copy the checkpoint's folder"):
        run(tmp_path / "nowhere", instances, tmp_path)
    with pytest.raises(UserError, match="unknown model card"):
        run("nonesuch", instances, tmp_path)


@pytest.mark.parametrize("cut", [4, 60, 2000])
def test_cut_weights_are_one_line(cut: int, instances: list[Instance], tmp_path: Path) -> None:
    folder = make_checkpoint(tmp_path / "m", "qwen3")
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:cut])
    with pytest.raises(UserError) as caught:
        run(folder, instances, tmp_path)
    assert "\n" not in str(caught.value) and str(folder) in str(caught.value)


def test_a_folder_without_a_model_is_one_line(instances: list[Instance], tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"holds no safetensors or GGUF"):
        run(tmp_path, instances, tmp_path / "out")
    folder = make_checkpoint(tmp_path / "m", "qwen3")
    edit_json(folder / "config.json", model_type="no_such_thing")
    with pytest.raises(UserError, match=r"m.*(config|architecture)"):
        run(folder, instances, tmp_path / "out")


def test_an_instances_file_with_a_fault_is_named_with_its_line(tmp_path: Path, instances: list[Instance]) -> None:
    rows = [instance_row(i) for i in instances]
    del rows[2]["question"]
    write_jsonl(tmp_path / "bad.jsonl", rows)
    with pytest.raises(UserError, match=r"bad.jsonl:3: field 'question' is missing"):
        invoke("--model", "smollm2-135m", "--instances", tmp_path / "bad.jsonl")
