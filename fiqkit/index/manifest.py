"""The files of an index, and the record of what it was built from, so that a stale one is refused and not searched."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from fiqkit.datasets import passage_row
from fiqkit.errors import UserError
from fiqkit.records import Passage
from fiqkit.whole_file import write_text

FILE = "manifest.json"
PASSAGES = "passages.jsonl"
CHUNKS = "chunks.jsonl"
VECTORS = "vectors.faiss"
BM25 = "bm25"
FILES = (PASSAGES, CHUNKS, VECTORS, BM25, FILE)  # the manifest last: a folder that has one is a finished index
FORMAT = 1


@dataclass(frozen=True, slots=True)
class Manifest:
    """The record of one build.

    Attributes:
        passages_file: where the passages are, relative to the index's folder.
        passages_sha256: hash of the passages' records in order, whatever the file's own layout.
        built, built_sha256: number and hash of the passages that were built from instances' evidence; they stand last.
        embedder, embedder_sha256: embedding model and hash of its weights; "none" and "" for BM25 alone.
        limit: tokens of a chunk, the heading included.
        metric, normalised: of the vectors; an inner product of unit vectors is their cosine.
        versions: of the packages that wrote the files.
    """

    passages_file: str
    passages_sha256: str
    passages: int
    built: int
    built_sha256: str
    chunks: int
    embedder: str
    embedder_sha256: str
    dimension: int
    limit: int
    metric: str = "inner_product"
    normalised: bool = True
    format: int = FORMAT
    versions: dict[str, str] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """Write the manifest; done last, so that a folder with a manifest is a finished index."""
        text = json.dumps(asdict(self), indent=2, ensure_ascii=False)
        write_text(folder / FILE, text + "\n")

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """Read the manifest of an index.

        Raises:
            UserError: there is none, or it is not one that this version can use.
        """
        path = folder / FILE
        again = f"build it: fiqkit index build --passages FILE --out {folder}"
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise UserError(f"{folder}: no finished index here ({FILE} is missing); {again}") from None
        except (OSError, ValueError) as error:
            raise UserError(f"{path}: cannot be read ({error}); {again}") from error
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise UserError(f"{path}: not an index of format {FORMAT}, the one this version reads; {again}")
        try:
            return cls(**found)
        except TypeError as error:
            raise UserError(f"{path}: not a manifest that this version wrote ({error}); {again}") from error


def passages_sha256(passages: Iterable[Passage]) -> str:
    """Hash of passages as records, in their order."""
    digest = hashlib.sha256()
    for passage in passages:
        row = json.dumps(passage_row(passage), ensure_ascii=False, sort_keys=True)
        digest.update(row.encode() + b"\n")
    return digest.hexdigest()
