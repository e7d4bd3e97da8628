"""Seeds that depend on what is drawn for and on nothing else, so that a run repeats in whatever order it proceeds."""

from __future__ import annotations

import hashlib


def seed_of(*parts: object) -> int:
    """A 31-bit seed out of its parts, the same on every machine and in every process."""
    text = "\x1f".join(map(str, parts))
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:4], "big") >> 1
