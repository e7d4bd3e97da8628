"""fiqkit show: print an episode as a person would read it."""

from __future__ import annotations

from pathlib import Path

import click

from fiqkit.commands.arguments import Command
from fiqkit.commands.episodes import filters, wanted
from fiqkit.commands.options import json_option, print_json, store_option


@click.command(cls=Command)
@click.argument("run", default="last")
@click.argument("instance", required=False)
@click.option(
    "--episode", type=click.IntRange(min=1), help="The episode of this number, as `fiqkit episodes` lists it."
)
@filters
@store_option
@json_option
def command(
    run: str, instance: str | None, episode: int | None, store: Path, as_json: bool, **asked: str | bool | None
) -> None:
    """Print episodes of RUN (an id, or "last") in full, with what they were graded.

    \b
    fiqkit show last --wrong
    fiqkit show last INSTANCE --mode interact

    With an INSTANCE all its episodes are printed; without, the first that the filters let through.
    """
    from fiqkit.store.browse import neighbours
    from fiqkit.store.store import Store
    from fiqkit.store.transcript import read_episodes, read_numbered, transcript

    chosen = wanted(instance, asked)
    if episode is not None:
        opened = Store(store)
        found = [read_numbered(opened, episode)]
    else:
        found = read_episodes(store, run, chosen, None if chosen.instance else 1)
    if as_json:
        print_json({"episodes": [one.row() for one in found]})
        return
    click.echo("\n\n".join(transcript(one) for one in found))
    if len(found) == 1:
        before, after = neighbours(Store(store), found[0].run, found[0].number, chosen)
        for word, number in (("previous", before), ("next", after)):
            if number is not None:
                click.echo(f"{word}: fiqkit show {found[0].run} --episode {number} --store {store}")
