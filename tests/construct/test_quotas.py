"""Quotas are met together where the supply allows, and what is missing is named."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fiqkit.construct.funnel import Rates
from fiqkit.construct.orbits import Alternative, Orbit, Proof, Quantity, Row, Source
from fiqkit.construct.quotas import Limits, choose, plan_counts, shortfalls
from fiqkit.construct.splits import SHARES, split
from fiqkit.records import Instance, Interpretation

ALL = Limits(topic_share={"en": 1.0})


def orbit(company: int, miner: str, topic: str, k: int = 2, end: str = "2023-12-31") -> Orbit:
    source = Source(str(company), f"C{company}", None, "en", "10-K", None, None, end, "fiscal year")
    rows = [Row(f"{topic} {n}", Quantity(100.0 * (n + 1), "money", Proof("value", ())), topic) for n in range(k)]
    return Orbit(miner, topic, source, tuple(Alternative(Interpretation(), row, "c") for row in rows), ())


def test_topics_are_spread_so_that_they_tell_least_about_the_category() -> None:
    """Each category could be filled from its own topic alone; the plan takes what both share."""
    supply = {
        ("entity_scope/a", "en", "profit", 2): 10,
        ("entity_scope/a", "en", "equity", 2): 10,
        ("temporal_scope/a", "en", "profit", 2): 10,
        ("temporal_scope/a", "en", "cash", 2): 10,
    }
    quotas = {("entity_scope", "en"): 20, ("temporal_scope", "en"): 20}
    plan = plan_counts(supply, quotas, Limits(topic_share={"en": 1.0}))
    assert plan == {("entity_scope/a", "en", "profit", 2): 10, ("temporal_scope/a", "en", "profit", 2): 10}


def test_what_the_set_has_already_counts_towards_what_a_topic_tells() -> None:
    """Ten vintages of cash are there, and none of equity: four more of entity scope take what both share."""
    supply = {("entity_scope/a", "en", "cash", 2): 10, ("entity_scope/a", "en", "equity", 2): 10}
    had = {("en", "cash", "filing_vintage"): 20}
    plan = plan_counts(supply, {("entity_scope", "en"): 8}, ALL, had)
    assert plan == {("entity_scope/a", "en", "cash", 2): 4}


def test_orbits_of_three_readings_come_first_and_every_miner_is_seen() -> None:
    """The quota of twelve instances could be met by six pairs of one miner; it takes triples, and each miner's."""
    supply = {
        ("entity_scope/a", "en", "profit", 2): 20,
        ("entity_scope/a", "en", "profit", 3): 20,
        ("entity_scope/rare", "en", "profit", 2): 2,
    }
    plan = plan_counts(supply, {("entity_scope", "en"): 12}, ALL)
    assert plan["entity_scope/rare", "en", "profit", 2] >= 1
    assert plan["entity_scope/a", "en", "profit", 3] >= 2


def test_a_subtype_keeps_to_its_share() -> None:
    supply = {
        ("recognition_policy/property", "en", "property", 2): 50,
        ("recognition_policy/paid", "en", "taxes", 2): 50,
    }
    plan = plan_counts(supply, {("recognition_policy", "en"): 40}, Limits(topic_share={"en": 1.0}))
    assert plan["recognition_policy/property", "en", "property", 2] <= 10


def test_years_are_spread_where_the_supply_allows() -> None:
    """Of nine companies of one year and three of two others each, six orbits fall on the years evenly."""
    ends = ["2009-12-31"] * 9 + ["2016-12-31"] * 3 + ["2023-12-31"] * 3
    pool = [orbit(n, "entity_scope/a", "profit", end=end) for n, end in enumerate(ends)]
    taken = choose(pool, {("entity_scope", "en"): 12}, 1, limits=ALL).orbits
    assert Counter(o.source.end[:4] for o in taken) == {"2009": 2, "2016": 2, "2023": 2}


def test_what_is_kept_stays_and_only_what_lacks_beside_it_is_chosen() -> None:
    topics = {"entity_scope": "profit", "temporal_scope": "equity"}
    pool = [orbit(n, f"{name}/a", topic) for n in range(40) for name, topic in topics.items()]
    kept = [o for o in pool if o.category == "entity_scope" and int(o.source.code) < 5]
    quotas = {("entity_scope", "en"): 10, ("temporal_scope", "en"): 8}
    found = choose(pool, quotas, 1, lambda o, _: "broken now" if o is kept[0] else "", ALL, kept)
    taken = [o for o in found.orbits if o.category == "entity_scope"]
    assert [o for o in taken if o in kept] == kept[1:]
    assert len(taken) == 5
    assert sum(o.category == "temporal_scope" for o in found.orbits) == 4
    assert not found.short


def test_a_company_states_one_period_and_asks_each_topic_once() -> None:
    pool = [
        orbit(1, "entity_scope/a", "profit"),
        orbit(1, "entity_scope/b", "profit"),
        orbit(1, "temporal_scope/a", "cash", end="2022-12-31"),
        orbit(1, "temporal_scope/a", "equity"),
    ]
    taken = choose(pool, {("entity_scope", "en"): 4, ("temporal_scope", "en"): 4}, seed=1).orbits
    assert len({o.topic for o in taken}) == len(taken) == 2
    assert len({o.source.end for o in taken}) == 1


def test_a_quota_that_cannot_be_met_says_by_how_much() -> None:
    pool = [orbit(n, "entity_scope/a", "profit") for n in range(3)]
    quotas = {("entity_scope", "en"): 20, ("filing_vintage", "en"): 4}
    choice = choose(pool, quotas, seed=1, limits=ALL)
    assert choice.short == {("entity_scope", "en"): (20, 6), ("filing_vintage", "en"): (4, 0)}
    assert shortfalls(choice.orbits, {("entity_scope", "en"): 6}) == {}


def test_what_is_turned_away_is_counted_and_replaced() -> None:
    pool = [orbit(n, "entity_scope/a", "profit") for n in range(8)]
    choice = choose(pool, {("entity_scope", "en"): 8}, 1, lambda o, _: "bad" if int(o.source.code) < 4 else "", ALL)
    assert {o.source.code for o in choice.orbits} == {"4", "5", "6", "7"}
    assert choice.short == {}


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 1000), order=st.randoms(use_true_random=False))
def test_the_choice_does_not_depend_on_the_order_of_the_orbits(seed: int, order: object) -> None:
    pool = [orbit(n, f"{c}/a", t) for n in range(6) for c in ("entity_scope", "temporal_scope") for t in ("x", "y")]
    pool = [o for o in pool if o.topic == "x"]
    pool = [Orbit(o.miner, "profit", o.source, o.alternatives, ()) for o in pool]
    quotas = {("entity_scope", "en"): 4, ("temporal_scope", "en"): 4}
    first = {(o.key, o.miner) for o in choose(pool, quotas, seed).orbits}
    order.shuffle(pool)  # type: ignore[attr-defined]
    assert {(o.key, o.miner) for o in choose(pool, quotas, seed).orbits} == first


@settings(max_examples=40, deadline=None)
@given(sizes=st.lists(st.integers(1, 6), min_size=12, max_size=80), seed=st.integers(0, 99))
def test_splits_keep_companies_whole(sizes: list[int], seed: int) -> None:
    instances = [
        Instance(f"i{c}-{n}", "q", "c", "1", "2", Interpretation(), Interpretation(), ("entity_scope",), 1.0, "en",
                 extra={"company_code": str(c)})
        for c, size in enumerate(sizes)
        for n in range(size)
    ]  # fmt: skip
    pinned = {str(c): "test" for c in range(2)}
    assert all(i in split(instances, seed, pinned=pinned)["test"] for i in ("i0-0", "i1-0"))
    found = split(instances, seed)
    assert sorted(name for ids in found.values() for name in ids) == sorted(i.instance_id for i in instances)
    of = {name: {i.split("-")[0] for i in ids} for name, ids in found.items()}
    assert not of["train"] & of["test"]
    assert not of["train"] & of["validation"]
    count = Counter({name: len(ids) for name, ids in found.items()})
    assert all(abs(count[name] - SHARES[name] * len(instances)) <= 6 for name in SHARES)


def test_the_papers_funnel_costs_31_cents_an_instance() -> None:
    assert Rates(rejection=0.020, full=0.155, viable=0.115, accepted=0.985).per_accepted() == pytest.approx(
        0.314, abs=5e-4
    )
    with pytest.raises(ValueError, match="accepts nothing"):
        Rates(0.02, 0.155, 0.0, 0.985).per_accepted()
