"""Words of a text that are neither the lexicon's wordings, nor years, nor plain phrasing: names, mostly."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from fiqkit.roles.language.phrasing import plain_chinese, plain_english

_LATIN = re.compile(r"(?:\d{1,3}-)?[a-z][a-z0-9&.'-]*[a-z0-9]|(?<![\d.,])\d{5,6}(?![\d.,])")
_CHINESE = re.compile(r"[一-鿿]+")


@dataclass(frozen=True, slots=True)
class Word:
    """A Latin word, a security code or a run of Chinese characters at `start` of a folded text."""

    text: str
    start: int


def content_words(text: str, understood: Iterable[tuple[int, int]]) -> list[Word]:
    """The words of a folded text outside the stretches [start, end) that are already understood."""
    letters = list(text)
    for start, end in understood:
        letters[start:end] = "|" * (end - start)
    blanked = "".join(letters)
    latin = [Word(re.sub(r"'s?$", "", m.group()), m.start()) for m in _LATIN.finditer(blanked)]
    return [word for word in latin if word.text not in plain_english()] + _chinese(blanked)


def _chinese(text: str) -> list[Word]:
    blanked = plain_chinese().sub(lambda match: "|" * len(match.group()), text)
    # One character left over between plain words is grammar more often than meaning.
    return [Word(m.group(), m.start()) for m in _CHINESE.finditer(blanked) if len(m.group()) > 1]
