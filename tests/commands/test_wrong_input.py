"""Wrong input to every command: exit code 2, one line on standard error that says what is wrong, and nothing written.

The cases follow from the commands' own parameters: each kind of parameter has its kinds of wrong values, so that an
option that is added tomorrow is tried as well.
"""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import chain
from pathlib import Path

import click
import pytest

from fiqkit import bench_data
from fiqkit.cli import COMMANDS, fiqkit, main
from fiqkit.commands.arguments import Group

OWN = ["--instances", "instances.jsonl", "--passages", "passages.jsonl"]
# What makes each command's other arguments right, so that the wrong one is all that it can refuse.
RIGHT = {
    "check": ["instances.jsonl"],
    "run": ["--agent", "default-reader", "--modes", "answer", "--instances", "instances.jsonl", "--limit", "1"],
    "runs": [],
    "runs merge": ["other-runs.db"],
    "episodes": ["last"],
    "show": ["last"],
    "report": ["last"],
    "describe": ["instances.jsonl"],
    "compare": ["last:default-reader:answer", "last:default-reader:answer"],
    "grade": ["last"],
    "capsule": ["last", "--out", "new/capsule.db"],
    "regrade": ["capsule.db"],
    "judge": ["last"],
    "simulate": ["--file", "replies.jsonl"],
    "import fininteract": ["release"],
    "index build": ["--passages", "passages.jsonl", "--out", "new", "--embedder", "none"],
    "index search": ["revenue", "--index", "index"],
    "ingest": ["facts.jsonl", "--out", "new/facts.db", "--jobs", "1"],
    "construct": ["--facts", "facts.db", "--out", "new", "--target", "4"],
    "audit": ["instances.jsonl"],
    "verify": ["instances.jsonl", "--facts", "facts.db"],
    "models": [],
    "bundle": ["new", "--dry-run"],
    "doctor": [],
    "train demos": ["--out", "new/demos.jsonl", *OWN],
    "train ladder": ["--out", "new", *OWN],
    "train gates": ["last:default-reader:answer", "last:template-asker:interact"],
    "train config": ["fsdp"],
    "train splits": ["--out", "new.json"],
    "train export": ["folder", "--out", "new.gguf", "--base", "smollm2-135m"],
    "train merge": ["folder", "--out", "new", "--base", "smollm2-135m-hf"],
    "train sft": ["--out", "new", *OWN],
    "train kto": ["--out", "new", *OWN],
    "train grpo": ["--out", "new", *OWN],
    "train evaluate": ["--out", "new", *OWN],
    "export": ["last", "--out", "new.csv"],
    "probe": ["--model", "smollm2-135m-hf", "--instances", "instances.jsonl", "--out", "new"],
    "probe-compare": ["probe", "probe"],
}

# Wrong values of parameters, by their name or by name and command; others have those of their kind.
NO_INPUT = ["missing", "empty", "binary", "utf16.jsonl", "shape.jsonl", "numbers", "cut.jsonl", "/proc/self/mem"]
NO_STORE = ["binary", "instances.jsonl", "notes.db", "cut.db", "folder", "instances.jsonl/inside"]
NO_FILE = ["folder", "instances.jsonl/inside", "/proc/nowhere/file"]
NO_FOLDER = ["instances.jsonl", "instances.jsonl/inside", "/proc/nowhere/folder"]
WRONG = {
    "store": ["missing", "empty", *NO_STORE],
    "store of run": NO_STORE,
    "store of runs merge": NO_STORE,
    "facts": ["missing", "empty", *NO_STORE, "fiqkit.db"],
    "sources": ["missing", "empty", *NO_STORE],
    **dict.fromkeys(("cache", "passages of ingest", "rendered", "out of capsule", "out of ingest"), NO_FILE),
    **dict.fromkeys(("out of train demos", "out of export", "out of train export", "out of train splits"), NO_FILE),
    **{f"out of train {stage}": NO_FOLDER for stage in ("merge", "sft", "kto", "grpo", "evaluate")},
    **dict.fromkeys(
        ("figures", "template", "out of index build", "out of construct", "out of train ladder"), NO_FOLDER
    ),
    "out of probe": NO_FOLDER,
    "out of probe-compare": NO_FOLDER,
    "out of bundle": NO_FOLDER[:2],
    "html": NO_FILE[:2],  # as root nothing but the attempt tells that /proc takes no file, and a page takes seconds
    "figures": NO_FOLDER[:2],
    "allow_host": ["http://example.com/", "two words", "*.example.com", "host:80"],
    "engine": ["nonsense", "x=NaN", "=3"],
    **{key: [] for key in ("text", "query", "entity", "name")},  # any words will do
}
NO_INTEGER = ["x", "1.5", "-1", "nan", "1e9999", "99999999999999999999"]
NO_NUMBER = ["x", "nan", "inf", "-inf", "1e9999"]


def leaves(name: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    if isinstance(command, Group):
        for sub, inner in command.commands.items():
            yield from leaves(f"{name} {sub}", inner)
    if not isinstance(command, Group) or command.invoke_without_command:
        yield name, command


CLI = click.Context(fiqkit)
ALL = dict(chain.from_iterable(leaves(name, fiqkit.get_command(CLI, name)) for name in COMMANDS))


def wrong_values(name: str, param: click.Parameter) -> list[str]:
    """What this parameter cannot be."""
    for key in (f"{param.name} of {name}", param.name):
        if key in WRONG:
            return WRONG[key]
    if isinstance(param.type, click.types.IntParamType):
        return NO_INTEGER
    if isinstance(param.type, click.types.FloatParamType):
        return NO_NUMBER
    return NO_INPUT if isinstance(param.type, click.Path) else ["nonsense"]


def with_value(arguments: list[str], option: str, values: list[str]) -> list[str]:
    """The arguments with an option's values in the place of those that it has."""
    arguments = list(arguments)
    if option in arguments:
        at = arguments.index(option)
        del arguments[at : at + 1 + len(values)]
    return [*arguments, option, *values]


def cases(name: str, command: click.Command) -> Iterator[list[str]]:
    right = RIGHT.get(name, [])  # where something else is wrong too, that may be what is said
    yield [*right, "--nonsense"]
    for param in command.params:
        if isinstance(param, click.Option) and not param.is_flag:
            option = max(param.opts, key=len)
            for value in ("", *wrong_values(name, param)):
                yield with_value(right, option, [value] * param.nargs)
            if not param.multiple:
                one = ["1"] * param.nargs
                yield [*right, *([] if option in right else [option, *one]), option, *one]
        elif isinstance(param, click.Argument):
            given = [a for a in right if not a.startswith("-")][: 1 if param.nargs != 1 else None]
            for value in ("", *wrong_values(name, param)):
                if given:
                    yield [
                        value if a == given[-1 if param.nargs == 1 and param.name == "second" else 0] else a
                        for a in right
                    ]


def call(line: str) -> None:
    main(line.split())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One good file of each kind, and the bad ones."""
    here = tmp_path_factory.mktemp("wrong")
    os.chdir(here)
    lines = bench_data.INSTANCES.read_text("utf-8").splitlines()[:2]
    Path("instances.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    wanted = {json.loads(line)["passage_id"] for line in lines}
    passages = [p for p in bench_data.PASSAGES.read_text("utf-8").splitlines() if json.loads(p)["passage_id"] in wanted]
    Path("passages.jsonl").write_text("\n".join(passages) + "\n", "utf-8")
    fact = {"cik": "1", "name": "ALPHA CORP", "form": "10-K", "accession": "0000000001-24-000001"}
    fact |= {"filed": "2024-02-01", "u": "USD", "dec": "-6", "dims": {}, "start": "2023-01-01", "end": "2023-12-31"}
    Path("facts.jsonl").write_text(json.dumps(fact | {"c": "us-gaap:Revenues", "v": 10**9}) + "\n")
    reply = {"id": "s1", "language": "en", "instance_question": "What was Acme's revenue?", "context": "Company-wide."}
    reply |= {"intended_interpretation": {"entity": "all"}, "default_interpretation": {"entity": "segment"}}
    Path("replies.jsonl").write_text(json.dumps(reply | {"question": "Is it all?", "reply": "yes"}) + "\n")
    call("index build --passages passages.jsonl --out index --embedder none")
    own = "--instances instances.jsonl --index index --agent template-asker,default-reader --modes answer,interact"
    call(f"run {own}")
    call(f"run {own} --store other-runs.db")
    call("capsule last --out capsule.db --passages passages.jsonl")
    call("ingest facts.jsonl --out facts.db --jobs 1")
    for name in ("release", "folder", "probe"):
        Path(name).mkdir()
    Path("empty").write_bytes(b"")
    Path("binary").write_bytes(b"\x00\xff\x89PNG" + random.Random(0).randbytes(4096))
    Path("utf16.jsonl").write_text(lines[0] + "\n", "utf-16")
    Path("shape.jsonl").write_text('{"a": [1, {"b": null}]}\n[1, 2]\n"text"\n3\n')
    Path("numbers").write_text("3\n")
    Path("cut.jsonl").write_text(lines[0][:200])
    Path("cut.db").write_bytes(Path("fiqkit.db").read_bytes()[:5000])
    with closing(sqlite3.connect("notes.db")) as db:
        db.execute("CREATE TABLE notes (text)")
    return here


def tree(folder: Path) -> dict[str, tuple[int, int]]:
    return {str(p): (p.stat().st_size, p.stat().st_mtime_ns) for p in folder.rglob("*") if p.is_file()}


# Training looks at its items and packages first, and torch alone takes seconds to load.
@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * n.startswith("train")) for n in ALL])
def test_it_is_refused_in_one_line(name: str, folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch) -> None:
    monkeypatch.chdir(folder)
    before = tree(folder)
    wrong = []
    for arguments in cases(name, ALL[name]):
        code: object = 0
        try:
            main([*name.split(), *arguments])
        except SystemExit as end:
            code = end.code
        except BaseException as error:
            code = repr(error)
        said = capfd.readouterr().err
        after = tree(folder)
        if code != 2 or said.count("\n") != 1 or not said.startswith("fiqkit") or after != before:
            wrong.append((arguments, code, said[-500:], sorted(set(after.items()) ^ set(before.items()))))
        before = after
    assert wrong == [], "\n".join(map(str, wrong))


def test_there_are_300() -> None:
    assert sum(1 for name in ALL for _ in cases(name, ALL[name])) >= 300


OVERWRITING = {
    "index build --passages READ --out own --embedder none": "passages.jsonl",
    "index build --passages index/passages.jsonl --instances READ --out own --embedder none": "passages.jsonl",
    "ingest READ --out own/facts.jsonl": "facts.jsonl",
    "ingest READ --out new.db --passages own/facts.jsonl": "facts.jsonl",
    "ingest own --out new.db --rendered own/facts.jsonl": "facts.jsonl",
    "ingest facts.jsonl --out new.db --passages new.jsonl --rendered new.jsonl": "facts.jsonl",
    "construct --facts facts.db --exclude READ --out own": "instances.jsonl",
    "report last --store READ --html own/fiqkit.db": "fiqkit.db",
    "report last --labels READ --html own/replies.jsonl": "replies.jsonl",
}


@pytest.mark.parametrize("alias", ["itself", "link", "hard link"])
@pytest.mark.parametrize("line", OVERWRITING)
def test_nothing_that_is_read_is_written_over(line: str, alias: str, folder: Path, capfd) -> None:
    os.chdir(folder)
    name = OVERWRITING[line]
    shutil.rmtree("own", ignore_errors=True)
    Path("own").mkdir()
    shutil.copy(name, f"own/{name}")
    read = {"itself": f"own/{name}", "link": f"link-{name}", "hard link": f"hard-{name}"}[alias]
    for old in (f"link-{name}", f"hard-{name}"):
        Path(old).unlink(missing_ok=True)
    if alias == "link":
        Path(read).symlink_to(Path("own", name).absolute())
    elif alias == "hard link":
        Path(read).hardlink_to(Path("own", name))
    before = tree(folder)
    with pytest.raises(SystemExit) as end:
        main(line.replace("READ", read).split())
    said = capfd.readouterr().err
    assert (end.value.code, said.count("\n"), tree(folder)) == (2, 1, before), said


@contextmanager
def full_disk() -> Iterator[None]:
    """Files of more than 300 bytes cannot be written: as a full disk, to whoever writes them."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize(
    ("line", "there"),
    [
        ("report last --html old/page.html", "old/page.html"),
        ("describe instances.jsonl --figures old", "old/set.svg"),
        ("index build --passages passages.jsonl --out old --embedder none", "old/manifest.json"),
        ("ingest facts.jsonl --out old/facts.db", None),
        ("check --template old", None),
        ("train demos --out old/demos.jsonl --instances instances.jsonl --passages passages.jsonl", "old/demos.jsonl"),
    ],
)
def test_a_full_disk_leaves_the_old_file(line: str, there: str | None, folder: Path, capfd) -> None:
    os.chdir(folder)
    shutil.rmtree("old", ignore_errors=True)
    Path("old").mkdir()
    if there:
        Path(there).write_text("what was there")
    before = tree(folder)
    with full_disk(), pytest.raises(SystemExit) as end:
        main(line.split())
    said = capfd.readouterr().err
    assert (end.value.code, said.count("\n"), tree(folder)) == (2, 1, before), said
