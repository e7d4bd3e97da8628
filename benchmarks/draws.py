"""Private sets drawn with different seeds from the same facts: do policies score alike on them?

    python benchmarks/draws.py --facts facts.db [--draws 10] [--target 600]

Each draw is a set as `fiqkit construct --seed S` makes it. On each, policies whose every move is known are scored: ones
that never ask, ones that ask about one category whatever the question, one that asks in one language alone, one that
asks what settles the pair and mishears a seventh of the replies. The spread of a score between draws is held against
what drawing companies explains: Cochran's Q (1954), the sum of the squared deviations in units of each draw's own
standard error (orbits grouped by company), is chi-squared with one degree less than there are draws. Draws from one
store share companies, so that Q tends to be smaller. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import fsum, sqrt
from pathlib import Path
from random import Random

from fiqkit.agent.questions import settling_question
from fiqkit.construct import rules, shortcuts
from fiqkit.construct.pipeline import chosen, default_quotas, mined
from fiqkit.filings.store import FactStore
from fiqkit.records import Instance
from fiqkit.roles.interfaces import UserView
from fiqkit.roles.simulator.rules import reply_to
from fiqkit.taxonomy import CATEGORIES

Asks = Callable[[Instance], str | None]  # the question that a policy asks of an instance, None for none


def constant(category: str, one: Instance) -> str | None:
    return CATEGORIES[category].template[one.language]


def in_language(language: str, one: Instance) -> str | None:
    return settling_question(one) if one.language == language else None


def mishears(one: Instance) -> str | None:
    return None if Random(f"mishears {one.instance_id}").random() < 1 / 7 else settling_question(one)


POLICIES: dict[str, Asks] = {
    "never asks": lambda one: None,
    **{f"asks about {name}": partial(constant, name) for name in CATEGORIES},
    **{f"asks in {language}": partial(in_language, language) for language in ("en", "zh")},
    "mishears a seventh": mishears,
    "asks what settles it": settling_question,
}


def right(policy: Asks, one: Instance) -> bool:
    """Whether it reaches the intended reading: by a reply, or because that is the headline, which it falls back on."""
    question = policy(one)
    if question and reply_to(question, UserView.of(one)) in ("yes", "no"):
        return True
    return one.headline_intended


@dataclass(frozen=True)
class Score:
    """A mean, and its standard error over companies."""

    mean: float
    error: float


def score(policy: Asks, instances: list[Instance]) -> Score:
    """Mean intent_resolved of the orbits, and its standard error with orbits grouped by company."""
    orbits: dict[str, list[Instance]] = defaultdict(list)
    for one in instances:
        orbits[one.orbit or ""].append(one)
    of_company: dict[str, list[float]] = defaultdict(list)
    for siblings in orbits.values():
        share = sum(right(policy, one) for one in siblings) / len(siblings)
        of_company[str(siblings[0].extra["company_code"])].append(shortcuts.resolved(share, len(siblings)))
    n = sum(map(len, of_company.values()))
    mean = fsum(map(fsum, of_company.values())) / n
    # The linearised variance of a ratio of totals over companies (Cochran, 1977).
    off = [fsum(found) - mean * len(found) for found in of_company.values()]
    groups = len(off)
    return Score(mean, sqrt(groups / (groups - 1) * fsum(x * x for x in off)) / n)


def heterogeneity(scores: list[Score]) -> dict[str, float | None]:
    """Spread between draws, the standard error within, Cochran's Q and its p; None where a score cannot vary."""
    from scipy.stats import chi2

    k = len(scores)
    mean = fsum(s.mean for s in scores) / k
    spread = sqrt(fsum((s.mean - mean) ** 2 for s in scores) / (k - 1))
    within = sqrt(fsum(s.error**2 for s in scores) / k)
    found: dict[str, float | None] = {"mean": round(mean, 4), "spread": round(spread, 4), "error": round(within, 4)}
    if all(s.error > 1e-12 for s in scores):
        weights = [s.error**-2 for s in scores]
        centre = fsum(w * s.mean for w, s in zip(weights, scores, strict=True)) / fsum(weights)
        q = fsum(w * (s.mean - centre) ** 2 for w, s in zip(weights, scores, strict=True))
        return found | {"q": round(q, 2), "p": round(float(chi2.sf(q, k - 1)), 4)}
    return found | {"q": None, "p": None}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--facts", type=Path, required=True)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--target", type=int, default=600)
    args = parser.parse_args()
    store = FactStore(args.facts)
    orbits, _ = mined(store)
    store.close()
    quotas = default_quotas(args.target, orbits)
    scores: dict[str, list[Score]] = {name: [] for name in POLICIES}
    sizes, words = [], []
    for seed in range(1, args.draws + 1):
        built = chosen(orbits, quotas, seed)
        for name, policy in POLICIES.items():
            scores[name].append(score(policy, built.instances))
        texts = {passage.passage_id: passage.text for passage in built.passages}
        cases = [rules.Case(one, texts[one.passage_id or ""]) for one in built.instances]
        words.append(shortcuts.classifiers(cases)["category from the words of the question"]["share"])
        sizes.append(len(built.instances))
        print(
            f"seed {seed}: {sizes[-1]} instances, category from the words of the question {words[-1]:.3f}", flush=True
        )
    found = {name: heterogeneity(some) for name, some in scores.items()}
    for name, row in found.items():
        print(f"{name:32} " + "  ".join(f"{key} {value}" for key, value in row.items()))
    print(json.dumps({"draws": args.draws, "instances": sizes, "words": words, "policies": found}))


if __name__ == "__main__":
    main()
