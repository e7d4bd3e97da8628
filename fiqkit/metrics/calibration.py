"""Stated confidence against correctness: five equal-width bins (protocol, section 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fiqkit.metrics.intervals import LEVEL, Floats, Interval
from fiqkit.metrics.scored import Scored

BINS = 5
DRAWS = 2_000


def stating(episodes: Sequence[Scored]) -> list[Scored]:
    """The episodes that calibration is about: scored, with a stated confidence."""
    return [e for e in episodes if e.counts and e.confidence is not None]


@dataclass(frozen=True, slots=True)
class Bins:
    """What falls into each bin: how many, the sum of their confidences (0 to 1), how many are right; each (BINS,)."""

    n: Floats
    confidence: Floats
    right: Floats

    @classmethod
    def of(cls, confidence: Floats, right: Floats) -> Bins:
        """From one value an episode; a bin holds its lower edge, the last one both."""
        at = _bin(confidence)
        columns = (np.ones_like(right), confidence, right)
        return cls(*(np.bincount(at, weights=w, minlength=BINS).astype(np.float64) for w in columns))

    @property
    def error(self) -> float:
        """Expected calibration error (Naeini, Cooper and Hauskrecht, 2015)."""
        return float(np.abs(self.right - self.confidence).sum() / self.n.sum())


def _bin(confidence: Floats) -> NDArray[np.int64]:
    return np.minimum((confidence * BINS + 1e-9).astype(np.int64), BINS - 1)


def _stated(episodes: Sequence[Scored]) -> tuple[Floats, Floats]:
    pairs = sorted(
        (e.confidence / 100, float(bool(e.is_intended))) for e in stating(episodes) if e.confidence is not None
    )
    table = np.array(pairs, dtype=np.float64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def expected_calibration_error(episodes: Sequence[Scored], *, seed: int = 0) -> dict[str, Any]:
    """{"ece", "ece_ci", "ece_n", "ece_calibrated"} over the scored episodes that stated a confidence; None without any.

    `ece_calibrated` is [mean, 95% point] of the error that an agent would show by chance if each of its statements were
    exactly right: with few episodes that is far from 0.

    The interval is error ± q, where q is the 95% point of Σ |accuracy drawn − accuracy seen| · n / N over the bins,
    each bin's accuracy drawn from its Jeffreys posterior: by the triangle inequality the error moves no further than
    its bins do. It is cautious where several bins are in use, and holds where every answer was wrong. Samples of
    an item count as one.
    """
    confidence, right = _stated(episodes)
    if not len(right):
        return {"ece": None, "ece_ci": None, "ece_n": 0, "ece_calibrated": None}
    bins = Bins.of(confidence, right)
    rng = np.random.default_rng(seed)
    drawn = rng.random((DRAWS, len(right))) < confidence
    member = _bin(confidence)[:, None] == np.arange(BINS)
    chance = np.abs(drawn @ member.astype(np.float64) - bins.confidence).sum(axis=1) / len(right)
    return {
        "ece": bins.error,
        "ece_ci": _interval(bins, len({e.record for e in stating(episodes)}) / len(right), rng),
        "ece_n": len(right),
        "ece_calibrated": [float(np.mean(chance)), float(np.quantile(chance, LEVEL))],
    }


def _interval(bins: Bins, independent: float, rng: np.random.Generator) -> Interval:
    used = bins.n > 0
    n, right = bins.n[used], bins.right[used]
    drawn = rng.beta(independent * right + 0.5, independent * (n - right) + 0.5, size=(DRAWS, len(n)))
    moved = np.abs(drawn - right / n) @ n / n.sum()
    reach = float(np.quantile(moved, LEVEL))
    return [max(0.0, bins.error - reach), min(1.0, bins.error + reach)]


def reliability(episodes: Sequence[Scored]) -> list[dict[str, Any]]:
    """The bins of a reliability diagram: low, high, n, mean confidence and accuracy (None in an empty bin)."""
    bins = Bins.of(*_stated(episodes))
    return [
        {
            "low": index / BINS,
            "high": (index + 1) / BINS,
            "n": int(n),
            "confidence": float(confidence / n) if n else None,
            "accuracy": float(right / n) if n else None,
        }
        for index, (n, confidence, right) in enumerate(zip(bins.n, bins.confidence, bins.right, strict=True))
    ]
