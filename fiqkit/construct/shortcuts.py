"""Can a set be solved without the skill it measures? Guesses from the surface, each beside its chance level.

Three kinds. Policies that never ask answer with a reading picked by its place, its size, its salience, or because it is
not the headline; in orbits each is right on one sibling of k, so that its intent_resolved is nought. Classifiers guess
from words (naive Bayes, in Chinese over characters) on companies that they were not trained on, in five parts that
hold each label alike. Constant askers put one question, or two at once, to every item; a targeting figure says
something only above the best of them.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from math import fsum, log
from random import Random
from typing import Any

from fiqkit import values
from fiqkit.construct.rules import Case
from fiqkit.construct.splits import entity_of
from fiqkit.records import Instance
from fiqkit.taxonomy import CATEGORIES

# --- policies that never ask ----------------------------------------------------------------------------------------


class Group:
    """The siblings of an orbit, or an instance by itself; what a policy sees is the same for all of them.

    Attributes:
        cases: the siblings.
        options: the readings' values as written, the headline first; position, size and salience are read off them.
    """

    def __init__(self, cases: Sequence[Case]) -> None:
        self.cases = cases
        one = cases[0].instance
        readings = [value for _, value in cases[0].readings]
        headline = next((c.instance.default_answer for c in cases if not c.instance.headline_intended), readings[0])
        rest = sorted(value for value in dict.fromkeys(readings) if value != headline)
        self.options = [headline, *rest]
        self.language = one.language
        self.passage = cases[0].passage or ""

    def number(self, option: str) -> float:
        """The size of an option; nought where it holds no value."""
        found = values.find(option, self.language)
        return found[0].number if found else 0.0

    def place(self, option: str) -> int:
        """Where it stands in the passage; last where it does not."""
        at = self.passage.find(option)
        return at if at >= 0 else 1 << 30

    def mentions(self, option: str) -> int:
        """How often the passage states it."""
        return self.passage.count(option)

    def right(self, option: str) -> float:
        """Share of the siblings that intend it."""
        return fsum(c.instance.answer == option for c in self.cases) / len(self.cases)


Policy = Callable[[Group], str]

POLICIES: dict[str, Policy] = {
    "the headline": lambda g: g.options[0],
    "anything but the headline": lambda g: g.options[-1],
    "the first in the passage": lambda g: min(g.options, key=g.place),
    "the last in the passage": lambda g: max(g.options, key=g.place),
    "the larger": lambda g: max(g.options, key=g.number),
    "the smaller": lambda g: min(g.options, key=g.number),
    "the most often stated": lambda g: max(g.options, key=lambda o: (g.mentions(o), -g.place(o))),
    "the longest": lambda g: max(g.options, key=lambda o: (len(o), o)),
}

_LOOKS_AT_PASSAGE = ("the first in the passage", "the last in the passage", "the most often stated")


def grouped(cases: Iterable[Case]) -> list[Group]:
    """Orbits, and instances outside orbits by themselves."""
    found: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        found[case.instance.orbit or case.instance.instance_id].append(case)
    return [Group(siblings) for siblings in found.values()]


def resolved(right: float, readings: int) -> float:
    """intent_resolved of one orbit: (k·a − 1) / (k − 1), a the share of its siblings answered right (protocol, 10)."""
    return (readings * right - 1) / (readings - 1)


def no_ask(groups: Sequence[Group]) -> dict[str, dict[str, float | None]]:
    """Policy → accuracy over instances, and mean intent_resolved over orbits (None without orbits)."""
    orbits = [g for g in groups if g.cases[0].instance.orbit and len(g.cases) > 1]
    total = sum(len(g.cases) for g in groups)
    report: dict[str, dict[str, float | None]] = {}
    for name, policy in POLICIES.items():
        if name in _LOOKS_AT_PASSAGE and not any(g.passage for g in groups):
            report[name] = {"accuracy": None, "intent_resolved": None}
            continue
        right = fsum(g.right(policy(g)) * len(g.cases) for g in groups)
        share = [resolved(g.right(policy(g)), len(g.cases)) for g in orbits]
        report[name] = {
            "accuracy": round(right / total, 4),
            "intent_resolved": round(fsum(share) / len(share), 4) if share else None,
        }
    return report


def random_policy(groups: Sequence[Group], rng: Random) -> float:
    """Mean intent_resolved of a policy that knows the whole set and never asks.

    For each orbit it holds a distribution over readings, drawn with every liking from uniform to certain, and draws its
    answer to each sibling from it: what siblings share is all that it can act on.
    """
    total = []
    for group in groups:
        sharpness = rng.choice((0.0, 1.0, 4.0, 50.0))
        weights = [rng.random() ** sharpness for _ in group.options]
        answers = rng.choices(group.options, weights, k=len(group.cases))
        right = fsum(c.instance.answer == a for c, a in zip(group.cases, answers, strict=True)) / len(group.cases)
        total.append(resolved(right, len(group.cases)))
    return fsum(total) / len(total)


# --- constant askers, and the ceiling -------------------------------------------------------------------------------


def askers(instances: Sequence[Instance]) -> dict[str, Any]:
    """Best constant question, best compound of two, and the best asker that reads question and passage.

    Returns:
        `constant_central`, `constant_touch`, `compound_touch`: share of instances whose primary category, or one of
        whose categories, the best constant question hits; `ceiling`: expected share of primaries hit by an asker that
        sees which categories are live in the passage and cannot tell them apart; `live`: mean number of those.
    """
    n = len(instances)
    primary = Counter(i.primary for i in instances)
    touch = {name: sum(name in i.categories for i in instances) / n for name in CATEGORIES}
    compound = {
        pair: sum(any(name in i.categories for name in pair) for i in instances) / n
        for pair in combinations(CATEGORIES, 2)
    }
    live = live_categories(instances)
    shown = [live[i.orbit or i.instance_id] for i in instances]
    best, pair = max(primary, key=lambda c: primary[c]), max(compound, key=lambda p: compound[p])
    return {
        "constant_central": {"category": best, "share": round(primary[best] / n, 4)},
        "constant_touch": {"category": max(touch, key=lambda c: touch[c]), "share": round(max(touch.values()), 4)},
        "compound_touch": {"categories": list(pair), "share": round(compound[pair], 4)},
        "ceiling": round(fsum(1 / len(c) for c in shown) / n, 4),
        "live": round(fsum(len(c) for c in shown) / n, 4),
    }


def live_categories(instances: Iterable[Instance]) -> dict[str, set[str]]:
    """Orbit or instance → the categories in which readings of its passage differ."""
    live: dict[str, set[str]] = defaultdict(set)
    for instance in instances:
        live[instance.orbit or instance.instance_id] |= set(instance.categories)
    return live


# --- classifiers ----------------------------------------------------------------------------------------------------


def classifiers(cases: Sequence[Case]) -> dict[str, dict[str, float]]:
    """Name → share right and the share of the best constant guess."""
    instances = [case.instance for case in cases]
    primaries = [i.primary for i in instances]
    questions = [words_of(case.asked) for case in cases]
    larger = [str(_is_larger(i)) for i in instances]
    return {
        "category from the words of the question": _report(instances, questions, primaries),
        "larger or smaller from the words of the passage": _report(
            instances, [words_of(case.passage or "") for case in cases], larger
        ),
        "intended from the words of the two spans": {"share": round(_by_lines(instances), 4), "chance": 0.5},
    }


def _report(instances: Sequence[Instance], words: Sequence[list[str]], labels: Sequence[str]) -> dict[str, float]:
    guesses = _guesses(instances, words, labels)
    right = sum(guess == label for guess, label in zip(guesses, labels, strict=True))
    n = len(labels)
    return {"share": round(right / n, 4), "chance": round(max(Counter(labels).values()) / n, 4)}


def _is_larger(instance: Instance) -> bool:
    ours, default = (values.find(text, instance.language) for text in (instance.answer, instance.default_answer))
    return bool(ours and default) and ours[0].number > default[0].number


# --- naive Bayes ----------------------------------------------------------------------------------------------------

_PARTS = 5
Score = Callable[[list[str], str], float]


def words_of(text: str) -> list[str]:
    """The words of a text in Latin letters, and its Chinese characters."""
    return re.findall(r"[a-z]+|[\u3400-\u9fff]", text.lower())


def _parts(instances: Sequence[Instance], labels: Sequence[str]) -> list[int]:
    """The part that each instance is tried in: companies stay whole, and every label is dealt out evenly.

    Leaving out one at a time would not do: from a balanced set it takes the label asked for, and guesses the other.
    """
    part: dict[str, int] = {}
    dealt: Counter[str] = Counter()
    for instance, label in sorted(zip(instances, labels, strict=True), key=lambda pair: pair[0].instance_id):
        if entity_of(instance) not in part:
            part[entity_of(instance)] = dealt[label] % _PARTS
            dealt[label] += 1
    return [part[entity_of(instance)] for instance in instances]


def _guesses(instances: Sequence[Instance], words: Sequence[list[str]], labels: Sequence[str]) -> list[str]:
    """The label that each item gets from a model trained on the other parts."""
    parts = _parts(instances, labels)
    names = sorted(set(labels))
    guesses = [""] * len(labels)
    for part in sorted(set(parts)):
        train = [i for i, other in enumerate(parts) if other != part]
        score = naive_bayes([words[i] for i in train], [labels[i] for i in train])
        for i in (i for i, other in enumerate(parts) if other == part):
            scores = {name: score(words[i], name) for name in names}
            guesses[i] = max(names, key=scores.__getitem__)
    return guesses


def _by_lines(instances: Sequence[Instance]) -> float:
    """How often an instance's intended line looks more like the intended lines of other parts than its default does."""
    lines = [(words_of(i.intended_evidence_span), words_of(i.default_evidence_span)) for i in instances]
    parts = _parts(instances, [i.primary + str(_is_larger(i)) for i in instances])
    right = [0.5] * len(instances)
    for part in sorted(set(parts)):
        train = [pair for pair, other in zip(lines, parts, strict=True) if other != part]
        score = naive_bayes([line for pair in train for line in pair], ["intended", "default"] * len(train))
        for i in (i for i, other in enumerate(parts) if other == part):
            ours, default = (score(line, "intended") - score(line, "default") for line in lines[i])
            right[i] = 0.5 if round(ours - default, 9) == 0 else float(ours > default)
    return fsum(right) / len(right)


def naive_bayes(words: Sequence[list[str]], labels: Sequence[str]) -> Score:
    """Log score of a bag of words under a label: multinomial, add-one smoothed."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for bag, label in zip(words, labels, strict=True):
        counts[label].update(bag)
    prior: Mapping[str, int] = Counter(labels)
    vocabulary = len({word for bag in words for word in bag}) + 1

    def score(bag: list[str], label: str) -> float:
        if label not in prior:
            return float("-inf")
        total = counts[label].total() + vocabulary
        likelihood = fsum(log((counts[label][word] + 1) / total) for word in bag)
        return log(prior[label] / len(labels)) + likelihood

    return score
