"""Recall at 5 of the search and of its two halves, by language, on the questions as users type them.

    python benchmarks/retrieval.py [--released FOLDER]

FOLDER holds the release's instances and passages; without it the bundled set is searched, one question an orbit. A
question counts as found when one of the five best chunks belongs to its own passage; its company, when one belongs to
a passage of it; company and period, when one is of both and the question says the period. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from fiqkit import bench_data
from fiqkit.datasets import read_instances, read_passages
from fiqkit.index import Index, build, missing_passages
from fiqkit.records import Instance, Passage

K = 5


def released(folder: Path, out: Path) -> tuple[list[Instance], Index]:
    instances = read_instances(folder / "fininteract_v1.jsonl")
    passages: dict[str, Passage] = {}
    for path in sorted(folder.glob("*_passages.jsonl")):
        passages |= {passage.passage_id: passage for passage in read_passages(path)}
    built = missing_passages(instances, passages.values())
    build([*passages.values()], out, built=built)
    return instances, Index.open(out)


Search = Callable[[Sequence[str]], list[list[str]]]  # queries → passage ids of the best chunks


def searches(index: Index) -> dict[str, Search]:
    def ids(chunks: Sequence[int]) -> list[str]:
        return [index.chunks[i].passage_id for i in chunks[:K]]

    return {
        "fused": lambda queries: [[hit.passage_id for hit in hits] for hits in index.search_many(queries, K)],
        "bm25": lambda queries: [ids(index.lexical.search(query, K)) for query in queries],
        "vectors": lambda queries: [ids(near) for near in index.nearest(queries)],
    }


def measure(instances: Sequence[Instance], index: Index, passages: dict[str, Passage]) -> dict[str, dict[str, float]]:
    """Search and what counts as found → share by language."""
    result: dict[str, dict[str, float]] = {}
    for name, search in searches(index).items():
        plain = search([i.question for i in instances])
        dated = search([f"{i.question} {_period(passages.get(i.passage_id or ''))}" for i in instances])
        found = {
            name: [i.passage_id in ids for i, ids in zip(instances, plain, strict=True)],
            f"{name}, company": [
                any(_same(passages, i, one) for one in ids) for i, ids in zip(instances, plain, strict=True)
            ],
            f"{name}, company and period": [
                any(_same(passages, i, one, period=True) for one in ids)
                for i, ids in zip(instances, dated, strict=True)
            ],
        }
        for what, hits in found.items():
            of = {
                lang: [h for i, h in zip(instances, hits, strict=True) if i.language == lang] for lang in ("en", "zh")
            }
            result[what] = {language: round(sum(some) / len(some), 4) for language, some in of.items()}
    return result


def _period(passage: Passage | None) -> str:
    return (passage.period or "") if passage else ""


def _same(passages: dict[str, Passage], instance: Instance, found: str, period: bool = False) -> bool:
    own, other = passages.get(instance.passage_id or ""), passages.get(found)
    if own is None or other is None:
        return instance.passage_id == found
    return own.company == other.company and (not period or own.period == other.period)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--released", type=Path, help="folder of the release; default: the bundled set")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        if args.released:
            instances, index = released(args.released, Path(scratch) / "index")
            passages = {}
        else:
            every = read_instances(bench_data.INSTANCES)
            instances, index = list({i.orbit: i for i in every}.values()), Index.open(bench_data.INDEX)
            passages = {passage.passage_id: passage for passage in read_passages(bench_data.PASSAGES)}
        result = measure(instances, index, passages)
    print(f"recall at {K} over {index.manifest.chunks} chunks, {len(instances)} questions")
    for name, shares in result.items():
        print(f"{name:28} en {shares['en']:.3f}  zh {shares['zh']:.3f}")
    print(json.dumps({"benchmark": "retrieval", "k": K, "questions": len(instances), "recall": result}))


if __name__ == "__main__":
    main()
