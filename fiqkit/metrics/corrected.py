"""Rates corrected for the grader, from answers that people ruled on.

Two corrections with different assumptions. Rogan and Gladen (1978) undo the grader's sensitivity and specificity, which
must hold on the answers at hand as on those ruled on: where hard answers were chosen for ruling, they do not.
Prediction-powered rates (Angelopoulos and others, 2023) add the mean error seen on the row's own ruled answers to the
rate that the grader gives, and need those to be a random draw of the row.

Intervals add up one-sided draws, each with the imagined unit of `fiqkit.metrics.intervals` at the end that it could be
pushed to, so that a sensitivity of 1 seen on five answers is no certainty.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Any

import numpy as np

from fiqkit.metrics.intervals import LEVEL, Floats, Interval
from fiqkit.metrics.scored import Scored

DRAWS = 10_000
_UNLIKE = "the grader's errors on the ruled answers alone would give another rate than it gave: they are not like these"
FEW = 10  # ruled answers of a kind, under which sensitivity or specificity says little


@dataclass(frozen=True, slots=True)
class Instrument:
    """What a grader does with answers that people ruled on: counts.

    Attributes:
        hits, right: of `right` answers ruled right it called `hits` right (sensitivity).
        passes, wrong: of `wrong` answers ruled wrong it called `passes` wrong (specificity).
    """

    hits: int
    right: int
    passes: int
    wrong: int

    @classmethod
    def of(cls, pairs: Sequence[tuple[bool, bool]]) -> Instrument:
        """From (given, ruled) of each answer."""
        return cls(
            hits=sum(given and ruled for given, ruled in pairs),
            right=sum(ruled for _, ruled in pairs),
            passes=sum(not given and not ruled for given, ruled in pairs),
            wrong=sum(not ruled for _, ruled in pairs),
        )

    @property
    def sensitivity(self) -> float | None:
        """Share of right answers that it calls right; None where none was ruled on."""
        return self.hits / self.right if self.right else None

    @property
    def specificity(self) -> float | None:
        """Share of wrong answers that it calls wrong; None where none was ruled on."""
        return self.passes / self.wrong if self.wrong else None

    @property
    def refusal(self) -> str | None:
        """Why no rate can be corrected by it; None where one can."""
        if self.sensitivity is None or self.specificity is None:
            return "no ruled answer is right, or none is wrong: sensitivity or specificity is not known"
        if self.sensitivity + self.specificity <= 1:
            return "sensitivity and specificity add up to no more than 1: the grader tells nothing of right and wrong"
        return None

    @property
    def doubt(self) -> str | None:
        """What the correction cannot carry; None where the ruled answers are enough."""
        few = min((self.right, "right"), (self.wrong, "wrong"))
        if few[0] >= FEW:
            return None
        return f"only {few[0]} of the ruled answers are {few[1]}: the correction cannot be told from none"


def rogan_gladen(given: int, n: int, instrument: Instrument, *, seed: int = 0) -> tuple[float, Interval]:
    """(corrected rate, its interval): (rate + specificity − 1) / (sensitivity + specificity − 1), within 0 and 1.

    Args:
        given: how many of `n` episodes the grader calls right.
        instrument: one that `refusal` lets pass.

    Raises:
        ValueError: an instrument that must be refused.
    """
    sensitivity, specificity = instrument.sensitivity, instrument.specificity
    if instrument.refusal or sensitivity is None or specificity is None:
        raise ValueError(instrument.refusal)
    rng = np.random.default_rng(seed)
    estimate = (given / n + specificity - 1) / (sensitivity + specificity - 1)
    ends = []
    for up in (False, True):
        rate, hit, passed = (
            _share(rng, given, n, up),
            _share(rng, instrument.hits, instrument.right, not up),
            _share(rng, instrument.passes, instrument.wrong, up),
        )
        scale = hit + passed - 1
        with np.errstate(divide="ignore", invalid="ignore"):
            drawn = np.where(scale > 0, (rate + passed - 1) / scale, float(up))
        ends.append(float(np.quantile(np.clip(drawn, 0, 1), _tail(up))))
    return min(1.0, max(0.0, estimate)), ends


def prediction_powered(
    given: int, n: int, ruled: Sequence[tuple[bool, bool]], *, seed: int = 0
) -> tuple[float, Interval]:
    """(corrected rate, its interval): the grader's rate plus the mean of ruled − given over the ruled answers.

    Args:
        given: how many of `n` episodes the grader calls right.
        ruled: (given, ruled) of a random draw of those episodes, at least one.
    """
    rng = np.random.default_rng(seed)
    errors = np.array([float(truth) - float(said) for said, truth in ruled])
    estimate = given / n + fsum(errors) / len(errors)
    ends = []
    for up in (False, True):
        weights = rng.standard_exponential((DRAWS, len(errors) + 1))
        rectifier = weights @ np.append(errors, 1.0 if up else -1.0) / weights.sum(axis=1)
        drawn = np.clip(_share(rng, given, n, up) + rectifier, 0, 1)
        ends.append(float(np.quantile(drawn, _tail(up))))
    return min(1.0, max(0.0, estimate)), ends


def _tail(up: bool) -> float:
    return (1 + LEVEL) / 2 if up else (1 - LEVEL) / 2


def _share(rng: np.random.Generator, hits: int, n: int, up: bool) -> Floats:
    """Draws of a share whose quantiles are the ends of the exact interval: one more unit, a hit or a miss."""
    right, wrong = (hits + 1, n - hits) if up else (hits, n - hits + 1)
    if not right or not wrong:
        return np.full(DRAWS, float(not wrong))
    return rng.beta(right, wrong, DRAWS)


def corrected_numbers(
    episodes: Sequence[Scored], rulings: Mapping[int, bool], instrument: Instrument, *, seed: int = 0
) -> dict[str, Any]:
    """A row's accuracy, raw and corrected; JSON-ready.

    Args:
        episodes: of the row.
        rulings: episode number → ruled right, over all rows of the grader.
        instrument: the grader held against all of them.

    Returns:
        {"accuracy", "rulings" (of the row), "sensitivity", "specificity", "rogan_gladen", "rogan_gladen_ci",
        "prediction_powered", "prediction_powered_ci", "refused", "doubt"}; a correction that cannot be had is None.
    """
    counted = [e for e in episodes if e.counts]
    given = sum(bool(e.is_intended) for e in counted)
    own = [(bool(e.is_intended), rulings[e.episode]) for e in counted if e.episode in rulings]
    by_rates: tuple[float | None, Interval | None]
    refused = instrument.refusal
    by_rates = rogan_gladen(given, len(counted), instrument, seed=seed) if counted and not refused else (None, None)
    if by_rates[1] and by_rates[1][0] == by_rates[1][1]:  # every draw fell outside of 0 to 1, and on the same side
        by_rates, refused = (None, None), _UNLIKE
    by_rulings = prediction_powered(given, len(counted), own, seed=seed) if own else (None, None)
    return {
        "accuracy": given / len(counted) if counted else None,
        "rulings": len(own),
        "sensitivity": instrument.sensitivity,
        "specificity": instrument.specificity,
        "rogan_gladen": by_rates[0],
        "rogan_gladen_ci": by_rates[1],
        "prediction_powered": by_rulings[0],
        "prediction_powered_ci": by_rulings[1],
        "refused": refused,
        "doubt": None if refused else instrument.doubt,
    }


def corrected_touch(episodes: Sequence[Scored], instrument: Instrument, *, seed: int = 0) -> dict[str, Any]:
    """AC@1 by touch, raw and corrected for the judge, over instances of one category; JSON-ready.

    There a hit is one decision of the judge, whether a question touches a category, and these `instrument` counts.

    Returns:
        {"n", "ac1_touch", "sensitivity", "specificity", "rogan_gladen", "rogan_gladen_ci", "refused", "doubt"}.
    """
    first = [e.on_category(e.questions[0]) for e in episodes if e.asked and e.questions and len(e.categories) == 1]
    told = [bool(hit) for hit in first if hit is not None]
    refused = instrument.refusal
    rate, ends = rogan_gladen(sum(told), len(told), instrument, seed=seed) if told and not refused else (None, None)
    return {
        "n": len(told),
        "ac1_touch": sum(told) / len(told) if told else None,
        "sensitivity": instrument.sensitivity,
        "specificity": instrument.specificity,
        "rogan_gladen": rate,
        "rogan_gladen_ci": ends,
        "refused": refused,
        "doubt": None if refused else instrument.doubt,
    }
