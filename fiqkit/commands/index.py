"""`fiqkit index`: build and search passage indexes."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from fiqkit.commands.arguments import SEED, Group, NewFolder
from fiqkit.commands.options import EXISTING_FILE

_FOLDER = click.Path(file_okay=False, path_type=Path)
_EMBEDDERS = click.Choice(["minilm", "none"])


@click.group(cls=Group)
def command() -> None:
    """Build and search passage indexes."""


@command.command()
@click.option("--passages", type=EXISTING_FILE, required=True, help="Passages, one JSON object a line.")
@click.option("--out", type=NewFolder(), required=True, help="Folder of the index; an index in it is replaced.")
@click.option(
    "--instances",
    type=EXISTING_FILE,
    help="Also index a passage, built from the evidence, for each instance that lacks its own.",
)
@click.option("--embedder", type=_EMBEDDERS, default="minilm", show_default=True, help="none: BM25 alone, no torch.")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Order of the evidence in built passages.")
@click.option("--json", "as_json", is_flag=True, help="Print the manifest as JSON.")
def build(passages: Path, out: Path, instances: Path | None, embedder: str, seed: int, as_json: bool) -> None:
    """Index passages for search: FAISS over MiniLM vectors, and BM25.

    \b
    fiqkit index build --passages passages.jsonl --out index
    fiqkit index build --passages passages.jsonl --instances instances.jsonl --out index --embedder none
    """
    from fiqkit.datasets import read_instances, read_passages
    from fiqkit.index.builder import build as build_index
    from fiqkit.index.manifest import FILES
    from fiqkit.index.missing import missing_passages
    from fiqkit.whole_file import refuse_overwriting

    refuse_overwriting((out / name for name in FILES), (passages, *([instances] if instances else [])))
    found = read_passages(passages)
    built = missing_passages(read_instances(instances), found, seed) if instances else []
    done = build_index(found, out, built=built, embedder_name=embedder, progress=_progress)
    if as_json:
        click.echo(json.dumps(asdict(done), ensure_ascii=False))
        return
    click.echo(
        f"{out}: {done.passages} passages and {done.built} built from evidence, in {done.chunks} chunks of at "
        f"most {done.limit} tokens, embedder {done.embedder}"
    )


@command.command()
@click.argument("query")
@click.option("--index", "folder", type=_FOLDER, help="Folder of the index; default: the bundled one.")
@click.option("-k", default=3, show_default=True, type=click.IntRange(1), help="Chunks to show.")
@click.option("--language", type=click.Choice(["en", "zh"]), help="Language of the query; default: told from it.")
@click.option("--embedder", type=_EMBEDDERS, help="none: search with BM25 alone.")
@click.option("--json", "as_json", is_flag=True, help="Print the hits as JSON.")
def search(query: str, folder: Path | None, k: int, language: str | None, embedder: str | None, as_json: bool) -> None:
    """Search an index as an agent would.

    \b
    fiqkit index search "operating income of Meta in 2023"
    fiqkit index search "revenue" --index index -k 5 --language en
    """
    from fiqkit.bench_data import INDEX
    from fiqkit.index.search import Index

    hits = Index.open(folder or INDEX, lexical=embedder == "none").search(query, k, language)
    if as_json:
        click.echo(json.dumps([asdict(hit) for hit in hits], ensure_ascii=False))
        return
    for hit in hits:
        click.echo(f"{hit.rank}  {hit.passage_id}\n{hit.text}\n")
    if not hits:
        click.echo("nothing found", err=True)


def _progress(done: int, total: int) -> None:
    click.echo(f"\r{done} of {total} chunks", err=True, nl=done == total)
