"""The bundled benchmark: data only. See docs/data.md for what it holds and how it was made."""

from pathlib import Path

HERE = Path(__file__).parent
INSTANCES, PASSAGES, INDEX = HERE / "instances.jsonl", HERE / "passages.jsonl", HERE / "index"
SPLITS = HERE / "splits.json"
