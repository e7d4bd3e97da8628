"""Mutated weights, stores and capsules: each is one line or is read, none ends the process, none holds it up.

A few of each kind by default; `-m slow` has 250 of each, 1,000 in all, drawn from another seed.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from tiny_models import make_checkpoint, make_gguf

from fiqkit import cli, sqlite_file
from fiqkit.errors import UserError
from fiqkit.models.cards.cards import Card

FEW, MANY = pytest.param(12, 1, id="few"), pytest.param(250, 4, marks=pytest.mark.slow, id="many")
EACH = pytest.mark.parametrize(("count", "seed"), [FEW, MANY])

# Opens each file named on its input and computes a token, with the trial that guards this left out.
OPENER = """
import asyncio, sys
from pathlib import Path
from fiqkit.errors import UserError
from fiqkit.models.cards.cards import Card
from fiqkit.models.cards.formats import check_header
from fiqkit.models.engine import EngineError, Request, Sampling
from fiqkit.models.local import llama_cpp
llama_cpp.try_to_open = lambda who, path: check_header(path)
request = Request(messages=[{"role": "user", "content": "Hi"}], sampling=Sampling(max_tokens=2))
async def one(path):
    engine = llama_cpp.open_engine(Card("own", "llama_cpp", path, context=64), parallel=1, threads=1, batch=64)
    try:
        await engine.complete(request)
    finally:
        await engine.close()
for path in sys.stdin.read().split():
    print("\\nOPENS", path, flush=True)
    try:
        asyncio.run(asyncio.wait_for(one(path), 30))
        print("\\nREAD", flush=True)
    except (UserError, EngineError) as error:
        print("\\nLINE", str(error).count("\\n"), flush=True)
"""


def mutated(whole: bytes, draw: Random, head: int) -> bytes:
    """A file cut somewhere, or with one to eight bytes of its first `head` changed."""
    if draw.random() < 0.15:
        return whole[: draw.randrange(len(whole))]
    changed = bytearray(whole)
    for _ in range(draw.choice((1, 1, 1, 2, 4, 8))):
        changed[draw.randrange(min(head, len(whole)))] = draw.choice((0, 1, 255, draw.randrange(256)))
    return bytes(changed)


def mutations(whole: bytes, path: Path, count: int, seed: int, head: int = 1 << 30) -> Iterator[Path]:
    """The path, as often as there are mutations, with the next one in it."""
    draw = Random(seed)
    for _ in range(count):
        path.write_bytes(mutated(whole, draw, head))
        yield path


# --- weights --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch")
    return make_checkpoint(tmp_path_factory.mktemp("model") / "tiny", "llama")


@EACH
def test_safetensors(checkpoint: Path, tmp_path: Path, count: int, seed: int) -> None:
    from fiqkit.models.cards.weights import to_transformers
    from fiqkit.models.checkpoint import load_model

    for file in checkpoint.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    weights, card = tmp_path / "model.safetensors", Card("own", "transformers", str(tmp_path))
    whole = weights.read_bytes()
    header = 8 + int.from_bytes(whole[:8], "little")
    refused = 0
    for _ in mutations(whole, weights, count, seed, header):
        try:
            load_model("own", to_transformers(card))
        except UserError as error:
            refused += 1
            assert "\n" not in str(error)
    assert refused > count * 0.7  # the rest changed white space, metadata or nothing


@EACH
def test_gguf(checkpoint: Path, tmp_path: Path, count: int, seed: int) -> None:
    pytest.importorskip("llama_cpp")
    from fiqkit.models.local.trial import try_to_open

    whole = make_gguf(checkpoint, tmp_path / "whole.gguf").read_bytes()
    draw, files = Random(seed), []
    for number in range(count):
        files.append(tmp_path / f"{number}.gguf")
        files[-1].write_bytes(mutated(whole, draw, 900 if number % 2 else 8500))  # its keys, or all of its header
    todo, read, died = [str(file) for file in files], 0, []
    while todo:
        told = subprocess.run([sys.executable, "-c", OPENER], input="\n".join(todo), capture_output=True, text=True)
        lines = told.stdout.splitlines()
        assert "LINE 1" not in lines and told.returncode <= 0, told.stderr[-2000:]
        read += lines.count("READ")
        opened = sum(line.startswith("OPENS") for line in lines)
        died += todo[opened - 1 : opened] if told.returncode else []
        todo = todo[opened:]
    assert 0 < read < count
    for path in died:
        with pytest.raises(UserError, match="dies of") as error:
            try_to_open("own", Path(path))
        assert "\n" not in str(error.value)


def test_what_ends_the_library_is_a_line(checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("llama_cpp")
    from fiqkit.models.local import trial

    monkeypatch.setenv("FIQKIT_CACHE", str(tmp_path / "cache"))
    path, children = make_gguf(checkpoint, tmp_path / "own.gguf"), []
    run = subprocess.Popen

    def counted(command: list[str], **options: object) -> subprocess.Popen[bytes]:
        children.append(command)
        return run(command, **options)  # type: ignore[call-overload, no-any-return]

    monkeypatch.setattr(subprocess, "Popen", counted)
    trial.try_to_open("own", path)
    trial.try_to_open("own", path)
    assert len(children) == 1  # it is remembered
    path.write_bytes(path.read_bytes() + b"\0")
    for code, said in (
        ("os.abort()", r"dies of .*own\.gguf \(signal 6\)"),
        ("time.sleep(60)", "does not come to an end"),
    ):
        monkeypatch.setattr(trial, "_PATIENCE", 1.0)
        monkeypatch.setattr(
            subprocess, "Popen", lambda _, code=code, **options: run([sys.executable, "-c", f"import os, time; {code}"])
        )
        with pytest.raises(UserError, match=said):
            trial.try_to_open("own", path)


# --- stores and capsules --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run store and its capsule."""
    sqlite_file._opened.clear()  # what other tests of this process opened is theirs to judge
    folder = tmp_path_factory.mktemp("stores")
    store = str(folder / "run.db")
    run = ["run", "--agent", "template-asker", "--modes", "interact", "--limit", "4", "--store", store]
    for arguments in (run, ["capsule", "last", "--out", str(folder / "capsule.db"), "--store", store]):
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)
            assert call(arguments) == 0
    assert sqlite_file.damage() is None
    return folder


def call(arguments: list[str]) -> int:
    """The exit code of a command, as the console script gives it; a traceback fails the test."""
    try:
        cli.main(arguments)
    except SystemExit as end:
        return int(end.code or 0)
    return 0


@EACH
@pytest.mark.parametrize(
    ("file", "commands"),
    [
        (
            "run.db",
            [
                ["report", "--json", "--store"],
                ["runs", "--json", "--store"],
                ["episodes", "--json", "--store"],
                ["show", "--json", "--store"],
                ["run", "--agent", "default-reader", "--modes", "answer", "--limit", "1", "--store"],
            ],
        ),
        ("capsule.db", [["verify", "--json"], ["regrade", "--json"]]),
    ],
    ids=("store", "capsule"),
)
def test_sqlite(
    stores: Path,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    file: str,
    commands: list[list[str]],
    count: int,
    seed: int,
) -> None:
    monkeypatch.chdir(tmp_path)
    whole, draw, codes = (stores / file).read_bytes(), Random(seed), set()
    for path in mutations(whole, tmp_path / file, count, seed):
        code = call([*draw.choice(commands), str(path)])
        said = capfd.readouterr()
        codes.add(code)
        assert code in (0, 1, 2)
        assert "Traceback" not in said.err
        if code == 2:
            lines = [line for line in said.err.splitlines() if not line.startswith(("run ", "episodes "))]  # progress
            assert said.out == "" and len(lines) == 1 and lines[0].startswith("fiqkit: "), said.err
        for left in tmp_path.glob(f"{file}*"):
            left.unlink()
    assert 2 in codes
