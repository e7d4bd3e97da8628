"""Every command that a help text or a document shows is one that the command line takes."""

from __future__ import annotations

import inspect
import re
import shlex
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import click
import pytest

from fiqkit.cli import COMMANDS, fiqkit
from fiqkit.commands.arguments import Group

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
CLI = click.Context(fiqkit, info_name="fiqkit")
CALL = re.compile(r"^\s*(?:\S+=\S+ )*(?:\S*/)?fiqkit (.+)$")


def leaves(name: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    if isinstance(command, Group):
        for sub, inner in command.commands.items():
            yield from leaves(f"{name} {sub}", inner)
    if not isinstance(command, Group) or command.invoke_without_command:
        yield name, command


ALL = dict(chain.from_iterable(leaves(name, fiqkit.get_command(CLI, name)) for name in COMMANDS))


def calls(text: str) -> list[str]:
    """The calls of fiqkit in shell lines: their arguments, without comments and what the shell does with them."""
    found = []
    for line in text.replace("\\\n", " ").splitlines():
        for part in re.split(r"&&|\||;|\$\(|\)", line):
            if match := CALL.match(part):
                found.append(match[1])
    return found


def check(line: str) -> None:
    """Parse a call as the command would, but for paths, which need not be there."""
    command, ctx, words = fiqkit, CLI, shlex.split(line, comments=True)
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        found = command.get_command(ctx, words[0])
        assert found is not None, f"no command {words[0]!r}"
        command, ctx, words = found, click.Context(found, parent=ctx, info_name=words[0]), words[1:]
    if "--help" in words or "--version" in words:
        return
    given, rest, _ = command.make_parser(ctx).parse_args(words)
    assert not rest or isinstance(command, click.Group), f"more than it takes: {rest}"
    for param in command.get_params(ctx):
        value = given.get(param.name)
        written = isinstance(value, str | list | tuple) and value != ()
        if param.required:
            assert written, f"{param.name} is missing"
        if written and not isinstance(param.type, click.Path):
            param.type_cast_value(ctx, value)


@pytest.mark.parametrize("name", ALL)
def test_help_begins_with_two_examples(name: str) -> None:
    about, examples, *_ = inspect.cleandoc(ALL[name].help or "").split("\n\n")
    assert len(about) < 240
    shown = examples.removeprefix("\b\n").splitlines()
    assert examples.startswith("\b\n") and len(shown) >= 2
    for line in shown:
        assert line.startswith(f"fiqkit {name}"), line
        for call in calls(line):
            check(call)


def blocks(page: Path) -> list[str]:
    return re.findall(r"^```sh\n(.*?)^```", page.read_text("utf-8"), re.M | re.S)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_documented_commands_are_ones_there_are(page: Path) -> None:
    wrong = []
    for call in chain.from_iterable(map(calls, blocks(page))):
        try:
            check(call)
        except (AssertionError, click.ClickException, ValueError) as error:
            wrong.append(f"fiqkit {call}: {getattr(error, 'message', error)}")
    assert wrong == [], "\n".join(wrong)


def test_a_wrong_call_would_be_found() -> None:
    for line in ("runn", "run --nosuch", "run --limit x", "index build", "show a b c", "models --format csv"):
        with pytest.raises((AssertionError, click.ClickException)):
            check(line)
    assert calls("make x && fiqkit run --limit 3 \\\n  --seed 1  # why\nA=1 .venv/bin/fiqkit runs | head") == [
        "run --limit 3    --seed 1  # why",
        "runs ",
    ]
