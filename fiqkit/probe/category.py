"""Can the category of the ambiguity be read off the state of Q alone? Linear decoders on companies not seen before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fiqkit.probe.folds import Floats, Ints, block_permutations, p_value
from fiqkit.probe.items import Items, Source, words_of
from fiqkit.probe.ridge import NestedRidge, RidgeFit, accuracy, auroc
from fiqkit.records import Instance

SHUFFLES = 500  # label sets that the decoder of the pair is refitted on; p is then resolved to .002
SHUFFLES_OF_EACH = 200  # the same for each category against the rest
FEWEST = 4  # items that a category must have, in at least two folds, to be decoded against the rest
DRAWS = 20  # size-matched samples
CONTROL_TASKS = 20


@dataclass(frozen=True, slots=True)
class Decoding:
    """Held-out performance of one two-way decision.

    Attributes:
        accuracy, auroc: at layers chosen without the held-out items.
        baseline: accuracy of always giving the more frequent class of the held-in items.
        shuffled, shuffled_auroc: mean of the same procedure on shuffled labels.
        p, p_auroc: share of shuffled label sets that do as well.
        layers: the layer that each fold chose; `layer` is the most frequent.
        by_layer, by_layer_auroc: at every layer, (points,).
        right: whether each item was decided rightly, (items,).
        ranking: the scores by which `auroc` ranks the items, (items,).
    """

    n: int
    accuracy: float
    baseline: float
    shuffled: float
    p: float
    auroc: float
    shuffled_auroc: float
    p_auroc: float
    layers: list[int]
    by_layer: Floats
    by_layer_auroc: Floats
    right: NDArray[np.bool_]
    ranking: Floats

    @property
    def layer(self) -> int:
        """The layer that most folds chose, the lowest of equals."""
        return int(np.bincount(self.layers).argmax())


class Decoders:
    """Several two-way decisions over the same rows, decoded together layer by layer."""

    def __init__(
        self,
        items: Items,
        rows: Ints,
        targets: Mapping[str, NDArray[np.bool_]],
        outer: Ints,
        shuffles: int,
        within: Ints | None = None,
    ) -> None:
        """Decide about the items `rows`.

        Args:
            targets: by name, true for the positive items among the rows, (rows,).
            outer: the fold to report on, of all items.
            within: labels are shuffled within these groups of all items, so that what follows the groups is no finding.
        """
        self.rows = rows
        self.names = list(targets)
        self.folds = outer
        self.outer = outer[rows]
        groups = [outer, items.folds, *([] if within is None else [within])]
        strata = np.unique(np.stack([group[rows] for group in groups]), axis=1, return_inverse=True)[1].ravel()
        moved = block_permutations(np.asarray(items.clusters)[rows].tolist(), strata, shuffles, items.seed)
        self.columns = {
            name: np.concatenate([y[None], y[moved]]).T if shuffles else y[:, None] for name, y in targets.items()
        }
        stacked = np.concatenate([self.columns[name] for name in self.names], axis=1)
        self.ridge = NestedRidge(np.where(stacked, 1.0, -1.0), self.outer, items.folds[rows])
        self.width = shuffles + 1
        self._by_layer: list[Floats] = []
        self._ranked: list[Floats] = []

    def fit(self, kernels: Mapping[int, Floats]) -> RidgeFit:
        """The decoders of one layer from the kernel of all items for each outer fold; changes nothing, so that layers
        may be fitted at once."""
        inside = np.ix_(self.rows, self.rows)
        return self.ridge.fit([kernels[int(fold)][inside] for fold in np.unique(self.outer)])

    def take(self, fit: RidgeFit) -> None:
        """Count in the next layer."""
        self.ridge.take(fit)
        self._by_layer.append(fit.scores[:, :: self.width].copy())  # a view would keep the scores of every shuffle
        self._ranked.append(self.ridge.ranking(fit.scores)[:, :: self.width].copy())

    def result(self, name: str, among: NDArray[np.bool_] | None = None) -> Decoding:
        """The decoding of one target, on all rows or on those `among` them."""
        place = self.names.index(name)
        chosen = np.ones(len(self.rows), bool) if among is None else among
        span = slice(place * self.width, (place + 1) * self.width)
        scores, truth = self.ridge.scores[chosen, span], self.columns[name][chosen]
        hits = accuracy(scores, truth * 2 - 1.0)
        ranking = self.ridge.ranking(self.ridge.scores)[chosen, span]
        areas = auroc(ranking, truth)
        layers = np.stack([layer[chosen, place] for layer in self._by_layer], axis=1)
        ranked = np.stack([layer[chosen, place] for layer in self._ranked], axis=1)
        held = truth[:, :1].repeat(layers.shape[1], axis=1)
        folds = [fold for fold, number in enumerate(np.unique(self.outer)) if np.any(self.outer[chosen] == number)]
        return Decoding(
            n=int(chosen.sum()),
            accuracy=float(hits[0]),
            baseline=self._majority(self.columns[name][:, 0], chosen),
            shuffled=float(hits[1:].mean()) if self.width > 1 else float("nan"),
            p=p_value(hits[0], hits[1:]),
            auroc=float(areas[0]),
            shuffled_auroc=float(np.nanmean(areas[1:])) if self.width > 1 else float("nan"),
            p_auroc=p_value(areas[0], areas[1:]),
            layers=[int(self.ridge.layer[fold, place * self.width]) for fold in folds],
            by_layer=accuracy(layers, held * 2 - 1.0),
            by_layer_auroc=auroc(ranked, held),
            right=(scores[:, 0] > 0) == truth[:, 0],
            ranking=ranking[:, 0].copy(),
        )

    def _majority(self, truth: NDArray[np.bool_], chosen: NDArray[np.bool_]) -> float:
        guess = np.zeros(len(truth), bool)
        for fold in np.unique(self.outer):
            held_out = self.outer == fold
            guess[held_out] = truth[~held_out].mean() > 0.5
        return float((guess == truth)[chosen].mean())


def pair_decoders(items: Items, outer: Ints, shuffles: int) -> Decoders:
    """The decision between the two most frequent categories."""
    rows = items.in_pair
    return Decoders(items, rows, {"pair": items.primary[rows] == items.pair[0]}, outer, shuffles)


def rest_decoders(items: Items, shuffles: int) -> Decoders:
    """Each category against all others, shuffled within language: a category of one language alone is no finding."""
    targets = {name: items.primary == name for name in decodable(items)}
    language = np.unique(items.language, return_inverse=True)[1]
    return Decoders(items, np.arange(len(items)), targets, items.folds, shuffles, within=language)


def control_decoders(items: Items, draws: int = CONTROL_TASKS) -> Decoders:
    """Control tasks for the pair (Hewitt and Liang 2019): each wording of Q has one label, drawn at random.

    Wordings recur over companies, so a decoder that has learned wordings by heart does well on them; what it does
    better on the categories is its selectivity.
    """
    rows = items.in_pair
    truth = items.primary[rows] == items.pair[0]
    wording = np.unique([wording_of(items.instances[row]) for row in rows], return_inverse=True)[1]
    rng = np.random.default_rng([items.seed, 1])
    tasks = {f"task {n}": (rng.random(wording.max() + 1) < truth.mean())[wording] for n in range(draws)}
    return Decoders(items, rows, tasks, items.folds, shuffles=0)


def wording_of(instance: Instance) -> str:
    """Q with the company's name, tickers and numbers taken out: what recurs from company to company."""
    text = instance.question
    for name in filter(None, (instance.company, instance.ticker)):
        text = text.replace(name, "")
    return " ".join(word for word in words_of(text) if not word.isdigit())


def decodable(items: Items) -> list[str]:
    """Categories with enough items to be decoded against the rest, most frequent first."""
    names, counts = np.unique(items.primary, return_counts=True)
    enough = [
        (int(count), str(name))
        for name, count in zip(names, counts, strict=True)
        if count >= FEWEST and len(np.unique(items.folds[items.primary == name])) > 1
    ]
    return [name for _, name in sorted(enough, reverse=True)]


def size_matched(items: Items, draws: int = DRAWS) -> list[Decoders]:
    """Decoders over samples that hold every category as often as the rarest decodable one."""
    rng = np.random.default_rng(items.seed)
    names = decodable(items)
    if len(names) < 2:
        return []
    size = min(int((items.primary == name).sum()) for name in names)
    found = []
    for _ in range(draws):
        rows = np.sort(
            np.concatenate([rng.choice(np.flatnonzero(items.primary == name), size, replace=False) for name in names])
        )
        found.append(Decoders(items, rows, {n: items.primary[rows] == n for n in names}, items.folds, shuffles=0))
    return found


def logistic_accuracy(items: Items, source: Source, layers: list[int]) -> float:
    """Accuracy of logistic regression on the pair, each fold at the layer that the ridge chose for it."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rows = items.in_pair
    truth = items.primary[rows] == items.pair[0]
    outer = items.folds[rows]
    right = np.zeros(len(rows), bool)
    for fold, layer in zip(np.unique(outer), layers, strict=True):
        states = source.layer(layer)["plain"][rows]
        held_out = outer == fold
        if len(np.unique(truth[~held_out])) < 2:
            right[held_out] = truth[held_out] == truth[~held_out][0]
            continue
        fit = make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=500))
        right[held_out] = fit.fit(states[~held_out], truth[~held_out]).predict(states[held_out]) == truth[held_out]
    return float(right.mean())
