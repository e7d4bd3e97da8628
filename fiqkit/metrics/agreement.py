"""Agreement of two coders on the same items: raw, chance-corrected, per label."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from fiqkit.metrics.intervals import Floats, Interval, share_interval

RESAMPLES = 2_000


def agreement(
    first: Sequence[Hashable], second: Sequence[Hashable], *, resamples: int = 0, seed: int = 0
) -> dict[str, Any]:
    """{"raw", "kappa", "gwet_ac1", "n"} of two codings; None where undefined (no items, or kappa on one label only).

    Cohen's kappa (1960) takes the chance agreement from each coder's own marginals, Gwet's AC1 (2008) from the mean
    marginals p of the q labels in use: Σ p (1 − p) / (q − 1). AC1 keeps its meaning where nearly all share a label.

    Args:
        resamples: above 0, each has its 95% interval beside it (`NAME_ci`): the construction of
            `fiqkit.metrics.intervals`, whose imagined item the coders agree on, or do not. Of `raw` it is exact.
    """
    n = len(first)
    if n != len(second):
        raise ValueError(f"{n} labels against {len(second)}: both coders must have labelled the same items")
    names = ("raw", "kappa", "gwet_ac1")
    if not n:
        return dict.fromkeys((*names, *(f"{name}_ci" for name in names if resamples))) | {"n": 0}
    pairs = Counter(zip(first, second, strict=True))
    labels = sorted({label for pair in pairs for label in pair}, key=repr)
    table = np.array([[float(pairs[one, two]) for two in labels] for one in labels])
    found: dict[str, Any] = dict(zip(names, (_plain(v[0]) for v in _coefficients(table[None])), strict=True))
    if resamples:
        ends = [_coefficients(_drawn(table, agree, resamples, seed)) for agree in (False, True)]
        found |= {"raw_ci": share_interval(float(np.trace(table)), n)}
        for at, name in enumerate(names[1:], 1):
            quantiles = (np.nanquantile(ends[0][at], 0.025), np.nanquantile(ends[1][at], 0.975))
            found[f"{name}_ci"] = None if found[name] is None else [float(end) for end in quantiles]
    return found | {"n": n}


def _coefficients(tables: Floats) -> tuple[Floats, Floats, Floats]:
    """Raw agreement, kappa and AC1 of tables of weights, shape (draws, labels, labels); nan where undefined."""
    shares = tables / tables.sum(axis=(1, 2), keepdims=True)
    raw = np.trace(shares, axis1=1, axis2=2)
    one, two = shares.sum(axis=2), shares.sum(axis=1)
    by_chance = (one * two).sum(axis=1)
    means = (one + two) / 2
    by_gwet = (means * (1 - means)).sum(axis=1) / max(tables.shape[1] - 1, 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        kappa = np.where(by_chance < 1 - 1e-12, (raw - by_chance) / (1 - by_chance), np.nan)
    return raw, kappa, (raw - by_gwet) / (1 - by_gwet)


def _drawn(table: Floats, agree: bool, resamples: int, seed: int) -> Floats:
    """Tables of drawn weights, one imagined item in them: agreed on as the rarest label, or the commonest confused."""
    if len(table) == 1:  # the one label that was never used has its place, for the coders to differ
        table = np.pad(table, (0, 1))
    use = table.sum(axis=0) + table.sum(axis=1)
    common = np.argsort(-use, kind="stable")
    at = (common[-1], common[-1]) if agree else (common[0], common[1])
    rng = np.random.default_rng(seed)
    weights = rng.standard_gamma(table, size=(resamples, *table.shape))
    weights[:, at[0], at[1]] += rng.standard_exponential(resamples)
    return weights


def _plain(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def confusion(truth: Iterable[str], given: Iterable[str]) -> dict[str, dict[str, int]]:
    """Counts by true label, then by given label."""
    table: dict[str, Counter[str]] = {}
    for true, got in zip(truth, given, strict=True):
        table.setdefault(true, Counter())[got] += 1
    return {true: dict(row) for true, row in sorted(table.items())}


def macro_f1(truth: Sequence[Iterable[str]], given: Sequence[Iterable[str]], labels: Sequence[str]) -> float | None:
    """Mean F1 over the labels that occur in the truth, each item carrying a set of labels; None when none occurs."""
    counts = _label_counts(truth, given, labels)
    return None if counts is None else float(_mean_f1(counts.sum(axis=0)[None])[0])


def macro_f1_interval(
    truth: Sequence[Iterable[str]],
    given: Sequence[Iterable[str]],
    labels: Sequence[str],
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval | None:
    """95% interval of `macro_f1`: the imagined item carries every label, and all of them are found, or none."""
    counts = _label_counts(truth, given, labels)
    if counts is None:
        return None
    rng = np.random.default_rng(seed)
    ends = []
    for found, share in ((0.0, 0.025), (1.0, 0.975)):
        imagined = np.array([[found, 1.0, found]]).repeat(counts.shape[1], axis=0)
        items = np.concatenate([counts, imagined[None]])
        weights = rng.standard_exponential((resamples, len(items)))
        ends.append(float(np.quantile(_mean_f1(np.tensordot(weights, items, axes=1)), share)))
    return ends


def _label_counts(
    truth: Sequence[Iterable[str]], given: Sequence[Iterable[str]], labels: Sequence[str]
) -> Floats | None:
    """(both, true, given) of each label that occurs in the truth, by item: shape (items, labels, 3)."""
    pairs = [(set(t), set(g)) for t, g in zip(truth, given, strict=True)]
    used = [label for label in labels if any(label in t for t, _ in pairs)]
    if not used:
        return None
    return np.array([[[label in t and label in g, label in t, label in g] for label in used] for t, g in pairs], float)


def _mean_f1(sums: Floats) -> Floats:
    """Mean F1 of summed counts, shape (draws, labels, 3)."""
    scores: Floats = 2 * sums[..., 0] / (sums[..., 1] + sums[..., 2])
    return scores.mean(axis=-1)
