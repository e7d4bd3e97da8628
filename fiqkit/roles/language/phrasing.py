"""How questions are phrased, as opposed to what they ask: cues for negation, openness, choice (`phrasing.toml`)."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def table(name: str) -> dict[str, Any]:
    """A table of patterns that ships beside this module."""
    return tomllib.loads(files("fiqkit.roles.language").joinpath(f"{name}.toml").read_text(encoding="utf-8"))


@cache
def cue(name: str) -> re.Pattern[str]:
    """The pattern of one kind of cue, both languages."""
    return compiled(table("phrasing")[name]["en"], table("phrasing")[name]["zh"])


def compiled(english: list[str], chinese: list[str]) -> re.Pattern[str]:
    """One pattern: whole English words, or Chinese text anywhere.

    English may touch Chinese characters ("非gaap口径"), so a word's edge is "no Latin letter or digit beside it".
    """
    whole = rf"(?<![a-z0-9])(?:{'|'.join(english)})(?![a-z0-9])" if english else ""
    return re.compile("|".join(part for part in (whole, *chinese) if part))


@cache
def plain_english() -> frozenset[str]:
    """English words that propose no reading."""
    return frozenset(table("phrasing")["plain"]["en"].split())


@cache
def plain_chinese() -> re.Pattern[str]:
    """Chinese phrasing that proposes no reading, longest first."""
    return re.compile("|".join(sorted(table("phrasing")["plain"]["zh"], key=len, reverse=True)))
