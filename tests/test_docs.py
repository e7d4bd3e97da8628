"""The documents keep up with the code, and every command that they or a help text show is one there is."""

from __future__ import annotations

import inspect
import re
import shlex
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import click
import pytest

from fiqkit.agent.modes import MODE_NAMES
from fiqkit.cli import COMMANDS, fiqkit
from fiqkit.commands.arguments import Command

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
TEXT = "\n".join(page.read_text("utf-8") for page in PAGES)
CLI = click.Context(fiqkit, info_name="fiqkit")
CALL = re.compile(r"^\s*(?:\S+=\S+ )*(?:\S*/)?fiqkit (.+)$")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_documented(name: str) -> None:
    assert f"fiqkit {name}" in TEXT


@pytest.mark.parametrize("name", MODE_NAMES)
def test_every_mode_is_documented(name: str) -> None:
    assert f"`{name}`" in TEXT


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text("utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_the_readme_shows_every_folder_of_the_package() -> None:
    rooms = {path.parent.name for path in (ROOT / "fiqkit").glob("*/__init__.py")}
    readme = (ROOT / "README.md").read_text("utf-8")
    assert {room for room in rooms if f"  {room}/" not in readme} == {"commands"}


def test_nothing_in_the_readme_is_left_to_fill_in() -> None:
    assert "@@" not in (ROOT / "README.md").read_text("utf-8")


# --- commands -------------------------------------------------------------------------------------------------------


def leaves(name: str, command: click.Command | None) -> Iterator[tuple[str, click.Command]]:
    """A command, or those of a group, by their words."""
    assert command is not None
    if isinstance(command, click.Group):
        for sub, inner in command.commands.items():
            yield from leaves(f"{name} {sub}", inner)
    if not isinstance(command, click.Group) or command.invoke_without_command:
        yield name, command


ALL = dict(chain.from_iterable(leaves(name, fiqkit.get_command(CLI, name)) for name in COMMANDS))


def calls(text: str) -> list[str]:
    """The calls of fiqkit in shell lines: their arguments, without what the shell does with them."""
    parts = (part for line in text.replace("\\\n", " ").splitlines() for part in re.split(r"&&|\||;|\$\(|\)", line))
    return [match[1] for part in parts if (match := CALL.match(part))]


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
        assert written or not param.required, f"{param.name} is missing"
        if written and not isinstance(param.type, click.Path):
            param.type_cast_value(ctx, value)


@pytest.mark.parametrize("name", ALL)
def test_a_command_is_strict_and_its_help_begins_with_two_examples(name: str) -> None:
    assert isinstance(ALL[name], Command), "@click.command(cls=Command) of fiqkit.commands.arguments, or its Group"
    about, examples, *_ = [*inspect.cleandoc(ALL[name].help or "").split("\n\n"), ""]
    shown = examples.removeprefix("\b\n").replace("\\\n", " ").splitlines()
    assert len(about) < 240 and examples.startswith("\b\n") and len(shown) >= 2, "two examples after the first sentence"
    for line in shown:
        assert line.startswith(f"fiqkit {name}"), line
        for call in calls(line):
            check(call)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_documented_commands_are_ones_there_are(page: Path) -> None:
    wrong = []
    for call in chain.from_iterable(map(calls, re.findall(r"^```sh\n(.*?)^```", page.read_text("utf-8"), re.M | re.S))):
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
