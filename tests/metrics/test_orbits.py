"""Orbits: what each number is, and that nobody scores on them without asking."""

from __future__ import annotations

from dataclasses import replace
from math import log2

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fiqkit.metrics.orbits import answered_reading, orbit_numbers, whole_orbits
from fiqkit.metrics.table import main_rows

GOLDS = ("$46.75B", "$62.87B", "$5.1B", "$7.7B")


@pytest.fixture
def orbit(scored):
    """Makes the siblings of an orbit of k readings; `answers` gives the reading that each one answers, or None."""

    def make(name: str, answers: list[int | None], **changes):
        k = len(answers)
        return [
            scored(
                f"{name}-{at}",
                orbit=name,
                siblings=k,
                h0=log2(k),
                cluster=changes.get("cluster", name),
                headline_intended=at == 0,
                golds=(GOLDS[at], GOLDS[1 if at == 0 else 0]),
                outcome="intended" if answer == at else "other",
                value=None if answer is None else GOLDS[answer],
                **{key: value for key, value in changes.items() if key != "cluster"},
            )
            for at, answer in enumerate(answers)
        ]

    return make


def test_by_hand(orbit):
    """Three of three right: 1. One fixed answer in four: 0. Nothing right of two: -1."""
    found = orbit_numbers([*orbit("a", [0, 1, 2]), *orbit("b", [2, 2, 2, 2]), *orbit("c", [None, None])])
    assert found["orbits"] == 3
    assert found["intent_resolved"] == pytest.approx((1 + 0 - 1) / 3)
    assert found["bits_resolved"] == pytest.approx((log2(3) + 0 - 1) / 3)
    low, high = found["intent_resolved_ci"]
    assert -1 <= low < 0 < high <= 1


def test_an_orbit_with_an_unscored_sibling_is_left_out_and_counted(orbit, scored):
    whole, cut, unscored = orbit("a", [0, 1]), orbit("b", [0, 1])[:1], orbit("c", [0, 1])
    unscored[1] = replace(unscored[1], is_intended=None, outcome="unscored")
    found = orbit_numbers([*whole, *cut, *unscored, scored("no orbit")])
    assert (found["orbits"], found["orbits_left_out"], found["intent_resolved"]) == (1, 2, 1.0)


def test_without_orbits_there_is_nothing_to_say(scored):
    found = orbit_numbers([scored("a")])
    assert (found["orbits"], found["intent_resolved"], found["integration"]) == (0, None, None)


def test_the_interval_is_over_companies(orbit):
    """Forty orbits of one company are one observation."""
    many = [e for i in range(40) for e in orbit(f"o{i}", [0, 1] if i % 2 else [0, 0], cluster="ACME")]
    apart = [e for i in range(40) for e in orbit(f"o{i}", [0, 1] if i % 2 else [0, 0])]
    one, forty = (orbit_numbers(e)["intent_resolved_ci"] for e in (many, apart))
    assert one[1] - one[0] > 3 * (forty[1] - forty[0])


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_no_policy_scores_without_asking(scored, data):
    """Any answer that is the same for all siblings, whatever it knows of the golds, resolves at most nothing."""
    k = data.draw(st.integers(2, 4))
    answer = data.draw(st.integers(0, k))  # k: none of the readings
    siblings = [
        scored(f"{at}", orbit="o", siblings=k, golds=(GOLDS[at], ""), outcome="intended" if answer == at else "other")
        for at in range(k)
    ]
    assert orbit_numbers(siblings, resamples=50)["intent_resolved"] <= 0.0


def test_random_policies_that_do_not_ask(orbit):
    """2,000 policies that know the whole set and answer each orbit by a draw: no more than 0 on average."""
    rng = np.random.default_rng(0)
    sizes = rng.integers(2, 5, 30)
    scores = []
    for _ in range(2_000):
        weights = [rng.dirichlet(np.ones(k + 1)) for k in sizes]  # the last: none of the readings
        right = [rng.choice(k + 1, p=w) < k for k, w in zip(sizes, weights, strict=True)]
        scores.append(np.mean([(hit - 1) / (k - 1) for hit, k in zip(right, sizes, strict=True)]))
    assert np.mean(scores) <= 0.0
    always = [e for i, k in enumerate(sizes) for e in orbit(f"o{i}", [int(rng.integers(k))] * k)]
    assert orbit_numbers(always, resamples=200)["intent_resolved"] == pytest.approx(0.0)


def test_whose_reading_was_answered(orbit):
    siblings = orbit("a", [0, 0, 2])
    golds = [e.golds[0] for e in siblings]
    assert [answered_reading(e, golds) for e in siblings] == [0, 0, 2]
    assert answered_reading(replace(siblings[1], value="46,750 million dollars"), golds) == 0
    assert answered_reading(replace(siblings[1], value="$1"), golds) == 3
    assert answered_reading(replace(siblings[1], value=None), golds) == 3


def test_information_of_a_perfect_and_of_a_deaf_agent(orbit):
    """Perfect: log2 3 bits. Deaf, answering at random: no more than its own permutations."""
    rng = np.random.default_rng(3)
    perfect = [e for s in range(5) for e in orbit("a", [0, 1, 2], sample=s)]
    assert orbit_numbers(perfect)["mutual_information"] == pytest.approx(log2(3))
    assert orbit_numbers(perfect)["mutual_information_p"] < 0.01
    deaf = [e for o in range(12) for s in range(5) for e in orbit(f"{o}", rng.integers(0, 3, 3).tolist(), sample=s)]
    found = orbit_numbers(deaf)
    assert found["mutual_information"] == pytest.approx(found["mutual_information_null"], abs=0.12)
    assert found["mutual_information"] > 0.1  # the bias that the null is there for
    assert found["mutual_information_p"] > 0.05
    assert orbit_numbers(orbit("a", [0, 1, 2]))["mutual_information"] is None


def test_integration(orbit):
    """The same first question; reading 0 was told yes, 1 and 2 no. 1 follows to a reading that no allows, 2 to 0."""
    replies = ("Yes.", "No.", "No.")
    siblings = [
        replace(e, asks=("Consolidated?",), replies=(reply,))
        for e, reply in zip(orbit("a", [0, 2, 0]), replies, strict=True)
    ]
    found = orbit_numbers(siblings)["integration"]
    assert (found["orbits"], found["pairs"], found["episodes"]) == (1, 2, 3)
    assert found["follows"] == 0.5  # 0 and 1 answered differently, 0 and 2 did not
    assert found["allowed"] == pytest.approx(2 / 3)


def test_integration_needs_one_question_and_two_replies(orbit):
    other = [replace(e, asks=(f"{e.instance_id}?",), replies=("Yes.",)) for e in orbit("a", [0, 1])]
    same = [replace(e, asks=("GAAP?",), replies=("Yes.",)) for e in orbit("b", [0, 1])]
    assert orbit_numbers([*other, *same])["integration"]["orbits"] == 0


def test_rows_carry_orbits_and_the_paper_subset_leaves_the_headline_out(orbit):
    """Headline answered throughout: right on the headline sibling, captured on the two others."""
    (row,) = main_rows([replace(e, is_default=at > 0) for at, e in enumerate(orbit("a", [0, 0, 0]))])
    assert row["accuracy"] == pytest.approx(1 / 3)
    assert (row["default_capture"], row["default_capture_n"]) == (1.0, 2)
    assert row["accuracy_paper_subset"] == 0.0
    assert row["intent_resolved"] == pytest.approx(0.0)


def test_siblings_in_any_order(orbit):
    siblings = [*orbit("b", [0, 1, 1]), *orbit("a", [0, 0])]
    assert orbit_numbers(siblings) == orbit_numbers(siblings[::-1])
    assert [o.k for o in whole_orbits(siblings)[0]] == [2, 3]
