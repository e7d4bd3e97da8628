"""What a targeting figure must be held against: askers that learned nothing (protocol, section 9; pitfall 40).

A constant question scores nearly as much as a trained policy where one category prevails, one that names two matters
more still, and no asker that reads question and passage alone can go beyond the ceiling.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import combinations
from typing import Any

from fiqkit.construct.shortcuts import naive_bayes, words_of
from fiqkit.records import Instance, Judgement
from fiqkit.roles.judge.rules import classify_question
from fiqkit.taxonomy import CATEGORIES, LANGUAGES


@dataclass(frozen=True, slots=True)
class Targeting:
    """Shares of items whose first question hits, and the question that was asked of all."""

    named: float
    touch: float
    central: float
    primary: float  # the central category is the item's primary one
    macro: float  # that, averaged over the primary categories
    question: str = ""


def targeting(judged: Sequence[tuple[Judgement, Instance]], question: str = "") -> Targeting:
    """How first questions hit their items' categories."""
    hits: dict[str, list[bool]] = defaultdict(list)
    named = touch = central = 0
    for judgement, instance in judged:
        true = set(instance.categories)
        named += bool(true & set(judgement.named or judgement.touched or ()))
        touch += bool(true & set(judgement.touched or ()))
        central += judgement.central in true
        hits[instance.primary].append(judgement.central == instance.primary)
    n = len(judged)
    flat = [hit for found in hits.values() for hit in found]
    macro = sum(sum(found) / len(found) for found in hits.values()) / len(hits)
    return Targeting(named / n, touch / n, central / n, sum(flat) / n, macro, question)


Asker = Mapping[str, str]  # instance id → the question that is asked of it


def constant(instances: Sequence[Instance], names: Sequence[str]) -> Asker:
    """The fixed questions of these categories, asked of every item in its language."""
    texts = {language: " ".join(CATEGORIES[name].template[language] for name in names) for language in LANGUAGES}
    return {i.instance_id: texts[i.language] for i in instances}


def by_words(train: Sequence[Instance], instances: Sequence[Instance]) -> Asker:
    """The fixed question of the category that the words of Q suggest, by naive Bayes on the train split's questions."""
    score = naive_bayes([words_of(i.question) for i in train], [i.primary for i in train])
    names = sorted({i.primary for i in train})
    guessed = {i.instance_id: max(names, key=lambda name: score(words_of(i.question), name)) for i in instances}
    return {i.instance_id: CATEGORIES[guessed[i.instance_id]].template[i.language] for i in instances}


def askers(train: Sequence[Instance], instances: Sequence[Instance]) -> dict[str, Asker]:
    """The best constant question (by macro), the best of two at once (by `named`), and a bag of Q's words."""
    singles = [constant(instances, (name,)) for name in CATEGORIES]
    pairs = [constant(instances, pair) for pair in combinations(CATEGORIES, 2)]
    found = {
        "constant": max(
            singles, key=lambda asker: (_targeting(asker, instances).macro, _targeting(asker, instances).named)
        ),
        "compound": max(pairs, key=lambda asker: _targeting(asker, instances).named),
    }
    return found | ({"words": by_words(train, instances)} if train else {})


def _targeting(asker: Asker, instances: Sequence[Instance]) -> Targeting:
    questions = [asker[i.instance_id] for i in instances]
    told = questions[0] if len(set(questions)) == 1 else ""
    return targeting([(judged(q), i) for q, i in zip(questions, instances, strict=True)], told)


judged = lru_cache(maxsize=4096)(classify_question)


def ceiling(instances: Sequence[Instance]) -> float:
    """Share of items whose primary category the best asker that reads question and passage alone can target."""
    alike: dict[tuple[str, str | None], Counter[str]] = defaultdict(Counter)
    for instance in instances:
        alike[instance.question, instance.passage_id][instance.primary] += 1
    return sum(max(found.values()) for found in alike.values()) / len(instances)


def baselines(instances: Sequence[Instance], train: Sequence[Instance] = ()) -> dict[str, Any]:
    """All of them, JSON-ready; `words` only where there are items to learn it from."""
    found = askers(train, instances)
    return {name: asdict(_targeting(asker, instances)) for name, asker in found.items()} | {
        "ceiling": ceiling(instances)
    }
