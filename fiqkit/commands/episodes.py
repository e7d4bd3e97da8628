"""fiqkit episodes: list the episodes of a run, by how they ended and what was said."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any

import click

from fiqkit.commands.arguments import Command
from fiqkit.commands.options import json_option, print_json, store_option

_FILTERS = (
    click.option("--model", help="Only this model's."),
    click.option("--mode", help="Only those in this mode."),
    click.option("--instance", "instance_id", metavar="ID", help="Only those on this instance."),
    click.option("--category", help="Only this primary category's."),
    click.option("--language", help="Only those in this language."),
    click.option("--outcome", help="Only those graded so: intended, default, other, hedge, refusal, …"),
    click.option("--ending", help="Only those that ended so: answered, budget, truncated, engine_error, …"),
    click.option("--wrong", is_flag=True, help="Only those that count and are not right."),
    click.option("--asked", is_flag=True, help="Only those in which the user was asked something."),
    click.option("--text", help="Only those whose question, turns or answer hold these words."),
    click.option("--grader", help="Whose verdicts to go by."),
)


def filters(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that choose episodes."""
    return reduce(lambda made, option: option(made), reversed(_FILTERS), command)


def wanted(instance: str | None, asked: dict[str, Any]) -> Any:
    """The filter that the options mean.

    Raises:
        UserError: an outcome, ending or category that there is not.
    """
    from fiqkit.store.browse import Wanted

    named = asked.pop("instance_id")
    return Wanted(instance=instance or named, **asked)


@click.command(cls=Command)
@click.argument("run", default="last")
@filters
@click.option("--limit", type=click.IntRange(min=1), help="At most so many.")
@store_option
@json_option
def command(run: str, limit: int | None, store: Path, as_json: bool, **asked: Any) -> None:
    """List the episodes of RUN (an id, or "last"), a line each.

    \b
    fiqkit episodes last --wrong --asked
    fiqkit episodes last --ending truncated --model smollm2-135m
    """
    from fiqkit.store.browse import find
    from fiqkit.store.store import Store
    from fiqkit.store.transcript import visible

    opened = Store(store)
    rows = list(find(opened, run, wanted(None, asked), limit))
    if as_json:
        print_json({"episodes": rows})
        return
    for row in rows:
        outcome = row["outcome"] or row["ending"]
        said = visible(" ".join(str(row["answer"] or row["error"] or "").split()))[:60]
        asks = f"{row['asks']} asked" if row["asks"] else ""
        name = f"{row['model']} · {row['mode']} · {row['instance_id']}" + (
            f" · {row['sample']}" if row["sample"] else ""
        )
        click.echo(f"{row['episode']:6}  {outcome:12} {asks:8} {name}  {said}")
    click.echo(f"{len(rows)} episodes; read one: fiqkit show {run} --episode N --store {store}", err=True)
