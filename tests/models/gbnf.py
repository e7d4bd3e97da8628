"""Recogniser of GBNF grammars, the notation that llama.cpp and xgrammar share: does a text belong to one?

    matches('root ::= "yes" | "no" [.!]{0,2}', "no!")  # True

Follows every alternative at once (sets of end positions), so it never backtracks; left recursion, which the engines
refuse as well, is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from fiqkit.errors import UserError

_TOKEN = re.compile(
    r"""(?P<space>\s+|\#[^\n]*)
      | (?P<define>[A-Za-z0-9_-]+\s*::=)
      | (?P<name>[A-Za-z0-9_-]+)
      | (?P<literal>"(?:\\.|[^"\\\n])*")
      | (?P<set>\[\^?(?:\\.|[^\]\\])*\])
      | (?P<repeat>[*+?]|\{\s*\d+\s*(?:,\s*\d*\s*)?\})
      | (?P<mark>[().|])""",
    re.X,
)
_ESCAPE = re.compile(r"\\(x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)", re.S)
_NAMED = {"n": "\n", "t": "\t", "r": "\r"}
_TIMES = {"*": (0, None), "+": (1, None), "?": (0, 1)}


@dataclass(slots=True)
class _Match:
    """One text being read: where each rule that begins at a position may end."""

    text: str
    ends: dict[tuple[str, int], frozenset[int] | None] = field(default_factory=dict)


_Part = Callable[[_Match, int], Iterable[int]]  # positions at which the part may end when it begins at the given one


def matches(grammar: str, text: str) -> bool:
    """Whether the rule `root` derives exactly `text`.

    Raises:
        UserError: the grammar is not well-formed.
    """
    return len(text) in _compile(grammar)(_Match(text), 0)


def check(grammar: str) -> None:
    """Refuse what is not a grammar.

    Raises:
        UserError: says what is wrong with it.
    """
    _compile(grammar)


@lru_cache(maxsize=64)
def _compile(grammar: str) -> _Part:
    reader = _Reader(_tokens(grammar))
    rules = reader.rules
    if missing := [name for name in ("root", *reader.used) if name not in rules]:
        raise UserError(f"grammar: no rule {missing[0]!r}; define it with {missing[0]} ::= …")
    return _rule("root", rules)


def _tokens(grammar: str) -> list[tuple[str, str]]:
    tokens, position = [], 0
    while position < len(grammar):
        found = _TOKEN.match(grammar, position)
        if found is None:
            line = grammar.count("\n", 0, position) + 1
            raise UserError(f"grammar:{line}: cannot read {grammar[position : position + 20]!r}")
        position = found.end()
        if found.lastgroup and found.lastgroup != "space":
            tokens.append((found.lastgroup, found.group()))
    return tokens


class _Reader:
    """Recursive descent over the tokens; each method consumes what it reads."""

    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self._tokens = [*tokens, ("end", "")]
        self._at = 0
        self.used: list[str] = []
        self.rules: dict[str, _Part] = {}
        while self._peek()[0] != "end":
            kind, text = self._take()
            if kind != "define":
                raise UserError(f"grammar: a rule must begin with NAME ::=, found {text!r}")
            self.rules[text.removesuffix("::=").rstrip()] = self._alternatives()

    def _peek(self) -> tuple[str, str]:
        return self._tokens[self._at]

    def _take(self) -> tuple[str, str]:
        self._at += 1
        return self._tokens[self._at - 1]

    def _alternatives(self) -> _Part:
        parts = [self._sequence()]
        while self._peek() == ("mark", "|"):
            self._take()
            parts.append(self._sequence())
        return _either(parts)

    def _sequence(self) -> _Part:
        parts = []
        while self._peek()[0] not in ("define", "end") and self._peek()[1] not in ("|", ")"):
            part = self._atom()
            while self._peek()[0] == "repeat":
                part = _repeat(part, *_times(self._take()[1]))
            parts.append(part)
        return _chain(parts)

    def _atom(self) -> _Part:
        kind, text = self._take()
        if kind == "literal":
            return _literal(_unescape(text[1:-1]))
        if kind == "set":
            return _one(re.compile(text, re.S))
        if kind == "name":
            self.used.append(text)
            return _rule(text, self.rules)
        if text == ".":
            return _one(re.compile(".", re.S))
        if text == "(":
            inner = self._alternatives()
            if self._take() != ("mark", ")"):
                raise UserError("grammar: a parenthesis is not closed")
            return inner
        raise UserError(f"grammar: {text!r} is out of place")


def _times(mark: str) -> tuple[int, int | None]:
    if mark in _TIMES:
        return _TIMES[mark]
    least, comma, most = mark.strip("{} ").partition(",")
    return int(least), (int(most) if most.strip() else None) if comma else int(least)


def _unescape(text: str) -> str:
    def one(found: re.Match[str]) -> str:
        code = found.group(1)
        return chr(int(code[1:], 16)) if len(code) > 1 else _NAMED.get(code, code)

    return _ESCAPE.sub(one, text)


def _literal(literal: str) -> _Part:
    return lambda match, at: (at + len(literal),) if match.text.startswith(literal, at) else ()


def _one(pattern: re.Pattern[str]) -> _Part:
    return lambda match, at: (at + 1,) if pattern.match(match.text, at) else ()


def _rule(name: str, rules: dict[str, _Part]) -> _Part:
    def part(match: _Match, at: int) -> Iterable[int]:
        key = (name, at)
        if key not in match.ends:
            match.ends[key] = None  # being read
            match.ends[key] = frozenset(rules[name](match, at))
        ends = match.ends[key]
        if ends is None:
            raise UserError(f"grammar: the rule {name!r} begins with itself; left recursion never ends")
        return ends

    return part


def _either(parts: list[_Part]) -> _Part:
    return parts[0] if len(parts) == 1 else lambda match, at: {end for part in parts for end in part(match, at)}


def _chain(parts: list[_Part]) -> _Part:
    def chain(match: _Match, at: int) -> Iterable[int]:
        ends: set[int] = {at}
        for part in parts:
            ends = {end for start in ends for end in part(match, start)}
        return ends

    return chain


def _repeat(part: _Part, least: int, most: int | None) -> _Part:
    def repeat(match: _Match, at: int) -> Iterable[int]:
        ends: set[int] = {at} if least == 0 else set()
        seen: set[int] = set()
        front: set[int] = {at}
        count = 0
        while front and count != most:
            count += 1
            front = {end for start in front for end in part(match, start)}
            if count >= least:
                front -= seen  # a position reached before can lead nowhere new
                seen |= front
                ends |= front
        return ends

    return repeat
