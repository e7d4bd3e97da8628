"""What a targeting figure must be held against: askers that learned nothing (protocol, section 9; pitfall 40).

A constant question scores nearly as much as a trained policy where one category prevails, one that names two matters
more still, and no asker that reads question and passage alone can go beyond the ceiling.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

from fiqkit.records import Instance, Judgement
from fiqkit.roles.judge.rules import classify_question
from fiqkit.taxonomy import CATEGORIES


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


def constant(instances: Sequence[Instance]) -> Targeting:
    """The best of the five categories' fixed questions, asked of every item in its language."""
    return max((_asked(instances, (name,)) for name in CATEGORIES), key=lambda found: (found.macro, found.named))


def compound(instances: Sequence[Instance]) -> Targeting:
    """The best question that raises two categories at once."""
    return max((_asked(instances, pair) for pair in combinations(CATEGORIES, 2)), key=lambda found: found.named)


def _asked(instances: Sequence[Instance], names: Sequence[str]) -> Targeting:
    texts = {language: " ".join(CATEGORIES[name].template[language] for name in names) for language in ("en", "zh")}
    judged = {language: classify_question(text) for language, text in texts.items()}
    return targeting([(judged[i.language], i) for i in instances], texts[instances[0].language])


def ceiling(instances: Sequence[Instance]) -> float:
    """Share of items whose primary category the best asker that reads question and passage alone can target."""
    alike: dict[tuple[str, str | None], Counter[str]] = defaultdict(Counter)
    for instance in instances:
        alike[instance.question, instance.passage_id][instance.primary] += 1
    return sum(max(found.values()) for found in alike.values()) / len(instances)


def baselines(instances: Sequence[Instance]) -> dict[str, Any]:
    """All of them, JSON-ready."""
    return {
        "constant": asdict(constant(instances)),
        "compound": asdict(compound(instances)),
        "ceiling": ceiling(instances),
    }
