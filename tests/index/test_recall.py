"""Recall on the released questions: the figures that benchmarks/retrieval.py prints."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from fiqkit.datasets import read_instances, read_passages
from fiqkit.index import Index, build, missing_passages
from fiqkit.records import Instance, Passage

ROOT = Path(__file__).parents[2]


def released(folder: Path) -> tuple[list[Instance], list[Passage]]:
    instances = read_instances(folder / "fininteract_v1.jsonl")
    passages = {p.passage_id: p for path in sorted(folder.glob("*_passages.jsonl")) for p in read_passages(path)}
    return instances, [*passages.values(), *missing_passages(instances, passages.values())]


def benchmark() -> ModuleType:
    spec = importlib.util.spec_from_file_location("retrieval_benchmark", ROOT / "benchmarks" / "retrieval.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.conformance
def test_bm25_alone_reaches_the_mark_in_both_languages(shared_data: Path, tmp_path: Path) -> None:
    instances, passages = released(shared_data / "fininteract")
    build(passages, tmp_path, embedder_name="none")
    hits = Index.open(tmp_path).search_many([i.question for i in instances], k=5)
    for language, mark in (("en", 0.93), ("zh", 0.94)):
        right = [
            i.passage_id in {h.passage_id for h in found}
            for i, found in zip(instances, hits, strict=True)
            if i.language == language
        ]
        assert sum(right) / len(right) >= mark


@pytest.mark.conformance
def test_no_construction_field_is_indexed(shared_data: Path, tmp_path: Path) -> None:
    _, passages = released(shared_data / "fininteract")
    build(passages, tmp_path, embedder_name="none")
    text = (tmp_path / "passages.jsonl").read_text(encoding="utf-8")
    for field in ("candidate_answer", "candidate_axes", "_meta", "_xbrl_hint"):
        assert field not in text


@pytest.mark.slow
@pytest.mark.conformance
def test_fused_search_reaches_the_mark_and_is_not_dragged_down(shared_data: Path, tmp_path: Path) -> None:
    instances, index = benchmark().released(shared_data / "fininteract", tmp_path)
    measured = benchmark().measure(instances, index, {})
    assert measured["fused"]["en"] >= 0.93
    assert measured["fused"]["zh"] >= 0.94
    assert measured["fused"]["zh"] >= measured["bm25"]["zh"]
    assert measured["fused"]["en"] >= measured["bm25"]["en"]
    assert measured["vectors"]["zh"] < 0.6


@pytest.mark.slow
def test_the_prebuilt_vectors_are_what_the_installed_weights_give() -> None:
    from fiqkit import bench_data
    from fiqkit.index.chunks import headed
    from fiqkit.index.embedders import MiniLM

    index = Index.open(bench_data.INDEX)
    some = [*range(0, len(index.chunks), 40)]
    texts = [headed(index.passage(index.chunks[i].passage_id), index.chunks[i]) for i in some]
    for i, vector in zip(some, MiniLM().encode(texts), strict=True):
        assert float(vector @ index._vectors.reconstruct(i)) > 0.9999
    assert index.search("Coca-Cola cost of goods sold")[0].passage_id.startswith("21344")
