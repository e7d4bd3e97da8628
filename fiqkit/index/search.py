"""Search an index."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from fiqkit.datasets import read_jsonl, read_passages
from fiqkit.errors import UserError, need
from fiqkit.index.chunks import Chunk, headed
from fiqkit.index.embedders import Embedder, embedder
from fiqkit.index.lexical import Lexical, is_chinese
from fiqkit.index.manifest import BM25, CHUNKS, VECTORS, Manifest, passages_sha256
from fiqkit.records import Passage

_DEPTH = 50  # chunks that each half proposes
_RANK_OFFSET = 60  # of reciprocal-rank fusion, Cormack et al. 2009


@dataclass(frozen=True, slots=True)
class Hit:
    """One chunk found.

    Attributes:
        text: the chunk with its heading, as an agent is shown it.
        rank: 1 for the best.
        score: fused score, for analysis; agents are not shown it.
    """

    passage_id: str
    text: str
    rank: int
    score: float


class Index:
    """A search index, opened for reading; any number of threads may search it at once."""

    def __init__(
        self,
        folder: Path,
        manifest: Manifest,
        passages: Mapping[str, Passage],
        chunks: Sequence[Chunk],
        model: Embedder,
    ) -> None:
        self.folder = folder
        self.manifest = manifest
        self.passages = passages
        self.chunks = chunks
        self._model = model

    @classmethod
    def open(cls, folder: Path | str, *, passages: Sequence[Passage] | None = None, lexical: bool = False) -> Index:
        """Open an index.

        Args:
            folder: what `build` wrote.
            passages: the passages that the caller goes by; left out, those the index was built from are read.
            lexical: search with BM25 alone, whatever the index holds; needs no torch.

        Raises:
            MissingExtra: the packages that search needs are not installed; it never falls back to less.
            UserError: no finished index there, a damaged one, or one built from other passages or by another
                embedding model.
        """
        folder = Path(folder)
        manifest = Manifest.read(folder)
        need("search", "embed", *embedder("none" if lexical else manifest.embedder).requires)
        stored = read_passages(folder / manifest.passages_file)
        given, built = stored[: manifest.passages], stored[manifest.passages :]
        same = passages_sha256(given if passages is None else passages) == manifest.passages_sha256
        if not same or passages_sha256(built) != manifest.built_sha256:
            raise UserError(
                f"{folder}: stale, the passages are not those it was built from; "
                f"build it again: fiqkit index build --passages FILE --out {folder}"
            )
        path = folder / CHUNKS
        chunks = [Chunk(row["passage_id"], row["start"], row["end"]) for _, row in read_jsonl(path)]
        if len(chunks) != manifest.chunks:
            raise UserError(f"{path}: {len(chunks)} chunks where {manifest.chunks} were written; build the index again")
        model = embedder("none" if lexical else manifest.embedder)
        return cls(folder, manifest, {p.passage_id: p for p in stored}, chunks, model)

    def passage(self, passage_id: str) -> Passage:
        """The passage of this id.

        Raises:
            UserError: the index has none.
        """
        found = self.passages.get(passage_id)
        if found is None:
            raise UserError(
                f"{self.folder}: no passage {passage_id!r}; build the index from the instances' own passages"
            )
        return found

    def search(self, query: str, k: int = 3, language: str | None = None) -> list[Hit]:
        """The `k` best chunks for a query; fewer when fewer match.

        Args:
            query: what the agent typed.
            k: chunks wanted.
            language: "en" or "zh"; left out, it is told from the query.

        Raises:
            UserError: the embedding model differs from the one that the index was built with, or is not installed.
        """
        return self.search_many([query], k, language)[0]

    def search_many(self, queries: Sequence[str], k: int = 3, language: str | None = None) -> list[list[Hit]]:
        """`search` for many queries at once; they are embedded in one batch, which is where the time goes."""
        lexical = [self.lexical.search(query, _DEPTH) for query in queries]
        fused = [i for i, query in enumerate(queries) if self._uses_vectors(query, language)]
        semantic = dict(zip(fused, self.nearest([queries[i] for i in fused]), strict=True))
        return [self._hits(k, lexical[i], semantic.get(i, [])) for i in range(len(queries))]

    def _uses_vectors(self, query: str, language: str | None) -> bool:
        """MiniLM was trained on English: on Chinese it would drag BM25 down, so Chinese goes by BM25 alone."""
        chinese = is_chinese(query) if language is None else language == "zh"
        return self._model.name != "none" and bool(query.strip()) and not chinese

    def _hits(self, k: int, *rankings: Sequence[int]) -> list[Hit]:
        scores: dict[int, float] = defaultdict(float)
        for ranking in rankings:
            for rank, chunk in enumerate(ranking, 1):
                scores[chunk] += 1 / (_RANK_OFFSET + rank)
        best = sorted(scores, key=lambda chunk: (-scores[chunk], chunk))[:k]
        return [
            Hit(
                self.chunks[i].passage_id,
                headed(self.passage(self.chunks[i].passage_id), self.chunks[i]),
                rank,
                scores[i],
            )
            for rank, i in enumerate(best, 1)
        ]

    def nearest(self, queries: Sequence[str]) -> list[list[int]]:
        """Numbers of the chunks nearest to each query in the embedding model's space, best first."""
        if not queries:
            return []
        _, found = self._vectors.search(self._model.encode(queries), min(_DEPTH, len(self.chunks)))
        # FAISS fills up with -1 when it finds too few; as an index that would be the last chunk
        return [[int(i) for i in row if i >= 0] for row in found]

    @cached_property
    def lexical(self) -> Lexical:
        """The BM25 half."""
        return Lexical.load(self.folder / BM25)

    @cached_property
    def _vectors(self) -> Any:
        import faiss

        if self._model.sha256 != self.manifest.embedder_sha256:
            raise UserError(
                f"{self.folder}: stale, built with other weights of {self.manifest.embedder!r} than are installed; "
                f"build it again: fiqkit index build --passages FILE --out {self.folder}"
            )
        path = self.folder / VECTORS
        try:
            vectors = faiss.read_index(str(path))
        except RuntimeError as error:
            raise UserError(f"{path}: cannot be read by FAISS; build the index again") from error
        if vectors.ntotal != len(self.chunks):
            raise UserError(f"{path}: {vectors.ntotal} vectors for {len(self.chunks)} chunks; build the index again")
        return vectors
