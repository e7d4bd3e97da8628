"""A planted giveaway must be found, a set without one must not be accused, and not asking must not score on orbits."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fiqkit.construct.rules import Case
from fiqkit.construct.shortcuts import POLICIES, askers, classifiers, grouped, no_ask, random_policy, resolved
from fiqkit.records import Instance, Interpretation

CATEGORIES = ("entity_scope", "temporal_scope", "metric_definition")


def planted(n: int, larger: float, first: float, betray: bool, word: str = "plain") -> list[Case]:
    """`n` instances in which the intended value is the larger and the first as often as is asked."""
    rng = random.Random(n)
    cases = []
    for i in range(n):
        ours, default = (300 + i, 100 + i) if rng.random() < larger else (100 + i, 300 + i)
        lines = [f"{word} alpha: ${ours} million", f"plain alpha: ${default} million"]
        shown = lines if rng.random() < first else lines[::-1]
        category = CATEGORIES[i % 3]
        hint = f" by its {category.split('_')[0]}" if betray else ""
        instance = Instance(
            instance_id=f"i{i:03}",
            question=f"What was Acme{i}'s income{hint}?",
            context="c",
            answer=f"${ours} million",
            default_answer=f"${default} million",
            intended_interpretation=Interpretation(entity="a"),
            default_interpretation=Interpretation(entity="b"),
            categories=(category,),
            h0=1.0,
            language="en",
            passage_id=f"p{i}",
            intended_evidence_span=lines[0],
            default_evidence_span=lines[1],
            company=f"Acme{i}",
        )
        cases.append(Case(instance, "\n".join(shown)))
    return cases


def orbit(number: int, k: int) -> list[Case]:
    """An orbit of k readings, each intended once."""
    values = [f"${100 * (n + 1) + number} million" for n in range(k)]
    readings = [{"interpretation": {"entity": f"e{n}"}, "value": value} for n, value in enumerate(values)]
    cases = []
    for n, value in enumerate(values):
        default = 0 if n else 1
        instance = Instance(
            instance_id=f"o{number}-{n}",
            question=f"What was Acme{number}'s income?",
            context=f"e{n}",
            answer=value,
            default_answer=values[default],
            intended_interpretation=Interpretation(entity=f"e{n}"),
            default_interpretation=Interpretation(entity=f"e{default}"),
            categories=("entity_scope",),
            h0=1.0,
            language="en",
            passage_id=f"p{number}",
            company=f"Acme{number}",
            orbit=f"o{number}",
            headline_intended=n == 0,
            extra={"readings": readings},
        )
        cases.append(Case(instance, "\n".join(values)))
    return cases


def test_a_set_without_a_giveaway_stays_near_chance() -> None:
    cases = planted(150, larger=0.5, first=0.5, betray=False)
    for row in classifiers(cases).values():
        assert row["share"] <= row["chance"] + 0.12, row
    for name in ("the larger", "the smaller", "the first in the passage"):
        assert abs((no_ask(grouped(cases))[name]["accuracy"] or 0) - 0.5) <= 0.12


def test_size_place_and_wording_are_found() -> None:
    cases = planted(60, larger=1.0, first=0.0, betray=True, word="adjusted")
    policies, guessed = no_ask(grouped(cases)), classifiers(cases)
    assert policies["the larger"]["accuracy"] == 1.0
    assert policies["the last in the passage"]["accuracy"] == 1.0
    assert policies["anything but the headline"]["accuracy"] == 1.0  # pairs: the headline is never meant
    assert guessed["category from the words of the question"]["share"] > 0.9
    assert guessed["intended from the words of the two spans"]["share"] > 0.9


def test_on_orbits_no_shortcut_resolves_an_intent() -> None:
    cases = [case for number, k in enumerate((2, 3, 4, 2, 3)) for case in orbit(number, k)]
    for name, row in no_ask(grouped(cases)).items():
        assert row["intent_resolved"] == 0.0, name
        assert row["accuracy"] == pytest.approx(5 / 14, abs=1e-4), name


def test_an_asker_that_reaches_every_reading_resolves_all() -> None:
    assert resolved(1.0, 3) == 1.0
    assert resolved(1 / 3, 3) == pytest.approx(0.0)
    assert resolved(0.0, 2) == -1.0


@settings(max_examples=60, deadline=None)
@given(sizes=st.lists(st.integers(2, 5), min_size=1, max_size=12), seed=st.integers(0, 1 << 30))
def test_no_policy_that_does_not_ask_scores_in_expectation(sizes: list[int], seed: int) -> None:
    """The theorem of orbits: with certainty for answers that all siblings get alike, in the mean for drawn ones."""
    groups = grouped(case for number, k in enumerate(sizes) for case in orbit(number, k))
    rng = random.Random(seed)
    for policy in POLICIES.values():
        assert all(resolved(g.right(policy(g)), len(g.cases)) <= 1e-12 for g in groups)
    runs = 200
    mean = sum(random_policy(groups, rng) for _ in range(runs)) / runs
    assert mean <= 4 / (runs * len(groups)) ** 0.5


def test_constant_askers_and_the_ceiling() -> None:
    plain = [case.instance for case in planted(9, larger=0.5, first=0.5, betray=False)]
    found = askers(plain)
    assert found["constant_central"]["share"] == pytest.approx(1 / 3, abs=1e-4)
    assert found["compound_touch"]["share"] == pytest.approx(2 / 3, abs=1e-4)
    assert (found["ceiling"], found["live"]) == (1.0, 1.0)
    two = [replace(i, categories=(*i.categories, "filing_vintage")) for i in plain]
    assert askers(two)["ceiling"] == 0.5
    assert askers(two)["constant_touch"] == {"category": "filing_vintage", "share": 1.0}
