"""Recall at 5 of the search and of its two halves, by language, on the questions as users type them.

    python benchmarks/retrieval.py [--released FOLDER]

FOLDER holds the release's instances and passages; without it the bundled set is searched. A question counts as found
when one of the five best chunks belongs to its own passage. The last line is JSON.
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


def recall(instances: Sequence[Instance], search: Callable[[Sequence[Instance]], list[list[str]]]) -> dict[str, float]:
    found = search(instances)
    shares = {}
    for language in ("en", "zh"):
        hits = [i.passage_id in ids for i, ids in zip(instances, found, strict=True) if i.language == language]
        shares[language] = round(sum(hits) / len(hits), 4)
    return shares


def measure(instances: Sequence[Instance], index: Index) -> dict[str, dict[str, float]]:
    def ids(chunks: Sequence[int]) -> list[str]:
        return [index.chunks[i].passage_id for i in chunks[:K]]

    def fused(few: Sequence[Instance]) -> list[list[str]]:
        return [[hit.passage_id for hit in hits] for hits in index.search_many([i.question for i in few], K)]

    return {
        "fused": recall(instances, fused),
        "bm25": recall(instances, lambda few: [ids(index.lexical.search(i.question, K)) for i in few]),
        "vectors": recall(instances, lambda few: [ids(near) for near in index.nearest([i.question for i in few])]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--released", type=Path, help="folder of the release; default: the bundled set")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        if args.released:
            instances, index = released(args.released, Path(scratch) / "index")
        else:
            instances, index = read_instances(bench_data.INSTANCES), Index.open(bench_data.INDEX)
        result = measure(instances, index)
    print(f"recall at {K} over {index.manifest.chunks} chunks, {len(instances)} questions")
    for name, shares in result.items():
        print(f"{name:8} en {shares['en']:.3f}  zh {shares['zh']:.3f}")
    print(json.dumps({"benchmark": "retrieval", "k": K, "questions": len(instances), "recall": result}))


if __name__ == "__main__":
    main()
