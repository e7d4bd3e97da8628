"""The documents keep up with the code."""

import re
from pathlib import Path

import pytest

from fiqkit.agent.modes import MODE_NAMES
from fiqkit.cli import COMMANDS

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
