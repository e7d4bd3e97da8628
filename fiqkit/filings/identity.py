"""Ids of passages: where a passage stands, in words, and a hash of what it is.

`0000320193-23-000106:aapl-20230930:0012:5f0a3c9e71b2` is the twelfth passage of a document of a filing. The words are
for people; the hash keeps apart what they cannot: files of one name in two folders, two companies in one filing, two
titles that begin alike. A passage whose text changes has another id.
"""

from __future__ import annotations

from hashlib import sha256


def passage_id(place: str, *content: str | None) -> str:
    """The id of a passage at `place` whose source and text are `content`."""
    digest = sha256()
    for part in content:
        data = (part or "").encode("utf-8", "replace")
        digest.update(b"%d:" % len(data) + data)
    return f"{place}:{digest.hexdigest()[:12]}"
