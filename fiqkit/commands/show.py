"""fiqkit show: print an episode as a person would read it."""

from __future__ import annotations

from pathlib import Path

import click

from fiqkit.commands.options import json_option, print_json, store_option


@click.command()
@click.argument("run")
@click.argument("instance")
@click.option("--model", help="Only this model's episodes.")
@click.option("--mode", help="Only the episodes in this mode.")
@store_option
@json_option
def command(run: str, instance: str, model: str | None, mode: str | None, store: Path, as_json: bool) -> None:
    """Print the episodes of RUN (an id, or "last") on INSTANCE in full, with what they were graded."""
    from fiqkit.store.transcript import read_episodes, transcript

    found = read_episodes(store, run, instance, model=model, mode=mode)
    if as_json:
        print_json({"episodes": [episode.row() for episode in found]})
        return
    click.echo("\n\n".join(transcript(episode) for episode in found))
