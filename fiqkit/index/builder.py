"""Build an index: chunk, embed, write."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path

from fiqkit import __version__
from fiqkit.datasets import passage_row, write_jsonl
from fiqkit.errors import UserError, need
from fiqkit.index import manifest
from fiqkit.index.chunks import Chunk, headed, split
from fiqkit.index.embedders import Embedder, embedder
from fiqkit.index.lexical import Lexical
from fiqkit.index.manifest import Manifest
from fiqkit.records import Passage

_BATCH = 128


def build(
    passages: Sequence[Passage],
    out_dir: Path,
    *,
    built: Sequence[Passage] = (),
    embedder_name: str = "minilm",
    passages_file: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Manifest:
    """Index passages into a folder that `Index.open` reads.

    Args:
        passages: what to index; ids must differ.
        out_dir: folder of the index; an index in it is replaced.
        built: passages from `missing_passages`, indexed beside the others; whoever opens the index with the passages
            that it was built from need not build these again.
        embedder_name: "minilm", or "none" for BM25 alone.
        passages_file: the file that holds exactly these passages; left out, a copy is written into the index.
        progress: called with (chunks done, chunks in all).

    Raises:
        MissingExtra: the packages that it needs are not installed.
        UserError: no passages, an id twice, a heading too long for a chunk, an unknown embedder.
    """
    everything = [*passages, *built]
    _check(everything)
    model = embedder(embedder_name)
    need("an index", "embed", *model.requires)
    by_id = {passage.passage_id: passage for passage in everything}
    chunks = [chunk for passage in everything for chunk in split(passage, model.spans, model.limit)]
    texts = [headed(by_id[chunk.passage_id], chunk) for chunk in chunks]
    scratch = out_dir / f"build.{os.getpid()}.part"
    try:
        scratch.mkdir(parents=True)
        if passages_file is None:
            write_jsonl(scratch / manifest.PASSAGES, (passage_row(passage) for passage in everything))
        write_jsonl(scratch / manifest.CHUNKS, (_chunk_row(chunk) for chunk in chunks))
        Lexical.build(texts).save(scratch / manifest.BM25)
        dimension = _write_vectors(model, texts, scratch / manifest.VECTORS, progress)
        done = Manifest(
            passages_file=os.path.relpath(passages_file or out_dir / manifest.PASSAGES, out_dir),
            passages_sha256=manifest.passages_sha256(passages),
            passages=len(passages),
            built=len(built),
            built_sha256=manifest.passages_sha256(built),
            chunks=len(chunks),
            embedder=model.name,
            embedder_sha256=model.sha256,
            dimension=dimension,
            limit=model.limit,
            versions={"fiqkit": __version__} | {name: version(name) for name in ("bm25s", "faiss-cpu")},
        )
        done.write(scratch)
        _move(scratch, out_dir)
    except OSError as error:
        raise UserError(f"{out_dir}: the index cannot be written ({error}); check the folder and the disk") from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return done


def _move(scratch: Path, out_dir: Path) -> None:
    """Put a finished index in the place of the one that is there; between the two there is no manifest."""
    (out_dir / manifest.FILE).unlink(missing_ok=True)
    (out_dir / manifest.VECTORS).unlink(missing_ok=True)  # an index for BM25 alone has none
    for new in (path for name in manifest.FILES if (path := scratch / name).exists()):
        old = out_dir / new.name
        if old.is_dir():
            shutil.rmtree(old)
        new.replace(old)


def _check(passages: Sequence[Passage]) -> None:
    if not passages:
        raise UserError("no passages to index; one JSON object a line is expected")
    seen: set[str] = set()
    for passage in passages:
        if passage.passage_id in seen:
            raise UserError(f"passage_id {passage.passage_id!r} stands twice; ids must differ")
        seen.add(passage.passage_id)


def _chunk_row(chunk: Chunk) -> dict[str, object]:
    return {"passage_id": chunk.passage_id, "start": chunk.start, "end": chunk.end}


def _write_vectors(
    model: Embedder, texts: Sequence[str], path: Path, progress: Callable[[int, int], None] | None
) -> int:
    """Embed batch by batch into a flat inner-product index, and return the vectors' dimension."""
    import faiss

    index = None
    for done in range(0, len(texts), _BATCH):
        vectors = model.encode(texts[done : done + _BATCH])
        if index is None:
            index = faiss.IndexFlatIP(vectors.shape[1])
        index.add(vectors)
        if progress:
            progress(min(done + _BATCH, len(texts)), len(texts))
    if index is None or index.d == 0:
        return 0
    faiss.write_index(index, str(path))
    return int(index.d)
