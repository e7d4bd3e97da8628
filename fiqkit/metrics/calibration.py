"""Stated confidence against correctness: five equal-width bins (protocol, section 4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fiqkit.metrics.bootstrap import RESAMPLES, Floats, percentile_interval, resampled_sums
from fiqkit.metrics.scored import Scored

BINS = 5


def _bin_columns(episodes: Sequence[Scored]) -> Floats:
    """One row an episode; for each bin three columns: member, confidence (0 to 1), correct. Shape (n, 3 · BINS)."""
    stated = [(e.confidence / 100, float(bool(e.is_intended))) for e in stating(episodes) if e.confidence is not None]
    table = np.zeros((len(stated), BINS, 3))
    for row, (confidence, correct) in enumerate(stated):
        table[row, min(int(confidence * BINS), BINS - 1)] = 1.0, confidence, correct
    return table.reshape(len(stated), BINS * 3)


def stating(episodes: Sequence[Scored]) -> list[Scored]:
    """The episodes that calibration is about: scored, with a stated confidence."""
    return [e for e in episodes if e.counts and e.confidence is not None]


def _ece(sums: Floats) -> Floats:
    """Expected calibration error of summed bin columns; shape (…, 3 · BINS) to (…)."""
    bins = sums.reshape(*sums.shape[:-1], BINS, 3)
    gaps: Floats = np.abs(bins[..., 2] - bins[..., 1]).sum(axis=-1) / bins[..., 0].sum(axis=-1)
    return gaps


def expected_calibration_error(
    episodes: Sequence[Scored], *, resamples: int = RESAMPLES, seed: int = 0
) -> tuple[float | None, list[float] | None]:
    """(ECE, its interval) over the scored episodes that stated a confidence; (None, None) when none did."""
    columns = _bin_columns(episodes)
    if not len(columns):
        return None, None
    interval = percentile_interval(_ece(resampled_sums(columns, resamples, seed))) if resamples else None
    return float(_ece(columns.sum(axis=0))), interval


def reliability(episodes: Sequence[Scored]) -> list[dict[str, Any]]:
    """The bins of a reliability diagram: low, high, n, mean confidence and accuracy (None in an empty bin)."""
    sums = _bin_columns(episodes).sum(axis=0).reshape(BINS, 3)
    return [
        {
            "low": index / BINS,
            "high": (index + 1) / BINS,
            "n": int(n),
            "confidence": float(confidence / n) if n else None,
            "accuracy": float(correct / n) if n else None,
        }
        for index, (n, confidence, correct) in enumerate(sums)
    ]
