"""`import fiqkit` and `fiqkit --help` stay cheap: nothing heavy is loaded before it is needed."""

import importlib
import json
import subprocess
import sys

import click
import pytest

from fiqkit.cli import COMMANDS

HEAVY = (
    *("torch", "transformers", "faiss", "llama_cpp", "vllm", "sentence_transformers", "sklearn", "scipy", "numpy"),
    *("matplotlib", "lxml", "rich", "jinja2", "sqlite_utils", "fiqkit.run", "fiqkit.models", "fiqkit.index"),
)


def modules_after(statement: str) -> set[str]:
    script = f"import sys, json; {statement}; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    "statement",
    [
        "import fiqkit, fiqkit.cli",
        "from click.testing import CliRunner; from fiqkit.cli import fiqkit; CliRunner().invoke(fiqkit, ['--help'])",
    ],
)
def test_nothing_heavy_is_imported(statement: str) -> None:
    assert modules_after(statement) & set(HEAVY) == set()


def test_importing_the_command_line_loads_little_beyond_click() -> None:
    own = {name.partition(".")[0] for name in modules_after("import fiqkit.cli") - modules_after("import click")}
    assert own - set(sys.stdlib_module_names) == {"fiqkit"}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_exists_is_documented_and_imports_nothing_heavy(name: str) -> None:
    module = f"fiqkit.commands.{COMMANDS[name][0]}"
    command = importlib.import_module(module).command
    assert isinstance(command, click.Command)
    assert command.help
    undocumented = [p.name for p in command.params if isinstance(p, click.Option) and not p.help]
    assert undocumented == []
    assert modules_after(f"import {module}") & {"torch", "transformers", "faiss", "llama_cpp", "matplotlib"} == set()
