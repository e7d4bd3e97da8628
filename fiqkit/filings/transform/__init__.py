"""Inline XBRL's transformation registries: what a filer displays, as the value that it stands for.

Covers the registries of XBRL International (2010, 2011, 2015, 2020, 2022; their names differ mostly in hyphens) and the
SEC's own of 2015. Source: Transformation Rules Registry 1 to 5; EDGAR Filer Manual, volume II.
"""

from __future__ import annotations

from collections.abc import Callable

from fiqkit.filings.transform.dates import DATES
from fiqkit.filings.transform.numerals import NUMERALS
from fiqkit.filings.transform.sec import SEC

_REGISTRY: dict[str, Callable[[str], str]] = {**NUMERALS, **DATES, **SEC}


class UnknownFormat(ValueError):
    """A transformation format that no registry lists."""


def transform(name: str, text: str) -> str:
    """Apply a format, named without its prefix, to displayed text: `transform("num-dot-decimal", "1,024")` is "1024".

    Raises:
        UnknownFormat: no registry has this name.
        ValueError: the text does not have the form that the format prescribes.
    """
    rule = _REGISTRY.get(name.replace("-", "").lower())
    if rule is None:
        raise UnknownFormat(f"format {name!r} is in no transformation registry")
    return rule(text)
