"""The documents keep up with the code."""

import re
from pathlib import Path

import click
import pytest

from fiqkit.agent.modes import MODE_NAMES
from fiqkit.cli import COMMANDS, fiqkit
from fiqkit.commands.arguments import Command, Group

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
TEXT = "\n".join(page.read_text("utf-8") for page in PAGES)


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


def leaves(command: click.Command) -> list[click.Command]:
    """A command, or those of a group."""
    return [leaf for c in command.commands.values() for leaf in leaves(c)] if isinstance(command, Group) else [command]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_refuses_what_click_would_take_in_silence(name: str) -> None:
    command = fiqkit.get_command(click.Context(fiqkit), name)
    assert command is not None
    for leaf in leaves(command):
        assert isinstance(leaf, Command), "@click.command(cls=Command) of fiqkit.commands.arguments, or its Group"
