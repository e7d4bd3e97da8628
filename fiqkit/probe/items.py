"""The items of a probe: instances with their folds, and the features that need no model (words and lengths)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fiqkit.errors import UserError
from fiqkit.probe.folds import Floats, Ints, company_folds
from fiqkit.records import Instance

FOLDS = 5


class Source(Protocol):
    """Features of every item under every condition, one layer at a time."""

    @property
    def points(self) -> int:
        """Number of layers, the embedding included."""
        ...

    def layer(self, point: int) -> Mapping[str, Floats]:
        """Features at one point by condition, each (items, width)."""
        ...


@dataclass(frozen=True, slots=True)
class Items:
    """Instances and how they are split.

    Attributes:
        folds: fold of each item; a company lies in one fold.
        pair: the two most frequent primary categories, the more frequent first.
    """

    instances: Sequence[Instance]
    folds: Ints
    pair: tuple[str, str]
    seed: int

    @classmethod
    def of(cls, instances: Sequence[Instance], folds: int = FOLDS, seed: int = 0) -> Items:
        """Split instances.

        Raises:
            UserError: fewer than two categories, or fewer items or companies than folds.
        """
        counts = Counter(i.primary for i in instances)
        if len(counts) < 2:
            raise UserError(
                f"all {len(instances)} items have the primary category {next(iter(counts), 'none')}; decoding needs at "
                f"least two categories, give more instances"
            )
        first, second = sorted(counts, key=lambda name: (-counts[name], name))[:2]
        split = company_folds([i.cluster for i in instances], [i.primary for i in instances], folds, seed)
        return cls(tuple(instances), split, (first, second), seed)

    def __len__(self) -> int:
        return len(self.instances)

    @property
    def clusters(self) -> list[str]:
        """Company key of each item."""
        return [i.cluster for i in self.instances]

    @property
    def primary(self) -> NDArray[np.str_]:
        """Primary category of each item."""
        return np.array([i.primary for i in self.instances])

    @property
    def language(self) -> NDArray[np.str_]:
        """Language of each item."""
        return np.array([i.language for i in self.instances])

    @property
    def in_pair(self) -> Ints:
        """Indices of the items whose primary category is one of the pair."""
        return np.flatnonzero(np.isin(self.primary, self.pair))

    def ceiling(self) -> float:
        """Best accuracy on the pair that Q alone allows: equal wordings of two categories cannot be told apart."""
        by_wording: dict[str, Counter[str]] = {}
        for index in self.in_pair:
            instance = self.instances[index]
            by_wording.setdefault(instance.question.strip(), Counter())[instance.primary] += 1
        return sum(max(counts.values()) for counts in by_wording.values()) / len(self.in_pair)


@dataclass(frozen=True, slots=True)
class Table:
    """A source with a single layer: features that come from the text and not from a model."""

    features: Mapping[str, Floats]
    points: int = 1

    def layer(self, point: int) -> Mapping[str, Floats]:
        """The features, whatever the point."""
        return self.features


def words_of(text: str) -> list[str]:
    """Lower-case Latin words, numbers, single Chinese characters and their bigrams."""
    found = re.findall(r"[a-z]+|\d+", text.lower())
    for run in re.findall(r"[\u3400-\u9fff]+", text):
        found += [*run, *(run[k : k + 2] for k in range(len(run) - 1))]
    return found


def bag_of_words(texts: Mapping[str, Sequence[str]]) -> Table:
    """Word counts of every prompt over one vocabulary, (items, vocabulary), by condition."""
    split = {condition: [words_of(text) for text in column] for condition, column in texts.items()}
    place: dict[str, int] = {}
    for column in split.values():
        for words in column:
            for word in words:
                place.setdefault(word, len(place))
    features = {}
    for condition, column in split.items():
        counts = np.zeros((len(column), len(place)), dtype=np.float32)
        for row, words in enumerate(column):
            np.add.at(counts[row], [place[word] for word in words], 1.0)
        features[condition] = counts
    return Table(features)


def lengths(texts: Mapping[str, Sequence[str]], tokens: Mapping[str, Sequence[int]]) -> Table:
    """Length of every prompt in tokens and in characters, (items, 2), by condition."""
    return Table(
        {
            condition: np.array([tokens[condition], [len(text) for text in column]], dtype=np.float32).T
            for condition, column in texts.items()
        }
    )
