"""The house stands: imports run downward only, and no file outgrows one screenful of thought."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "fiqkit"

# From the ground up; a room may use every floor under its own, never one beside or above it.
FLOORS: list[set[str]] = [
    {"__init__", "errors", "bench_data"},
    {"taxonomy", "values", "offline", "quiet", "sqlite_file", "whole_file"},
    {"records"},
    {"datasets"},
    {"models", "figures"},
    {"filings", "index", "metrics", "measurable"},
    {"roles", "store"},
    {"agent"},
    {"construct", "run", "doctor", "bundle"},
    {"train", "probe", "verdicts", "imports"},
    {"report", "study", "adapters", "coevolve", "check"},
    {"commands"},
    {"cli"},
    {"__main__"},
]
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
FILES = sorted(PACKAGE.rglob("*.py"))


def room_of(module: str) -> str:
    """ "fiqkit.models.engine" → "models"; names that fiqkit itself holds belong to `__init__`."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in FLOOR else "__init__"


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names if node.module == "fiqkit")


def modules_named_in(path: Path) -> set[str]:
    """Modules that a file imports, and those that it names in strings for a lazy import ("fiqkit.x.y:open")."""
    strings = (n.value for n in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(n, ast.Constant))
    lazy = {s.partition(":")[0] for s in strings if isinstance(s, str) and s.startswith("fiqkit.") and " " not in s}
    return {name for name in {*imported(path), *lazy} if name.partition(".")[0] == "fiqkit"}


def test_every_room_has_its_floor() -> None:
    rooms = {path.stem for path in PACKAGE.glob("*.py")} | {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert rooms <= set(FLOOR)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_run_downward(path: Path) -> None:
    room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    used = {room_of(module) for module in modules_named_in(path)} - {room}
    assert {other for other in used if FLOOR[other] >= FLOOR[room]} == set()


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_file_says_one_thing(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) <= 400


def test_no_two_test_files_share_a_name() -> None:
    """pytest imports them by name alone: the second of two would not be collected, and its folder's run would fail."""
    names = [path.name for path in Path(__file__).parent.rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))
