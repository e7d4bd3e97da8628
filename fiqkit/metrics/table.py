"""The main table: a row for each run, model, mode, retrieval and grader, with its parts by language and category."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from math import fsum
from typing import Any

from fiqkit.metrics.calibration import expected_calibration_error, reliability
from fiqkit.metrics.intervals import RESAMPLES
from fiqkit.metrics.measures import BITS, COUNTS, MEASURES, estimate, interval, parts, ratio
from fiqkit.metrics.orbits import orbit_numbers
from fiqkit.metrics.samples import sample_numbers
from fiqkit.metrics.scored import Scored, group
from fiqkit.records import Ending, Outcome
from fiqkit.taxonomy import CATEGORIES, LANGUAGES, PROMPT_CUT, UNCONSTRAINED

FEW = 10  # answers that equal either gold, under which their ratio is noise
_SMALLEST_BIN = 10  # items in a bin of prior entropy
_SIDE = ("dataset", "run", "model", "mode", "retrieval", "grader", "judge")
# Shares of episodes, which have an exact interval; questions of one episode are not independent of each other.
SHARES = tuple(
    name
    for name in MEASURES
    if name not in (*BITS, *COUNTS) and not name.startswith(("wrong_", "generic_", "repeated"))
)
_OF_PARTS = ("accuracy", "default_capture", "ac1_named", "ac1_touch", "ac1_central")  # what parts have intervals of


def main_rows(
    episodes: Iterable[Scored], *, cutoff: str | None = None, resamples: int = RESAMPLES, seed: int = 0
) -> list[dict[str, Any]]:
    """Rows of the main table, JSON-ready, fractions unrounded: by data set, model, then mode in the protocol's order.

    Rates divide by `n`, the episodes that count; `unscored`, `engine_error` and `bug` stand beside it, and
    `accuracy_worst`, `accuracy_best` are the accuracy if all of those were wrong, or right. `accuracy_closed_book` is
    the accuracy of the same run and model in the mode `answer`: what can be had from memory.

    Args:
        cutoff: an ISO date; rows then have `by_cutoff`, the items filed before it and those filed on or after it.
    """
    found = sorted(episodes, key=lambda e: e.place)
    groups = group(found, lambda e: tuple(getattr(e, name) for name in _SIDE))
    order = {dataset: at for at, dataset in enumerate(dict.fromkeys(e.dataset for e in found))}
    rows = []
    for key in sorted(groups, key=lambda key: order[key[0]]):
        row = dict(zip(_SIDE, key, strict=True)) | _row(groups[key], cutoff, resamples=resamples, seed=seed)
        rows.append(row)
    from_memory = {_session(row): row for row in rows if row["mode"] == "answer"}
    for row in rows:
        closed = from_memory.get(_session(row), {})
        row["accuracy_closed_book"] = closed.get("accuracy")
        for when, part in row.get("by_cutoff", {}).items():
            part["accuracy_closed_book"] = closed.get("by_cutoff", {}).get(when, {}).get("accuracy")
    return rows


def _session(row: dict[str, Any]) -> tuple[str, ...]:
    return tuple(row[name] for name in ("dataset", "run", "model", "grader"))


def summary(
    episodes: Sequence[Scored],
    intervals: Sequence[str] = _OF_PARTS,
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> dict[str, Any]:
    """Every measure and the ECE of some episodes; `n` count.

    Measures named in `intervals` have their 95% interval (`NAME_ci`) and what they divide by (`NAME_n`) beside them.
    """
    numbers: dict[str, Any] = {"n": sum(e.counts for e in episodes)}
    for name in MEASURES:
        found = parts(name, episodes)
        numbers[name] = ratio(found)
        if name in intervals:
            numbers[f"{name}_ci"] = interval(name, episodes, resamples=resamples, seed=seed)
            numbers[f"{name}_n"] = round(fsum(part[1] for part in found))
    numbers |= expected_calibration_error(episodes, seed=seed)
    return numbers | _single_gold(episodes)


def _row(episodes: Sequence[Scored], cutoff: str | None, *, resamples: int, seed: int) -> dict[str, Any]:
    def split(key: Callable[[Scored], str], order: Sequence[str]) -> dict[str, Any]:
        groups = group(episodes, key)
        return {name: summary(groups[name], resamples=resamples, seed=seed) for name in order if name in groups}

    row = summary(episodes, (*SHARES, "dise_plus_all"), resamples=resamples, seed=seed)
    row["accuracy_companies_ci"] = interval("accuracy", episodes, by_company=True, resamples=resamples, seed=seed)
    row |= orbit_numbers(episodes, resamples=resamples, seed=seed)
    row |= sample_numbers(episodes)
    row |= _apart(episodes)
    bins = entropy_bins([e.h0 for e in episodes])
    row["by_language"] = split(lambda e: e.language, LANGUAGES)
    row["by_category"] = split(lambda e: e.primary, tuple(CATEGORIES))
    row["by_h0"] = split(lambda e: bins[e.h0], tuple(dict.fromkeys(bins.values())))
    if cutoff:
        row["by_cutoff"] = split(lambda e: _when(e.filing_date, cutoff), ("before", "after", "undated"))
    row["reliability"] = reliability(episodes)
    return row


def _when(filed: str | None, cutoff: str) -> str:
    return "undated" if not filed else "before" if filed < cutoff else "after"


def _single_gold(episodes: Sequence[Scored]) -> dict[str, float | None]:
    """How much better the run would look had the default answer been the only gold: a ratio and a difference.

    Over the paper subset. The ratio is None where fewer than ten answers equal either gold.
    """
    accuracy, capture = estimate("accuracy_paper_subset", episodes), estimate("default_capture", episodes)
    if accuracy is None or capture is None:
        return {"single_gold_inflation": None, "single_gold_difference": None}
    either = sum(bool(e.is_intended or e.is_default) for e in episodes if e.counts and not e.headline_intended)
    told = accuracy > 0 and either >= FEW
    return {
        "single_gold_inflation": capture / accuracy if told else None,
        "single_gold_difference": capture - accuracy,
    }


def _apart(episodes: Sequence[Scored]) -> dict[str, Any]:
    """What is kept out of the denominators, how episodes ended, and what their answers were."""
    counted = [e for e in episodes if e.counts]
    failed = Counter(e.ending for e in episodes if e.failed)
    correct = sum(bool(e.is_intended) for e in counted)
    missing = len(episodes) - len(counted)
    endings = Counter(str(e.ending) for e in episodes)
    outcomes = Counter(str(e.outcome) if e.outcome else "unclassified" for e in counted if e.ending == Ending.ANSWERED)
    return {
        "episodes": len(episodes),
        "unscored": missing - failed.total(),
        "engine_error": failed[Ending.ENGINE_ERROR],
        "bug": failed[Ending.BUG],
        "unconstrained": sum(UNCONSTRAINED in e.flags for e in episodes),
        "prompt_cut": sum(any(flag.startswith(PROMPT_CUT) for flag in e.flags) for e in episodes),
        "accuracy_worst": correct / len(episodes),
        "accuracy_best": (correct + missing) / len(episodes),
        "endings": {str(name): endings[name] / len(episodes) for name in Ending if endings[name]},
        "outcomes": {
            name: outcomes[name] / len(counted) for name in (*map(str, Outcome), "unclassified") if outcomes[name]
        },
    }


def entropy_bins(values: Iterable[float]) -> dict[float, str]:
    """Bin label of each distinct prior entropy: distinct values in ascending order, merged to at least ten items."""
    counts = Counter(values)
    bins: list[list[float]] = [[]]
    for value in sorted(counts):
        if sum(counts[v] for v in bins[-1]) >= _SMALLEST_BIN:
            bins.append([])
        bins[-1].append(value)
    if len(bins) > 1 and sum(counts[v] for v in bins[-1]) < _SMALLEST_BIN:
        bins[-2:] = [bins[-2] + bins[-1]]
    return {value: _label(members) for members in bins for value in members}


def _label(members: Sequence[float]) -> str:
    low, high = f"{members[0]:g}", f"{members[-1]:g}"
    return low if low == high else f"{low}–{high}"
