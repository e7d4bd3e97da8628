"""A question that says the very words of a reading back: "Do you mean the second quarter by itself?"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache

from fiqkit.roles.interfaces import NO, UNKNOWN, YES
from fiqkit.roles.language import lexicon
from fiqkit.roles.language.phrasing import cue, plain_english, table

_TOKEN = re.compile(r"[a-z0-9][a-z0-9&.%'/-]*[a-z0-9%/]|[a-z0-9]|[一-鿿]")
_CLAUSE = re.compile(r"[;；。,，、:：()（）]|\.(?=\s|$)")
_SENTENCE = re.compile(r"[;；。:：]|\.(?=\s|$)")
_TAIL = re.compile(r"(?:[,，]?(?:对吗|是吗|对吧|对不对|这样吗|吗|呢|吧|的))$")
_JOINING = {"the", "a", "an", "of", "its"}
_RULING_OUT = {"not", "without", "excluding", "exclude", "except", "than", "不", "非", "未", "除"}
_LEAST = 2  # words of the user's that make a quotation; a Chinese character is half a word


def verbatim(question: str, own: Sequence[str], others: Sequence[str]) -> str | None:
    """The reply to a question that proposes the very words of a reading; None where it has words of its own.

    Args:
        own: the user's texts: C and the fields of the intended reading.
        others: the fields of the default reading that differ.

    Returns:
        The user's own words are a yes, those of the other reading a no; i_dont_know where the user's own contain the
        other's ("diluted EPS" of "diluted EPS from continuing operations"). "A rather than B" needs both.
    """
    text = lexicon.fold(question)
    if _quotes(text, own):
        return YES
    if _quotes(text, others):
        words = _core(text)
        return UNKNOWN if any(_holds(_core(lexicon.fold(said)), words) for said in own) else NO
    for contrast in cue("contrast").finditer(text):
        sides = text[: contrast.start()], text[contrast.end() :]
        one, other = reversed(sides) if contrast.group().startswith("不是") else sides
        if _quotes(one, own) and _quotes(other, others):
            return YES
        if _quotes(one, others) and _quotes(other, own):
            return NO
    return None


def _quotes(text: str, said: Iterable[str]) -> bool:
    """Whether a folded text proposes one of the texts, or whole clauses of one, word for word.

    A clause of a sentence that rules something out is no quotation by itself, since what ruled it out may stand in
    another clause ("not the segments, the regions or the brands").
    """
    words = _core(text)
    return _weight(words) >= _LEAST and any(words in _clauses(one) for one in said)


def _holds(whole: tuple[str, ...], part: tuple[str, ...]) -> bool:
    """Whether a run of words stands in another one, and not as something that it rules out."""
    starts = (i for i in range(len(whole) - len(part) + 1) if whole[i : i + len(part)] == part)
    return any(not _RULING_OUT & set(whole[max(0, i - 2) : i]) for i in starts)


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


@lru_cache(maxsize=4096)
def _core(text: str) -> tuple[str, ...]:
    """Words of a folded text without the phrasing around them that proposes nothing."""
    chinese = _frame()
    stripped = text.strip(" .?!,;:'\"()。，？！：；")
    while (lead := chinese.match(stripped)) and lead.end() < len(stripped):
        stripped = stripped[lead.end() :].lstrip(" ,，:：")
    while (tail := _TAIL.search(stripped)) and tail.start():
        stripped = stripped[: tail.start()]
    words = [word for word in _TOKEN.findall(stripped) if word not in _JOINING]
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
