"""The lexical half of the search: BM25 over words and, for Chinese, pairs of neighbouring characters."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fiqkit.errors import UserError

if TYPE_CHECKING:
    import numpy as np

_WORD = re.compile(r"[a-z0-9]+(?:[.,&][a-z0-9]+)*|[\u3400-\u9fff]+")
_POSSESSIVE = re.compile(r"['’]s?\b")


def is_chinese(text: str) -> bool:
    """Whether a query is to be searched as Chinese: it holds more Chinese characters than Latin words."""
    words = _WORD.findall(text.lower())
    chinese = sum(len(word) for word in words if word >= "\u3400")
    return chinese > sum(word < "\u3400" for word in words)


def terms(text: str) -> list[str]:
    """The terms of a text: lower-case words and numbers without English stopwords, and Chinese character pairs.

    Pairs find as much as a word segmenter does on these questions, and need no dictionary.
    """
    from bm25s.stopwords import STOPWORDS_EN_PLUS

    found: list[str] = []
    for word in _WORD.findall(_POSSESSIVE.sub("", text.lower())):
        if word < "\u3400":
            if word not in STOPWORDS_EN_PLUS:
                found.append(word)
        elif len(word) == 1:
            found.append(word)
        else:
            found.extend(word[i : i + 2] for i in range(len(word) - 1))
    return found


class Lexical:
    """A BM25 index over chunks; chunk numbers are positions in the list that it was built from."""

    def __init__(self, bm25: Any) -> None:
        self._bm25 = bm25

    @classmethod
    def build(cls, texts: Sequence[str]) -> Lexical:
        """Index texts."""
        import bm25s

        bm25 = bm25s.BM25()
        bm25.index([terms(text) for text in texts], show_progress=False)
        return cls(bm25)

    def save(self, folder: Path) -> None:
        """Write the index into a folder."""
        self._bm25.save(str(folder), show_progress=False)

    @classmethod
    def load(cls, folder: Path) -> Lexical:
        """Read the index that `save` wrote.

        Raises:
            UserError: the folder is incomplete or damaged.
        """
        import bm25s

        try:
            return cls(bm25s.BM25.load(str(folder), show_progress=False))
        except (OSError, ValueError, KeyError) as error:
            raise UserError(f"{folder}: BM25 index cannot be read ({error}); build the index again") from error

    def search(self, query: str, depth: int) -> list[int]:
        """Numbers of the best chunks, best first, those that share no term with the query left out."""
        import numpy as np

        wanted = terms(query)
        if not wanted:
            return []
        scores: np.ndarray = self._bm25.get_scores(wanted)
        best = np.argsort(-scores, kind="stable")[:depth]
        return [int(i) for i in best if scores[i] > 0]
