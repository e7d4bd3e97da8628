"""Every analysis over one source of features, in one pass through its layers.

The hidden states, a bag of words and the bare lengths go through the same functions on the same folds, so that a
control differs from the finding it checks in nothing but its features.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np

from fiqkit.models.local.threads import choose_threads
from fiqkit.probe.category import (
    SHUFFLES,
    SHUFFLES_OF_EACH,
    Decoders,
    Decoding,
    control_decoders,
    pair_decoders,
    rest_decoders,
    size_matched,
)
from fiqkit.probe.direction import DirectionFit, Profile, products
from fiqkit.probe.folds import Floats, Ints
from fiqkit.probe.items import Items, Source
from fiqkit.probe.ridge import gram

CONTRASTS = {
    "ambiguity": ("plain", "context"),
    "neutral": ("neutral", "context"),
    "mismatched": ("mismatched", "context"),
}


@dataclass(frozen=True, slots=True)
class Findings:
    """What one source of features yields.

    Attributes:
        points: the layers looked at, by their number in the model.
        contrasts: profile of the direction between two kinds of prompt, by name in `CONTRASTS`; of those kinds that the
            source has.
        pair: the two most frequent categories decoded from Q alone.
        rest: each category against the rest.
        transfer: the pair learned on the other languages, by the language it is tried on; `transfer_direction` is the
            direction, each item projected on what the other languages yield. Empty and None for a single language.
        leaky: the pair when one company's items may lie on both sides of a split.
        matched: AUROC by category over the size-matched samples, (draws,).
        norms: mean length of the states of Q and of Q + C, (points,).
        control: accuracy on the control tasks of the pair by layer, mean over the tasks, (points,), or None.
    """

    points: list[int]
    contrasts: Mapping[str, Profile]
    pair: Decoding
    rest: Mapping[str, Decoding]
    transfer: Mapping[str, Decoding]
    transfer_direction: Profile | None
    leaky: Decoding | None
    matched: Mapping[str, Floats]
    norms: Floats
    control: Floats | None


def permutations_for(points: int) -> int:
    """Enough sign flips for Holm over this many layers to be able to reach .05."""
    return max(1000, 25 * points)


def analyse(
    items: Items,
    source: Source,
    points: Sequence[int] | None = None,
    *,
    permutations: int | None = None,
    thorough: bool = True,
    progress: Callable[[int], None] | None = None,
) -> Findings:
    """Run the analyses. Not `thorough`: without transfer, leaky folds and size-matched samples."""
    points = list(range(source.points)) if points is None else list(points)
    draws = permutations or permutations_for(len(points))
    shuffles = min(draws, SHUFFLES)
    folds = items.folds
    there = source.layer(points[0])
    contrasts = {name: (a, b) for name, (a, b) in CONTRASTS.items() if {a, b} <= there.keys()}
    fits = {name: DirectionFit(folds, folds, items.clusters, draws, items.seed) for name in contrasts}
    pair = pair_decoders(items, folds, shuffles)
    decoders = {"pair": pair, "rest": rest_decoders(items, min(draws, SHUFFLES_OF_EACH))}
    languages = _languages(items) if thorough else None
    if languages is not None:
        fits["language"] = DirectionFit(languages, folds, items.clusters, 0, items.seed)
        decoders["language"] = pair_decoders(items, languages, shuffles)
    if thorough:
        decoders["leaky"] = pair_decoders(items, _shuffled_folds(folds, items.seed), 0)
        decoders["control"] = control_decoders(items)
    samples = size_matched(items) if thorough else []
    norms = np.zeros(len(points))

    def fit(point: int) -> list[Callable[[], None]]:
        """Fit one layer; what is returned hands the fits over, and is called in the layers' order."""
        states = source.layer(point)
        found: list[Callable[[], None]] = []
        for name, (a, b) in contrasts.items():
            others = {c: s for c, s in states.items() if c not in (a, b)} if name == "ambiguity" else None
            layer = products(states[a], states[b], others)
            found.append(partial(fits[name].take, fits[name].fit(layer)))
            if name == "ambiguity" and languages is not None:
                found.append(partial(fits["language"].take, fits["language"].fit(layer)))
        norms[points.index(point)] = np.mean([np.linalg.norm(states[c], axis=1).mean() for c in ("plain", "context")])
        kernels: dict[bytes, dict[int, Floats]] = {}  # by the split: most decoders share one
        for decoder in (*decoders.values(), *samples):
            split = decoder.folds.tobytes()
            if split not in kernels:
                kernels[split] = {int(f): gram(states["plain"], decoder.folds != f) for f in np.unique(decoder.folds)}
            found.append(partial(decoder.take, decoder.fit(kernels[split])))
        return found

    from threadpoolctl import threadpool_limits

    # Layers side by side, each on one thread: BLAS's own threads would mostly wait, the matrices are small.
    with threadpool_limits(1, "blas"), ThreadPoolExecutor(choose_threads()) as pool:
        for found in pool.map(fit, points):
            for take in found:
                take()
            if progress:
                progress(1)

    return Findings(
        points=points,
        contrasts={name: fits[name].profile() for name in contrasts},
        pair=pair.result("pair"),
        rest={name: decoders["rest"].result(name) for name in decoders["rest"].names},
        transfer=_transfer(items, decoders["language"]) if languages is not None else {},
        transfer_direction=fits["language"].profile() if languages is not None else None,
        leaky=decoders["leaky"].result("pair") if thorough else None,
        matched=_matched(samples),
        norms=norms,
        control=_control(decoders["control"]) if thorough else None,
    )


def _control(decoders: Decoders) -> Floats:
    return np.mean([decoders.result(name).by_layer for name in decoders.names], axis=0)


def _languages(items: Items) -> Ints | None:
    """Language of each item as a number, or None where a transfer cannot be learned and tried.

    Each language needs two companies' worth of folds to choose a layer by, and both categories of the pair.
    """
    names, number = np.unique(items.language, return_inverse=True)
    if len(names) < 2:
        return None
    rows = items.in_pair
    for language in range(len(names)):
        folds = np.unique(items.folds[rows][number[rows] == language])
        kinds = np.unique(items.primary[rows][number[rows] == language])
        if len(folds) < 2 or len(kinds) < 2:
            return None
    return number.astype(np.int64)


def _shuffled_folds(folds: Ints, seed: int) -> Ints:
    """Folds of the same sizes that ignore companies."""
    return np.random.default_rng(seed).permutation(folds)


def _transfer(items: Items, decoders: Decoders) -> dict[str, Decoding]:
    languages = items.language[decoders.rows]
    return {str(name): decoders.result("pair", among=languages == name) for name in np.unique(languages)}


def _matched(samples: Sequence[Decoders]) -> dict[str, Floats]:
    if not samples:
        return {}
    return {name: np.array([sample.result(name).auroc for sample in samples]) for name in samples[0].names}
