"""Options that several commands share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

FILE = click.Path(path_type=Path)

store_option = click.option(
    "--store", type=FILE, default="fiqkit.db", show_default=True, help="SQLite file of the recorded runs."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")


def names(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...]:
    """Callback: a comma-separated list as a tuple, empty when nothing was given."""
    return tuple(name.strip() for name in value.split(",") if name.strip()) if value else ()


def print_json(value: Any) -> None:
    """One JSON document on stdout, readable."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=2))
