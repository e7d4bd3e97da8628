from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from fiqkit.cli import fiqkit
from fiqkit.datasets import instance_row, write_jsonl


def test_text_json_and_figure(tmp_path: Path, make_instance):
    file = tmp_path / "set.jsonl"
    write_jsonl(file, [instance_row(make_instance(instance_id=f"{i}")) for i in range(3)])
    result = CliRunner().invoke(fiqkit, ["describe", str(file), "--figures", str(tmp_path / "f")])
    assert result.exit_code == 0
    assert result.stdout.startswith("instances         3 of 1 companies")
    assert sorted(path.name for path in (tmp_path / "f").iterdir()) == ["set.png", "set.svg"]
    found = json.loads(CliRunner().invoke(fiqkit, ["describe", str(file), "--json"]).stdout)
    assert (found["n"], found["languages"], found["file"]) == (3, {"en": 3, "zh": 0}, str(file))


def test_a_file_that_is_no_set(tmp_path: Path):
    (tmp_path / "x.jsonl").write_text('{"a": 1}\n')
    result = CliRunner().invoke(fiqkit, ["describe", str(tmp_path / "x.jsonl")])
    assert result.exit_code != 0 and "x.jsonl:1: field 'instance_id' is missing" in str(result.exception)
