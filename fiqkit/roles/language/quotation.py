"""Whether a question only says the user's own words back: "Do you mean the second quarter by itself?"."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, lru_cache

from fiqkit.roles.language import lexicon
from fiqkit.roles.language.phrasing import cue, plain_english, table

_TOKEN = re.compile(r"[a-z0-9][a-z0-9&.%'/-]*[a-z0-9%/]|[a-z0-9]|[一-鿿]")
_CLAUSE = re.compile(r"[;；。,，、:：()（）]|\.(?=\s|$)")
_SENTENCE = re.compile(r"[;；。:：]|\.(?=\s|$)")
_LEAST = 2  # words of the user's that make a quotation; a Chinese character is half a word


def quotes(question: str, said: Iterable[str]) -> bool:
    """Whether what a question proposes is one of the user's texts, or whole clauses of one, word for word.

    A clause of a sentence that rules something out is no quotation by itself, since what ruled it out may stand in
    another clause ("not the segments, the regions or the brands").
    """
    asked = _core(lexicon.fold(question))
    return _weight(asked) >= _LEAST and any(asked in _clauses(text) for text in said)


@lru_cache(maxsize=4096)
def _clauses(said: str) -> frozenset[tuple[str, ...]]:
    """The words of a text, of each of its sentences, and of each run of clauses in one that rules out nothing."""
    text = lexicon.fold(said)
    found = {_core(text)}
    for sentence in _SENTENCE.split(text):
        found.add(_core(sentence))
        clauses = [clause for clause in _CLAUSE.split(sentence) if clause.strip()]
        if not cue("negation").search(sentence):
            found |= {
                _core(" ".join(clauses[i:j]))
                for i in range(len(clauses))
                for j in range(i + 1, min(i + 6, len(clauses)) + 1)
            }
    return frozenset(found)


def _core(text: str) -> tuple[str, ...]:
    """Words of a folded text without the phrasing around them that proposes nothing."""
    chinese = _frame()
    stripped = text.strip(" .?!,;:'\"()。，？！：；")
    while (lead := chinese.match(stripped)) and lead.end() < len(stripped):
        stripped = stripped[lead.end() :].lstrip(" ,，:：")
    while (tail := re.search(r"(?:[,，]?(?:对吗|是吗|对吧|对不对|吗|呢|吧|的))$", stripped)) and tail.start():
        stripped = stripped[: tail.start()]
    words = _TOKEN.findall(stripped)
    plain = _plain()
    while words and words[0] in plain:
        words.pop(0)
    while words and words[-1] in plain:
        words.pop()
    return tuple(words)


@cache
def _plain() -> frozenset[str]:
    return plain_english() - frozenset(table("phrasing")["meant"]["en"].split())


@cache
def _frame() -> re.Pattern[str]:
    meant = table("phrasing")["meant"]["zh"]
    plain = [wording for wording in table("phrasing")["plain"]["zh"] if wording not in meant]
    return re.compile("|".join(sorted(plain, key=len, reverse=True)))


def _weight(words: tuple[str, ...]) -> float:
    return sum(1 if word.isascii() else 0.5 for word in words)
