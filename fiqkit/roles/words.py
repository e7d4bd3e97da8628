"""Words of a text that are neither the lexicon's wordings, nor years, nor plain phrasing: names, mostly."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

_LATIN = re.compile(r"[a-z][a-z0-9&.'-]*[a-z0-9]|(?<![\d.,])\d{5,6}(?![\d.,])")
_CHINESE = re.compile(r"[一-鿿]+")


@dataclass(frozen=True, slots=True)
class Word:
    """A Latin word, a security code or a run of Chinese characters at `start` of a folded text."""

    text: str
    start: int


def content_words(text: str, known: Iterable[tuple[int, int]]) -> list[Word]:
    """The words of a folded text outside the stretches [start, end) that are already understood."""
    letters = list(text)
    for start, end in known:
        letters[start:end] = "|" * (end - start)
    blanked = "".join(letters)
    latin = [Word(_stem(m.group()), m.start()) for m in _LATIN.finditer(blanked)]
    return [word for word in latin if word.text not in plain_english()] + _chinese(blanked)


def _stem(word: str) -> str:
    return re.sub(r"'s?$", "", word)


def _chinese(text: str) -> list[Word]:
    blanked = plain_chinese().sub(lambda match: "|" * len(match.group()), text)
    # One character left over between plain words is grammar more often than meaning.
    return [Word(m.group(), m.start()) for m in _CHINESE.finditer(blanked) if len(m.group()) > 1]


@cache
def plain_english() -> frozenset[str]:
    """English words that propose nothing."""
    return frozenset(_table()["en"].split())


@cache
def plain_chinese() -> re.Pattern[str]:
    """Chinese phrasing that proposes nothing, longest first."""
    phrases: Sequence[str] = _table()["zh"]
    return re.compile("|".join(sorted(phrases, key=len, reverse=True)))


@cache
def _table() -> dict:
    return tomllib.loads(files("fiqkit.roles").joinpath("plain_words.toml").read_text(encoding="utf-8"))
