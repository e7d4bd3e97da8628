"""The description of a set as lines for a person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fiqkit.report.numbers import percent
from fiqkit.taxonomy import CATEGORIES

_NAMES = {"en": "English", "zh": "Chinese", "all": "all"} | {n: c.title["en"].lower() for n, c in CATEGORIES.items()}


def description_lines(found: Mapping[str, Any]) -> list[str]:
    """A line a property, name first."""
    n, h0 = found["n"], found["h0"]
    orbits = found["orbits"]
    unnamed = f", the {found['unnamed']} that name none counted as one" if found["unnamed"] else ""
    rows = [
        (
            "instances",
            f"{n} of {found['companies']} companies{unnamed} (the largest has {percent(found['largest_company'])}%), "
            f"on {found['passages']} passages",
        ),
        ("languages", _counts(found["languages"], n)),
        ("sources", _counts(found["sources"], n)),
        ("forms", _counts(found["forms"], n)),
        ("filed", _counts(found["filed"])),
        ("periods", _counts(found["periods"])),
        ("primary category", _counts(found["primary"], n)),
        ("any category", _counts(found["any_category"], n)),
        ("categories each", _counts(found["categories_each"], n)),
        ("differ in", _counts(found["fields"], n)),
        (
            "prior entropy",
            f"mean {h0['mean']:.2f}, median {h0['median']:.2f}, {h0['least']:.2f} to {h0['most']:.2f} bits",
        ),
        ("readings (k)", _counts(found["k"])),
        (
            "orbits",
            f"{orbits['n']}, siblings {_counts(orbits['siblings'])}; the headline is meant in "
            f"{orbits['headline_intended']}"
            if orbits["n"]
            else "none",
        ),
        *(("gaps", _gap(name, gap)) for name, gap in found["gaps"].items()),
        *(("measures", _measure(name, part)) for name, part in found["measures"].items()),
    ]
    lines, above = [], ""
    for name, text in rows:
        lines.append(f"{'' if name == above else name:17} {text}")
        above = name
    return lines


def _counts(counts: Mapping[str, int], n: int | None = None) -> str:
    shown = (
        f"{_NAMES.get(name, name)} {count}" + (f" ({percent(count / n)}%)" if n else "")
        for name, count in counts.items()
    )
    return ", ".join(shown) or "none"


def _gap(name: str, gap: Mapping[str, Any]) -> str:
    if not gap["quartiles"]:
        return f"{_NAMES[name]}: too few pairs of values"
    low, middle, high = gap["quartiles"]
    return (
        f"{_NAMES[name]}: the golds lie {percent(middle)}% apart (quartiles {percent(low)} and {percent(high)}, least "
        f"{percent(gap['least'])}), the default is larger in {gap['default_larger']} of {gap['n']}"
    )


def _measure(name: str, part: Mapping[str, Any]) -> str:
    if not part["n"]:
        return f"{_NAMES[name]}: not given"
    top = ", ".join(f"{measure} {count}" for measure, count in part["top"].items())
    return f"{_NAMES[name]}: {part['distinct']}, as concentrated as {part['effective']:.1f} equally common ones; {top}"
