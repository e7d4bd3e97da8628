"""Search for many episodes at once: queries that wait together are embedded together, in a thread of their own."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor

from fiqkit.index import Index


class Searcher:
    """An index as the environment calls it. The same query is looked up once."""

    def __init__(self, index: Index, k: int = 3) -> None:
        """Search `index` for the `k` best chunks."""
        self._index = index
        self._k = k
        self._known: dict[tuple[str, str], asyncio.Future[list[str]]] = {}
        self._waiting: list[tuple[str, str]] = []
        self._thread = ThreadPoolExecutor(1, "search")
        self._busy: asyncio.Task[None] | None = None

    async def __call__(self, query: str, language: str) -> list[str]:
        """Texts of the best chunks, best first."""
        key = (query, language)
        if key not in self._known:
            self._known[key] = asyncio.get_running_loop().create_future()
            self._waiting.append(key)
            if self._busy is None or self._busy.done():
                self._busy = asyncio.ensure_future(self._serve())
        # Shielded: the result is shared, so one cancelled episode must not cancel it for the others.
        return await asyncio.shield(self._known[key])

    async def _serve(self) -> None:
        """Look up whatever waits, batch after batch, until nothing does."""
        loop = asyncio.get_running_loop()
        while self._waiting:
            batch, self._waiting = self._waiting, []
            by_language: dict[str, list[str]] = defaultdict(list)
            for query, language in batch:
                by_language[language].append(query)
            for language, queries in by_language.items():
                keys = [(query, language) for query in queries]
                try:
                    found = await loop.run_in_executor(
                        self._thread, self._index.search_many, queries, self._k, language
                    )
                except Exception as error:  # handed to every episode that waits for it
                    for key in keys:
                        self._known[key].set_exception(error)
                else:
                    for key, hits in zip(keys, found, strict=True):
                        self._known[key].set_result([hit.text for hit in hits])

    def close(self) -> None:
        """Stop the thread."""
        self._thread.shutdown()
