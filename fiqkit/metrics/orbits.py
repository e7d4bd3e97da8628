"""Orbits: one question, every reading intended once (protocol, section 10). Not asking cannot score on them.

Theorem. Let an orbit have k siblings, whose golds are pairwise different, and let a policy see nothing before the
user's first reply that differs between them. If its answer does not depend on the replies, its expected share of
siblings answered right is at most 1/k, whatever it knows.
Proof. Its answer has one distribution for all siblings. An answer equals at most one gold, so the chances of being
right, summed over the k siblings, are at most 1. ∎
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import fsum, log2
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fiqkit import values
from fiqkit.metrics.intervals import RESAMPLES, Interval, Nesting, bounded_interval
from fiqkit.metrics.scored import Scored, group

_PERMUTATIONS = 2_000


@dataclass(frozen=True, slots=True)
class Orbit:
    """The scored episodes of one orbit, sibling by sibling (each with one episode a sample), all of them scored."""

    siblings: list[list[Scored]]

    @property
    def k(self) -> int:
        """How many readings the orbit has."""
        return len(self.siblings)

    @property
    def share(self) -> float:
        """Share of siblings answered right, samples averaged."""
        return fsum(sum(bool(e.is_intended) for e in found) / len(found) for found in self.siblings) / self.k

    @property
    def resolved(self) -> float:
        """(k · share − 1) / (k − 1): at most 0 in expectation without asking, 1 when every reading is reached."""
        return (self.k * self.share - 1) / (self.k - 1)

    @property
    def company(self) -> str:
        """Under which orbits are dependent."""
        return self.siblings[0][0].cluster


def whole_orbits(episodes: Sequence[Scored]) -> tuple[list[Orbit], int]:
    """The orbits whose siblings were all played and scored, sorted by name, and how many were left out."""
    there = group((e for e in episodes if e.orbit and e.siblings > 1), lambda e: e.orbit or "")
    whole = []
    for name in sorted(there):
        siblings = group(there[name], lambda e: e.record)
        complete = len(siblings) == there[name][0].siblings and all(e.counts for e in there[name])
        if complete:
            whole.append(Orbit([sorted(siblings[key], key=lambda e: e.sample) for key in sorted(siblings)]))
    return whole, len(there) - len(whole)


def orbit_numbers(episodes: Sequence[Scored], *, resamples: int = RESAMPLES, seed: int = 0) -> dict[str, Any]:
    """The numbers of a row that orbits give; None throughout where the data has none.

    Returns:
        {"orbits", "orbits_left_out" (a sibling was not played or not scored), "intent_resolved", "bits_resolved" (that
        times log2 k): means over orbits with intervals over companies; "mutual_information" between intended and
        answered reading with its permutation null (bits; only where there are several samples, from single ones it is
        biased upwards); "integration": does the answer follow the reply}.
    """
    orbits, left_out = whole_orbits(episodes)
    resolved = [orbit.resolved for orbit in orbits]
    bits = [orbit.resolved * log2(orbit.k) for orbit in orbits]
    lowest = min((-1 / (orbit.k - 1) for orbit in orbits), default=0.0)
    most = max((log2(orbit.k) for orbit in orbits), default=0.0)
    least = min((-log2(orbit.k) / (orbit.k - 1) for orbit in orbits), default=0.0)
    companies = [orbit.company for orbit in orbits]

    def over_companies(found: list[float], low: float, high: float) -> Interval | None:
        if not found:
            return None
        units = Nesting.of(companies)
        return bounded_interval(found, [1.0] * len(found), low, high, nesting=units, resamples=resamples, seed=seed)

    return {
        "orbits": len(orbits),
        "orbits_left_out": left_out,
        "intent_resolved": fsum(resolved) / len(orbits) if orbits else None,
        "intent_resolved_ci": over_companies(resolved, lowest, 1.0),
        "bits_resolved": fsum(bits) / len(orbits) if orbits else None,
        "bits_resolved_ci": over_companies(bits, least, most),
        **_information(orbits, seed),
        "integration": _integration(orbits) if orbits else None,
    }


# --- which reading was answered -------------------------------------------------------------------------------------


def answered_reading(e: Scored, golds: Sequence[str]) -> int:
    """Index of the sibling whose gold the committed value is; len(golds) where it is none of them."""
    own = golds.index(e.golds[0])
    if e.is_intended:
        return own
    found = values.find(e.value) if e.value else []
    for at, gold in enumerate(golds):
        wanted = values.find(gold)
        if at != own and found and wanted and values.same(found[0], wanted[0]):
            return at
    return len(golds)


def _readings(orbit: Orbit) -> list[list[int]]:
    golds = [found[0].golds[0] for found in orbit.siblings]
    return [[answered_reading(e, golds) for e in found] for found in orbit.siblings]


# --- information between intended and answered reading --------------------------------------------------------------


def _information(orbits: Sequence[Orbit], seed: int) -> dict[str, float | None]:
    several = [orbit for orbit in orbits if min(map(len, orbit.siblings)) > 1]
    if not several:
        return dict.fromkeys(("mutual_information", "mutual_information_null", "mutual_information_p"))
    rng = np.random.default_rng(seed)
    observed, null = [], np.zeros(_PERMUTATIONS)
    for orbit in several:
        readings = _readings(orbit)
        intended = np.repeat(np.arange(orbit.k), [len(found) for found in readings])
        answered = np.array([reading for found in readings for reading in found])
        observed.append(float(_mutual_information(intended, answered[None, :], orbit.k)[0]))
        shuffled = rng.permuted(np.tile(answered, (_PERMUTATIONS, 1)), axis=1)
        null += _mutual_information(intended, shuffled, orbit.k)
    mean, null = fsum(observed) / len(several), null / len(several)
    return {
        "mutual_information": mean,
        "mutual_information_null": float(null.mean()),
        "mutual_information_p": float((1 + np.sum(null >= mean - 1e-12)) / (1 + _PERMUTATIONS)),
    }


def _mutual_information(intended: NDArray[np.int64], answered: NDArray[np.int64], k: int) -> NDArray[np.float64]:
    """Plug-in mutual information in bits of each row of `answered` (shape (draws, n)) with `intended` (n,)."""
    cells = intended[None, :] * (k + 1) + answered
    draws, n = answered.shape
    flat = (cells + np.arange(draws)[:, None] * k * (k + 1)).reshape(-1)
    joint = np.bincount(flat, minlength=draws * k * (k + 1)).reshape(draws, k, k + 1) / n
    independent = joint.sum(axis=2, keepdims=True) * joint.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(joint > 0, joint * np.log2(joint / independent), 0.0)
    return np.asarray(terms.sum(axis=(1, 2)), np.float64)


# --- does the answer follow the reply -------------------------------------------------------------------------------


def _integration(orbits: Sequence[Orbit]) -> Mapping[str, Any]:
    """Where siblings asked the same first question and were told different things: did the answers part, and rightly?

    A reply allows the readings whose siblings got that very reply to that question. No episode is replayed.

    Returns:
        {"orbits" (with such siblings), "pairs" (told differently), "follows" (share of them that answered differently),
        "episodes", "allowed" (share of their answers that are a reading which the reply allows)}.
    """
    told = pairs = follows = episodes = allowed = 0
    for orbit in orbits:
        readings = _readings(orbit)
        draws = {e.sample for found in orbit.siblings for e in found}
        counted = False
        for sample in sorted(draws):
            asking = [
                (at, e, readings[at][place])
                for at, found in enumerate(orbit.siblings)
                for place, e in enumerate(found)
                if e.sample == sample and e.asks and e.replies
            ]
            for same in _by_first_question(asking):
                apart = [(a, b) for a, b in combinations(same, 2) if a[1].replies[0] != b[1].replies[0]]
                if not apart:
                    continue
                counted = True
                pairs += len(apart)
                follows += sum(a[2] != b[2] for a, b in apart)
                episodes += len(same)
                for _, e, reading in same:
                    allowed += reading in {at for at, other, _ in same if other.replies[0] == e.replies[0]}
        told += counted
    return {
        "orbits": told,
        "pairs": pairs,
        "follows": follows / pairs if pairs else None,
        "episodes": episodes,
        "allowed": allowed / episodes if episodes else None,
    }


Asking = tuple[int, Scored, int]  # sibling, its episode, the reading that it answered


def _by_first_question(asking: Sequence[Asking]) -> list[list[Asking]]:
    """Siblings by their first question."""
    found: dict[str, list[Asking]] = {}
    for entry in asking:
        found.setdefault(entry[1].asks[0], []).append(entry)
    return list(found.values())
