"""What a set of instances holds, counted: the paper's table of its benchmark, for anybody's set."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from math import fsum
from statistics import median, quantiles
from typing import Any

from fiqkit import values
from fiqkit.records import Instance
from fiqkit.taxonomy import CATEGORIES, LANGUAGES

NONE = "not given"
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_ASIDE = re.compile(r"[(（][^)）]*[)）]")
_TOP = 5  # measures that are named


def describe(instances: Sequence[Instance]) -> dict[str, Any]:
    """Counts and shares of a set; JSON-ready.

    Returns:
        {"n", "languages", "sources", "forms", "filed" (years), "periods" (the last year that the intended period
        names), "companies" (those instances that name none count as one, as in the paper), "unnamed", "largest_company"
        (its share), "passages", "primary", "any_category", "categories_each", "fields" (in which both interpretations
        differ), "h0" (bits), "k" (readings), "orbits", "gaps", "measures"}: counts by name where not said otherwise,
        sorted so that the same set gives the same text.
    """
    n = len(instances)
    companies = Counter(i.cluster for i in instances)
    return {
        "n": n,
        "languages": _count((i.language for i in instances), LANGUAGES),
        "sources": _count(i.source or NONE for i in instances),
        "forms": _count(i.filing_type or NONE for i in instances),
        "filed": _in_order(i.filing_date[:4] if i.filing_date else NONE for i in instances),
        "periods": _in_order(_last_year(i.intended_interpretation.period) for i in instances),
        "companies": len({i.ticker or i.company for i in instances}),
        "unnamed": sum(not (i.ticker or i.company) for i in instances),
        "largest_company": max(companies.values()) / n,
        "passages": len({i.passage_id for i in instances if i.passage_id}),
        "primary": _count((i.primary for i in instances), tuple(CATEGORIES)),
        "any_category": _count((name for i in instances for name in i.categories), tuple(CATEGORIES)),
        "categories_each": _in_order(str(len(i.categories)) for i in instances),
        "fields": _count(
            field for i in instances for field in i.intended_interpretation.differs_from(i.default_interpretation)
        ),
        "h0": _spread([i.h0 for i in instances]),
        "k": _in_order(f"{2**i.h0:.3g}" for i in instances),
        "orbits": _orbits(instances),
        "gaps": {name: _gaps(part) for name, part in _parts(instances, lambda i: i.language)},
        "measures": {name: _measures(part) for name, part in _parts(instances, lambda i: i.language)},
    }


def _parts(instances: Sequence[Instance], key: Callable[[Instance], str]) -> list[tuple[str, list[Instance]]]:
    names = [name for name in LANGUAGES if any(key(i) == name for i in instances)]
    return [("all", list(instances)), *((name, [i for i in instances if key(i) == name]) for name in names)]


def _count(names: Iterable[str], order: Sequence[str] = ()) -> dict[str, int]:
    """Counts in a given order, then by size."""
    counts = Counter(names)
    rest = sorted((name for name in counts if name not in order), key=lambda name: (-counts[name], name))
    return {name: counts[name] for name in (*order, *rest) if name in order or counts[name]}


def _in_order(names: Iterable[str]) -> dict[str, int]:
    counts = Counter(names)
    return {name: counts[name] for name in sorted(counts, key=lambda name: (name == NONE, len(name), name))}


def _last_year(period: str | None) -> str:
    return max(_YEAR.findall(period or ""), default=NONE)


def _spread(numbers: Sequence[float]) -> dict[str, float]:
    return {
        "mean": fsum(numbers) / len(numbers),
        "median": median(numbers),
        "least": min(numbers),
        "most": max(numbers),
    }


def _orbits(instances: Sequence[Instance]) -> dict[str, Any]:
    sizes = Counter(i.orbit for i in instances if i.orbit)
    return {
        "n": len(sizes),
        "siblings": _in_order(str(size) for size in sizes.values()),
        "headline_intended": sum(i.headline_intended for i in instances),
    }


def _gaps(instances: Sequence[Instance]) -> dict[str, Any]:
    """How far the two golds lie apart, relative to A, and how often the default is the larger one in size.

    Over the instances whose golds are both read as one value of a kind; `quartiles` and `least` are None for none.
    """
    found = []
    for i in instances:
        pair = [values.find(text) for text in (i.answer, i.default_answer)]
        if all(pair) and pair[0][0].kind == pair[1][0].kind and pair[0][0].number:
            found.append((pair[0][0].number, pair[1][0].number))
    apart = sorted(abs(default - intended) / abs(intended) for intended, default in found)
    return {
        "n": len(found),
        "least": apart[0] if apart else None,
        "quartiles": quantiles(apart, n=4, method="inclusive") if len(apart) > 1 else None,
        "default_larger": sum(abs(default) > abs(intended) for intended, default in found),
    }


def _measures(instances: Sequence[Instance]) -> dict[str, Any]:
    """What is asked for: the commonest measures, and how many equally common ones would be as concentrated.

    `effective` is 1 / Σ share² (Hirschman 1945, Herfindahl 1950): 1 where all instances ask for one measure.
    """
    counts = Counter(
        _ASIDE.sub("", i.intended_interpretation.metric).strip().casefold()
        for i in instances
        if i.intended_interpretation.metric
    )
    total = counts.total()
    top = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:_TOP]
    return {
        "n": total,
        "distinct": len(counts),
        "top": dict(top),
        "top_share": top[0][1] / total if top else None,
        "effective": 1 / fsum((count / total) ** 2 for count in counts.values()) if total else None,
    }
