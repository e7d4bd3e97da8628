"""The difference-in-means direction between two kinds of prompt, always reported on companies that did not shape it.

For a layer, let d_i be item i's state under prompt A minus its state under B. A fold's direction is the mean of d over
the other folds, at unit length; an item's projection on it is a row of the matrix (state · d_i) averaged over those
items. So one n × n matrix a layer carries all folds, and all sign flips of the permutation test.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fiqkit.metrics.significance import holm
from fiqkit.probe.folds import Floats, Ints, company_signs, company_weights, p_value

BOOTSTRAPS = 1000


@dataclass(frozen=True, slots=True)
class Profile:
    """Held-out separation of A from B over the layers.

    Attributes:
        separation: (points,), difference of mean projections ÷ pooled SD, held-out items.
        band: (points, 2), 95% bootstrap interval over companies.
        p, p_holm: (points,), one-sided permutation p, and after Holm over the layers.
        peak: the point of the largest separation; `peak_band` is the 95% bootstrap interval of that point.
        nested: separation when each fold's layer is picked on the other folds; `nested_band` its interval.
        nested_layers: the point that each fold picked.
        at_nested: projections at those layers in held-in standard deviations, by prompt, (n,).
        projections: (points, n) by "a" and "b", in the layer's own units, centred on the held-in midpoint.
        raw: (points,), difference of mean projections in the layer's own units, as the paper has it: it grows with the
            norm of the residual stream.
    """

    separation: Floats
    band: Floats
    p: Floats
    p_holm: Floats
    peak: int
    peak_band: tuple[int, int]
    nested: float
    nested_band: tuple[float, float]
    nested_layers: list[int]
    at_nested: Mapping[str, Floats]
    projections: Mapping[str, Floats]

    @property
    def raw(self) -> Floats:
        """See the attributes."""
        difference: Floats = self.projections["a"].mean(axis=1) - self.projections["b"].mean(axis=1)
        return difference


def products(a: Floats, b: Floats, others: Mapping[str, Floats] | None = None) -> dict[str, Floats]:
    """All that the fits need of a layer: by prompt, states times the differences d, (n, n).

    Args:
        a, b: states under A and under B, each (n, width).
        others: states under prompts that are only projected.
    """
    difference, middle = a - b, (a.mean(axis=0) + b.mean(axis=0)) / 2
    # Large means are taken off first, so that single precision is enough for the products.
    return {name: (x - middle) @ difference.T for name, x in {"a": a, "b": b, **(others or {})}.items()}


@dataclass(frozen=True, slots=True)
class LayerFit:
    """One layer's projections, in its own units and in held-in standard deviations, by prompt, (n,) each.

    Attributes:
        picking: (outer folds,), separation among the held-in items, by which a fold picks its layer.
        null: (1 + permutations,), separation under each row of signs; the first is the observed arrangement.
    """

    raw: dict[str, Floats]
    scaled: dict[str, Floats]
    picking: Floats
    null: Floats


@dataclass
class DirectionFit:
    """Collects a profile layer by layer: `fit` each in any order or thread, `take` the fits in the layers' order.

    `outer` is the fold to report on, `inner` the fold to pick the layer by.
    """

    outer: Ints
    inner: Ints
    clusters: Sequence[str]
    permutations: int = 1000
    seed: int = 0
    _signs: NDArray[np.float32] = field(init=False)
    _layers: list[LayerFit] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        flips = company_signs(self.clusters, self.permutations, self.seed)
        self._signs = np.concatenate([np.ones((1, len(self.outer)), np.float32), flips])

    def fit(self, cross: Mapping[str, Floats]) -> LayerFit:
        """The fit of one layer, as `products` gives it; changes nothing."""
        between = cross["a"] - cross["b"]
        raw: dict[str, Floats] = {name: np.zeros(len(self.outer)) for name in cross}
        scaled: dict[str, Floats] = {name: np.zeros(len(self.outer)) for name in cross}
        picking = []
        for fold in np.unique(self.outer):
            held_in, held_out = np.flatnonzero(self.outer != fold), np.flatnonzero(self.outer == fold)
            inside = self._cross_fitted(cross, between, held_in)
            picking.append(separation_of(*inside))
            unit = _pooled_sd(*inside) or 1.0
            one = _directions(cross, between, held_in, held_out, np.ones((1, len(self.outer)), np.float32))
            for name, values in one.items():
                raw[name][held_out] = values[:, 0]
                scaled[name][held_out] = values[:, 0] / unit
        return LayerFit(raw, scaled, np.array(picking), self._flipped(cross, between))

    def take(self, fit: LayerFit) -> None:
        """Count in the next layer."""
        self._layers.append(fit)

    def _cross_fitted(self, cross: Mapping[str, Floats], between: Floats, items: Ints) -> tuple[Floats, Floats]:
        """Projections of A and B among `items`, each on the direction of the other inner folds."""
        plus = np.ones((1, len(self.outer)), np.float32)
        pair = {name: cross[name] for name in ("a", "b")}
        out_a, out_b = np.zeros(len(self.outer)), np.zeros(len(self.outer))
        for group in np.unique(self.inner[items]):
            held_in, held_out = items[self.inner[items] != group], items[self.inner[items] == group]
            values = _directions(pair, between, held_in, held_out, plus)
            out_a[held_out], out_b[held_out] = values["a"][:, 0], values["b"][:, 0]
        return out_a[items], out_b[items]

    def _flipped(self, cross: Mapping[str, Floats], between: Floats) -> Floats:
        """Separation under each row of signs, (1 + permutations,); the first row is the observed arrangement."""
        n, draws = len(self.outer), len(self._signs)
        a, b = np.zeros((n, draws), np.float32), np.zeros((n, draws), np.float32)
        pair = {name: cross[name] for name in ("a", "b")}
        for fold in np.unique(self.outer):
            held_in, held_out = np.flatnonzero(self.outer != fold), np.flatnonzero(self.outer == fold)
            values = _directions(pair, between, held_in, held_out, self._signs)
            kept = self._signs[:, held_out].T > 0
            a[held_out] = np.where(kept, values["a"], values["b"])
            b[held_out] = np.where(kept, values["b"], values["a"])
        return separation_of(a, b)

    def profile(self) -> Profile:
        """The profile of the layers taken so far."""
        null = np.stack([layer.null for layer in self._layers])
        separation = null[:, 0]
        p = np.array([p_value(row[0], row[1:]) for row in null])
        stacked = {name: np.stack([layer.raw[name] for layer in self._layers]) for name in self._layers[0].raw}
        weights = company_weights(self.clusters, BOOTSTRAPS, self.seed)
        resampled = _weighted_separation(stacked["a"], stacked["b"], weights)
        peaks = np.argmax(resampled, axis=1)
        picked = np.argmax(np.stack([layer.picking for layer in self._layers]), axis=0)
        at_nested = self._at(picked)
        nested = _weighted_separation(at_nested["a"][None], at_nested["b"][None], weights)[:, 0]
        low, high = np.percentile(peaks, [2.5, 97.5], method="nearest")
        return Profile(
            separation=separation,
            band=np.percentile(resampled, [2.5, 97.5], axis=0).T,
            p=p,
            p_holm=np.array(holm(p.tolist())),
            peak=int(np.argmax(separation)),
            peak_band=(int(low), int(high)),
            nested=float(separation_of(at_nested["a"], at_nested["b"])),
            nested_band=(float(np.percentile(nested, 2.5)), float(np.percentile(nested, 97.5))),
            nested_layers=[int(layer) for layer in picked],
            at_nested=at_nested,
            projections={name: stacked[name] for name in ("a", "b")},
        )

    def _at(self, picked: NDArray[np.int64]) -> dict[str, Floats]:
        chosen: dict[str, Floats] = {name: np.zeros(len(self.outer)) for name in self._layers[0].scaled}
        for fold, layer in zip(np.unique(self.outer), picked, strict=True):
            for name, values in chosen.items():
                values[self.outer == fold] = self._layers[layer].scaled[name][self.outer == fold]
        return chosen


def _directions(
    cross: Mapping[str, Floats], between: Floats, held_in: Ints, held_out: Ints, signs: NDArray[np.float32]
) -> dict[str, Floats]:
    """Projections of the held-out items, (held out, draws) by prompt, centred on the held-in midpoint."""
    s = np.ascontiguousarray(signs[:, held_in].T)
    inside = between[np.ix_(held_in, held_in)].astype(np.float32)
    length = np.sqrt(np.maximum((s * (inside @ s)).sum(axis=0), 1e-24))
    middle = (cross["a"][np.ix_(held_in, held_in)] + cross["b"][np.ix_(held_in, held_in)]).mean(axis=0) / 2
    # Centred in double, multiplied in single: the products with thousands of sign rows are where the time goes.
    centred = {name: (values[np.ix_(held_out, held_in)] - middle).astype(np.float32) for name, values in cross.items()}
    return {name: values @ s / length for name, values in centred.items()}


def _pooled_sd(a: Floats, b: Floats) -> Floats:
    return np.sqrt((a.var(axis=0, ddof=1) + b.var(axis=0, ddof=1)) / 2)


def separation_of(a: Floats, b: Floats) -> Floats:
    """Difference of means ÷ pooled SD along the first axis; 0 where nothing varies."""
    spread = _pooled_sd(a, b)
    return np.where(spread > 1e-12, (a.mean(axis=0) - b.mean(axis=0)) / np.where(spread > 1e-12, spread, 1.0), 0.0)


def _weighted_separation(a: Floats, b: Floats, weights: Floats) -> Floats:
    """Separation of each layer, (draws, layers), under resampling weights (draws, n); a and b are (layers, n)."""
    total = weights.sum(axis=1, keepdims=True)

    def moments(values: Floats) -> tuple[Floats, Floats]:
        mean = weights @ values.T / total
        return mean, weights @ np.square(values.T) / total - mean**2

    (mean_a, var_a), (mean_b, var_b) = moments(a), moments(b)
    spread = np.sqrt(np.maximum((var_a + var_b) / 2, 1e-24))
    return (mean_a - mean_b) / spread
