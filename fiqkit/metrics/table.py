"""The main table: a row for each run, model, mode and grader, with its parts by language, category and entropy."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar

from fiqkit.metrics.bootstrap import RESAMPLES
from fiqkit.metrics.calibration import expected_calibration_error, reliability
from fiqkit.metrics.measures import MEASURES, estimate, interval
from fiqkit.metrics.scored import Scored
from fiqkit.records import Ending, Outcome
from fiqkit.taxonomy import CATEGORIES, LANGUAGES

MODE_ORDER = (
    "answer",
    "search",
    "interact",
    "forced-interact",
    "always-ask",
    "category-oracle",
    "template-oracle",
    "interpretation-oracle",
    "context-oracle",
    "oracle-retrieval",
    "enumerate",
    "category-aware",
)
WITH_INTERVAL = ("accuracy", "default_capture", "interaction_rate", "ac1_touch", "ac1_central", "dise_plus_all", "ece")
_SMALLEST_BIN = 10  # items in a bin of prior entropy

Key = TypeVar("Key", bound=Hashable)


def main_rows(episodes: Iterable[Scored], *, resamples: int = RESAMPLES, seed: int = 0) -> list[dict[str, Any]]:
    """Rows of the main table, JSON-ready, fractions unrounded: by model, then mode in the protocol's order.

    Rates divide by `n`, the episodes that count; `unscored` and `engine_error` stand beside it, and
    `accuracy_worst`, `accuracy_best` are the accuracy if all of those were wrong, or right.
    """
    groups = group(episodes, lambda e: (e.run, e.model, e.mode, e.grader, e.judge))
    models = list(dict.fromkeys(key[1] for key in groups))
    ordered = sorted(groups, key=lambda key: (models.index(key[1]), mode_rank(key[2])))
    return [
        dict(zip(("run", "model", "mode", "grader", "judge"), key, strict=True))
        | _row(groups[key], resamples=resamples, seed=seed)
        for key in ordered
    ]


def group(episodes: Iterable[Scored], key: Callable[[Scored], Key]) -> dict[Key, list[Scored]]:
    """Episodes by a key, in the order of first appearance."""
    groups: dict[Key, list[Scored]] = defaultdict(list)
    for episode in episodes:
        groups[key(episode)].append(episode)
    return dict(groups)


def mode_rank(mode: str) -> tuple[int, int, str]:
    """Where a mode stands in a table: the protocol's order, `forced-interact-N` by N, unknown modes last."""
    stem, _, count = mode.rpartition("-")
    name, n = (stem, int(count)) if count.isdigit() else (mode, 0)
    return (MODE_ORDER.index(name) if name in MODE_ORDER else len(MODE_ORDER), n, mode)


def summary(
    episodes: Sequence[Scored],
    intervals: Sequence[str] = ("accuracy",),
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> dict[str, Any]:
    """Every measure and the ECE of some episodes, with an interval beside those named (`NAME_ci`); `n` count."""
    numbers: dict[str, Any] = {"n": sum(e.counts for e in episodes)}
    for name in MEASURES:
        numbers[name] = estimate(name, episodes)
        if name in intervals:
            numbers[f"{name}_ci"] = interval(name, episodes, resamples=resamples, seed=seed)
    drawn = resamples if "ece" in intervals else 0
    numbers["ece"], ece_interval = expected_calibration_error(episodes, resamples=drawn, seed=seed)
    if drawn:
        numbers["ece_ci"] = ece_interval
    return numbers | _single_gold(numbers["accuracy"], numbers["default_capture"])


def _row(episodes: Sequence[Scored], *, resamples: int, seed: int) -> dict[str, Any]:
    def parts(key: Callable[[Scored], str], order: Sequence[str]) -> dict[str, Any]:
        groups = group(episodes, key)
        return {name: summary(groups[name], resamples=resamples, seed=seed) for name in order if name in groups}

    row = summary(episodes, WITH_INTERVAL, resamples=resamples, seed=seed)
    row |= _apart(episodes)
    bins = entropy_bins([e.h0 for e in episodes])
    row["by_language"] = parts(lambda e: e.language, LANGUAGES)
    row["by_category"] = parts(lambda e: e.primary, tuple(CATEGORIES))
    row["by_h0"] = parts(lambda e: bins[e.h0], tuple(dict.fromkeys(bins.values())))
    row["reliability"] = reliability(episodes)
    return row


def _single_gold(accuracy: float | None, capture: float | None) -> dict[str, float | None]:
    """How much better the run would look had the default answer been the only gold: a ratio and a difference."""
    known = accuracy is not None and capture is not None
    return {
        "single_gold_inflation": capture / accuracy if known and accuracy else None,  # type: ignore[operator]
        "single_gold_difference": capture - accuracy if known else None,  # type: ignore[operator]
    }


def _apart(episodes: Sequence[Scored]) -> dict[str, Any]:
    """What is kept out of the denominators, how episodes ended, and what their answers were."""
    counted = [e for e in episodes if e.counts]
    failed = sum(e.failed for e in episodes)
    bugs = sum(e.ending == Ending.BUG for e in episodes)
    correct = sum(bool(e.is_intended) for e in counted)
    missing = len(episodes) - len(counted)
    endings = Counter(str(e.ending) for e in episodes)
    outcomes = Counter(str(e.outcome) if e.outcome else "unclassified" for e in counted if e.ending == Ending.ANSWERED)
    return {
        "episodes": len(episodes),
        "unscored": missing - failed,
        "engine_error": failed - bugs,
        "bug": bugs,
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
