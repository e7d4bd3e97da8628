"""A small corpus, and an embedding model that needs no weights."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from fiqkit.index import embedders
from fiqkit.index.embedders import NoEmbedder
from fiqkit.records import Passage

PASSAGES = [
    Passage("visa", "Net revenue: $8,123 million", "Visa", "V", "10-Q", None, "2023-06-30"),
    Passage(
        "boeing", "Revenue, Commercial Airplanes: $22,861 million", "Boeing", "BA", "10-K", "2025-02-03", "2024-12-31"
    ),
    Passage("apple", "Net income: $5,704 million", "Apple", "AAPL", "10-K", None, "2009-09-26"),
    Passage(
        "baiyao", "营业总收入：364.88亿元\n净利润：28.40亿元", "云南白药", "000538", "年报", None, "2022-12-31", "zh"
    ),
    Passage(
        "zhongjin", "归属于母公司股东的净利润为18.95亿元。", "中金黄金", "600489", "年报", None, "2022-12-31", "zh"
    ),
]


class HashEmbedder(NoEmbedder):
    """Unit vectors by word, the same for the same words; refuses Chinese queries, which must not reach it."""

    name = "hash"
    sha256 = "v1"

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        rows = np.zeros((len(texts), 64), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.lower().split():
                row[hashlib.sha256(word.encode()).digest()[0] % 64] += 1
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


@pytest.fixture
def corpus() -> list[Passage]:
    return list(PASSAGES)


@pytest.fixture
def hash_embedder(monkeypatch: pytest.MonkeyPatch) -> type[HashEmbedder]:
    monkeypatch.setitem(embedders.EMBEDDERS, "hash", HashEmbedder)
    return HashEmbedder


@pytest.fixture
def lexical_index(tmp_path: Path) -> Path:
    from fiqkit.index import build

    build(PASSAGES, tmp_path / "index", embedder_name="none")
    return tmp_path / "index"


@pytest.fixture
def hybrid_index(tmp_path: Path, hash_embedder: type[HashEmbedder]) -> Path:
    from fiqkit.index import build

    build(PASSAGES, tmp_path / "index", embedder_name="hash")
    return tmp_path / "index"
